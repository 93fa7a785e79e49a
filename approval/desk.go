package approval

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/internal/randomid"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/operation"
)

var (
	// ErrAnswered is returned for an answer to a request that has its outcome already; the decision that won comes
	// with it.
	ErrAnswered = errors.New("this question has been answered already")
	// ErrUnknownRequest is returned for a request this desk never opened, or has closed and forgotten.
	ErrUnknownRequest = errors.New("no such question is open here")
	// ErrOtherTerms is returned for an answer that was given to something else than what is open: other terms,
	// another revision. It changes nothing.
	ErrOtherTerms = errors.New("the answer was given to other terms than the ones that are open")
	// ErrNotDisplayable is returned for a question that cannot be shown whole, so cannot be approved (law 4).
	ErrNotDisplayable = errors.New("the question has no terms to show")
)

// maxClosed is how many closed requests the desk remembers, so that a late answer is told what won.
const maxClosed = 256

// Config is what a desk needs.
type Config struct {
	// Record writes a decision down. The desk makes no decision known before Record returned nil; an error leaves
	// the request pending. Required.
	Record func(ctx context.Context, r Request, d Decision) error
	// Lock is the home's, when it has one: a User's answer counts only with its signature.
	Lock *lock.Lock
	// Deadline is the last moment at which an answer to a question counts, by the wall clock as it stands. It is asked again
	// for each answer, at the deadline, and at [Desk.ClockMoved], since that clock may be set. Nil: the question's own.
	Deadline func(Question) time.Time
	// Now is the wall clock; time.Now when nil.
	Now func() time.Time
	// Rand gives the bytes of request ids; crypto/rand when nil.
	Rand io.Reader
}

// Desk holds the open questions of one process. It is safe for concurrent use.
type Desk struct {
	cfg Config

	mu      sync.Mutex
	open    []*entry // in the order they were opened
	closed  []*entry // the last maxClosed, oldest first
	changed chan struct{}
	moved   chan struct{} // closed when the deadlines are to be asked for anew
}

type entry struct {
	request  Request       // its deadline moves with the clock; guarded by the desk's mu
	done     chan struct{} // closed when decision is set
	decision Decision

	deciding  sync.Mutex // held while a decision is being written, so that there is one
	withdrawn bool       // nobody waits for it any more, so no answer counts; guarded by deciding
}

