package opsweb

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/profile"
)

// killAt plays a story until it has written a line of a kind, and ends the run there, with nothing done that the line
// permits.
func killAt(t *testing.T, s story, kind string) *world {
	t.Helper()
	return killAtLine(t, s, kind, 1)
}

// killAtLine is killAt for the nth line of the kind.
func killAtLine(t *testing.T, s story, kind string, n int) *world {
	t.Helper()
	w := newWorld(t)
	w.company.script, w.chrome.script = s.endpoint, s.site
	ended := make(chan struct{})
	w.disk.onLine(kind, func() {
		if n--; n != 0 {
			return
		}
		go func() {
			defer close(ended)
			w.ops.end()
			w.ops.running.Wait()
		}()
		<-w.ops.life.Done()
	})
	stop := w.answers(s.user...)
	w.press(w.tab)
	<-ended
	stop()
	synctest.Wait()
	w.close()
	w.disk.onLine("", nil)
	w.log = nil
	return w
}

// resumes goes on with the world's one round in a run of its own, with a Chromium that is not used.
func (w *world) resumes(owner string, flow bool) error {
	w.t.Helper()
	return w.resumesRound(owner, History(w.disk.records())[0], flow)
}

func (w *world) resumesRound(owner string, past Past, flow bool) error {
	w.t.Helper()
	l, err := ledger.Open(w.t.Context(), ledger.Config{Dir: w.dir, Owner: owner, OpenFile: w.disk.open, Now: w.now, Index: Index()})
	w.must(err)
	w.t.Cleanup(func() { w.must(l.Close()) })
	w.ops, err = New(w.t.Context(), Config{Ledger: l, Client: &http.Client{Transport: w.company}, Lock: w.lock, Notify: w.notified, Now: w.now})
	w.must(err)
	s, err := w.session.Earlier(past.Sid())
	w.must(err)
	return w.ops.Resume(w.t.Context(), past, Resumption{Company: w.site(), Session: s, Profile: profile.V1(), Flow: flow})
}

