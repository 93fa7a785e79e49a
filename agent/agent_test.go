package agent_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/testsite"
)

const (
	patience = 45 * time.Second // for anything these tests wait for
	orders   = "https://stormline.test/orders/ord_7Hk2"
)

// world is a Company in this process, and a home it knows.
type world struct {
	t      *testing.T
	home   string
	site   *testsite.Site
	cacert string
}

func newWorld(t *testing.T) *world { return newWorldOf(t, testsite.Config{}) }

// newWorldOf is newWorld with a Company of one's own making.
func newWorldOf(t *testing.T, cfg testsite.Config) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "w") // t.TempDir's names are too long for Chromium's sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{t: t, home: filepath.Join(dir, "home"), cacert: filepath.Join(dir, "cacert.pem")}
	h, err := home.Open(w.home)
	if err != nil {
		t.Fatal(err)
	}
	id, err := session.Init(h.Identity(), session.Options{ClientID: "https://agent.test/agent.json", Name: "Test agent"}, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cfg.AgentDirs = []string{id.PublicDir()}
	if w.site, err = testsite.Start(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.closeSite() })
	if err := os.WriteFile(w.cacert, w.site.Authority(), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) closeSite() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.site.Close(ctx); err != nil {
		w.t.Errorf("close the site: %v", err)
	}
}

// log collects events.
type log struct {
	mu     sync.Mutex
	events []agent.Event
}

func (l *log) add(e agent.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *log) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, e := range l.events {
		names = append(names, e.Name)
	}
	return names
}

func (w *world) start(l *log) *agent.Agent { return w.startWith(l, func(*agent.Config) {}) }

// startWith is start with a configuration that change has been at.
func (w *world) startWith(l *log, change func(*agent.Config)) *agent.Agent {
	w.t.Helper()
	cfg := agent.Config{
		Home: w.home, Driver: chromedpdriver.Driver{}, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.cacert},
		NoSandbox: os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0, Title: "test", Events: l.add,
	}
	change(&cfg)
	a, err := agent.Start(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.close(a) })
	return a
}

func (w *world) close(a *agent.Agent) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		w.t.Errorf("close: %v", err)
	}
}

// user answers each question of the home with the answer for its operation's summary, through the socket, as a
// terminal does. It ends with the function it returns.
func (w *world) user(a *agent.Agent, approves func(approval.Question) bool) (stop func()) {
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
				_, err := client.Answer(ctx, approval.FromUser(approves(q.Request.Question), q.Request.Shows()))
				if err != nil && !errors.Is(err, approval.ErrAnswered) && ctx.Err() == nil {
					w.t.Errorf("answer: %v", err)
				}
			}
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		answering.Wait()
		client.Close()
	})
}

// do makes acts, and returns the outcomes of the operations they caused.
func (w *world) do(v *agent.Visit, acts ...browser.Act) []opsweb.Outcome {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var outcomes []opsweb.Outcome
	for i, act := range acts {
		r, err := v.Do(ctx, agent.Step{Number: i, Act: act})
		if err != nil {
			w.t.Fatalf("act %d: %v", i, err)
		}
		outcomes = append(outcomes, r.Outcomes...)
	}
	if err := v.Settle(ctx); err != nil {
		w.t.Fatal(err)
	}
	return outcomes
}

func exchange() []browser.Act {
	return []browser.Act{
		{Kind: browser.Navigate, URL: orders},
		{Kind: browser.Change, Selectors: [][]string{{"#size"}}, Value: secret.New("L")},
		{Kind: browser.Click, Selectors: [][]string{{"#exchange"}}},
	}
}

func cancellation() []browser.Act {
	return []browser.Act{
		{Kind: browser.Navigate, URL: "https://stormline.test/membership"},
		{Kind: browser.Click, Selectors: [][]string{{"#cancel-membership"}}},
	}
}

func (w *world) counted(performances, approvals int) {
	w.t.Helper()
	r := w.site.Report()
	if len(r.Performances) != performances || r.Recorded != approvals {
		w.t.Errorf("the Company counts %d performances and %d approvals, want %d and %d", len(r.Performances), r.Recorded, performances, approvals)
	}
	for _, v := range append(r.Broken, r.Notes...) {
		w.t.Errorf("the Company saw a broken rule: %s %s (%s): %s", v.Severity, v.Rule, v.Clause, v.Seen)
	}
}

// One agent, one Chromium: what the User approves is performed once, what the User refuses never leaves, and nothing
// of the agent is left after Close.
//
// Clauses: OPS3-5.05, OPS3-5.06, OPS3-6.02, OPS3-4.42, OPS3-4.43
func TestTheUsersAnswerDecidesAndNothingIsLeftAfterClose(t *testing.T) {
	w := newWorld(t)
	before := stacks() // the site's are there before and after: a connection that is left shows at both its ends
	l := &log{}
	a := w.start(l)
	stop := w.user(a, func(q approval.Question) bool { return strings.HasPrefix(q.Operation.Summary, "Exchange") })
	defer stop()
	v, err := a.Visit(t.Context(), w.site.Company())
	if err != nil {
		t.Fatal(err)
	}
	if got := w.do(v, exchange()...); !slices.Equal(got, []opsweb.Outcome{opsweb.Performed}) {
		t.Errorf("the exchange ended as %q", got)
	}
	w.counted(1, 1)
	if text, err := v.Text(t.Context()); err != nil || !strings.Contains(text, "Insulated") {
		t.Errorf("the page after the exchange says %q (%v)", text, err)
	}
	if got := w.do(v, cancellation()...); !slices.Equal(got, []opsweb.Outcome{opsweb.Refused}) {
		t.Errorf("the cancellation ended as %q", got)
	}
	w.counted(1, 1)
	a.Finish("refused", nil)
	stop()
	w.close(a)
	w.close(a) // a second time does nothing
	want := []string{"joined", "act", "act", "act", "sighting", "operation", "question", "answer", "approval", "replay", "settled",
		"act", "act", "sighting", "operation", "question", "answer", "settled", "finished"}
	if got := l.names(); !slices.Equal(got, want) {
		t.Errorf("events\n%q, want\n%q", got, want)
	}
	if _, report, err := ledger.Read(filepath.Join(w.home, "ledger", ledger.FileName)); err != nil || report.Records == 0 {
		t.Errorf("the ledger: %+v, %v", report, err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "papaver-chromium-*")); len(left) > 0 {
		t.Errorf("profiles are left: %q", left)
	}
	if left, _ := os.ReadDir(filepath.Join(w.home, "run")); len(left) > 0 {
		t.Errorf("sockets are left: %v", left)
	}
	sameStacks(t, before)
}

