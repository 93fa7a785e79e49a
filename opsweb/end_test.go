package opsweb

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stopAt runs a story until it has written so many lines of a kind, and then ends the run, as a timeout does: the last
// look-up gets the answers in end. Whatever is under way then is broken off by the end and not by its own limits.
func stopAt(t *testing.T, s story, kind string, end ...answer) *world {
	t.Helper()
	w := newWorld(t)
	w.company.script, w.chrome.script = s.endpoint, s.site
	ended := make(chan struct{})
	w.disk.onLine(kind, func() { // the line is on disk, and nothing it permits has begun
		go func() {
			defer close(ended)
			w.ops.end()
			w.ops.running.Wait()
			w.company.mu.Lock()
			w.company.script = end
			w.company.mu.Unlock()
			w.ops.Conclude(context.Background())
		}()
		<-w.ops.life.Done()
	})
	stop := w.answers(s.user...)
	w.press(w.tab)
	<-ended
	stop()
	synctest.Wait() // the page's own requests are answered
	w.close()
	w.historyAgrees()
	return w
}

// A run that ends while an approval may be with the Company asks once more what became of it; what is not known then is
// unknown, and neither nothing nor an error.
//
// Clauses: OPS3-7.13, OPS3-7.15
func TestARunThatEndsAfterAnApprovalLeftAsksWhatBecameOfIt(t *testing.T) {
	long := func() story {
		return story{site: []page{refusedScript("r1"), {script: true}}, user: []say{yes}, endpoint: []answer{terms("v1"), recorded, state("approved")}}
	}
	for _, at := range []struct {
		kind  string
		state State
	}{{"sending", Sending}, {"recorded", Recorded}, {"replaying", Looking}, {"replayed", Looking}} {
		for _, tc := range []struct {
			name    string
			end     []answer
			outcome Outcome
		}{
			{"performed", []answer{state("performed")}, Performed},
			{"first performing", []answer{state("performing"), state("performed")}, Performed},
			{"approved", []answer{state("approved")}, Unknown},
			{"not answered", many(fetchTries, lost), Unknown},
			{"new terms", []answer{terms("v2")}, Unknown},
			{"of another operation", []answer{{status: 200, body: `{"operation_id":"exc_2","status":"performed"}`}}, Unknown},
		} {
			t.Run(at.kind+", "+tc.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := stopAt(t, long(), at.kind, tc.end...)
					if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{tc.outcome}) {
						t.Errorf("outcomes = %v, want %v", got, tc.outcome)
					}
					left := bodies[Standing](w)
					past := History(w.disk.records())[0]
					if tc.outcome == Performed {
						if len(left) != 0 || past.State != Settled || past.Outcome != Performed {
							t.Errorf("the ledger says %s, %s; told as left: %+v", past.State, past.Outcome, left)
						}
						return
					}
					if len(left) != 1 || left[0].State != at.state || left[0].Why == "" || past.State != at.state {
						t.Errorf("the ledger says %s; told as left: %+v", past.State, left)
					}
					if strings.Contains(w.trace(), "LOOK") == false {
						t.Errorf("nobody was asked: %s", w.trace())
					}
				})
			})
		}
	}
}

// The last look-up is bounded, however long the Company keeps us waiting.
func TestTheLastLookUpOfARunIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := stopAt(t, story{site: []page{refused("r1")}, user: []say{yes}, endpoint: []answer{terms("v1")}}, "sending", many(20, state("performing"))...)
		if took := time.Since(began); took > endTime+actTime {
			t.Errorf("the end took %v", took)
		}
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Unknown}) {
			t.Errorf("outcomes = %v", got)
		}
	})
}

// actTime is what the stories' act itself may take.
const actTime = 10 * time.Second

// What ended before any approval left is not asked about, and has no outcome.
func TestARunThatEndsBeforeAnApprovalLeftAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stopAt(t, story{site: []page{refused("r1")}, user: []say{yes}, endpoint: []answer{terms("v1")}}, "answer")
		if got := w.ops.Outcomes(); len(got) != 0 {
			t.Errorf("outcomes = %v", got)
		}
		if got, want := w.trace(), asked+"answer"; got != want {
			t.Errorf("what happened: %s, want %s", got, want)
		}
		if got := w.ops.Standing(); !slices.Equal(got, []State{Answered}) && !slices.Equal(got, []State{Asking}) {
			t.Errorf("standing = %v", got)
		}
	})
}

// A ledger that takes no more lines stops the round; the Company is asked all the same, and the outcome is unknown.
func TestALineThatCouldNotBeWrittenAfterTheApprovalLeftIsAnUnknownOutcome(t *testing.T) {
	whole := strings.Fields("sighting operation question answer sending recorded")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.disk.failAt, w.disk.dead = len(whole), true // the line that says it is recorded
		w.company.script, w.chrome.script = []answer{terms("v1"), recorded, state("approved")}, []page{refused("r1")}
		stop := w.answers(yes)
		w.press(w.tab)
		if w.settle() == nil {
			t.Error("the run did not learn of it")
		}
		stop()
		w.ops.Conclude(t.Context())
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Unknown}) {
			t.Errorf("outcomes = %v", got)
		}
		if got, want := w.trace(), approved+"LOOK:r1"; got != want {
			t.Errorf("what happened: %s, want %s", got, want)
		}
	})
}

// A no that is on record stands when the process dies before the round is settled: nobody is asked again.
//
// Clauses: OPS3-5.03, RD-6.05
func TestANoStandsWhenTheRoundCouldNotBeSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.disk.failAt, w.disk.dead = 5, true // the line that settles it
		w.company.script, w.chrome.script = []answer{terms("v1")}, []page{refused("r1")}
		stop := w.answers(no)
		w.press(w.tab)
		if w.settle() == nil {
			t.Error("the run did not learn of it")
		}
		stop()
		if got, want := w.trace(), asked+"refusal"; got != want {
			t.Errorf("what happened: %s, want %s", got, want)
		}
		past := History(w.disk.records())[0]
		if past.State != Denied || strings.Contains(past.Restart(), "ask") {
			t.Errorf("the ledger says %s: %s", past.State, past.Restart())
		}
	})
}
