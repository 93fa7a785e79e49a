package opsweb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// longStory goes by a lost answer, a replay that is lost, a new reference and new terms.
func longStory() story {
	return story{
		endpoint: []answer{terms("v1"), lost, recorded, state("approved"), state("approved"), terms("v2"), state("approved"), recorded, state("performed")},
		site:     []page{refusedScript("r1"), {script: true}, refusedScript("r2"), done}, user: []say{yes, yes}, outcome: Performed,
		want: approved + "sending-again APPROVE:r1:v1 recorded replaying PRESS replayed LOOK:r1 still-approved replaying PRESS sighting replayed LOOK:r1 LOOK:r2 " +
			"operation question answer LOOK:r1 sending APPROVE:r2:v2 recorded replaying PRESS replayed LOOK:r2 settled",
	}
}

// permits says which lines may stand last on disk when something leaves us.
var permits = map[string][]string{
	"LOOK":    {"sighting", "answer", "replayed", "state-known", "replay-impossible", "new-reference"},
	"APPROVE": {"sending", "sending-again"},
	"PRESS":   {"replaying", "reference-gone"},
	"RELOAD":  {"replaying", "reference-gone"},
}

// A line that could not be written permits nothing: whichever append fails, nothing of what its line would have
// permitted leaves us, the round stops there and says so, and the ledger tells where it stands.
//
// Clauses: OPS3-5.03
func TestNothingLeavesAfterALineThatCouldNotBeWritten(t *testing.T) {
	tell(t, longStory())
	whole := strings.Fields(longStory().want)
	lines := len(slices.DeleteFunc(slices.Clone(whole), func(w string) bool { return w == strings.ToUpper(w) || strings.Contains(w, ":") }))
	for n := 1; n <= lines; n++ {
		t.Run(fmt.Sprint("append ", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				s := longStory()
				w.disk.failAt, w.disk.dead = n, true
				w.company.script, w.chrome.script = s.endpoint, s.site
				stop := w.answers(s.user...)
				w.press(w.tab)
				synctest.Wait()
				if n > 1 { // a sighting that is not written is no round
					if err := w.settle(); err == nil {
						t.Error("the run did not learn of it")
					}
				}
				stop()
				w.close()
				got := strings.Fields(w.trace())
				// A look-up is permitted by the line before; so is what the page does by itself.
				for i := range got {
					if got[i] != whole[i] {
						t.Fatalf("after a failed write:\n got %s\nwant a beginning of %s", got, whole)
					}
				}
				last := ""
				for _, word := range got {
					what, _, _ := strings.Cut(word, ":")
					if word == strings.ToLower(word) {
						last = word
					} else if allowed := permits[what]; allowed != nil && !slices.Contains(allowed, last) {
						t.Errorf("%s after %s", word, last)
					}
				}
				if len(bodies[Trouble](w)) == 0 {
					t.Error("nothing was said")
				}
				w.historyAgrees()
			})
		})
	}
}

// A run that ends leaves its question open: no answer is recorded, and the ledger says that it may be asked again.
//
// Clauses: RD-5.07
func TestARunThatEndsWithdrawsItsQuestionAndSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script, w.chrome.script = []answer{terms("v1")}, []page{refused("r1")}
		w.press(w.tab)
		synctest.Wait()
		if requests, _ := w.ops.Desk().Pending(); len(requests) != 1 {
			t.Fatalf("%d questions are open", len(requests))
		}
		w.ops.Close()
		if requests, _ := w.ops.Desk().Pending(); len(requests) != 0 {
			t.Errorf("%d questions are still open", len(requests))
		}
		if got := w.trace(); got != strings.TrimSpace(asked) {
			t.Errorf("what happened: %s", got)
		}
		if past := History(w.disk.records()); past[0].State != Asking || past[0].Restart() != "ask again, with the terms fetched again" {
			t.Errorf("the ledger says %s: %s", past[0].State, past[0].Restart())
		}
		if troubles := bodies[Trouble](w); len(troubles) != 0 {
			t.Errorf("an end is no trouble: %v", troubles)
		}
	})
}

// The run can end while an approval is under way: the ledger says that it may have reached the Company.
func TestARunThatEndsWhileAnApprovalLeavesKeepsThatItMayHaveArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script = []answer{terms("v1"), busy(503, "300")}
		w.chrome.script = []page{refused("r1")}
		stop := w.answers(yes)
		w.press(w.tab)
		synctest.Wait()
		stop()
		w.ops.Close()
		if past := History(w.disk.records()); past[0].State != Sending {
			t.Errorf("the ledger says %s", past[0].State)
		}
		if err := w.settle(); err == nil {
			t.Error("Settle says that all is settled")
		}
	})
}

// A run that ends while the tab is busy makes no act again, also not for a new reference.
func TestARunThatEndsMakesNoActAgainForANewReference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script, w.chrome.script = []answer{gone}, []page{refused("r1")}
		w.disk.onLine("reference-gone", func() { w.tab.turn <- struct{}{} })
		w.press(w.tab)
		synctest.Wait() // the round waits for the tab
		w.ops.end()
		<-w.tab.turn
		w.ops.Close()
		if got, want := w.trace(), "ACT sighting LOOK:r1 reference-gone"; got != want {
			t.Errorf("what happened: %s, want %s", got, want)
		}
	})
}

