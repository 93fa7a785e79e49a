package soak

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/session"
)

const (
	domainOne = "fernhill.test"
	domainTwo = "saltmarsh.test"

	pace     = time.Second     // between two acts of one Session
	patience = 2 * time.Minute // for one act, with the User's answer
)

// world is two Companies, and a home they know.
type world struct {
	t     *testing.T
	dir   string
	home  string
	sites []*site
	cas   []string
	count *count
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: os.TempDir(), count: newCount()}
	w.home = filepath.Join(w.dir, "home")
	h, err := home.Open(w.home)
	if err != nil {
		t.Fatal(err)
	}
	id, err := session.Init(h.Identity(), session.Options{ClientID: "https://agent.test/agent.json", Name: "Soaked agent"}, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, domain := range []string{domainOne, domainTwo} {
		s := startSite(t, domain, id.PublicDir())
		file := filepath.Join(w.dir, domain+".pem")
		if err := os.WriteFile(file, s.Authority, 0o600); err != nil {
			t.Fatal(err)
		}
		w.sites, w.cas = append(w.sites, s), append(w.cas, file)
	}
	return w
}

// hear takes the agent's events.
func (w *world) hear(e agent.Event) {
	c := w.count
	c.mu.Lock()
	defer c.mu.Unlock()
	switch body := e.Body.(type) {
	case agent.Joined:
		c.sessions[body.Sid] = "https://" + body.Company
	case opsweb.Sighting:
		r := reference{companyOf(body.URL), body.Sid, body.Ref}
		switch {
		case !body.Accepted && (body.Why == opsweb.NotJoined || body.Why == opsweb.OtherSid):
			c.Mixed++
		case !body.Accepted:
			c.Refused++
			c.Why[string(body.Why)]++
		case c.sessions[body.Sid] != r.company || body.Act == nil:
			c.Mixed++
		default:
			c.Sighted++
		}
		if c.sent[r] {
			delete(c.sent, r)
		} else {
			c.sighted[r] = true
		}
	}
}

// start starts an agent whose Chromium driver drives, and a User for it.
func (w *world) start(driver browser.Driver) (*agent.Agent, func()) {
	w.t.Helper()
	cfg := agent.Config{
		Home: w.home, Driver: driver, CACerts: w.cas, Title: "soak", Events: w.hear,
		NoSandbox: os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0,
	}
	for _, s := range w.sites {
		cfg.ConnectTo = append(cfg.ConnectTo, s.ConnectTo...)
	}
	a, err := agent.Start(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return a, w.user(a)
}

// user approves about three of four questions, through the socket as a terminal does. It ends with the function it returns.
func (w *world) user(a *agent.Agent) (stop func()) {
	w.t.Helper()
	client, err := attach.Watch(w.t.Context(), a.RunDir(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	var answering sync.WaitGroup
	answering.Go(func() {
		for {
			view, err := client.Next(ctx)
			if err != nil {
				return
			}
			for _, q := range view.Questions {
				yes := crc32.ChecksumIEEE([]byte(q.Request.ID))%4 != 0
				_, err := client.Answer(ctx, approval.FromUser(yes, q.Request.Shows()))
				if err != nil && !errors.Is(err, approval.ErrAnswered) && ctx.Err() == nil {
					w.t.Errorf("answer: %v", err)
				}
			}
		}
	})
	return func() {
		cancel()
		answering.Wait()
		client.Close()
	}
}

// task is what one Session does, over and over: two guarded actions that no other Session's touch.
type task func(company string, n int) []browser.Act

func exchangeAndAddress(company string, n int) []browser.Act {
	sizes := []string{"S", "L", "XL"}
	return []browser.Act{
		{Kind: browser.Navigate, URL: company + "/orders/ord_7Hk2"},
		change("#model", []string{"stormline-alpine", "stormline-insulated"}[n%2]),
		change("#size", sizes[n%len(sizes)]),
		press("#exchange"),
		{Kind: browser.Navigate, URL: company + "/products/ridge-pack-32"},
		{Kind: browser.Navigate, URL: company + "/account/address"},
		change("#street", fmt.Sprintf("%d Alder Lane", n+1)),
		press("#save-address"),
	}
}

func membershipAndGift(company string, n int) []browser.Act {
	return []browser.Act{
		{Kind: browser.Navigate, URL: company + "/membership"},
		press("#cancel-membership"),
		{Kind: browser.Navigate, URL: company + "/"},
		{Kind: browser.Navigate, URL: company + "/gift"},
		change("#message", fmt.Sprintf("Happy trail %d!", n+1)),
		press("#add-gift-wrap"),
	}
}

func press(selector string) browser.Act {
	return browser.Act{Kind: browser.Click, Selectors: [][]string{{selector}}}
}

func change(selector, value string) browser.Act {
	return browser.Act{Kind: browser.Change, Selectors: [][]string{{selector}}, Value: secret.New(value)}
}

// work does a Session's task until ctx ends, and returns how many acts it made and what became of its operations. An act
// that was begun is ended.
func (w *world) work(ctx context.Context, v *agent.Visit, company string, do task) (acts int, outcomes map[opsweb.Outcome]int) {
	outcomes = make(map[opsweb.Outcome]int)
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for n := 0; ; n++ {
		for i, act := range do(company, n) {
			select {
			case <-ctx.Done():
				return acts, outcomes
			case <-ticker.C:
			}
			limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			result, err := v.Do(limit, agent.Step{Number: i, Act: act})
			cancel()
			if err != nil {
				w.t.Errorf("%s, act %d (%s): %v", company, i, act.Kind, err)
				return acts, outcomes
			}
			acts++
			for _, o := range result.Outcomes {
				outcomes[o]++
			}
		}
	}
}

// left lists processes that were started with the test's folder as their own temporary one and are no Company's, and
// Chromium's profiles in it.
func (w *world) left() []string {
	left, _ := filepath.Glob(filepath.Join(w.dir, "papaver-chromium-*"))
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, file := range files {
		command, err := os.ReadFile(file)
		if err == nil && bytes.Contains(command, []byte("--user-data-dir="+w.dir)) {
			left = append(left, strings.ReplaceAll(string(command[:min(len(command), 200)]), "\x00", " "))
		}
	}
	return left
}
