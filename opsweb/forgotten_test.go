package opsweb

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A Company may forget what it performed once that has expired, and return the operation anew. What the ledger has as
// performed is not put to the User again.
//
// Clauses: OPS3-7.22
func TestAnOperationThatTheLedgerHasAsPerformedIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script = []answer{terms("v1"), recorded, state("performed"), terms("v2")}
		w.chrome.script = []page{refusedScript("r1"), {script: true, status: 200}, refusedScript("r2")}
		stop := w.answers(yes, yes)
		w.press(w.tab)
		w.must(w.settle())
		w.press(w.tab)
		w.must(w.settle())
		stop()
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Performed, Performed}) {
			t.Errorf("outcomes = %v", got)
		}
		if q := bodies[Question](w); len(q) != 1 {
			t.Errorf("%d questions", len(q))
		}
		if said := bodies[SettledAs](w); !strings.Contains(said[len(said)-1].Why, "performed already") {
			t.Errorf("it was not said: %+v", said)
		}
	})
}

// An approval that was recorded may have been used up by the page's own request. New terms in answer to its look-up say
// nothing of that, so nobody is asked about them.
//
// Clauses: OPS3-7.14, OPS3-7.15
func TestNewTermsAfterARecordedApprovalAreNotAskedWhileItsEndIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script = []answer{terms("v1"), recorded, state("approved"), terms("v2")}
		stop := w.answers(yes, yes)
		w.byItself(refusedScript("r1"))
		w.must(w.settle())
		stop()
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Unknown}) {
			t.Errorf("outcomes = %v", got)
		}
		if q := bodies[Question](w); len(q) != 1 {
			t.Errorf("%d questions", len(q))
		}
	})
}

// While an approval is held back the machine can sleep for longer than the approval may be used.
func TestAnApprovalThatExpiredWhileItWasHeldBackIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script = []answer{terms("v1"), held.with(func(w *world) {
			time.AfterFunc(10*time.Second, func() { w.skip(time.Hour) })
		})}
		w.chrome.script = []page{refused("r1")}
		stop := w.answers(yes)
		w.press(w.tab)
		w.must(w.settle())
		stop()
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Failed}) {
			t.Errorf("outcomes = %v", got)
		}
		if n := len(w.company.approvals()); n != 1 { // the one that was held back, and did not leave
			t.Errorf("it was sent %d times", n-1)
		}
	})
}
