package opsweb

import (
	"slices"
	"testing"
	"testing/synctest"
)

// What the Company declined once, it may return with a new revision: the User decides about that, and nothing of it is
// approved on the strength of the yes before.
//
// Clauses: OPS3-6.88, OPS3-6.89
func TestANewRevisionAfterADeclineIsTheUsersToDecide(t *testing.T) {
	for _, tc := range []struct {
		then      say
		approvals int
		outcome   Outcome
	}{{no, 1, Refused}, {yes, 2, Performed}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.company.script = []answer{terms("v1"), declined(""), terms("v2"), recorded, state("performed")}
			w.chrome.script = []page{refused("r1"), refused("r2"), done}
			defer w.answers(yes, tc.then)()
			w.press(w.tab)
			w.must(w.settle())
			w.press(w.tab)
			w.must(w.settle())
			if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Declined, tc.outcome}) || len(w.company.approvals()) != tc.approvals || count(w.disk.records(), "question") != 2 {
				t.Errorf("outcomes = %v, %d approvals, %d questions\n%s", got, len(w.company.approvals()), count(w.disk.records(), "question"), w.trace())
			}
		})
	}
}
