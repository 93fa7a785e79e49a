package opsweb

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

// do makes the act and returns it.
func (w *world) do() *browser.Made {
	w.t.Helper()
	made, err := w.tab.Do(w.t.Context(), pressExchange)
	w.must(err)
	return made
}

// What an act came to is told by the act, whatever else was open or settled meanwhile.
func TestAnActsOutcomesAreThoseOfTheOperationsItMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = func(p post) answer { return termsOf("exc_"+p.ref, "v1", time.Hour) }
		w.chrome.script = []page{refusedScript("r1"), done, refusedScript("r3")}
		first := w.do() // its question stays open for now
		idle := w.do()
		w.byItself(refusedScript("r2"))
		synctest.Wait()
		second := w.do()
		stop := w.answers(no, no, no)
		w.must(w.settle())
		stop()
		for name, tc := range map[string]struct {
			act  *browser.Made
			want []Outcome
		}{"the first": {first, []Outcome{Refused}}, "one without an operation": {idle, nil}, "the second": {second, []Outcome{Refused}}, "none": {nil, nil}} {
			if got := w.ops.OutcomesOf(tc.act); !slices.Equal(got, tc.want) {
				t.Errorf("%s: %v, want %v", name, got, tc.want)
			}
		}
		if got := w.ops.Outcomes(); len(got) != 3 {
			t.Errorf("outcomes of the run: %v", got)
		}
	})
}

// An act that meets an operation which is open already waits for it, and has its outcome.
func TestAnActWhoseReferenceWasMergedHasTheOutcomeOfTheOpenRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = func(post) answer { return termsOf("exc_1", "v1", time.Hour) }
		w.byItself(refusedScript("r1")) // no act explains it
		synctest.Wait()
		w.chrome.script = []page{refusedScript("r2")}
		act := w.do()
		synctest.Wait()
		stop := w.answers(no)
		w.must(w.ops.Settle(t.Context(), false))
		stop()
		if got := w.ops.OutcomesOf(act); !slices.Equal(got, []Outcome{Refused}) {
			t.Errorf("outcomes = %v", got)
		}
	})
}
