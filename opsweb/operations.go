// Package opsweb is the way of one website operation: a sighting is judged and written down while the page still
// waits, its terms are fetched from the Company's endpoint and put to the User, the approval is sent, the browser makes
// the act again, and what became of it is looked up (Operations v3, sections 4 to 7).
//
// Each operation is a round, and a round is a state machine of one table (round.go). Whatever a state permits is done
// only after the ledger line that leads to it is on disk.
package opsweb

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/randomid"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/trace"
)

const (
	maxOpen     = 20          // open rounds of a run, those that an act's first reference begins not counted against it
	rateCount   = 30          // accepted sightings of one context …
	rateWindow  = time.Minute // … in this time
	maxRefusals = 200         // refused sightings of a run that are written down one by one
)

// Page is what a round wants of the browser context it was sighted in; *browser.Context is one.
type Page interface {
	// ID names the context.
	ID() browser.ContextID
	// Again has the browser make the request of h again, which m caused. It calls permit with the way before it does
	// anything, and does nothing when permit refuses or the error is browser.ErrCannotRepeat.
	Again(ctx context.Context, m *browser.Made, h browser.Held, permit func(browser.How) error) (browser.How, error)
	// Refused returns method and URL of the first request of m's page that was answered with 403 since m was last made;
	// false when there was none.
	Refused(m *browser.Made) (method, url string, refused bool)
}

// Config is what the operations of one run need. All but Notify, Now, Rand and Ahead are required.
type Config struct {
	Ledger *ledger.Ledger
	Client *http.Client // used without following redirects, whatever it says of them
	// Notify is told what happens, in order. It must not block.
	Notify func(Happening)
	Now    func() time.Time
	Rand   io.Reader
	// Lives reports whether the process of a run, the owner of a round, may still go on with it. Its rounds are then waited
	// for, and not taken over. Nil: no other run lives.
	Lives func(owner string) bool
	// Ahead is by how much our clock is ahead of that of the Company of a domain: whether an operation has ended is told by
	// the Company's. It is called by many goroutines at once. Nil: both are the same.
	Ahead func(domain string) time.Duration
	Lock  *lock.Lock // the home's; nil when it has none
}

// Operations holds the rounds of one run. Safe for concurrent use.
type Operations struct {
	cfg       Config
	desk      *approval.Desk
	judgement []condition // all of it, but in tests that show that each condition is needed

	life    context.Context // the run's: rounds outlive the call that saw them
	end     context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	ending    bool
	concluded bool
	sites     map[browser.ContextID]*site
	rounds    []*round
	again     map[*browser.Made]*round // who last had an act made again
	due       map[*browser.Made]bool   // the acts whose first reference has come
	refusals  int
	changed   chan struct{}
}

// site is one browser context that is joined to one Session at one Company.
type site struct {
	page    Page
	company *company.Company
	session *session.Session
	profile profile.Profile
	client  *http.Client
	now     func() time.Time
	renew   func(ctx context.Context, sid string) error // may be nil

	seen map[string]bool // references that came in this context
	came []time.Time     // when the last accepted ones came
}

// New returns the operations of a run, without any. ctx carries values; its end does not end the rounds, Close does.
func New(ctx context.Context, cfg Config) (*Operations, error) {
	if cfg.Ledger == nil || cfg.Client == nil {
		return nil, errors.New("opsweb: ledger and client are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.Notify == nil {
		cfg.Notify = func(Happening) {}
	}
	// A redirect would take a reference and a Session header where the Company's own document did not send them.
	still := *cfg.Client
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cfg.Client = &still
	o := &Operations{cfg: cfg, judgement: judgement[:], sites: make(map[browser.ContextID]*site), again: make(map[*browser.Made]*round), due: make(map[*browser.Made]bool), changed: make(chan struct{})}
	desk, err := approval.NewDesk(approval.Config{Record: o.recordDecision, Deadline: o.deadline, Lock: cfg.Lock, Now: cfg.Now, Rand: cfg.Rand})
	if err != nil {
		return nil, err
	}
	o.desk = desk
	o.life, o.end = context.WithCancel(context.WithoutCancel(ctx))
	return o, nil
}

// Desk is where the run's questions wait.
func (o *Operations) Desk() *approval.Desk { return o.desk }

// Joined tells that page is joined to s at c: from now on its sightings are judged. The caller joined it. When the Company
// answers that the Session sid has ended, renew starts a new one and joins the page to it, leaving what is on the page; it
// may be nil.
func (o *Operations) Joined(page Page, c *company.Company, s *session.Session, p profile.Profile, renew func(ctx context.Context, sid string) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sites[page.ID()] = &site{page: page, company: c, session: s, profile: p, client: o.cfg.Client, now: o.cfg.Now, renew: renew, seen: make(map[string]bool)}
}

// Left tells that page is joined no more: a sighting of it is refused from now on. Its rounds go on without it.
func (o *Operations) Left(page Page) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.sites, page.ID())
}