// Two agents work on one home at once, each with its own task; a terminal answers both.
func TestTwoAgentsShareAHome(t *testing.T) {
	w := newWorld(t)
	first, second := w.start(&log{}), w.start(&log{})
	defer w.user(first, func(approval.Question) bool { return true })()
	var working sync.WaitGroup
	got := make([][]opsweb.Outcome, 2)
	for i, a := range []*agent.Agent{first, second} {
		v, err := a.Visit(t.Context(), w.site.Company())
		if err != nil {
			t.Fatal(err)
		}
		acts := [][]browser.Act{exchange(), cancellation()}[i]
		working.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for n, act := range acts {
				r, err := v.Do(ctx, agent.Step{Number: n, Act: act})
				if err != nil {
					t.Errorf("agent %d: %v", i, err)
					return
				}
				got[i] = append(got[i], r.Outcomes...)
			}
		})
	}
	working.Wait()
	for i, outcomes := range got {
		if !slices.Equal(outcomes, []opsweb.Outcome{opsweb.Performed}) {
			t.Errorf("agent %d ended with %q", i, outcomes)
		}
	}
	w.counted(2, 2)
	records, _, err := ledger.Read(filepath.Join(w.home, "ledger", ledger.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range opsweb.History(records) {
		if p.State != opsweb.Settled || p.Outcome != opsweb.Performed {
			t.Errorf("round %s stands at %s, %s", p.ID, p.State, p.Outcome)
		}
	}
}

// A site that publishes no poppy.json is browsed as by anybody, signed out, and the agent says so. A 403 there is the
// site's own affair.
//
// Clauses: OPS3-2.05
func TestASiteWithoutPoppyIsBrowsedAsByAnybody(t *testing.T) {
	w := newWorld(t)
	w.closeSite()
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			_, _ = io.WriteString(rw, `<!doctype html><h1>Plain</h1>`)
		case "/closed":
			rw.Header().Set("Poppy-Operation", `sid="ses_1", ref="op_1.x"`)
			rw.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(rw, "no")
		default:
			http.NotFound(rw, r)
		}
	}))
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(w.cacert, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	l := &log{}
	a, err := agent.Start(t.Context(), agent.Config{
		Home: w.home, Driver: chromedpdriver.Driver{}, ConnectTo: []string{"example.com:443:" + server.Listener.Addr().String()}, CACerts: []string{w.cacert},
		NoSandbox: os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0, Events: l.add,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close(a)
	v, err := a.Visit(t.Context(), "https://example.com")
	if err != nil {
		t.Fatal(err)
	}
	acts := []browser.Act{{Kind: browser.Navigate, URL: "https://example.com/"}, {Kind: browser.Navigate, URL: "https://example.com/closed"}}
	if got := w.do(v, acts...); len(got) != 0 {
		t.Errorf("operations: %q", got)
	}
	if got, want := l.names(), []string{"visiting", "act", "act", "sighting"}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	for _, e := range l.events {
		if s, ok := e.Body.(opsweb.Sighting); ok && (s.Accepted || s.Why != opsweb.NotJoined) {
			t.Errorf("a stray header came to %+v", s)
		}
	}
}

// A Chromium that cannot be had is an error of Visit, and the agent can still be closed.
func TestWithoutChromiumVisitFails(t *testing.T) {
	w := newWorld(t)
	l := &log{}
	a, err := agent.Start(t.Context(), agent.Config{
		Home: w.home, Driver: chromedpdriver.Driver{}, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.cacert},
		Chromium: filepath.Join(w.home, "no-such-program"), NoSandbox: true, Events: l.add,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close(a)
	if _, err := a.Visit(t.Context(), w.site.Company()); !errors.Is(err, browser.ErrNoChromium) && (err == nil || !strings.Contains(err.Error(), "no Chromium")) {
		t.Errorf("Visit: %v", err)
	}
	if r := w.site.Report(); r.Joins != 0 {
		t.Errorf("joined: %+v", r)
	}
}

// stacks counts the goroutines by what created them.
func stacks() map[string]int {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	count := make(map[string]int)
	for block := range bytes.SplitSeq(buf, []byte("\n\n")) {
		_, created, found := strings.Cut(string(block), "created by ")
		if !found {
			continue
		}
		created, _, _ = strings.Cut(created, " in goroutine")
		created, _, _ = strings.Cut(created, "\n")
		count[created]++
	}
	return count
}

// sameStacks waits until no goroutine is left that was not there before.
func sameStacks(t *testing.T, before map[string]int) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	for {
		var left []string
		for created, n := range stacks() {
			// The runtime keeps one goroutine for all signals once a signal was asked for.
			if n > before[created] && !strings.HasPrefix(created, "os/signal.") {
				left = append(left, created)
			}
		}
		if len(left) == 0 {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines are left, created by %q\n%s", left, buf[:runtime.Stack(buf, true)])
		}
	}
}
