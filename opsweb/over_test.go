package opsweb

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// soon has a page's script make its request right after the last act, as a part of what that act set going.
func (w *world) soon(p page) {
	w.chrome.mu.Lock()
	t := w.chrome.last
	w.chrome.mu.Unlock()
	t.load(p)
}

// Whoever waits for the rounds to settle learns of their end after it was told, also one that begins to wait at that moment.
func TestSettleReturnsAfterTheEndWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script, w.chrome.script = []answer{{status: 401}}, []page{refused("r1")}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		notify := w.ops.cfg.Notify
		w.ops.cfg.Notify = func(h Happening) {
			if _, ok := h.Body.(SettledAs); ok && w.ops.Settle(over, true) == nil {
				t.Error("Settle returned before the end was told")
			}
			notify(h)
		}
		w.press(w.tab)
		w.must(w.settle())
		w.must(w.ops.Settle(over, true))
	})
}

// A reference that a page brings after its act was made again, and after that round has ended as performed or unknown,
// is the beginning of no question: the action would be performed a second time.
//
// Clauses: OPS3-7.06, OPS3-7.13, OPS3-7.14, OPS3-7.18, OPS3-7.22
func TestAReferenceThatComesAfterTheReplaysRoundHasEndedIsRefused(t *testing.T) {
	for name, s := range map[string]story{
		"performed": {endpoint: []answer{terms("v1"), recorded, state("performed")}, site: []page{refusedScript("r1"), {script: true, status: 200}}, outcome: Performed},
		"unknown":   {endpoint: []answer{terms("v1"), recorded, {status: 418}}, site: []page{refusedScript("r1"), {script: true, status: 200}}, outcome: Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.company.script, w.chrome.script = s.endpoint, s.site
				stop := w.answers(yes, yes)
				w.press(w.tab)
				w.must(w.settle())
				w.soon(refusedScript("r2"))
				w.must(w.settle())
				stop()
				if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{s.outcome}) {
					t.Errorf("outcomes = %v", got)
				}
				if s := bodies[Sighting](w); len(s) != 2 || s[1].Accepted || s[1].Why != RoundOver {
					t.Errorf("sightings: %+v", s)
				}
				if got := w.trace(); !strings.HasSuffix(got, "replayed LOOK:r1 settled sighting") {
					t.Errorf("what happened: %s", got)
				}
			})
		})
	}
}

// A run can be long: of an operation that has ended only what later ones are compared with stays in memory.
func TestWhatARoundNeededToMoveOnIsForgottenWhenItHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script = []answer{terms("v1"), recorded, state("performed")}
		w.chrome.script = []page{refusedScript("r1"), {script: true, status: 200}}
		stop := w.answers(yes)
		w.press(w.tab)
		w.must(w.settle())
		stop()
		synctest.Wait()
		w.ops.mu.Lock()
		defer w.ops.mu.Unlock()
		r := w.ops.rounds[0]
		if !r.op.Terms.Empty() || r.approval != nil || !r.question.Question.Operation.Terms.Empty() {
			t.Errorf("an ended round still has its terms: %+v", r.op)
		}
		if r.op.ID == "" || r.op.Revision != "v1" || r.outcome != Performed {
			t.Errorf("it no longer knows of which operation it was: %+v", r.op)
		}
	})
}