// What each state of a round that a run left comes to in the next one, which has the ledger and not the page.
//
// Clauses: OPS3-7.06, OPS3-7.13, OPS3-7.18
func TestARoundOfARunThatIsGoneGoesOnFromWhereTheLedgerSaysItStands(t *testing.T) {
	whole := story{endpoint: []answer{terms("v1"), recorded, state("performed")}, site: []page{refused("r1"), done}, user: []say{yes}}
	refusal := story{endpoint: []answer{terms("v1")}, site: []page{refused("r1")}, user: []say{no}}
	for _, tc := range []struct {
		name     string
		story    story
		at       string
		flow     bool
		later    time.Duration
		endpoint []answer
		user     []say
		want     string
		outcome  Outcome
		why      string
		parked   bool // it waits for the flow, after which the Company answers afterwards
		after    []answer
	}{
		{name: "sighted", at: "sighting", endpoint: []answer{terms("v1")}, user: []say{no}, want: "resumed LOOK:r1 operation question refusal settled", outcome: Refused},
		{name: "fetched", at: "operation", endpoint: []answer{terms("v1")}, user: []say{no}, want: "resumed LOOK:r1 operation question refusal settled", outcome: Refused},
		{name: "asking", at: "question", endpoint: []answer{terms("v1")}, user: []say{no}, want: "resumed LOOK:r1 operation question refusal settled", outcome: Refused},
		{name: "asking, with other terms now", at: "question", endpoint: []answer{terms("v2")}, user: []say{no}, want: "resumed LOOK:r1 operation question refusal settled", outcome: Refused},
		{name: "asking, and it has expired", at: "question", later: time.Hour, endpoint: []answer{gone}, want: "resumed LOOK:r1 settled", outcome: Expired, why: "nobody had answered"},
		{name: "asking, and the Company lost it", at: "question", endpoint: []answer{gone}, want: "resumed LOOK:r1 settled", outcome: Failed, why: "no longer accepts the reference"},
		{name: "asking, and it names another operation", at: "question", endpoint: []answer{termsOf("exc_2", "v1", time.Hour)}, want: "resumed LOOK:r1 settled", outcome: Failed, why: "another operation"},
		{name: "answered: the yes was not sent, and is asked for again", at: "answer", endpoint: []answer{terms("v1")}, user: []say{no}, want: "resumed LOOK:r1 operation question refusal settled", outcome: Refused},
		{name: "answered, without the flow", at: "answer", endpoint: []answer{terms("v1"), recorded, state("approved")}, user: []say{yes},
			want: "resumed LOOK:r1 operation question answer sending APPROVE:r1:v1 recorded replay-impossible LOOK:r1 settled", outcome: Unknown, why: "left to expire"},
		{name: "answered, with the flow: the yes is one to it too", at: "answer", flow: true, endpoint: []answer{terms("v1"), recorded, state("approved")}, user: []say{yes}, parked: true, after: []answer{state("performed")},
			want: "resumed LOOK:r1 operation question answer sending APPROVE:r1:v1 recorded replay-impossible LOOK:r1 LOOK:r1 settled", outcome: Performed},
		{name: "refused", story: refusal, at: "refusal", want: "resumed settled", outcome: Refused},
		{name: "sending: the same approval again", at: "sending", endpoint: []answer{recorded, state("performed")},
			want: "resumed sending-again APPROVE:r1:v1 recorded replay-impossible LOOK:r1 settled", outcome: Performed},
		{name: "sending, and it was performed meanwhile", at: "sending", endpoint: []answer{state("performed"), state("performed")},
			want: "resumed sending-again APPROVE:r1:v1 state-known LOOK:r1 settled", outcome: Performed},
		{name: "sending, and it is declined now", at: "sending", endpoint: []answer{declined("")}, want: "resumed sending-again APPROVE:r1:v1 settled", outcome: Declined},
		{name: "sending, and it has expired: not sent any more", at: "sending", later: time.Hour, endpoint: []answer{gone}, want: "resumed state-known LOOK:r1 settled", outcome: Unknown},
		{name: "sending, with the flow", at: "sending", flow: true, endpoint: []answer{recorded, state("approved"), state("approved")}, user: []say{yes}, parked: true, after: []answer{state("performed")},
			want: "resumed sending-again APPROVE:r1:v1 recorded replay-impossible LOOK:r1 rerun-question rerun-answer LOOK:r1 LOOK:r1 settled", outcome: Performed},
		{name: "recorded, without the flow", at: "recorded", endpoint: []answer{state("approved")}, want: "resumed LOOK:r1 settled", outcome: Unknown, why: "left to expire"},
		{name: "recorded, and the page had made its request", at: "recorded", flow: true, endpoint: []answer{state("performing"), state("performed")}, want: "resumed LOOK:r1 LOOK:r1 settled", outcome: Performed},
		{name: "recorded, and the flow is wanted", at: "recorded", flow: true, endpoint: []answer{state("approved"), state("approved")}, user: []say{yes}, parked: true, after: []answer{state("approved")},
			want: "resumed LOOK:r1 rerun-question rerun-answer LOOK:r1 LOOK:r1 settled", outcome: Unknown, why: "left to expire"},
		{name: "recorded, and the flow is not wanted", at: "recorded", flow: true, endpoint: []answer{state("approved"), state("approved")}, user: []say{no},
			want: "resumed LOOK:r1 rerun-question rerun-refusal LOOK:r1 settled", outcome: Unknown, why: "left to expire"},
		{name: "recorded, and it has expired", at: "recorded", flow: true, later: time.Hour, endpoint: []answer{gone}, want: "resumed LOOK:r1 settled", outcome: Unknown},
		{name: "replaying: nobody makes it again", at: "replaying", endpoint: []answer{state("performed")}, want: "resumed LOOK:r1 settled", outcome: Performed},
		{name: "replaying, and the Company returns it anew: that proves nothing", at: "replaying", endpoint: []answer{terms("v2")}, want: "resumed LOOK:r1 settled", outcome: Unknown},
		{name: "looking", at: "replayed", endpoint: []answer{state("performed")}, want: "resumed LOOK:r1 settled", outcome: Performed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := whole
				if tc.story.endpoint != nil {
					s = tc.story
				}
				w := killAt(t, s, tc.at)
				w.skip(tc.later)
				w.company.script = tc.endpoint
				w.must(w.resumes("run_2", tc.flow))
				stop := w.answers(tc.user...)
				defer stop()
				parked, err := w.ops.Resumed(t.Context())
				w.must(err)
				if parked != tc.parked {
					t.Errorf("it waits for the flow: %v", parked)
				}
				if parked {
					w.company.script = append(w.company.script, tc.after...)
					if err := w.ops.Settle(t.Context(), true); err != nil { // the flow's own waits don't wait for it
						t.Error(err)
					}
					w.ops.FlowEnded()
					_, err := w.ops.Resumed(t.Context())
					w.must(err)
				}
				if got := w.trace(); got != tc.want {
					t.Errorf("what happened:\n got %s\nwant %s", got, tc.want)
				}
				if got := w.ops.Outcomes(); len(got) != 1 || got[0] != tc.outcome {
					t.Errorf("outcomes = %v, want %s", got, tc.outcome)
				}
				records := w.disk.records()
				if last := records[len(records)-1]; !strings.Contains(string(last.Data), tc.why) {
					t.Errorf("the last line is %s, want %q in it", last.Data, tc.why)
				}
				for _, q := range bodies[Question](w) {
					if q.Kind == approval.KindRerun && !tc.flow {
						t.Error("the User was asked about a flow that is not at hand")
					}
				}
				past := History(records)
				if len(past) != 1 || past[0].State != Settled || past[0].Outcome != tc.outcome || past[0].Owner != "run_2" {
					t.Errorf("the ledger says %+v", past)
				}
				w.ops.Close()
			})
		})
	}
}