// NewDesk returns an empty desk. A missing Record is an error: a desk that keeps no record must not exist.
func NewDesk(cfg Config) (*Desk, error) {
	if cfg.Record == nil {
		return nil, errors.New("approval: a desk needs a record function")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	return &Desk{cfg: cfg, changed: make(chan struct{}), moved: make(chan struct{})}, nil
}

// NewRequest gives q its identity. It does not open it: the caller writes the request down first.
func (d *Desk) NewRequest(q Question) (Request, error) {
	if q.Operation.Terms.Empty() {
		return Request{}, fmt.Errorf("%w: operation %s", ErrNotDisplayable, q.Operation.ID)
	}
	id, err := randomid.Long(d.cfg.Rand, "q_")
	if err != nil {
		return Request{}, fmt.Errorf("a question's id: %w", err)
	}
	if d.cfg.Deadline != nil {
		q.Deadline = d.cfg.Deadline(q)
	}
	return Request{ID: RequestID(id), Opened: d.cfg.Now(), Question: q}, nil
}

// Ask opens r, waits for its outcome and returns it. It returns by itself when the question's deadline passes
// (Expired), which is recorded like an answer. When ctx ends first the question is withdrawn from the desk without a
// record and the error is ctx's: the question is still open for a later run. An answer that was being written down at
// that moment counts and is returned.
func (d *Desk) Ask(ctx context.Context, r Request) (Decision, error) {
	e := &entry{request: r, done: make(chan struct{})}
	d.mu.Lock()
	d.open = append(d.open, e)
	d.notifyLocked()
	d.mu.Unlock()

	for {
		moved := d.nextMove() // before the clock is read, so that no move is missed between
		left := d.deadline(e).Sub(d.cfg.Now())
		if left <= 0 {
			decision, err := d.decide(ctx, e, Decision{State: Expired})
			if err == nil || errors.Is(err, ErrAnswered) {
				return decision, nil
			}
			return d.withdraw(e, err)
		}
		timer := time.NewTimer(left)
		select {
		case <-e.done:
			timer.Stop()
			return e.decision, nil
		case <-ctx.Done():
			timer.Stop()
			return d.withdraw(e, ctx.Err())
		case <-moved:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// ClockMoved has the deadlines of the open questions asked for anew: this machine's clock was set, or it has slept while the
// desk's timers stood still, or Config.Deadline says something else. It does not wait for it. A deadline that moved without it
// is noticed when an answer comes or the old one passes; no answer counts after it either way. Safe for concurrent use.
func (d *Desk) ClockMoved() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.moved)
	d.moved = make(chan struct{})
}

// nextMove is closed at the next ClockMoved.
func (d *Desk) nextMove() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.moved
}

// Decide gives a request its one answer. The first call wins; later calls change nothing and return ErrAnswered with
// the decision that won. An answer to other terms than the open ones is ErrOtherTerms, one after the deadline is
// ErrAnswered with an expired decision, and a User's at a locked home without its signature is [lock.ErrSignature].
// Decide returns only after the decision is recorded. Safe for concurrent use.
// Requests and decisions, "Deadlines and Cancellation"; OPS3-5.06.
func (d *Desk) Decide(ctx context.Context, a Answer) (Decision, error) {
	e, err := d.find(a.shown.Request)
	if err != nil {
		return Decision{}, err
	}
	request := d.requestOf(e)
	if a.shown != request.Shows() {
		return Decision{}, ErrOtherTerms
	}
	if d.cfg.Lock != nil && a.approver == operation.ByUser {
		if err := d.cfg.Lock.Verify(request.Statement(a.approved), a.signature); err != nil {
			return Decision{}, err
		}
	}
	decision := Decision{State: Denied, Approver: a.approver, InputType: a.inputType, Shown: a.shown, Signature: a.signature}
	if a.approved {
		decision.State = Approved
		decision.ExpiresAt = request.Question.Operation.ExpiresAt
	}
	return d.decide(ctx, e, decision)
}

func (d *Desk) decide(ctx context.Context, e *entry, decision Decision) (Decision, error) {
	e.deciding.Lock()
	defer e.deciding.Unlock()
	select {
	case <-e.done:
		return e.decision, ErrAnswered
	default:
	}
	if e.withdrawn {
		return Decision{}, ErrUnknownRequest
	}
	decision.DecidedAt = d.cfg.Now()
	late := !decision.DecidedAt.Before(d.deadline(e))
	if late {
		decision = Decision{State: Expired, DecidedAt: decision.DecidedAt}
	}
	if err := d.cfg.Record(ctx, d.requestOf(e), decision); err != nil {
		return Decision{}, fmt.Errorf("the answer was not written down and does not count: %w", err)
	}
	e.decision = decision
	d.close(e)
	if late {
		return decision, ErrAnswered
	}
	return decision, nil
}

// requestOf is an entry's request as it stands.
func (d *Desk) requestOf(e *entry) Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return e.request
}

// deadline is the last moment at which an answer counts, by the wall clock as it stands. When that has moved, whoever shows
// the question is told.
func (d *Desk) deadline(e *entry) time.Time {
	request := d.requestOf(e)
	if d.cfg.Deadline == nil {
		return request.Question.Deadline
	}
	at := d.cfg.Deadline(request.Question)
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.Sub(e.request.Question.Deadline).Abs() >= time.Second {
		e.request.Question.Deadline = at
		d.notifyLocked()
	}
	return at
}

func (d *Desk) close(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(e.done)
	d.open = slices.DeleteFunc(d.open, func(o *entry) bool { return o == e })
	d.closed = append(d.closed, e)
	if len(d.closed) > maxClosed {
		d.closed = slices.Delete(d.closed, 0, len(d.closed)-maxClosed)
	}
	d.notifyLocked()
}

// withdraw takes a question off the desk for the reason why, unless it has its answer: an answer that is on record is
// never lost, and one that comes later is not recorded.
func (d *Desk) withdraw(e *entry, why error) (Decision, error) {
	e.deciding.Lock()
	defer e.deciding.Unlock()
	select {
	case <-e.done:
		return e.decision, nil
	default:
	}
	e.withdrawn = true
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = slices.DeleteFunc(d.open, func(o *entry) bool { return o == e })
	d.notifyLocked()
	return Decision{}, why
}

func (d *Desk) find(id RequestID) (*entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, list := range [][]*entry{d.open, d.closed} {
		for _, e := range list {
			if e.request.ID == id {
				return e, nil
			}
		}
	}
	return nil, ErrUnknownRequest
}

func (d *Desk) notifyLocked() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// Pending returns the open requests in the order they were opened, and a channel that is closed when that changes.
func (d *Desk) Pending() ([]Request, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	requests := make([]Request, len(d.open))
	for i, e := range d.open {
		requests[i] = e.request
	}
	return requests, d.changed
}

// Outcome returns how a request ended; false while it is open or when the desk no longer knows it.
func (d *Desk) Outcome(id RequestID) (Decision, bool) {
	e, err := d.find(id)
	if err != nil {
		return Decision{}, false
	}
	select {
	case <-e.done:
		return e.decision, true
	default:
		return Decision{}, false
	}
}
