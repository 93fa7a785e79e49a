package opsweb

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

// slowSite answers look-ups with approved after its first answers.
type slowSite struct{ first []answer }

func (s *slowSite) answer(post) answer {
	if len(s.first) == 0 {
		return state("approved")
	}
	a := s.first[0]
	s.first = s.first[1:]
	return a
}

// laterRun ends the present run and begins another one over the same ledger, with a Chromium and a Session of its own.
func (w *world) laterRun() {
	w.t.Helper()
	w.close()
	w.log = nil
	w.chrome = newChrome(w)
	var err error
	w.ops, err = New(w.t.Context(), Config{Ledger: w.ledger, Client: &http.Client{Transport: w.company}, Notify: w.notified, Now: w.now})
	w.must(err)
	w.browser, err = browser.Start(w.t.Context(), browser.Config{Driver: w.chrome, Bin: "/bin/true", NoSandbox: true, Watch: Header, OnHeld: w.ops.Held, Now: w.now})
	w.must(err)
	w.session = newSession(w.t, w.site())
	w.tab = w.join(w.session, w.site())
}

// What an earlier run approved is looked up, with its own reference and Session, before anybody is asked about the same
// operation again, whatever revision it has now.
//
// Clauses: OPS3-7.06, OPS3-7.13, OPS3-7.14, OPS3-7.19, OPS3-7.20, OPS3-7.21, OPS3-7.22
func TestWhatAnEarlierRunApprovedIsLookedUpBeforeAnybodyIsAsked(t *testing.T) {
	day := func(revision string) answer { return termsOf("exc_1", revision, 24*time.Hour) }
	const looked = "ACT sighting LOOK:r2 operation LOOK:r1 "
	for _, at := range []string{"sending", "recorded", "replaying", "replayed"} {
		for _, tc := range []struct {
			name     string
			endpoint []answer
			site     []page
			user     []say
			later    time.Duration
			only     string // the one line that the earlier run ended at; empty: each
			want     string
			outcome  Outcome
			why      string
		}{
			{name: "performed", endpoint: []answer{day("v1"), state("performed")}, outcome: Performed, want: looked + "settled", why: "performed already"},
			{name: "performed, and new terms", endpoint: []answer{day("v2"), state("performed")}, outcome: Performed, want: looked + "settled"},
			{name: "performing first", endpoint: []answer{day("v1"), state("performing"), state("performed")}, outcome: Performed, want: looked + "LOOK:r1 settled"},
			{name: "performing for long", endpoint: append([]answer{day("v1")}, many(25, state("performing"))...), outcome: Unknown, why: "still performing",
				want: looked + strings.Repeat("LOOK:r1 ", 24) + "settled"},
			{name: "approved, the same terms", endpoint: []answer{day("v1"), state("approved"), state("performed")}, site: []page{done}, outcome: Performed,
				want: looked + "approved-before replaying RELOAD replayed LOOK:r1 settled"},
			{name: "the new reference tells the state", endpoint: []answer{state("approved"), state("approved"), state("performed")}, site: []page{done}, outcome: Performed,
				want: looked + "approved-before replaying RELOAD replayed LOOK:r1 settled"},
			{name: "approved, other terms, and a no", endpoint: []answer{day("v2"), state("approved")}, user: []say{no}, outcome: Unknown, why: "is still recorded",
				want: looked + "question refusal settled"},
			{name: "approved, other terms, and a yes", endpoint: []answer{day("v2"), state("approved"), state("approved"), recorded, state("performed")}, site: []page{done}, user: []say{yes}, outcome: Performed,
				want: looked + "question answer LOOK:r1 sending APPROVE:r2:v2 recorded replaying RELOAD replayed LOOK:r2 settled"},
			{name: "the Company no longer knows", endpoint: []answer{day("v2"), gone}, outcome: Unknown, why: "no longer says", want: looked + "settled"},
			{name: "the Company can't be asked", endpoint: append([]answer{day("v1")}, many(lookTries, lost)...), outcome: Unknown, why: "could not be asked",
				want: looked + strings.Repeat("LOOK:r1 ", lookTries-1) + "settled"},
			{name: "not recorded, and the run may still live", endpoint: []answer{day("v1"), day("v1")}, outcome: Unknown, why: "no longer says", want: looked + "settled"},
			{name: "not recorded, long after", only: "sending", later: 2 * time.Hour, endpoint: []answer{day("v2"), day("v2")}, user: []say{no}, outcome: Refused,
				want: looked + "question refusal settled"},
			{name: "recorded, and denied long after", only: "recorded", later: 2 * time.Hour, endpoint: []answer{day("v2"), day("v2")}, outcome: Unknown, why: "no longer says", want: looked + "settled"},
		} {
			if tc.only != "" && tc.only != at {
				continue
			}
			t.Run(at+", "+tc.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := stopAt(t, story{site: []page{refused("r1"), {}}, user: []say{yes}, endpoint: []answer{day("v1"), recorded, state("approved")}}, at, state("approved"))
					w.disk.onLine("", nil)
					first := w.session.ID()
					asked := len(w.company.all())
					w.laterRun()
					w.skip(tc.later)
					w.company.script, w.chrome.script = tc.endpoint, append([]page{refused("r2")}, tc.site...)
					stop := w.answers(tc.user...)
					w.press(w.tab)
					w.must(w.settle())
					stop()
					if got := w.trace(); got != tc.want {
						t.Errorf("what happened:\n got %s\nwant %s", got, tc.want)
					}
					if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{tc.outcome}) {
						t.Errorf("outcomes = %v, want %s", got, tc.outcome)
					}
					records := w.disk.records()
					if last := records[len(records)-1]; !strings.Contains(string(last.Data), tc.why) {
						t.Errorf("the last line is %s, want %q in it", last.Data, tc.why)
					}
					for _, p := range w.company.all()[asked:] {
						want := w.session.ID()
						if p.ref == "r1" {
							want = first
						}
						if sid := claim(t, p.header.Get("Poppy-Session"), "sid"); sid != want {
							t.Errorf("%s was asked about under Session %s, want %s", p.ref, sid, want)
						}
					}
					w.historyAgrees()
				})
			})
		}
	}
}

