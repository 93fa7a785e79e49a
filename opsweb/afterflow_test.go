package opsweb

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

// flowAgain is a run that goes on with a round whose approval is recorded, and in which the flow is run again: its request
// is answered with a new reference, of another operation. status is what the Company then says of the first one.
func flowAgain(t *testing.T, status string) *world {
	t.Helper()
	w := killAt(t, story{endpoint: []answer{terms("v1"), recorded}, site: []page{refused("r1")}, user: []say{yes}}, "recorded")
	w.company.script = []answer{state("approved"), state("approved"), termsOf("exc_2", "v1", 24*time.Hour), state(status), state(status)}
	w.must(w.resumes("run_2", true))
	defer w.answers(yes)()
	if wanted, err := w.ops.Resumed(t.Context()); err != nil || !wanted {
		t.Fatalf("the flow is wanted: %v, %v", wanted, err)
	}
	w.chrome = newChrome(w)
	w.chrome.script = []page{refused("r2")}
	var err error
	w.browser, err = browser.Start(t.Context(), browser.Config{Driver: w.chrome, Bin: "/bin/true", NoSandbox: true, Watch: Header, OnHeld: w.ops.Held, Now: w.now})
	w.must(err)
	w.session = newSession(t, w.site())
	w.tab = w.join(w.session, w.site())
	w.press(w.tab)
	w.must(w.ops.Settle(t.Context(), false))
	w.ops.FlowEnded()
	if _, err := w.ops.Resumed(t.Context()); err != nil {
		t.Error(err)
	}
	w.close()
	return w
}

// mergedByFlow is one in which the flow's request performed the operation that it was run again for.
func mergedByFlow(t *testing.T) *world { return flowAgain(t, "performed") }

// A request that a flow makes again to finish an operation, and that is answered with a new one, may have been performed all
// the same: nobody is asked about the new one before that is known.
//
// Clauses: OPS3-7.18, OPS3-7.19, OPS3-7.20, OPS3-7.21, OPS3-7.22
func TestWhatAFlowMeetsInPlaceOfItsOperationIsNotAskedBeforeThatOnesEndIsKnown(t *testing.T) {
	for _, tc := range []struct {
		status   string
		outcomes []Outcome
	}{
		{"performed", []Outcome{Performed}},
		{"approved", []Outcome{Unknown, Failed}},
	} {
		t.Run(tc.status, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := flowAgain(t, tc.status)
				if got := w.ops.Outcomes(); !slices.Equal(got, tc.outcomes) {
					t.Errorf("outcomes = %v, want %v\n%s", got, tc.outcomes, w.trace())
				}
				if n := count(w.disk.records(), "question"); n != 1 || len(w.company.approvals()) != 1 {
					t.Errorf("%d questions, %d approvals", n, len(w.company.approvals()))
				}
			})
		})
	}
}

// After the flow has been run again and it is still not known what became of the operation, the page asks by itself for another
// one: nobody is asked about that either.
//
// Clauses: OPS3-7.14, OPS3-7.22
func TestWhatThePageAsksForAfterTheFlowIsNotPutToTheUserWhileTheOperationIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := flowEnded(t, sessionEnded)
		w.company.script = append(w.company.script, termsOf("exc_2", "v1", 24*time.Hour), gone)
		w.byItself(refused("r2"))
		w.must(w.settle())
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Unknown, Failed}) || len(bodies[Question](w)) != 2 {
			t.Errorf("outcomes = %v, %d questions\n%s", got, len(bodies[Question](w)), w.trace())
		}
		// What an act brings that was made while the flow ran is the flow's, also when the operation's end is known; a later act is another matter.
		w.ops.mu.Lock()
		defer w.ops.mu.Unlock()
		for _, tc := range []struct {
			outcome Outcome
			act     time.Duration // after the flow's end; 0: no act explains it
			want    bool
		}{{Unknown, 0, true}, {Performed, 0, false}, {Unknown, -time.Second, true}, {Performed, -time.Second, true}, {Unknown, time.Second, false}, {Performed, time.Second, false}} {
			r.outcome = tc.outcome
			if got := r.ranForLocked(madeAt(r, tc.act)); got != tc.want {
				t.Errorf("%s, %v after the flow: %v", tc.outcome, tc.act, got)
			}
		}
	})
}

