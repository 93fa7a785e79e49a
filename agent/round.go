package agent

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/opsweb"
)

// Round is one operation that an act met, from its first sighting to its outcome. It goes on by itself, whether anybody
// waits for it or not: the User answers in a terminal UI, and nothing here answers for them. Safe for concurrent use. After
// [Agent.Close] it still says what was known at the end. Of the last 200 operations that have ended it also still has the
// events, the reason and the terms; of those before only the ledger has them.
type Round struct {
	agent *Agent
	id    string
}

// Rounds returns the run's operations in the order they began.
func (a *Agent) Rounds() []*Round { return a.roundsOf(a.ops.All()) }

// Round returns the run's operation of that name, and false when there is none.
func (a *Agent) Round(id string) (*Round, bool) {
	_, _, known := a.ops.Stand(id)
	return &Round{agent: a, id: id}, known
}

func (a *Agent) roundsOf(ids []string) []*Round {
	var rounds []*Round
	for _, id := range ids {
		rounds = append(rounds, &Round{agent: a, id: id})
	}
	return rounds
}

// ID names the operation in events, in the ledger and in `papaver ledger show`.
func (r *Round) ID() string {
	s, _, _ := r.agent.ops.Stand(r.id)
	return s.Round
}

// Status is how it stands now.
func (r *Round) Status() Status {
	s, _, _ := r.agent.ops.Stand(r.id)
	return statusOf(s)
}

// Why says, once it has ended, why it ended so; empty where the word says it all, and before. Of a decline it is the
// Company's own reason, as it was sent. It is for people.
func (r *Round) Why() string {
	why := ""
	for _, e := range r.agent.rounds.of(r.ID()) {
		switch b := e.Body.(type) {
		case opsweb.Approval:
			if b.Outcome == "declined" {
				why = b.Reason
			}
		case opsweb.SettledAs:
			if b.Why != "" {
				why = b.Why
			}
		}
	}
	return why
}

// Operation is what the Company says the operation is: company, summary, exact terms, deadline, of the newest revision that
// was fetched. False before any was. Its texts are the Company's, as they were sent.
func (r *Round) Operation() (op opsweb.Operation, fetched bool) {
	for _, e := range r.agent.rounds.of(r.ID()) {
		if body, ok := e.Body.(opsweb.Operation); ok {
			op, fetched = body, true
		}
	}
	return op, fetched
}

// Wait waits until the operation has its outcome, and returns it. The wait has no deadline of its own: a question ends with
// its operation's. The error is ctx's, when that ends first; or says why the operation could not go on, when nothing of it
// was approved: [ErrClosed] when the agent was closed before.
func (r *Round) Wait(ctx context.Context) (Status, error) {
	for {
		s, changed, _ := r.agent.ops.Stand(r.id)
		if s.Over {
			if s.Outcome == "" {
				return statusOf(s), r.agent.stopped(s)
			}
			return statusOf(s), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return statusOf(s), fmt.Errorf("waiting for operation %s: %w", s.Round, ctx.Err())
		}
	}
}

// stopped is the error of an operation that could not go on, and of which nothing was sent.
func (a *Agent) stopped(s opsweb.Stand) error {
	a.mu.Lock()
	closed := a.closed
	a.mu.Unlock()
	t := &trouble.Error{
		What: "an operation could not go on", Err: s.Stopped, Done: "what papaver ledger show " + s.Round + " lists",
		Undone: "nothing of it was approved, so nothing is performed", Next: next([]opsweb.State{s.State}),
	}
	if closed {
		t.What, t.Err, t.Kind = "the agent was closed before an operation was settled", nil, ErrClosed
	}
	return t
}

// Events yields what happens to the operation, in order and from its beginning, until nothing more becomes of it in this run
// or ctx ends. The names and bodies are those of [Event]. Whoever ranges over it waits; there is nothing to close.
func (r *Round) Events(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		id, told := r.id, 0
		for {
			s, moved, _ := r.agent.ops.Stand(id)
			events, changed := r.agent.rounds.from(id, told)
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
			told += len(events)
			switch {
			case len(events) > 0:
				continue
			case s.Round != id:
				id, told = s.Round, 0
				continue
			case s.Over:
				return
			}
			select {
			case <-changed:
			case <-moved:
			case <-ctx.Done():
				return
			}
		}
	}
}

// maxEndedRounds is of how many operations that have ended the events are kept: the last ones. The ledger has all.
const maxEndedRounds = 200

// maxRoundEvents is how many events of one operation are kept; of a page that repeats its request for ever only sightings are
// left out.
const maxRoundEvents = 1000

// roundEvents are the events of each operation of a run. Safe for concurrent use.
type roundEvents struct {
	mu      sync.Mutex
	events  map[string][]Event
	ended   []string // the operations that have, in that order
	changed chan struct{}
}

func newRoundEvents() *roundEvents {
	return &roundEvents{events: make(map[string][]Event), changed: make(chan struct{})}
}

func (r *roundEvents) add(e Event) {
	if e.Round == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, sighting := e.Body.(opsweb.Sighting); sighting && len(r.events[e.Round]) >= maxRoundEvents {
		return
	}
	r.events[e.Round] = append(r.events[e.Round], e)
	switch e.Body.(type) {
	case opsweb.SettledAs, opsweb.MergedInto:
		if r.ended = append(r.ended, e.Round); len(r.ended) > maxEndedRounds {
			delete(r.events, r.ended[0])
			r.ended = slices.Delete(r.ended, 0, 1)
		}
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *roundEvents) of(id string) []Event {
	events, _ := r.from(id, 0)
	return events
}

// from returns the events after the first so many, and a channel that is closed when there are more of any operation.
func (r *roundEvents) from(id string, first int) ([]Event, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events[id]
	return events[min(first, len(events)):len(events):len(events)], r.changed
}
