package opsweb

import (
	"context"

	"github.com/papaver-agent/papaver/browser"
)

// Settle waits until no round is open that an act of ours explains, or, with all, none at all. A round that could not
// go on (its ledger line could not be written) is an error.
func (o *Operations) Settle(ctx context.Context, all bool) error {
	return o.settle(ctx, func(r *round) bool { return all || r.act() != nil }, func(s Stand) bool { return s.Over })
}

// Open returns how many rounds are open.
func (o *Operations) Open() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.openLocked()
}

// Outcomes returns the outcome of each operation that was settled, in the order they began. An operation that was
// stopped after its approval may have reached the Company has one too: unknown.
func (o *Operations) Outcomes() []Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	var outcomes []Outcome
	for _, r := range o.rounds {
		if outcome := r.outcomeLocked(); outcome != "" {
			outcomes = append(outcomes, outcome)
		}
	}
	return outcomes
}

// OutcomesOf returns the outcomes of the operations that an act of ours met, in the order they began: of those it began,
// and of those that were open already. An act that was made again for an operation counts as the first one.
func (o *Operations) OutcomesOf(act *browser.Made) []Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	var outcomes []Outcome
	met := o.metLocked(func(a *browser.Made) bool { return act != nil && a == act })
	for _, r := range o.rounds {
		if outcome := r.outcomeLocked(); met[r] && outcome != "" {
			outcomes = append(outcomes, outcome)
		}
	}
	return outcomes
}

// metLocked returns the rounds that an act which fits began, and those that such a round was merged into.
func (o *Operations) metLocked(fits func(*browser.Made) bool) map[*round]bool {
	met := make(map[*round]bool)
	for _, r := range o.rounds {
		if !fits(r.act()) {
			continue
		}
		met[r] = true
		for r.into != nil { // at its end is a round of its own
			r = r.into
			met[r] = true
		}
	}
	return met
}

// outcomeLocked is how the round ended; empty while it goes on, and when it was stopped before anything was sent.
func (r *round) outcomeLocked() Outcome {
	switch {
	case r.state == Settled:
		return r.outcome
	case (r.stopped != nil || r.parked) && r.spentLocked():
		return Unknown
	}
	return ""
}

// spentLocked reports whether an approval of the round may have reached the Company, and what became of it is not known.
func (r *round) spentLocked() bool {
	return r.state.Spent() || (r.alive != nil && !r.state.final())
}

// Standing returns the states of the rounds that are not settled. One that asks about new terms while an approval of it
// is recorded stands at Recorded too.
func (o *Operations) Standing() []State {
	o.mu.Lock()
	defer o.mu.Unlock()
	var states []State
	for _, r := range o.rounds {
		if !r.state.final() {
			states = append(states, r.state)
			if r.alive != nil && !r.state.Spent() {
				states = append(states, Recorded)
			}
		}
	}
	return states
}
