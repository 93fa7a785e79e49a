package opsweb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/operation"
	"github.com/papaver-agent/papaver/trace"
)

// writeTime is how long a line of the ledger may take, the wait for another process's append included.
const writeTime = 30 * time.Second

// round is one operation on its way. One goroutine moves it on, with run; what others read is guarded by ops.mu.
type round struct {
	ops   *Operations
	site  *site
	id    string
	began time.Time // when its first reference came

	// Guarded by ops.mu.
	state    State
	outcome  Outcome
	verdict  Outcome      // what the last revision itself came to; another one than outcome while an earlier approval lives
	into     *round       // when state is Merged: the round that has the operation
	told     bool         // it is final, and that was told
	stopped  error        // the round could not go on; its state in the ledger stands
	parked   bool         // it waits for its flow to be run again
	followed bool         // a reference that came meanwhile has begun a round of its own, after this one
	held     browser.Held // the refusal that is to be made again; set by the round's goroutine alone
	alive    *living      // an approval of an earlier revision, or of this one, that may still be used

	// Of the goroutine that moves the round on.
	reference Reference // the one to look up: of the approved revision, once there is one
	op        operation.Operation
	previous  *operation.Operation // the revision before op
	question  approval.Request
	decision  approval.Decision
	approval  *operation.Approval
	unsure    bool // an approval was sent and what became of it is not known
	replays   int
	attempts  int             // tries to send the approval
	resumed   *resumed        // of a round that another run began; nil for all others
	looked    map[string]bool // rounds of the same operation that were looked up before this one asks

	mu      sync.Mutex
	next    []successor // the references that came in answer to a replay, or meanwhile, the newest last
	left    []successor // those of other requests that turned out to be of other operations
	offered *offered    // other terms of the operation, which came while the User is being asked
	recall  func()      // takes the open question back; nil while none is open
}

// living is an approval that the Company has recorded and that was not seen to be used up.
type living struct {
	reference Reference
	revision  string
	ends      string // as the Company wrote it
}

// offered is a revision that another reference to a round's operation named, and where it came.
type offered struct {
	op   operation.Operation
	from successor
}

// take puts a successor in the place of the reference and refusal that the round had.
func (r *round) take(next *successor) {
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	r.reference, r.held = next.reference, next.held
}

// act is the act of ours that explains the round; nil when none does. For a replay it is the act that was made again.
func (r *round) act() *browser.Made {
	return root(r.held.Act())
}

// root is the act that was made first; nil for none.
func root(a *browser.Made) *browser.Made {
	for a != nil && a.Again != nil {
		a = a.Again
	}
	return a
}

// move is what a state's work came to: the event, the body of its line, and what the round ends as.
type move struct {
	on      Event
	body    any
	outcome Outcome
	verdict Outcome // what the present revision itself came to, when that is not outcome
	into    *round  // of evSame
	tells   any     // what is told when the line is on disk, before the body
	written bool    // the line is on disk already
	claim   string  // of evResumed: the owner that is gone
}

// telling has a move tell news too, when its line is on disk.
func (m move) telling(news any) move {
	m.tells = news
	return m
}

func settle(outcome Outcome, why string) move {
	return move{on: evSettle, outcome: outcome, body: SettledAs{Outcome: outcome, Why: why}}
}

func settlef(outcome Outcome, format string, args ...any) move {
	return settle(outcome, fmt.Sprintf(format, args...))
}

// run moves the round on until it is final, cannot be written down, or ctx ends. In the last two cases the ledger says
// where it stands.
func (r *round) run(ctx context.Context) {
	for meanwhile := 0; !r.state.final(); {
		if ctx.Err() != nil {
			r.stop(ctx, errStopped) // nothing that the last line permits is begun after the run's end
			return
		}
		working, span := trace.Begin(ctx, traced[r.state], trace.Word("state", r.state))
		m, err := r.work(working)
		span.End(trace.Word("event", m.on), trace.Word("outcome", m.outcome), trace.Failed(err))
		if err == nil {
			err = r.carry(ctx, r.whileAlive(m))
		}
		if errors.Is(err, errMeanwhile) && meanwhile < maxMeanwhile {
			meanwhile++
			continue // the ledger says more by now
		}
		if errors.Is(err, errForFlow) {
			r.park()
			return
		}
		if err != nil {
			r.stop(ctx, err)
			return
		}
	}
	r.shed()
}

// shed lets go of what was needed to move the round on, now that it has ended. What stays is what a later sighting is compared with:
// its request, act and reference, how it ended, and of which revision. All the rest is in the ledger.
func (r *round) shed() {
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	r.op = operation.Operation{ID: r.op.ID, Revision: r.op.Revision}
	r.previous, r.approval, r.looked = nil, nil, nil
	r.question, r.decision = approval.Request{}, approval.Decision{}
}

// park ends the work on a round until its flow has been run again.
func (r *round) park() {
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	r.parked = true
	r.ops.changedLocked()
}

// traced are what the work of a state counts as in a trace.
var traced = map[State]trace.Stage{
	Sighted: trace.Endpoint, Resighted: trace.Replay, Fetched: trace.Earlier, Asking: trace.Question, Answered: trace.Approval,
	Denied: trace.Settle, Sending: trace.Approval, Recorded: trace.Replay, Replaying: trace.Replay, Looking: trace.LookUp, RerunAsking: trace.Question,
}

