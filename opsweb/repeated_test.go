package opsweb

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// A page that asked by itself, and whose answer to an act before that is slow to come, asks for one action. An act that is made
// since is another matter.
//
// Clauses: OPS3-7.14
func TestAnActBeforeAPagesOwnRequestIsOfTheSameAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = func(p post) answer {
			if p.approval != "" {
				return lost
			}
			if p.ref == "r1" {
				return termsOf("exc_1", "v1", time.Hour)
			}
			return termsOf("exc_2", "v1", time.Hour)
		}
		w.byItself(refusedScript("r1"))
		synctest.Wait()
		w.ops.mu.Lock()
		r := w.ops.rounds[0]
		for after, want := range map[time.Duration]bool{-time.Second: true, 0: true, time.Second: false} {
			if got := r.beforeLocked(&browser.Made{Began: r.began.Add(after)}); got != want {
				t.Errorf("an act %v after: %v", after, got)
			}
		}
		w.ops.mu.Unlock()
		// Both are asked about. Once the approval of one may be at the Company, that of the other is not sent.
		w.byItself(refusedScript("r2"))
		synctest.Wait()
		if requests, _ := w.ops.Desk().Pending(); len(requests) != 2 {
			t.Fatalf("%d questions", len(requests))
		}
		defer w.answers(yes, yes)()
		w.must(w.settle())
		approved := make(map[string]bool)
		for _, p := range w.company.approvals() {
			approved[p.ref] = true
		}
		if got := w.ops.Outcomes(); len(approved) != 1 || count(w.disk.records(), "sending") != 1 || !slices.Contains(got, Unknown) || !slices.Contains(got, Failed) {
			t.Errorf("outcomes = %v, approved %v: %s", got, approved, w.trace())
		}
	})
}

// An act whose reference is gone is made again for a new one, but not while the same request was approved in another round: it
// would be that one's.
//
// Clauses: OPS3-7.14
func TestAnActIsNotMadeAgainForANewReferenceWhileItsRequestIsApprovedInAnotherRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = func(p post) answer {
			switch {
			case p.ref == "r1":
				return gone
			case p.approval != "":
				return lost
			}
			return terms("v1")
		}
		w.chrome.script = []page{refusedScript("r1")}
		w.disk.onLine("reference-gone", func() { w.tab.turn <- struct{}{} })
		w.press(w.tab)
		w.byItself(refusedScript("r2"))
		defer w.answers(yes)()
		w.must(wait(t.Context(), time.Second)) // it is being sent
		<-w.tab.turn
		w.must(w.settle())
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Failed, Unknown}) || strings.Contains(w.trace(), "PRESS") {
			t.Errorf("outcomes = %v: %s", got, w.trace())
		}
	})
}
