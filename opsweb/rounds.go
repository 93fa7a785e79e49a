package opsweb

import (
	"context"
	"errors"
	"fmt"

	"github.com/papaver-agent/papaver/browser"
)

// Stand is how a round stands at one moment.
type Stand struct {
	Round   string // the one that has the operation: another one when it was merged
	State   State
	Outcome Outcome // empty while none is known
	// Over is set when nothing more becomes of it in this run: it is settled, or it could not go on, and then Stopped says why.
	Over    bool
	Stopped error
}

// Asks reports whether the round waits for the User.
func (s Stand) Asks() bool { return !s.Over && (s.State == Asking || s.State == RerunAsking) }

// Stand returns how a round stands, and a channel that is closed when any round of the run has moved on. False when the run
// has no such round.
func (o *Operations) Stand(round string) (s Stand, changed <-chan struct{}, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.rounds {
		if r.id == round {
			return r.last().standLocked(), o.changed, true
		}
	}
	return Stand{}, o.changed, false
}

func (r *round) standLocked() Stand {
	return Stand{Round: r.id, State: r.state, Outcome: r.outcomeLocked(), Over: r.told || r.stopped != nil || r.parked, Stopped: r.stopped}
}

// last is the round that has the operation.
func (r *round) last() *round {
	for r.into != nil {
		r = r.into
	}
	return r
}

// metIn reports whether an act of ours in the page met the round.
func (r *round) metIn(page browser.ContextID) bool {
	in, _ := r.held.Context()
	return r.act() != nil && in == page
}

// Met returns the names of the rounds that an act of ours met, in the order they began: of those it began, and of those that
// had the same operation already. An act that was made again for an operation counts as the first one.
func (o *Operations) Met(act *browser.Made) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.namesLocked(func(r *round) bool { return act != nil && r.act() == act })
}

// OpenIn returns the names of the open rounds that acts of ours in the page met.
func (o *Operations) OpenIn(page browser.ContextID) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.namesLocked(func(r *round) bool { return r.metIn(page) && !r.last().standLocked().Over })
}

// All returns the names of the run's rounds, in the order they began.
func (o *Operations) All() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.namesLocked(func(*round) bool { return true })
}

// namesLocked names the rounds that have the operations of those that fit.
func (o *Operations) namesLocked(fits func(*round) bool) []string {
	chosen := make(map[*round]bool)
	for _, r := range o.rounds {
		if fits(r) {
			chosen[r.last()] = true
		}
	}
	var names []string
	for _, r := range o.rounds {
		if chosen[r] {
			names = append(names, r.id)
		}
	}
	return names
}

// SettleIn is Settle for the rounds that acts of ours in one page met.
func (o *Operations) SettleIn(ctx context.Context, page browser.ContextID) error {
	return o.settle(ctx, func(r *round) bool { return r.metIn(page) }, func(s Stand) bool { return s.Over })
}

// AskIn waits until no round that acts of ours in the page met goes on by itself: each waits for the User or is over. Its
// errors are those of Settle.
func (o *Operations) AskIn(ctx context.Context, page browser.ContextID) error {
	return o.settle(ctx, func(r *round) bool { return r.metIn(page) }, func(s Stand) bool { return s.Over || s.Asks() })
}

// settle waits until each round that fits, or that such a one was merged into, is at rest. A round of the run that could not
// go on is an error.
func (o *Operations) settle(ctx context.Context, fits func(*round) bool, rests func(Stand) bool) error {
	for {
		open, changed, err := o.look(fits, rests)
		if err != nil {
			return err
		}
		if !open {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for operations to settle: %w", ctx.Err())
		}
	}
}

// look is one look of settle.
func (o *Operations) look(fits func(*round) bool, rests func(Stand) bool) (open bool, changed <-chan struct{}, stopped error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	wanted := make(map[*round]bool)
	for _, r := range o.rounds {
		for at := r; fits(r) && at != nil; at = at.into {
			wanted[at] = true
		}
	}
	for _, r := range o.rounds {
		if r.parked || r.gone() && r.stopped != nil {
			continue // see Resumed
		}
		if r.stopped != nil {
			stopped = errors.Join(stopped, r.stopped)
		} else if wanted[r] && !rests(r.standLocked()) {
			open = true
		}
	}
	return open, o.changed, stopped
}
