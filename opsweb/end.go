package opsweb

import (
	"context"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/operation"
)

// endTime is how long the end of a run may take to learn what became of approvals that may have reached the Company.
const endTime = 15 * time.Second

// Standing is a round that was not settled when its run ended, and whose approval may have reached the Company.
type Standing struct {
	State State  `json:"state"`
	Why   string `json:"why"` // what is known of it, for people
}

// Conclude stops the rounds where they stand, as Close does. Of each one whose approval may have reached the Company it
// then asks, at most 15 s in all and without the browser, what became of it: one that was performed is settled as that,
// any other stays as its last line says and is told as [Standing]. ctx bounds it further. A later call does nothing.
func (o *Operations) Conclude(ctx context.Context) {
	o.Close()
	o.mu.Lock()
	concluded := o.concluded
	o.concluded = true
	var spent []*round
	for _, r := range o.rounds {
		if r.spentLocked() {
			spent = append(spent, r)
		}
	}
	o.mu.Unlock()
	if concluded {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	var asking sync.WaitGroup
	for _, r := range spent {
		asking.Go(func() { r.conclude(ctx) })
	}
	asking.Wait()
}

// conclude asks what became of a round that nobody moves on any more.
func (r *round) conclude(ctx context.Context) {
	said, performed := r.lastWord(ctx)
	if performed && r.settleAtEnd(ctx) == nil {
		return
	}
	r.ops.notify(r.id, Standing{State: r.state, Why: said})
}

// lastWord asks until the Company says something else than that it is still performing, or ctx ends.
func (r *round) lastWord(ctx context.Context) (said string, performed bool) {
	said = "the Company could not be asked what became of it"
	reference, ends := r.reference, r.op.ExpiresAtSent
	if !r.state.Spent() { // it asks about other terms
		reference, ends = r.alive.reference, r.alive.ends
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		rep, err := r.tryLookUp(ctx, reference, fetchTries)
		switch {
		case err != nil:
			return said, false
		case rep.Kind != operation.Known || rep.broken != nil:
			return "the Company answered with " + rep.said(), false
		case rep.OperationID != r.op.ID:
			return "the Company answered with the state of another operation", false
		}
		r.ops.notify(r.id, LookedUp{Status: string(rep.State)})
		switch rep.State {
		case operation.Performed:
			return "the Company says that it is performed", true
		case operation.Approved:
			return "it is approved and not performed; the approval ends at " + ends, false
		}
		said = "the Company is still performing it"
		if wait(ctx, pause) != nil {
			return said, false
		}
	}
}

// settleAtEnd settles a round that the Company says is performed, by the table's rows.
func (r *round) settleAtEnd(ctx context.Context) error {
	why := Note{Why: "the run ended"}
	switch r.state {
	case Sending:
		if err := r.apply(ctx, move{on: evKnown, body: LookedUp{Status: string(operation.Performed)}}); err != nil {
			return err
		}
	case Recorded:
		if err := r.apply(ctx, move{on: evCannotReplay, body: why}); err != nil {
			return err
		}
	case Replaying:
		if err := r.apply(ctx, move{on: evReplayed, body: why}); err != nil {
			return err
		}
	}
	return r.apply(ctx, settle(Performed, ""))
}
