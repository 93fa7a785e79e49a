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
