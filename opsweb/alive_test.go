package opsweb

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// dayOf is an operation that can be approved for a day.
func dayOf(revision string) answer { return termsOf("exc_1", revision, 24*time.Hour) }

// declinedOf is the decline of exc_1 in a revision.
func declinedOf(revision string) answer {
	return answer{status: 403, body: `{"error":"approval_declined","operation_id":"exc_1","revision":"` + revision + `"}`}
}

// whileOneLives is the beginning of a run in which an approval of v1 is recorded and not used up when v2 is asked about.
func whileOneLives(more ...answer) []answer {
	return append([]answer{dayOf("v1"), recorded, state("approved"), dayOf("v2")}, more...)
}

// A revision that the User refused, that the Company declined or that nobody answered is not put to the User again in
// the run, also when the round is unknown because the approval of the revision before is still recorded.
//
// Clauses: OPS3-6.88
func TestANoToNewTermsIsNotForgottenWhileTheApprovalBeforeLives(t *testing.T) {
	for name, tc := range map[string]struct {
		user     []say
		endpoint []answer
		asked    int
	}{
		"refused":  {[]say{yes, no, yes}, whileOneLives(dayOf("v2")), 2},
		"declined": {[]say{yes, yes, yes}, whileOneLives(state("approved"), declinedOf("v2"), dayOf("v2")), 2},
		"expired":  {[]say{yes}, whileOneLives(dayOf("v2")), 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.company.script = tc.endpoint
				w.chrome.script = []page{refusedScript("r1"), refusedScript("r2"), refusedScript("r3")}
				stop := w.answers(tc.user...)
				w.press(w.tab)
				w.must(w.settle())
				w.press(w.tab)
				w.must(w.settle())
				stop()
				if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Unknown, Unknown}) {
					t.Errorf("outcomes = %v", got)
				}
				if q := bodies[Question](w); len(q) != tc.asked {
					t.Errorf("%d questions", len(q))
				}
				if said := bodies[SettledAs](w); !strings.Contains(said[len(said)-1].Why, name+" before in this run") {
					t.Errorf("it ended as %+v", said[len(said)-1])
				}
			})
		})
	}
}

// In a later run too: the revision that was declined is not approved again, and the one that is recorded is still looked
// up, with its own reference.
//
// Clauses: OPS3-6.88
func TestADeclineOfNewTermsIsNotForgottenInALaterRun(t *testing.T) {
	for name, tc := range map[string]struct {
		endpoint []answer
		site     []page
		want     string
		outcome  Outcome
	}{
		"the declined revision": {[]answer{dayOf("v2"), state("approved")}, nil, "ACT sighting LOOK:r3 operation LOOK:r1 settled", Unknown},
		"both":                  {[]answer{dayOf("v2"), state("performed")}, nil, "ACT sighting LOOK:r3 operation LOOK:r1 settled", Performed},
		"the recorded one":      {[]answer{dayOf("v1"), state("approved"), state("performed")}, []page{done}, "ACT sighting LOOK:r3 operation LOOK:r1 approved-before replaying RELOAD replayed LOOK:r1 settled", Performed},
		"a third":               {[]answer{dayOf("v3"), state("performed")}, nil, "ACT sighting LOOK:r3 operation LOOK:r1 settled", Performed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.company.script = whileOneLives(state("approved"), declinedOf("v2"))
				w.chrome.script = []page{refusedScript("r1"), refusedScript("r2")}
				stop := w.answers(yes, yes)
				w.press(w.tab)
				w.must(w.settle())
				stop()
				w.laterRun()
				w.company.script, w.chrome.script = tc.endpoint, append([]page{refused("r3")}, tc.site...)
				w.press(w.tab)
				w.must(w.settle())
				if got := w.trace(); got != tc.want {
					t.Errorf("what happened:\n got %s\nwant %s", got, tc.want)
				}
				if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{tc.outcome}) {
					t.Errorf("outcomes = %v, want %s", got, tc.outcome)
				}
			})
		})
	}
}
