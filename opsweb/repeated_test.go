package opsweb

import (
	"testing"
	"testing/synctest"

	"github.com/papaver-agent/papaver/browser"
)

// The page asks again by itself, long after its act, for what was approved and whose outcome is not known: nobody is asked
// about a second operation for the same action.
//
// Clauses: OPS3-7.14
func TestWhatAPageAsksForAgainIsNotPutToTheUserWhileTheFirstOutcomeIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.ops.mu.Lock()
		r := &round{ops: w.ops, site: w.ops.sites[w.tab.ID()], state: Settled, outcome: Unknown}
		w.ops.rounds = append(w.ops.rounds, r)
		for _, tc := range []struct {
			state   State
			outcome Outcome
			want    bool
		}{
			{Sending, "", true}, {Recorded, "", true}, {Replaying, "", true}, {Looking, "", true}, {Settled, Unknown, true},
			{Sighted, "", false}, {Asking, "", false}, {Answered, "", false}, {Settled, Performed, false}, {Settled, Refused, false}, {Settled, Failed, false},
		} {
			r.state, r.outcome = tc.state, tc.outcome
			if got := w.ops.repeatedLocked(r.site, browser.Held{}) != nil; got != tc.want {
				t.Errorf("a repeated request while the round is %s %s belongs to it: %v, want %v", tc.state, tc.outcome, got, tc.want)
			}
		}
		w.ops.rounds = nil
		w.ops.mu.Unlock()
	})
}
