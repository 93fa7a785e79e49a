package opsweb

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/approval"
)

// What ends an operation is the Company's clock: one of ours that is wrong neither ends a valid one nor keeps an ended one.
//
// Clauses: OPS3-6.22
func TestTheCompanysClockDecidesWhetherAnOperationHasEnded(t *testing.T) {
	for _, s := range []struct {
		story
		set time.Duration // of our clock, before anything
	}{
		{set: time.Hour, story: story{name: "valid there, ended by ours",
			endpoint: []answer{terms("v1"), recorded, state("performed")}, site: []page{refused("r1"), done}, user: []say{yes}, outcome: Performed,
			want: approved + "recorded replaying RELOAD replayed LOOK:r1 settled"}},
		{set: -time.Hour, story: story{name: "ended there, valid by ours",
			endpoint: []answer{termsOf("exc_1", "v1", -time.Minute)}, site: []page{refused("r1")}, user: []say{yes}, outcome: Expired,
			want: "ACT sighting LOOK:r1 operation settled", why: "expired before it could be asked"}},
		{set: time.Hour, story: story{name: "a busy Company is asked again as long as it could record it",
			endpoint: []answer{terms("v1"), busy(503, "60"), recorded, state("performed")}, site: []page{refused("r1"), done}, user: []say{yes}, outcome: Performed,
			want: approved + "sending-again APPROVE:r1:v1 recorded replaying RELOAD replayed LOOK:r1 settled"}},
		{set: -time.Hour, story: story{name: "nothing leaves that would come too late",
			endpoint: []answer{termsOf("exc_1", "v1", 30*time.Second), held}, site: []page{refused("r1")}, user: []say{yes}, outcome: Failed,
			want: approved + "settled", why: "could not be sent before it expires"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			s.before = func(w *world) { w.setClock(s.set) }
			tell(t, s.story)
		})
	}
}

// A clock that is set while a question is open moves the question's deadline with it: what is left stays what it is.
func TestAnOpenQuestionEndsWhenItEndsThereHoweverOurClockIsSet(t *testing.T) {
	for name, set := range map[string]time.Duration{"on": time.Hour, "back": -time.Hour} {
		for _, answered := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.company.script = []answer{terms("v1")}
					w.chrome.script = []page{refused("r1")}
					if answered {
						w.company.script, w.chrome.script = append(w.company.script, recorded, state("performed")), append(w.chrome.script, done)
					}
					w.press(w.tab)
					synctest.Wait()
					left := func() time.Duration {
						open, _ := w.ops.Desk().Pending()
						if len(open) != 1 {
							t.Fatalf("%d questions are open", len(open))
						}
						return open[0].Question.Deadline.Sub(w.now())
					}
					w.after(10 * time.Minute)
					_, changed := w.ops.Desk().Pending()
					w.setClock(set)
					w.ops.Desk().ClockMoved()
					<-changed // whoever shows it is told
					if got := left(); got < 9*time.Minute || got > 10*time.Minute {
						t.Errorf("%v are left, want 10 minutes", got)
					}
					w.after(9 * time.Minute)
					open, _ := w.ops.Desk().Pending()
					if !answered {
						w.after(2 * time.Minute)
					}
					d, err := w.ops.Desk().Decide(t.Context(), approval.FromUser(true, open[0].Shows()))
					if answered != (err == nil && d.State == approval.Approved) || !answered && d.State != approval.Expired {
						t.Errorf("the answer came to %s, %v", d.State, err)
					}
					w.must(w.settle())
					want, sent := Expired, 0
					if answered {
						want, sent = Performed, 1
					}
					if got := w.ops.Outcomes(); len(got) != 1 || got[0] != want || len(w.company.approvals()) != sent {
						t.Errorf("it ended as %v with %d approvals", got, len(w.company.approvals()))
					}
				})
			})
		}
	}
}

// after lets time pass.
func (w *world) after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