// work does what the present state permits.
func (r *round) work(ctx context.Context) (move, error) {
	switch r.state {
	case Sighted:
		if r.gone() {
			return r.fetchGone(ctx)
		}
		return r.fetch(ctx)
	case Resighted:
		if r.gone() {
			return r.settleResighted()
		}
		return r.sightAgain(ctx)
	case Fetched:
		return r.openQuestion(ctx)
	case Asking:
		return r.ask(ctx)
	case Answered:
		return r.prepare(ctx)
	case Denied:
		if r.approval != nil {
			return settle(Refused, "the approval of the terms before was not recorded"), nil
		}
		return settle(Refused, ""), nil
	case Sending:
		return r.send(ctx)
	case Recorded:
		return r.replay(ctx)
	case Looking:
		return r.lookUp(ctx)
	case RerunAsking:
		return r.askRerun(ctx)
	default:
		return move{}, fmt.Errorf("round %s: no work for state %s", r.id, r.state)
	}
}

// apply writes the line of an event and puts the round in its new state. Nothing that the new state permits happens
// before. The line is written even when ctx has ended: what happened, happened.
func (r *round) apply(ctx context.Context, m move) error {
	a, ok := next(r.state, m.on)
	if !ok {
		return fmt.Errorf("round %s: event %s has no place in state %s", r.id, m.on, r.state)
	}
	if m.body == nil {
		m.body = Note{}
	}
	if !m.written {
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
		defer cancel()
		if _, err := r.ops.cfg.Ledger.Append(writing, ledger.Entry{Kind: a.line, Round: r.id, Data: m.body, Claim: m.claim, Unless: r.unless(m)}); err != nil {
			return fmt.Errorf("round %s: %s was not written down: %w", r.id, a.line, err)
		}
	}
	if m.on == evRecorded {
		r.keepAlive()
	}
	r.ops.mu.Lock()
	r.state, r.into = a.to, m.into
	if m.outcome != "" {
		r.outcome, r.verdict = m.outcome, m.outcome
	}
	if m.verdict != "" {
		r.verdict = m.verdict
	}
	r.ops.mu.Unlock()
	// The news goes out before any Settle can return because of it.
	if m.tells != nil {
		r.ops.notify(r.id, m.tells)
	}
	r.ops.notify(r.id, m.body)
	if a.to.final() {
		r.leave(ctx)
	}
	r.ops.mu.Lock()
	r.told = a.to.final()
	r.ops.changedLocked()
	r.ops.mu.Unlock()
	return nil
}

// keepAlive notes that the approval of the present revision is recorded and may be used from now on.
func (r *round) keepAlive() {
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	r.alive = &living{reference: r.reference, revision: r.op.Revision, ends: r.op.ExpiresAtSent}
}

// whileAlive has a round not end as known not to be performed while an approval of it can still be used: a page's own
// request would use it up.
func (r *round) whileAlive(m move) move {
	if r.alive == nil || m.on != evSettle || m.outcome == Performed || m.outcome == Unknown {
		return m
	}
	said := map[Outcome]string{
		Refused:  "the User did not approve the new terms",
		Declined: "the Company declined the new terms",
		Expired:  "nobody approved the new terms in time",
		Failed:   "the new terms could not be approved",
	}[m.outcome]
	if s, ok := m.body.(SettledAs); ok && s.Why != "" {
		said += " (" + s.Why + ")"
	}
	why := fmt.Sprintf("%s, and the approval of revision %s before is still recorded: it can be used until %s", said, r.alive.revision, r.alive.ends)
	alive := move{on: evSettle, outcome: Unknown, verdict: m.outcome, body: SettledAs{Outcome: Unknown, Why: why, Verdict: m.outcome}}
	return alive.telling(m.tells)
}

// stop ends the work on a round that is not settled.
func (r *round) stop(ctx context.Context, err error) {
	if ctx.Err() == nil {
		r.ops.notify(r.id, Trouble{What: err.Error()})
	}
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	r.stopped = err
	r.ops.changedLocked()
}

// wait waits d of the round's time; an error is ctx's.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recordDecision is the desk's record function: the line of an answer. An expiry has no line of its own, the round
// settles on it.
func (o *Operations) recordDecision(ctx context.Context, req approval.Request, d approval.Decision) error {
	if d.State == approval.Expired {
		return nil
	}
	body := Answer{
		Request: req.ID, Approver: d.Approver, Approved: d.State == approval.Approved, State: d.State,
		Shown: d.Shown, InputType: d.InputType, DecidedAt: d.DecidedAt,
	}
	if d.Signature != "" {
		signed := req.Statement(body.Approved)
		body.Signed, body.Signature = &signed, d.Signature
	}
	if req.Question.Kind != approval.KindApproval {
		body.Kind = req.Question.Kind
	}
	kind := answerLine(req.Question.Kind, body.Approved)
	if _, err := o.cfg.Ledger.Append(ctx, ledger.Entry{Kind: kind, Round: req.Question.Round, Data: body}); err != nil {
		return err
	}
	o.notify(req.Question.Round, body)
	return nil
}

// errStopped is returned by work when the round's own waits were ended.
var errStopped = errors.New("the run is ending")