// What another run declined stays declined after a restart: the same revision is not approved again.
//
// Clauses: OPS3-6.88
func TestARevisionThatTheCompanyDeclinedIsNotAskedAgainInALaterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script, w.chrome.script = []answer{terms("v1"), declined("")}, []page{refused("r1")}
		stop := w.answers(yes)
		w.press(w.tab)
		w.must(w.settle())
		stop()
		w.laterRun()
		w.company.script, w.chrome.script = []answer{terms("v1")}, []page{refused("r2")}
		w.press(w.tab)
		w.must(w.settle())
		if got, want := w.trace(), "ACT sighting LOOK:r2 operation settled"; got != want {
			t.Errorf("what happened: %s, want %s", got, want)
		}
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Declined}) {
			t.Errorf("outcomes = %v", got)
		}
	})
}

// The same issuer may name another endpoint now, or another Company may have the issuer: an earlier run's reference does not
// go there, and nobody is asked about its operation.
//
// Clauses: OPS3-4.42
func TestAnEarlierReferenceGoesToNoOtherEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stopAt(t, story{site: []page{refused("r1")}, user: []say{yes}, endpoint: []answer{terms("v1"), recorded}}, "recorded", state("approved"))
		w.disk.onLine("", nil)
		w.laterRun()
		c := w.site()
		c.OperationsEndpoint = "https://shop.test/elsewhere"
		w.ops.mu.Lock()
		w.ops.sites[w.tab.ID()].company = c
		w.ops.mu.Unlock()
		w.company.script, w.chrome.script = []answer{terms("v1")}, []page{refused("r2")}
		w.press(w.tab)
		w.must(w.settle())
		if got, want := w.trace(), "ACT sighting LOOK:r2 operation settled"; got != want {
			t.Errorf("what happened: %s, want %s", got, want)
		}
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Unknown}) {
			t.Errorf("outcomes = %v", got)
		}
	})
}

