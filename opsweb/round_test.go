package opsweb

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/ledger"
)

func tellAll(t *testing.T, stories []story) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) { tell(t, s) })
	}
}

// Nothing is performed on a 204; the browser makes the act's request again, and only the look-up says what came of it.
//
// Clauses: OPS3-5.01, OPS3-6.40, OPS3-6.41, OPS3-6.44, OPS3-6.59, OPS3-7.06, OPS3-7.16, OPS3-7.17, OPS3-7.21
func TestARecordedApprovalIsReplayedAndItsOutcomeLookedUp(t *testing.T) { tellAll(t, replays()) }

// Clauses: OPS3-7.13, OPS3-7.14, OPS3-7.18, OPS3-7.19, OPS3-7.20, OPS3-7.21, OPS3-7.22
func TestANewReferenceInAnswerToTheReplayLeadsToALookUpOfTheOldOneFirst(t *testing.T) {
	tellAll(t, newReferences())
}

// Clauses: OPS3-5.02, OPS3-5.03, RD-3.03, RD-6.05, RD-6.06
func TestNothingIsSentWithoutAYesInTime(t *testing.T) { tellAll(t, answersOfTheUser()) }

// Clauses: OPS3-5.24, OPS3-6.70, OPS3-6.74, OPS3-6.75, OPS3-6.78, OPS3-6.79, OPS3-6.81, OPS3-6.87, OPS3-6.88, OPS3-7.11, RD-6.02
func TestEachAnswerToAnApprovalHasItsOneMeaning(t *testing.T) { tellAll(t, answersToTheApproval()) }

// Clauses: OPS3-7.10, OPS3-7.12, OPS3-7.13, OPS3-7.14, OPS3-7.15
func TestALostAnswerLeadsToTheSameApprovalAgain(t *testing.T) { tellAll(t, answersThatWereLost()) }

// Clauses: OPS3-4.51, OPS3-4.56
func TestWhatIsNotFetchedIsNotAskedAndKnownNotPerformed(t *testing.T) {
	tellAll(t, lookUpsBeforeTheQuestion())
}

// No row is there for nothing, and the lines of a run go by the table's rows alone.
func TestEveryRowOfTheTableIsTakenByAStory(t *testing.T) {
	taken := make(map[arrow]bool)
	for _, stories := range [][]story{replays(), newReferences(), answersOfTheUser(), answersToTheApproval(), answersThatWereLost(), lookUpsBeforeTheQuestion(), {mergedStory()}} {
		for _, s := range stories {
			t.Run(s.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := s.run(t)
					for _, p := range History(w.disk.records()) {
						rowsOf(t, p.Records, taken)
					}
				})
			})
		}
	}
	for name, run := range map[string]func(*testing.T) *world{"offered meanwhile": offeredMeanwhile, "approved before": approvedBefore, "offered in time": offeredInTime, "sent meanwhile": sentMeanwhile, "merged by a flow": mergedByFlow} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, p := range History(run(t).disk.records()) {
					if p.State.final() { // an earlier run's stands where that ended
						rowsOf(t, p.Records, taken)
					}
				}
			})
		})
	}
	t.Run("all", func(t *testing.T) {
		for _, a := range arrows {
			if !taken[a] && a.on != evResumed && a.on != evRerun && a.from != RerunAsking { // which have tests of their own
				t.Errorf("no story goes from %s by %s", a.from, a.on)
			}
		}
	})
}

// rowsOf notes the rows that a round's lines went by.
func rowsOf(t *testing.T, records []ledger.Record, taken map[arrow]bool) {
	state := Sighted
	for _, rec := range records[1:] {
		if rec.Kind == "sighting" {
			continue
		}
		i := slices.IndexFunc(arrows[:], func(a arrow) bool { return a.from == state && a.line == rec.Kind })
		if i < 0 {
			t.Fatalf("line %s has no row in state %s", rec.Kind, state)
		}
		taken[arrows[i]] = true
		state = arrows[i].to
	}
	if !state.final() {
		t.Errorf("a settled round is %s by its lines", state)
	}
}

func mergedStory() story {
	two := refusedScript("r1")
	return story{
		name: "a second reference to the same revision", endpoint: []answer{terms("v1"), terms("v1"), recorded, state("performed")},
		site: []page{two, refusedScript("r2"), done}, user: nil, outcome: Performed,
		before: func(w *world) {
			w.disk.onLine("question", func() {
				w.chrome.loads.Go(func() {
					w.press(w.tab)
					stop := w.answers(yes)
					w.t.Cleanup(stop)
				})
			})
		},
		want: asked + "ACT sighting LOOK:r2 same-operation answer sending APPROVE:r1:v1 recorded replaying PRESS replayed LOOK:r1 settled",
	}
}