// Held judges a response that carries Poppy-Operation and writes it down, while the page waits for it. An accepted one
// is the first line of a round, which goes on by itself. Held asks nobody and sends nothing. It is browser's OnHeld.
func (o *Operations) Held(ctx context.Context, h browser.Held) {
	ctx, span := trace.Begin(trace.Row(ctx, "held"), trace.Hold, trace.Status(h.Status()))
	defer span.End()
	o.mu.Lock()
	s, sid, ref, why := o.judgeLocked(h)
	r := o.expectingLocked(s, h)
	if r == nil {
		r = o.repeatedLocked(s, h)
	}
	if why == "" && r != nil && r.overLocked() {
		if !r.followed && r.leadsToLocked(h) {
			r.followed, r = true, nil
		} else {
			why = RoundOver
		}
	}
	own := r != nil && r.ownLocked(h)
	fresh := why == "" && r == nil
	if fresh {
		if r = o.newRoundLocked(s, h); r == nil {
			fresh, why = false, NotNamed
		}
	}
	o.mu.Unlock()

	line := sightingLine(s, sid, h, ref, why)
	if why != "" {
		o.refuse(ctx, line)
		return
	}
	if _, err := o.cfg.Ledger.Append(ctx, ledger.Entry{Kind: "sighting", Round: r.id, Data: line}); err != nil {
		line.Accepted, line.Why = false, NotWritten
		o.notify(r.id, line)
		o.notify("", Trouble{What: "a reference came and could not be written down, so it is not used: " + err.Error()})
		if fresh {
			o.forget(r)
		}
		return
	}
	o.notify(r.id, line)
	reference := Reference{text: ref, site: s, sid: sid}
	if !fresh {
		r.succeeds(successor{reference: reference, held: h, own: own})
		o.mu.Lock()
		ended := r.state.final()
		o.mu.Unlock()
		if ended {
			r.leave(ctx)
		}
		return
	}
	r.reference = reference // held is h already
	o.start(r)
}

// judgeLocked judges a sighting and counts it. sid is the Session that the context is joined to at this moment, and that the
// reference was judged by.
func (o *Operations) judgeLocked(h browser.Held) (s *site, sid, ref string, why Refusal) {
	c := candidateOf(h)
	id, _ := h.Context()
	if s = o.sites[id]; s == nil || !c.known {
		return nil, "", "", judge(c, o.judgement)
	}
	due := o.dueLocked(h)
	if !due {
		s.forgetOld(o.cfg.Now())
	}
	ref = c.reference()
	c.joined, c.sid, c.endpoint, c.ending = true, s.session.ID(), s.company.OperationsEndpoint != "", o.ending
	c.seen = s.seen[ref]
	c.crowded = !due && (o.openLocked() >= maxOpen || len(s.came) >= rateCount)
	if why = judge(c, o.judgement); why != "" {
		return s, c.sid, ref, why
	}
	if !due {
		s.came = append(s.came, o.cfg.Now())
	}
	s.seen[ref] = true
	if h.Act() != nil {
		o.due[h.Act()] = true
	}
	return s, c.sid, ref, ""
}

// forgetOld forgets when the sightings came that are too old to count.
func (s *site) forgetOld(now time.Time) {
	for len(s.came) > 0 && now.Sub(s.came[0]) > rateWindow {
		s.came = s.came[1:]
	}
}

// dueLocked reports whether h is what an act of ours was made for: the first reference that comes of it. No page can have
// more of them than we make acts, so they are not counted, and no flood of a page's own can crowd them out.
func (o *Operations) dueLocked(h browser.Held) bool {
	return h.Act() != nil && !o.due[h.Act()]
}

// expectingLocked returns the round that last had the browser make an act again, when h came of that. The round may be
// over: then h asks for nothing that could be approved (OPS3-7.18, 7.22).
func (o *Operations) expectingLocked(s *site, h browser.Held) *round {
	if s == nil || h.Act() == nil || h.Act().Again == nil {
		return nil
	}
	r := o.again[h.Act().Again]
	if r == nil || r.site != s || (r.state.final() && !r.overLocked()) {
		return nil
	}
	return r
}