// A revision that the User refused, the Company declined or nobody answered is not put to the User twice in a run.
//
// Clauses: OPS3-6.88
func TestARefusedDeclinedOrExpiredRevisionIsNotAskedAgainInTheRun(t *testing.T) {
	for name, tc := range map[string]struct {
		user     []say
		endpoint []answer
		outcome  Outcome
	}{
		"refused":  {[]say{no, yes}, []answer{termsOf("exc_1", "v1", time.Hour), termsOf("exc_1", "v1", time.Hour)}, Refused},
		"declined": {[]say{yes, yes}, []answer{termsOf("exc_1", "v1", time.Hour), declined(""), termsOf("exc_1", "v1", time.Hour)}, Declined},
		"expired":  {nil, []answer{termsOf("exc_1", "v1", time.Hour), termsOf("exc_1", "v1", time.Hour)}, Expired},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.company.script, w.chrome.script = tc.endpoint, []page{refusedScript("r1"), refusedScript("r2")}
				stop := w.answers(tc.user...)
				w.press(w.tab)
				w.must(w.settle())
				w.press(w.tab)
				w.must(w.settle())
				stop()
				if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{tc.outcome, tc.outcome}) {
					t.Errorf("outcomes = %v", got)
				}
				if q := bodies[Question](w); len(q) != 1 {
					t.Errorf("%d questions", len(q))
				}
			})
		})
	}
}

// While it is not known what became of an approval, no revision of its operation is put to the User.
//
// Clauses: OPS3-7.13, OPS3-7.14
func TestAnOperationWhoseOutcomeIsUnknownIsNotAskedAgainInTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		lost := answer{lost: true}
		w.company.script = []answer{termsOf("exc_1", "v1", time.Hour), lost, lost, lost, lost, lost, termsOf("exc_1", "v2", time.Hour), gone}
		w.chrome.script = []page{refusedScript("r1"), refusedScript("r2")}
		stop := w.answers(yes, yes)
		w.press(w.tab)
		w.must(w.settle())
		w.press(w.tab)
		w.must(w.settle())
		stop()
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Unknown, Unknown}) {
			t.Errorf("outcomes = %v", got)
		}
		if q := bodies[Question](w); len(q) != 1 {
			t.Errorf("%d questions", len(q))
		}
	})
}

// What the User is asked shows the Company, the terms, what of ours caused it, and what differs: old and new values of
// a new revision too.
//
// Clauses: OPS3-5.04, OPS3-5.05, OPS3-5.20, OPS3-5.21, OPS3-5.22, OPS3-5.23, OPS3-5.24, OPS3-8.2.07
func TestAQuestionShowsTheTermsAndEachDifference(t *testing.T) {
	s := longStory()
	s.after = func(w *world) {
		q := bodies[Question](w)
		if len(q) != 2 || !slices.ContainsFunc(q[1].Differences, func(d string) bool {
			return strings.HasPrefix(d, "Differs:") && strings.Contains(d, "1.00") && strings.Contains(d, "2.00")
		}) {
			w.t.Errorf("the questions' differences: %+v", q)
		}
	}
	tell(t, s)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script = []answer{{status: 403, body: `{"error":"approval_required","operation":{"operation_id":"exc_1","revision":"v1","summary":"Exchange for 7.00 USD","terms":{"order_id":"ord_2","price":"70.00"},"expires_at":"2000-01-01T01:00:00Z"}}`}}
		w.chrome.script = []page{refused("r1")}
		w.press(w.tab)
		synctest.Wait()
		requests, _ := w.ops.Desk().Pending()
		if len(requests) != 1 {
			t.Fatalf("%d questions", len(requests))
		}
		q := requests[0].Question
		if q.Company.Domain != shopDomain || q.Operation.Revision != "v1" || q.Act != `pressed "Exchange" on shop.test/order` || !q.Deadline.Equal(q.Operation.ExpiresAt) {
			t.Errorf("%+v", q)
		}
		for _, part := range []string{"7.00", "ord_1"} {
			if !slices.ContainsFunc(q.Differences, func(d string) bool { return strings.HasPrefix(d, "Differs:") && strings.Contains(d, part) }) {
				t.Errorf("no difference names %s: %q", part, q.Differences)
			}
		}
	})
}

// Clauses: OPS3-8.2.06, OPS3-8.2.08
func TestAnOperationThatNoActExplainsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = (&slowSite{first: []answer{terms("v1"), recorded}}).answer
		w.byItself(refusedScript("r1"))
		synctest.Wait()
		requests, _ := w.ops.Desk().Pending()
		if len(requests) != 1 || requests[0].Question.Act != "" || len(requests[0].Question.Differences) == 0 {
			t.Fatalf("%+v", requests)
		}
		w.must(w.ops.Settle(t.Context(), false)) // the run's next step does not wait for it
		began := time.Now()
		stop := w.answers(yes)
		w.must(w.settle())
		stop()
		// What only the page can do is waited for, and not longer than is worth while.
		if got := w.trace(); !strings.HasSuffix(got, "recorded replay-impossible "+strings.Repeat("LOOK:r1 ", strings.Count(got, "LOOK:r1")-1)+"settled") || strings.Count(got, "LOOK:r1") < 10 {
			t.Errorf("what happened: %s", got)
		}
		if took := time.Since(began); took < lookTime || took > lookTime+2*maxPause {
			t.Errorf("it was looked at for %v", took)
		}
		if said := bodies[LookedUp](w); !strings.Contains(said[0].For, "the page to make its request by itself") {
			t.Errorf("it was not said what is waited for: %+v", said[0])
		}
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Unknown}) {
			t.Errorf("outcomes = %v", got)
		}
	})
}