// A run that lost its round writes nothing more of it, and of two that take it over one does.
func TestOfTwoThatTakeARoundOverOneDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := killAt(t, story{endpoint: []answer{terms("v1")}, site: []page{refused("r1")}}, "question")
		w.company.script = []answer{terms("v1")}
		past := History(w.disk.records())[0]
		w.must(w.resumes("run_2", false))
		first := w.ops
		synctest.Wait()
		l, err := ledger.Open(t.Context(), ledger.Config{Dir: w.dir, Owner: "run_3", OpenFile: w.disk.open, Index: Index()})
		w.must(err)
		defer func() { w.must(l.Close()) }()
		other, err := New(t.Context(), Config{Ledger: l, Client: &http.Client{Transport: w.company}})
		w.must(err)
		if err := other.Resume(t.Context(), past, Resumption{Company: w.site(), Session: w.session, Profile: profile.V1()}); !errors.Is(err, ErrNotTaken) {
			t.Errorf("the second one: %v", err)
		}
		other.Close()
		first.Close()
		if n := strings.Count(w.trace(), "resumed"); n != 1 {
			t.Errorf("what happened: %s", w.trace())
		}
	})
}

// At a locked home an approval of a run that is gone is sent again only when the User's signed yes to it is in the ledger:
// whoever can write the home's files could have written the rest.
func TestAtALockedHomeAnUnsignedApprovalIsNotSentAgain(t *testing.T) {
	k := newLock(t)
	public := k.Lock()
	for _, tc := range []struct {
		name string
		lock *lock.Lock
		sent bool
	}{{"no lock", nil, true}, {"a lock", &public, false}} {
		synctest.Test(t, func(t *testing.T) {
			w := killAt(t, story{endpoint: []answer{terms("v1"), recorded, state("performed")}, site: []page{refused("r1"), done}, user: []say{yes}}, "sending")
			w.company.script, w.lock = []answer{recorded, state("performed")}, tc.lock
			err := w.resumes("run_2", false)
			if errors.Is(err, ErrNotTaken) == tc.sent {
				t.Errorf("%s: %v", tc.name, err)
			}
			_, err = w.ops.Resumed(t.Context())
			w.must(err)
			w.ops.Close()
			if sent := strings.Contains(w.trace(), "APPROVE"); sent != tc.sent {
				t.Errorf("%s: %s", tc.name, w.trace())
			}
		})
	}
}