func TestASecondReferenceToTheSameRevisionIsNotAskedAgain(t *testing.T) { tell(t, mergedStory()) }

func TestEveryStateButTheFinalOnesHasAWayOutAndEachRowIsItsOwn(t *testing.T) {
	events := make(map[State][]Event)
	lines := make(map[State][]string)
	reached := map[State]bool{Sighted: true}
	for _, a := range arrows {
		if slices.Contains(events[a.from], a.on) {
			t.Errorf("%s has two rows for %s", a.from, a.on)
		}
		if slices.Contains(lines[a.from], a.line) {
			t.Errorf("%s has two rows for the line %s: the ledger could not tell which was gone", a.from, a.line)
		}
		events[a.from], lines[a.from] = append(events[a.from], a.on), append(lines[a.from], a.line)
		reached[a.to] = true
	}
	if len(stages) != len(reached) {
		t.Errorf("%d states have a stage, %d are reached", len(stages), len(reached))
	}
	for s := range reached {
		if row := stageOf(s); row.does == "" || row.resumed == "" {
			t.Errorf("nothing says what is done in state %s, or what a restart does", s)
		}
		if _, resumes := next(s, evResumed); resumes == (s == Merged) {
			t.Errorf("%s: another process can go on: %v, final %v", s, resumes, s.final())
		}
		if (len(events[s]) < 2) != s.final() {
			t.Errorf("%s: %d ways out and on, final %v", s, len(events[s]), s.final())
		}
	}
}

func TestAnEventWithoutARowStopsTheRoundAndIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.ops.newRoundLocked(nil, bareHeld())
		err := r.apply(t.Context(), move{on: evRecorded})
		if err == nil || !strings.Contains(err.Error(), "approval-recorded has no place in state sighted") {
			t.Errorf("err = %v", err)
		}
		if r.state != Sighted || len(w.disk.records()) != 0 {
			t.Errorf("the round is %s, %d lines", r.state, len(w.disk.records()))
		}
		r.stop(t.Context(), err)
		if troubles := bodies[Trouble](w); len(troubles) != 1 || w.settle() == nil {
			t.Errorf("it was said as %v, and Settle did not return it", troubles)
		}
	})
}

// A line that has no place where it stands changes nothing in what the ledger tells.
func TestHistoryLeavesARoundWhereItWasAtALineWithoutARow(t *testing.T) {
	past := History([]ledger.Record{{Round: "a", Kind: "sighting"}, {Round: "a", Kind: "recorded"}, {Kind: "run"}, {Round: "b", Kind: "sighting"}})
	if len(past) != 2 || past[0].ID != "a" || past[0].State != Sighted || len(past[0].Records) != 2 || past[1].ID != "b" {
		t.Errorf("%+v", past)
	}
	if past[0].Restart() == "" {
		t.Error("nothing says what a restart does")
	}
}

// A retry waits as long as the Company asks, in either form, and never longer than we allow.
//
// Clauses: OPS3-7.10
func TestRetryAfterIsWaitedForInBothForms(t *testing.T) {
	for name, tc := range map[string]struct {
		value func() string
		wait  time.Duration
	}{
		"seconds":  {func() string { return "90" }, 90 * time.Second},
		"a date":   {func() string { return time.Now().Add(2 * time.Minute).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT") }, 2 * time.Minute},
		"the past": {func() string { return time.Now().Add(-time.Minute).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT") }, time.Second},
		"words":    {func() string { return "soon" }, time.Second},
		"a year":   {func() string { return "31536000" }, maxRetryAfter},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := story{endpoint: []answer{termsOf("exc_1", "v1", 24*time.Hour), busy(503, tc.value()), recorded, state("performed")}, site: []page{refused("r1"), done}, user: []say{yes}, outcome: Performed,
					want: approved + "sending-again APPROVE:r1:v1 recorded replaying RELOAD replayed LOOK:r1 settled"}
				w := s.run(t)
				sent := w.company.approvals()
				// An HTTP date has whole seconds.
				if waited := sent[1].at.Sub(sent[0].at); waited < tc.wait-time.Second || waited > tc.wait {
					t.Errorf("waited %v, want %v", waited, tc.wait)
				}
				if sent[0].approval != sent[1].approval || sent[0].body != sent[1].body {
					t.Errorf("the second approval is another one:\n%s\n%s", sent[0].approval, sent[1].approval)
				}
			})
		})
	}
}
