package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/opsweb"
)

// What is said to do after a broken run goes by where its operations stand: that nothing is performed is said only when
// no approval can have reached the Company.
func TestWhatIsSaidOfABrokenRunGoesByWhereItsOperationsStand(t *testing.T) {
	for _, tc := range []struct {
		standing []opsweb.State
		says     string
	}{
		{nil, "how each operation ended"},
		{[]opsweb.State{opsweb.Sighted}, "no approval was sent, so nothing is performed"},
		{[]opsweb.State{opsweb.Fetched, opsweb.Asking}, "open questions stay open, and nothing was approved"},
		{[]opsweb.State{opsweb.Asking, opsweb.Sending}, "an approval may have reached the Company"},
		{[]opsweb.State{opsweb.Recorded}, "an approval may have reached the Company"},
		{[]opsweb.State{opsweb.Replaying}, "an approval may have reached the Company"},
		{[]opsweb.State{opsweb.Looking}, "an approval may have reached the Company"},
	} {
		for name, err := range map[string]error{
			"step": stepTrouble(t.Context(), Step{}, true, browser.ErrGone, tc.standing),
			"end":  runTrouble(t.Context(), browser.ErrGone, tc.standing),
		} {
			said := said(t, err)
			if !strings.Contains(said, tc.says) {
				t.Errorf("%s with %v: %q", name, tc.standing, said)
			}
			if !strings.Contains(tc.says, "nothing") && strings.Contains(said, "nothing") {
				t.Errorf("%s with %v is promised to have done nothing: %q", name, tc.standing, said)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if said := said(t, runTrouble(ctx, errors.New("stopped"), []opsweb.State{opsweb.Looking})); strings.Contains(said, "questions") {
		t.Errorf("an interrupted run without a question: %q", said)
	}
}

// An operation that was stopped after its approval left is told in the words of the state it stands in.
func TestAnOperationThatWasStoppedIsToldByItsState(t *testing.T) {
	for state, says := range map[opsweb.State]string{
		opsweb.Sending:   "not known whether the Company has recorded it",
		opsweb.Recorded:  "the approval can still be used",
		opsweb.Replaying: "not known whether the action was performed",
		opsweb.Looking:   "not known whether the action was performed",
	} {
		err := standingTrouble("r1", opsweb.Standing{State: state, Why: "it is approved"})
		if !strings.Contains(err.Undone, says) || !strings.Contains(err.What, "it is approved") || !strings.Contains(err.Next, "r1") {
			t.Errorf("%s: %+v", state, err)
		}
	}
}

func said(t *testing.T, err error) string {
	t.Helper()
	e, ok := errors.AsType[*trouble.Error](err)
	if !ok {
		t.Fatalf("%v has no words", err)
	}
	return e.Next
}