// What was settled as unknown is looked up again, as long as the Company has to remember it.
func TestWhatIsUnknownIsLookedUpAgainWhileTheCompanyRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := killAt(t, story{endpoint: []answer{terms("v1"), recorded}, site: []page{refused("r1")}, user: []say{yes}}, "recorded")
		w.company.script = many(lookTries, lost)
		w.must(w.resumes("run_2", false))
		_, err := w.ops.Resumed(t.Context())
		w.must(err)
		w.ops.Close()
		past := History(w.disk.records())[0]
		if past.Outcome != Unknown || !past.Unsettled(w.now()) || past.Unsettled(w.now().Add(48*time.Hour)) {
			t.Fatalf("%s, unsettled %v", past.Outcome, past.Unsettled(w.now()))
		}
		w.company.script, w.log = []answer{state("performed")}, nil
		w.must(w.resumes("run_3", false))
		_, err = w.ops.Resumed(t.Context())
		w.must(err)
		w.ops.Close()
		past = History(w.disk.records())[0]
		if got := w.trace(); got != "resumed LOOK:r1 settled" || past.Outcome != Performed || past.Unsettled(w.now()) {
			t.Errorf("%s: %s", got, past.Outcome)
		}
	})
}

// An approval of new terms that was being sent is sent again only when that of the terms before was not used meanwhile.
//
// Clauses: OPS3-7.13, OPS3-7.18
func TestAnApprovalOfNewTermsIsNotSentAgainWhenThatOfTheOldOnesWasUsed(t *testing.T) {
	for _, tc := range []struct {
		name     string
		endpoint []answer
		want     string
		outcome  Outcome
	}{
		{"used", []answer{state("performed")}, "resumed LOOK:r1 settled", Performed},
		{"nobody says", []answer{gone}, "resumed LOOK:r1 settled", Unknown},
		{"not used", []answer{state("approved"), recorded, state("performed")}, "resumed LOOK:r1 sending-again APPROVE:r2:v2 recorded replay-impossible LOOK:r2 settled", Performed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := killAtLine(t, story{endpoint: []answer{terms("v1"), recorded, state("approved"), terms("v2"), state("approved")},
					site: []page{refused("r1"), refused("r2")}, user: []say{yes, yes}}, "sending", 2)
				w.company.script = tc.endpoint
				w.must(w.resumes("run_2", false))
				_, err := w.ops.Resumed(t.Context())
				w.must(err)
				w.ops.Close()
				if got := w.trace(); got != tc.want || w.ops.Outcomes()[0] != tc.outcome {
					t.Errorf("%v: %s", w.ops.Outcomes(), got)
				}
			})
		})
	}
}

// A page asked again for what another run approved, and its run died before anybody was asked. Whoever goes on with that
// asks nobody either.
//
// Clauses: OPS3-7.14, OPS3-7.22
func TestWhatAPageAskedForAgainIsNotPutToTheUserOfALaterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(t), newShop()
		w.chrome.live = s.page
		w.company.live = s.answerTwo
		b := w.beside("run_b", &gate{}, nil)
		w.press(w.tab)
		b.press(b.tab)
		synctest.Wait() // both are asked about the first operation
		w.disk.onLine("sighting", w.ops.end)
		w.byItself(refusedScript("r9"))
		w.close()
		w.disk.onLine("", nil)
		stop := b.answers(yes)
		w.must(b.settle()) // unknown
		stop()
		past := History(w.disk.records())
		at := slices.IndexFunc(past, func(p Past) bool { return p.sightings()[0].Ref == "r9" })
		w.must(w.resumesRound("run_3", past[at], false))
		_, err := w.ops.Resumed(t.Context())
		w.must(err)
		w.ops.Close()
		if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{Failed}) || count(w.disk.records(), "question") != 2 {
			t.Errorf("outcomes = %v, %d questions: %s", got, count(w.disk.records(), "question"), w.trace())
		}
	})
}