func madeAt(r *round, later time.Duration) *browser.Made {
	if later == 0 {
		return nil
	}
	return &browser.Made{Began: r.resumed.ran.Add(later)}
}

// flowEnded is a run that goes on with a round whose approval is recorded, and whose flow was run again and did not come to the
// request; last is what the Company then says of the operation.
func flowEnded(t *testing.T, last answer) (*world, *round) {
	t.Helper()
	w := killAt(t, story{endpoint: []answer{terms("v1"), recorded}, site: []page{refused("r1")}, user: []say{yes}}, "recorded")
	w.company.script = []answer{state("approved"), state("approved"), last}
	w.must(w.resumes("run_2", true))
	stop := w.answers(yes)
	defer stop()
	_, err := w.ops.Resumed(t.Context())
	w.must(err)
	w.chrome = newChrome(w)
	w.browser, err = browser.Start(t.Context(), browser.Config{Driver: w.chrome, Bin: "/bin/true", NoSandbox: true, Watch: Header, OnHeld: w.ops.Held, Now: w.now})
	w.must(err)
	t.Cleanup(w.close)
	w.session = newSession(t, w.site())
	w.tab = w.join(w.session, w.site())
	w.ops.FlowEnded()
	_, err = w.ops.Resumed(t.Context())
	w.must(err)
	return w, w.ops.rounds[0]
}

// A run had the flow run again for one operation, met another one by the same request, and died. Whoever goes on with the second
// looks the first one up before anybody is asked, and knows from the ledger that it has to.
//
// Clauses: OPS3-7.14, OPS3-7.18
func TestWhatAFlowMetInARunThatIsGoneIsNotAskedBeforeThatOnesEndIsKnown(t *testing.T) {
	for status, outcomes := range map[string][]Outcome{"performed": {Failed}, "approved": {Failed}} {
		t.Run(status, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := flowAgainDies(t)
				w.company.script = []answer{termsOf("exc_2", "v1", 24*time.Hour), state(status)}
				w.log = nil
				past := History(w.disk.records())
				w.must(w.resumesRound("run_3", past[len(past)-1], false))
				_, err := w.ops.Resumed(t.Context())
				w.must(err)
				w.ops.Close()
				if got := w.ops.Outcomes(); !slices.Equal(got, outcomes) || w.trace() != "resumed LOOK:r2 operation LOOK:r1 settled" {
					t.Errorf("outcomes = %v: %s", got, w.trace())
				}
			})
		})
	}
}

// flowAgainDies is flowAgain until the second operation is sighted.
func flowAgainDies(t *testing.T) *world {
	t.Helper()
	w := killAt(t, story{endpoint: []answer{terms("v1"), recorded}, site: []page{refused("r1")}, user: []say{yes}}, "recorded")
	w.company.script = []answer{state("approved"), state("approved")}
	w.must(w.resumes("run_2", true))
	stop := w.answers(yes)
	defer stop()
	_, err := w.ops.Resumed(t.Context())
	w.must(err)
	w.chrome = newChrome(w)
	w.chrome.script = []page{refused("r2")}
	w.browser, err = browser.Start(t.Context(), browser.Config{Driver: w.chrome, Bin: "/bin/true", NoSandbox: true, Watch: Header, OnHeld: w.ops.Held, Now: w.now})
	w.must(err)
	w.session = newSession(t, w.site())
	w.tab = w.join(w.session, w.site())
	w.disk.onLine("sighting", w.ops.end)
	w.press(w.tab)
	w.close()
	w.disk.onLine("", nil)
	return w
}
