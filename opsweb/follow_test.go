package opsweb

import (
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// payRefused is the next page, to which the page of the action goes on, and which is refused with an operation of its own.
func payRefused(ref, address string) page {
	p := refused(ref)
	p.url = "https://shop.test/" + address
	return p
}

// A reference of another page that comes while the approved action is made again is no answer to it. It is asked about, in a
// round of its own, when the first operation is known to be performed, and its page alone is loaded again. One at most
// follows; others are refused or told, and so is what may be the same action again.
//
// Clauses: OPS3-7.18, OPS3-7.19, OPS3-7.20, OPS3-7.22
func TestAnotherPagesReferenceIsAskedAboutAfterTheReplayHasSettled(t *testing.T) {
	const first = asked + "answer sending APPROVE:r1:v1 recorded replaying PRESS replayed LOOK:r1 "
	const follows = "sighting LOOK:r9 operation question answer sending APPROVE:r9:v5 recorded replaying RELOAD replayed LOOK:r9 settled"
	for _, tc := range []struct {
		name    string
		end     string // the state of the first operation
		user    []say  // both yes when empty
		during  []page // what the page asks for while the first one is being looked up
		after   []page // and when it has settled
		want    string
		told    int // of how many it is said that nobody was asked
		refused int // how many sightings are refused
	}{
		{name: "while it is looked up", end: "performed", during: []page{payRefused("r9", "pay")}, want: "sighting LOOK:r1 settled " + follows},
		{name: "after it has settled", end: "performed", after: []page{payRefused("r9", "pay")}, want: "LOOK:r1 settled " + follows},
		{name: "the newest of two", end: "performed", during: []page{payRefused("r8", "ship"), payRefused("r9", "pay")}, told: 1, want: "sighting sighting LOOK:r1 settled " + follows},
		{name: "one while it is looked up, and one after", end: "performed", user: []say{yes, no}, during: []page{payRefused("r9", "pay")}, after: []page{payRefused("r8", "ship")}, refused: 1,
			want: "sighting LOOK:r1 settled sighting LOOK:r9 operation question refusal settled sighting"},
		{name: "what became of the first is not known", end: "what nobody knows", during: []page{payRefused("r9", "pay")}, told: 1, want: "sighting LOOK:r1 settled"},
		{name: "a script's own", end: "performed", during: []page{countRefused("r9")}, told: 1, want: "sighting LOOK:r1 settled"},
		{name: "the same address with another query", end: "performed", during: []page{payRefused("r9", "exchange?again=1")}, told: 1, want: "sighting LOOK:r1 settled"},
		{name: "the same address, after it has settled", end: "performed", after: []page{payRefused("r9", "exchange?again=1")}, refused: 1, want: "LOOK:r1 settled sighting"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				looks := 0
				done := map[string]bool{}
				w.company.live = func(p post) answer {
					switch {
					case p.approval != "":
						done[p.ref] = true
						return recorded
					case !done[p.ref] && p.ref == "r9":
						return termsOf("exc_9", "v5", time.Hour)
					case !done[p.ref]:
						return terms("v1")
					case p.ref == "r9":
						return answer{status: http.StatusOK, body: `{"operation_id":"exc_9","status":"performed"}`}
					}
					if looks++; looks == 1 {
						return state("performing").with(func(w *world) {
							for _, p := range tc.during {
								w.soon(p)
							}
						})
					}
					return state(tc.end)
				}
				w.chrome.script = []page{refusedScript("r1"), {script: true, status: 200}, {url: "https://shop.test/pay", status: 200}}
				user := []say{yes, yes}
				if tc.user != nil {
					user = tc.user
				}
				stop := w.answers(user...)
				w.press(w.tab)
				w.must(w.settle())
				for _, p := range tc.after {
					w.soon(p)
				}
				w.must(w.settle())
				stop()
				if got := w.trace(); got != first+tc.want {
					t.Errorf("what happened:\n got %s\nwant %s", got, first+tc.want)
				}
				if n := len(bodies[Trouble](w)); n != tc.told {
					t.Errorf("told: %+v", bodies[Trouble](w))
				}
				refusals := 0
				for _, s := range bodies[Sighting](w) {
					if !s.Accepted {
						refusals++
					}
				}
				if refusals != tc.refused {
					t.Errorf("%d sightings were refused", refusals)
				}
				w.historyAgrees()
			})
		})
	}
}

// New terms that come at the very moment at which the round of the old ones ends are asked about: after a no, and after
// nobody answered.
//
// Clauses: OPS3-5.24
func TestNewTermsThatComeAsTheRoundEndsAreAskedAboutInARoundThatFollows(t *testing.T) {
	for _, tc := range []struct {
		line string // when they come
		user []say
		want Outcome
	}{{"settled", nil, Expired}, {"refusal", []say{no}, Refused}} {
		t.Run(tc.line, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				ending := make(chan struct{})
				w.company.live = func(p post) answer {
					if p.ref == "r1" {
						return terms("v1")
					}
					return termsOf("exc_1", "v2", time.Hour)
				}
				way := w.ops.cfg.Client.Transport
				w.ops.cfg.Client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					res, err := way.RoundTrip(r)
					if w.count("LOOK:r2") == 1 { // it is on its way for so long
						<-ending
					}
					return res, err
				})
				w.chrome.script = []page{refusedScript("r1"), refusedScript("r2")}
				w.press(w.tab)
				synctest.Wait()
				before := w.ops.rounds[0]
				w.must(wait(t.Context(), 20*time.Minute-time.Second))
				w.press(w.tab)
				synctest.Wait()
				w.disk.onLine(tc.line, func() {
					w.disk.onLine("", nil)
					close(ending)
					for came := false; !came; runtime.Gosched() {
						before.mu.Lock()
						came = before.offered != nil
						before.mu.Unlock()
					}
				})
				stop := w.answers(append(slices.Clone(tc.user), no)...)
				if tc.user == nil { // the first question gets no answer
					stop()
					w.must(waitFor(w, func() bool { return len(bodies[Question](w)) == 2 }))
					stop = w.answers(no)
				}
				w.must(w.settle())
				stop()
				if got := w.ops.Outcomes(); !slices.Equal(got, []Outcome{tc.want, Refused}) {
					t.Errorf("outcomes = %v\n%s", got, w.trace())
				}
				if q := bodies[Question](w); len(q) != 2 {
					t.Errorf("%d questions", len(q))
				}
				w.historyAgrees()
			})
		})
	}
}

// count is how often a thing happened.
func (w *world) count(what string) int {
	n := 0
	for _, word := range strings.Fields(w.trace()) {
		if word == what {
			n++
		}
	}
	return n
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