// An operation that another context of the run has open is not asked a second time in this one.
//
// Clauses: OPS3-7.13, OPS3-7.14
func TestAnOperationThatAnotherContextHasOpenIsNotAskedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = w.untilMerged("performed")
		w.chrome.script = []page{refusedScript("r1"), {script: true, status: 200}, refusedScript("r2")}
		other := w.join(w.session, w.site())
		stop := w.answers(yes, yes)
		w.disk.onLine("replayed", func() { w.chrome.loads.Go(func() { w.press(other) }) })
		w.press(w.tab)
		w.must(w.settle())
		stop()
		if q := bodies[Question](w); len(q) != 1 {
			t.Errorf("%d questions", len(q))
		}
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Performed}) {
			t.Errorf("outcomes = %v", got)
		}
		if m := bodies[MergedInto](w); len(m) != 1 {
			t.Errorf("merged: %v\n%s", m, w.trace())
		}
	})
}

// A second reference to an operation whose approval is under way in this run is answered with its state: it belongs to the
// round that has the operation, and has its outcome.
//
// Clauses: OPS3-7.13, OPS3-7.14
func TestAReferenceThatTellsTheStateOfAnOpenRoundIsMergedIntoIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = func(p post) answer {
			switch {
			case p.ref == "r2":
				return state("performing")
			case p.approval != "":
				return recorded
			case !w.disk.has("recorded"):
				return terms("v1")
			case w.disk.has("same-operation"):
				return state("performed")
			}
			return state("performing")
		}
		w.chrome.script = []page{refusedScript("r1"), {script: true, status: 200}, refusedScript("r2")}
		stop := w.answers(yes, yes)
		w.disk.onLine("replayed", func() { w.chrome.loads.Go(func() { w.press(w.join(w.session, w.site())) }) })
		w.press(w.tab)
		w.must(w.settle())
		stop()
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Performed}) {
			t.Errorf("outcomes = %v", got)
		}
		if m := bodies[MergedInto](w); len(m) != 1 {
			t.Errorf("merged: %v\n%s", m, w.trace())
		}
	})
}

// Two runs that asked at the same time do not both send: the one that would be second finds the first one's approval in
// the ledger.
//
// Clauses: OPS3-7.13
func TestAnApprovalThatAnotherRunSentMeanwhileKeepsThisOneBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script, w.chrome.script = []answer{terms("v1")}, []page{refused("r1")}
		w.press(w.tab)
		synctest.Wait()
		// The other run's lines: it met the same operation, and its approval is on its way.
		mine := History(w.disk.records())[0]
		for _, rec := range mine.Records {
			_, err := w.ledger.Append(t.Context(), entryOf(rec.Kind, "other", rec.Data))
			w.must(err)
		}
		for _, line := range []struct {
			kind string
			body any
		}{{lineYes, Answer{Approved: true}}, {"sending", Sent{Issuer: w.site().Issuer, Sid: "ses_other", Ref: "r9", OperationID: "exc_1", Revision: "v1"}}} {
			_, err := w.ledger.Append(t.Context(), entryOf(line.kind, "other", line.body))
			w.must(err)
		}
		stop := w.answers(yes)
		w.must(w.settle())
		stop()
		if n := len(w.company.approvals()); n != 0 {
			t.Errorf("%d approvals left", n)
		}
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Unknown}) {
			t.Errorf("outcomes = %v", got)
		}
	})
}

// Other terms that another reference names while the User is being asked take the place of the old ones.
//
// Clauses: OPS3-5.24
func TestNewTermsThatComeWhileTheUserIsAskedAreAskedInstead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := offeredMeanwhile(t)
		want := asked + "ACT sighting LOOK:r2 same-operation operation question answer sending APPROVE:r2:v2 recorded replaying PRESS replayed LOOK:r2 settled"
		other := strings.Replace(want, "same-operation operation", "operation same-operation", 1)
		if got := w.trace(); got != want && got != other && got != strings.Replace(want, "same-operation operation question", "operation question same-operation", 1) {
			t.Errorf("what happened:\n got %s\nwant %s", got, want)
		}
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Performed}) {
			t.Errorf("outcomes = %v", got)
		}
		w.historyAgrees()
	})
}