// repeatedLocked returns the round whose very request h repeats while an approval of it may be at the Company, or after it
// was not known what became of that: the page made it by itself, or for the same act. Another operation for the same action
// is not asked about before the first one's end is known (Operations v3, section 7); an act that we make anew is another
// matter.
func (o *Operations) repeatedLocked(s *site, h browser.Held) *round {
	if s == nil {
		return nil
	}
	for _, r := range slices.Backward(o.rounds) {
		if r.site == s && r.mayBeUsedLocked() && r.sameActionLocked(h) {
			return r
		}
	}
	return nil
}

// mayBeUsedLocked reports whether an approval of the round may be at the Company, or it is not known what became of it.
func (r *round) mayBeUsedLocked() bool {
	return r.state.Spent() && !r.state.final() || r.state == Settled && r.outcome == Unknown
}

// sameActionLocked reports whether h asks for the round's action once more: it is the round's very request, and no act that was
// made since explains it.
func (r *round) sameActionLocked(h browser.Held) bool {
	return r.ownLocked(h) && r.beforeLocked(root(h.Act()))
}

// beforeLocked reports whether what act brings was wanted when the round began, and not only since: nobody's act, the round's
// own, or an earlier one whose answer was slow to come while the page asked by itself.
func (r *round) beforeLocked(act *browser.Made) bool {
	return act == nil || act == r.act() || r.act() == nil && !act.Began.After(r.began)
}

// overLocked reports whether no reference that comes of the round's act may be put to the User any more: the operation
// was performed, or whether it was is not known.
func (r *round) overLocked() bool {
	return r.stopped != nil || (r.state == Settled && (r.outcome == Performed || r.outcome == Unknown))
}

// movesLocked reports whether the round goes on by itself.
func (r *round) movesLocked() bool { return !r.state.final() && r.stopped == nil && !r.parked }

// makesAgain notes that the round's act is made again for it: what comes of that is its own.
func (r *round) makesAgain() {
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	r.ops.again[r.act()] = r
}

func (o *Operations) openLocked() int {
	n := 0
	for _, r := range o.rounds {
		if r.movesLocked() {
			n++
		}
	}
	return n
}

// newRoundLocked begins a round; nil when it can be given no name.
func (o *Operations) newRoundLocked(s *site, h browser.Held) *round {
	id, err := randomid.Short(o.cfg.Rand)
	if err != nil {
		return nil // a name that another round has would hide that one in the ledger
	}
	r := &round{ops: o, site: s, state: Sighted, held: h, id: id, began: o.cfg.Now()}
	o.rounds = append(o.rounds, r)
	return r
}

func (o *Operations) forget(r *round) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, other := range o.rounds {
		if other == r {
			o.rounds = append(o.rounds[:i:i], o.rounds[i+1:]...)
			o.changedLocked()
			return
		}
	}
}

func (o *Operations) start(r *round) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending {
		return // its line is in the ledger: a later run finds it
	}
	o.running.Go(func() { r.run(trace.Row(o.life, r.id)) })
}

func (o *Operations) refuse(ctx context.Context, line Sighting) {
	o.mu.Lock()
	o.refusals++
	n := o.refusals
	o.mu.Unlock()
	switch {
	case n > maxRefusals+1:
		return
	case n == maxRefusals+1:
		line = Sighting{Why: TooMany}
	}
	// A refused sighting permits nothing, so a line that can't be written costs nothing but itself; it is still said.
	if _, err := o.cfg.Ledger.Append(ctx, ledger.Entry{Kind: "sighting", Data: line}); err != nil {
		o.notify("", Trouble{What: "a refused sighting could not be written down: " + err.Error()})
	}
	o.notify("", line)
}

// Close stops the rounds where they stand: each one's last line in the ledger says where that is. Open questions stay
// open for a later run. It returns when nothing of it runs any more.
func (o *Operations) Close() {
	o.mu.Lock()
	o.ending = true
	o.mu.Unlock()
	o.end()
	o.running.Wait()
}

func (o *Operations) notify(round string, body any) {
	o.cfg.Notify(Happening{Time: o.cfg.Now(), Round: round, Body: body})
}

func (o *Operations) changedLocked() {
	close(o.changed)
	o.changed = make(chan struct{})
}
