package opsweb

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
)

// story is one run against a scripted Company: what its endpoint and its website answer and what the User says, and
// the whole of what must come of it, in order. In want, words in lower case are the kinds of the ledger lines, written
// as they reach the disk; words in upper case are what leaves us: LOOK:ref, APPROVE:ref:revision, ACT and the ways of
// making it again.
type story struct {
	name     string
	endpoint []answer // one for each request, in order
	site     []page   // one for each request of the act, in order
	user     []say    // one for each question, in order; no more is silence
	want     string
	outcome  Outcome
	why      string // part of the last line's why
	before   func(*world)
	after    func(*world) // with everything closed
}

type say bool

const (
	yes say = true
	no  say = false
)

// world is everything a run has around it, none of it real but the ledger and package browser.
type world struct {
	t       *testing.T
	dir     string // of the ledger
	began   time.Time
	disk    *disk
	ledger  *ledger.Ledger
	ops     *Operations
	browser *browser.Browser
	tab     *joined
	chrome  *chrome
	company *endpoint
	session *session.Session
	lock    *lock.Lock                                  // of the home in which a round is resumed
	onRenew func(ctx context.Context, sid string) error // nil: no Session can be had

	mu       sync.Mutex
	skipped  time.Duration // how much further the wall clock is than the bubble's, as after a sleep of the machine or as it was set
	set      time.Duration // how much of that because the clock was set
	log      []string
	happened []Happening
	seen     map[string]map[int]State // round → number of its lines → its state
}

const (
	shopDomain   = "shop.test"
	shopEndpoint = "https://shop.test/poppy/operations"
	shopAction   = "https://shop.test/exchange"
)

// newWorld makes a world and its joined browser context. Everything in it is closed at the end of the test.
// renew is what the agent does when a Session has ended.
func (w *world) renew(ctx context.Context, sid string) error {
	if w.onRenew == nil {
		return errors.New("no Session can be had")
	}
	return w.onRenew(ctx, sid)
}

func newWorld(t *testing.T) *world { return newWorldOn(t, nil) }

// newWorldOn is newWorld with another way to the endpoint than the scripted one.
func newWorldOn(t *testing.T, way http.RoundTripper) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "ledger"), began: time.Now(), seen: make(map[string]map[int]State)}
	w.disk = &disk{world: w}
	w.company = &endpoint{world: w}
	w.chrome = newChrome(w)
	if way == nil {
		way = w.company
	}
	var err error
	w.ledger, err = ledger.Open(t.Context(), ledger.Config{Dir: w.dir, Owner: "run_1", OpenFile: w.disk.open, Index: Index()})
	w.must(err)
	t.Cleanup(func() { w.must(w.ledger.Close()) })
	w.ops, err = New(t.Context(), Config{Ledger: w.ledger, Client: &http.Client{Transport: way}, Notify: w.notified, Now: w.now, Ahead: w.ahead})
	w.must(err)
	w.browser, err = browser.Start(t.Context(), browser.Config{Driver: w.chrome, Bin: "/bin/true", NoSandbox: true, Watch: Header, OnHeld: w.ops.Held, Now: w.now})
	w.must(err)
	t.Cleanup(w.close)
	w.session = newSession(t, w.site())
	w.tab = w.join(w.session, w.site())
	return w
}

func (w *world) site() *company.Company {
	return &company.Company{Domain: shopDomain, Name: "Shop", Issuer: "https://id.shop.test", JoinEndpoint: "https://shop.test/join", OperationsEndpoint: shopEndpoint, OperationsListed: true}
}

// join opens a context with the page of the action in it, joined to s.
func (w *world) join(s *session.Session, c *company.Company) *joined {
	w.t.Helper()
	real, err := w.browser.NewContext(w.t.Context())
	w.must(err)
	tab := &joined{Context: real, chrome: w.chrome, turn: make(chan struct{}, 1)}
	w.ops.Joined(tab, c, s, profile.V1(), w.renew)
	_, err = tab.Do(w.t.Context(), browser.Act{Kind: browser.Navigate, URL: "https://shop.test/order"})
	w.must(err)
	return tab
}

// joined is a joined browser context. Whoever acts in it takes its turn here first: a mutex, as the real one's, would
// stop the time of a bubble.
type joined struct {
	*browser.Context
	chrome *chrome
	turn   chan struct{}
}

func (j *joined) Again(ctx context.Context, m *browser.Made, h browser.Held, permit func(browser.How) error) (browser.How, error) {
	j.turn <- struct{}{}
	defer func() { <-j.turn }()
	return j.Context.Again(ctx, m, h, permit)
}

func (j *joined) Do(ctx context.Context, act browser.Act) (*browser.Made, error) {
	j.turn <- struct{}{}
	defer func() { <-j.turn }()
	j.chrome.doing.Store(true)
	defer j.chrome.doing.Store(false)
	return j.Context.Do(ctx, act)
}