// offeredMeanwhile is a run in which new terms come while the User is being asked, and are approved.
func offeredMeanwhile(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.company.script = []answer{terms("v1"), terms("v2"), recorded, state("performed")}
	w.chrome.script = []page{refusedScript("r1"), refusedScript("r2"), {script: true, status: 200}}
	w.press(w.tab)
	synctest.Wait()
	w.press(w.tab)
	synctest.Wait()
	requests, _ := w.ops.Desk().Pending()
	if len(requests) != 1 || requests[0].Question.Operation.Revision != "v2" {
		t.Fatalf("open: %+v", requests)
	}
	stop := w.answers(yes)
	w.must(w.settle())
	stop()
	return w
}

// approvedBefore is a run that finds an earlier run's approval of the same terms recorded.
func approvedBefore(t *testing.T) *world {
	t.Helper()
	w := stopAt(t, story{site: []page{refused("r1")}, user: []say{yes}, endpoint: []answer{terms("v1"), recorded}}, "recorded", state("approved"))
	w.disk.onLine("", nil)
	w.laterRun()
	w.company.script = []answer{terms("v1"), state("approved"), state("performed")}
	w.chrome.script = []page{refused("r2"), done}
	w.press(w.tab)
	w.must(w.settle())
	return w
}

// A reference that comes while an approval is under way is looked at when the Company says that the approval is not used
// up: its terms may be the ones that hold now.
//
// Clauses: OPS3-7.18, OPS3-7.19
func TestAReferenceThatComesWhileTheRoundLooksIsItsSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = w.untilMerged("approved")
		w.chrome.script = []page{refusedScript("r1"), {script: true, status: 200}, refusedScript("r2")}
		stop := w.answers(yes)
		w.disk.onLine("replayed", func() { w.chrome.loads.Go(func() { w.press(w.tab) }) })
		w.press(w.tab)
		w.must(waitFor(w, func() bool { return len(bodies[Question](w)) == 2 }))
		stop()
		requests, _ := w.ops.Desk().Pending()
		if len(requests) != 1 || requests[0].Question.Operation.Revision != "v2" ||
			!slices.ContainsFunc(requests[0].Question.Differences, func(d string) bool { return strings.Contains(d, "revision v1 is recorded already") }) {
			t.Errorf("open: %+v", requests)
		}
		// The run ends while the User is asked about the new terms: the approval of the old ones lives.
		w.ops.Conclude(t.Context())
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Unknown}) {
			t.Errorf("outcomes = %v", got)
		}
		if left := bodies[Standing](w); len(left) != 1 || !strings.Contains(left[0].Why, "approved and not performed") {
			t.Errorf("told as left: %+v", left)
		}
		if got := w.ops.Standing(); !slices.Equal(got, []State{Asking, Recorded}) {
			t.Errorf("standing = %v", got)
		}
	})
}

// untilMerged is a Company that performs what was approved with r1 until a second reference, which names new terms, has
// come to its round; then it says how that ended.
func (w *world) untilMerged(end string) func(post) answer {
	approved := false
	return func(p post) answer {
		switch {
		case p.ref != "r1":
			return terms("v2")
		case p.approval != "":
			approved = true
			return recorded
		case !approved:
			return terms("v1")
		case w.disk.has("same-operation"):
			return state(end)
		default:
			return state("performing")
		}
	}
}

// waitFor waits, in the bubble's own time, until a thing is so.
func waitFor(w *world, so func() bool) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour)
	defer cancel()
	for !so() {
		if err := wait(ctx, time.Second); err != nil {
			return err
		}
		synctest.Wait()
	}
	return nil
}
