package opsweb

import (
	"testing"
	"testing/synctest"
	"time"
)

// offeredInTime is a run in which new terms come while an earlier run's approval is looked up, and the terms that were to be
// asked about expire meanwhile.
func offeredInTime(t *testing.T) *world {
	t.Helper()
	w := stopAt(t, story{site: []page{refused("r1")}, user: []say{yes}, endpoint: []answer{dayOf("v1"), recorded}}, "recorded", state("approved"))
	w.disk.onLine("", nil)
	w.laterRun()
	w.company.live = func(p post) answer {
		switch {
		case p.ref == "r2":
			return termsOf("exc_1", "v2", time.Hour)
		case p.ref == "r3":
			return dayOf("v3")
		case w.disk.has("same-operation"):
			return state("approved").with(func(w *world) { w.skip(2 * time.Hour) })
		}
		return state("performing")
	}
	w.chrome.script = []page{refusedScript("r2"), refusedScript("r3")}
	stop := w.answers(no)
	w.press(w.tab)
	synctest.Wait()
	w.press(w.tab)
	w.must(w.settle())
	stop()
	return w
}

// New terms that came in time are put to the User in the place of terms that have expired meanwhile.
//
// Clauses: OPS3-5.24
func TestNewTermsAreNotLostWhenTheOldOnesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := offeredInTime(t)
		if a := bodies[Answer](w); len(a) != 2 || a[1].Shown.Revision != "v3" {
			t.Errorf("answers: %+v\n%s", a, w.trace())
		}
		w.historyAgrees()
	})
	t.Run("at the very end of a question", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.company.script, w.chrome.script = []answer{terms("v1")}, []page{refused("r1")}
			w.press(w.tab)
			synctest.Wait()
			w.ops.Close()
			r := w.ops.rounds[0]
			other := r.op
			other.Revision = "v2"
			r.offered = &offered{op: other, from: successor{reference: r.reference, held: r.held}}
			w.skip(time.Hour)
			if m, err := r.ask(t.Context()); err != nil || m.on != evNewTerms || r.op.Revision != "v2" {
				t.Errorf("%+v, %v; the terms are %s", m, err, r.op.Revision)
			}
		})
	})
}