func newSession(t *testing.T, c *company.Company) *session.Session {
	t.Helper()
	id, err := session.Init(t.TempDir(), session.Options{ClientID: "https://agent.test/agent.json", Name: "Test"}, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.New(session.Config{Profile: profile.V1(), Identity: id, Company: c, UserID: "usr_1"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) close() {
	w.ops.Close()
	if err := w.browser.Close(context.Background()); err != nil {
		w.t.Error(err)
	}
}

// now is the wall clock. skip moves it on, without any timer noticing.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.skipped)
}

func (w *world) skip(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.skipped += d
}

// setClock sets the wall clock on, or back. The Company's goes on.
func (w *world) setClock(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.skipped += d
	w.set += d
}

// ahead is what a comparison with the Company's clock tells.
func (w *world) ahead(string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *world) trace() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.log, " ")
}

// notified remembers what happened, and in which state a round was with so many lines on disk.
func (w *world) notified(h Happening) {
	records := w.disk.records()
	n := 0
	last := ""
	for _, rec := range records {
		if rec.Round == h.Round {
			n++
			last = rec.Kind
		}
	}
	if _, ok := h.Body.(Approval); ok && !slices.Contains([]string{"recorded", "settled", "operation"}, last) {
		w.t.Errorf("%+v was told and the last line on disk is %s", h.Body, last)
	}
	state := State("")
	w.ops.mu.Lock()
	for _, r := range w.ops.rounds {
		if r.id == h.Round {
			state = r.state
		}
	}
	w.ops.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.happened = append(w.happened, h)
	if state != "" {
		if w.seen[h.Round] == nil {
			w.seen[h.Round] = make(map[int]State)
		}
		w.seen[h.Round][n] = state
	}
}

// bodies returns the happenings of one type.
func bodies[T any](w *world) []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []T
	for _, h := range w.happened {
		if b, ok := h.Body.(T); ok {
			list = append(list, b)
		}
	}
	return list
}

var pressExchange = browser.Act{Kind: browser.Click, Selectors: [][]string{{"#exchange"}}}

// press makes the act and waits until its requests are answered.
func (w *world) press(tab *joined) {
	w.t.Helper()
	w.note("ACT")
	_, err := tab.Do(w.t.Context(), pressExchange)
	w.must(err)
}

// answers has a User give the answers, one a question, each on what that question shows. It checks that an answer
// that counts is on disk when Decide returns. The returned function ends the User.
func (w *world) answers(said ...say) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var user sync.WaitGroup
	user.Go(func() {
		for asked := map[approval.RequestID]bool{}; ; {
			requests, changed := w.ops.Desk().Pending()
			for _, r := range requests {
				if asked[r.ID] || len(said) == 0 {
					continue
				}
				asked[r.ID] = true
				d, err := w.ops.Desk().Decide(ctx, approval.FromUser(bool(said[0]), r.Shows()))
				said = said[1:]
				if err == nil && !slices.ContainsFunc(w.disk.records(), func(rec ledger.Record) bool {
					var a Answer
					return slices.Contains([]string{lineYes, lineNo, lineRerunYes, lineRerunNo}, rec.Kind) && json.Unmarshal(rec.Data, &a) == nil && a.Request == r.ID && a.State == d.State && a.Shown == r.Shows()
				}) {
					w.t.Errorf("the answer to %s counts and is not on disk", r.ID)
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); user.Wait() }
}

// settle waits until every round is settled; no story takes longer than this of its own time.
func (w *world) settle() error {
	ctx, cancel := context.WithTimeout(w.t.Context(), 24*time.Hour)
	defer cancel()
	return w.ops.Settle(ctx, true)
}

// tell runs a story in a bubble of its own time.
func tell(t *testing.T, s story) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { s.run(t) })
}

func (s story) run(t *testing.T) *world {
	w := newWorld(t)
	w.company.script, w.chrome.script = s.endpoint, s.site
	if s.before != nil {
		s.before(w)
	}
	stop := w.answers(s.user...)
	w.press(w.tab)
	if err := w.settle(); err != nil {
		t.Errorf("settle: %v", err)
	}
	stop()
	w.close()
	if got := w.trace(); got != s.want {
		t.Errorf("what happened:\n got %s\nwant %s", got, s.want)
	}
	if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{s.outcome}) {
		t.Errorf("outcomes = %v, want %s", got, s.outcome)
	}
	records := w.disk.records()
	if last := records[len(records)-1]; !strings.Contains(string(last.Data), s.why) {
		t.Errorf("the last line is %s, want %q in it", last.Data, s.why)
	}
	if n := len(w.company.script) + len(w.chrome.script); n > 0 {
		t.Errorf("%d answers of the script were not asked for", n)
	}
	w.historyAgrees()
	if s.after != nil {
		s.after(w)
	}
	return w
}

// historyAgrees checks that the ledger alone tells every state that a round had, after each of its lines.
func (w *world) historyAgrees() {
	records := w.disk.records()
	count := make(map[string]int)
	for i, rec := range records {
		if rec.Round == "" {
			continue
		}
		count[rec.Round]++
		had, ok := w.seen[rec.Round][count[rec.Round]]
		for _, p := range History(records[:i+1]) {
			if p.ID == rec.Round && ok && p.State != had {
				w.t.Errorf("after line %d (%s) the ledger says %s and the round was %s", rec.Seq, rec.Kind, p.State, had)
			}
		}
	}
}
