package opsweb

import (
	"fmt"
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

// A reference that the Company answers with the state of an operation which an earlier round, of this run or of another
// one, has seen performed is settled as that. Nobody is asked, and nothing is approved.
//
// Clauses: OPS3-7.06, OPS3-7.22
func TestAReferenceThatTellsTheStateOfAPerformedOperationIsSettledAsPerformedBefore(t *testing.T) {
	for _, said := range []string{"performed", "performing"} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, later run %t", said, later), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.company.script = []answer{terms("v1"), recorded, state("performed"), state(said)}
					w.chrome.script = []page{refusedScript("r1"), {script: true, status: 200}}
					stop := w.answers(yes, yes)
					w.press(w.tab)
					w.must(w.settle())
					stop()
					if later {
						w.laterRun()
					}
					stop = w.answers(yes)
					w.chrome.script = []page{refusedScript("r2")}
					w.press(w.tab)
					w.must(w.settle())
					stop()
					outcomes := w.ops.Outcomes()
					if len(outcomes) == 0 || outcomes[len(outcomes)-1] != Performed {
						t.Errorf("outcomes = %v", outcomes)
					}
					if q := bodies[Question](w); len(q) != 1 {
						t.Errorf("%d questions", len(q))
					}
					if n := len(w.company.approvals()); n != 1 {
						t.Errorf("%d approvals left", n)
					}
					if all := bodies[SettledAs](w); !strings.Contains(all[len(all)-1].Why, "performed already") {
						t.Errorf("it was not said: %+v", all)
					}
				})
			})
		}
	}
}
