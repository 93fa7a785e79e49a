package opsweb

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/ledger"
)

// shop is a Company with one operation, for as many runs as meet it.
type shop struct {
	mu        sync.Mutex
	refs      int
	approved  map[string]int // how often by the approval's reference
	recorded  bool
	performed int
}

func newShop() *shop { return &shop{approved: make(map[string]int)} }

func (s *shop) answer(p post) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.approval != "":
		s.approved[approvalMembers(p.approval)["reference"]]++
		s.recorded = true
		return recorded
	case s.performed > 0:
		return state("performed")
	case s.recorded:
		return state("approved")
	}
	return terms("v1")
}

// answerTwo has a second operation, under r9, and no answer to any approval.
func (s *shop) answerTwo(p post) answer {
	switch {
	case p.ref == "r9":
		return termsOf("exc_2", "v1", time.Hour)
	case p.approval != "":
		return answer{status: http.StatusBadGateway}
	}
	return s.answer(p)
}

func (s *shop) page() page {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recorded {
		s.performed++
		s.recorded = false
		return page{script: true, status: http.StatusOK}
	}
	s.refs++
	return refusedScript(fmt.Sprint("r", s.refs))
}

// gate is the randomness of runs, which can be made to wait for each other where they draw of it: a run that makes an
// approval does so right before the line of it.
type gate struct {
	mu      sync.Mutex
	waits   int // for so many; 0: it is open
	arrived int
	open    chan struct{}
	n       byte
}

func (g *gate) close(until int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waits, g.open = until, make(chan struct{})
}

func (g *gate) Read(b []byte) (int, error) {
	g.mu.Lock()
	g.arrived++
	open, waits := g.open, g.waits > 0
	if waits {
		if g.waits--; g.waits == 0 {
			close(open)
		}
	}
	for i := range b {
		g.n += 7
		b[i] = g.n
	}
	g.mu.Unlock()
	if waits {
		<-open
	}
	return len(b), nil
}

// beside is another run at the same Company, over the same ledger, with a Chromium, a Session and a User of its own.
func (w *world) beside(owner string, g *gate, lives func(string) bool) *world {
	w.t.Helper()
	b := &world{t: w.t, dir: w.dir, began: w.began, disk: w.disk, company: w.company, seen: make(map[string]map[int]State)}
	b.chrome = newChrome(b)
	b.chrome.live = w.chrome.live
	var err error
	b.ledger, err = ledger.Open(w.t.Context(), ledger.Config{Dir: w.dir, Owner: owner, OpenFile: w.disk.open, Index: Index()})
	w.must(err)
	w.t.Cleanup(func() { w.must(b.ledger.Close()) })
	b.ops, err = New(w.t.Context(), Config{Ledger: b.ledger, Client: &http.Client{Transport: w.company}, Notify: b.notified, Now: w.now, Rand: g, Lives: lives})
	w.must(err)
	b.browser, err = browser.Start(w.t.Context(), browser.Config{Driver: b.chrome, Bin: "/bin/true", NoSandbox: true, Watch: Header, OnHeld: b.ops.Held, Now: w.now})
	w.must(err)
	w.t.Cleanup(b.close)
	b.session = newSession(w.t, w.site())
	b.tab = b.join(b.session, b.site())
	return b
}

func count(records []ledger.Record, kind string) int {
	n := 0
	for _, r := range records {
		if r.Kind == kind {
			n++
		}
	}
	return n
}

// Two runs meet one operation, ask their Users, and get both yeses; both read the ledger before either writes that its
// approval leaves. One approval leaves.
//
// Clauses: OPS3-7.13, OPS3-7.14
func TestOfTwoRunsThatApproveOneOperationAtOnceOneSends(t *testing.T) {
	for name, lives := range map[string]func(string) bool{"that know of each other": func(string) bool { return true }, "that do not": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s, g := newWorld(t), newShop(), &gate{}
				w.company.live, w.chrome.live = s.answer, s.page
				runs := []*world{w.beside("run_a", g, lives), w.beside("run_b", g, lives)}
				for _, r := range runs {
					r.press(r.tab)
				}
				synctest.Wait()
				g.close(2)
				for _, r := range runs {
					defer r.answers(yes)()
				}
				for _, r := range runs {
					w.must(r.settle())
					// One that does not know that the other lives may give up asking what became of it.
					if got := r.ops.Outcomes(); !slices.Equal(got, []Outcome{Performed}) && (lives != nil || !slices.Equal(got, []Outcome{Unknown})) {
						t.Errorf("outcomes = %v\n%s", got, r.trace())
					}
				}
				if n := count(w.disk.records(), lineYes); n != 2 {
					t.Fatalf("%d answers: the runs did not meet", n)
				}
				if n := count(w.disk.records(), "sending"); n != 1 || len(s.approved) != 1 || s.performed != 1 {
					t.Errorf("%d lines, %d approvals, performed %d times", n, len(s.approved), s.performed)
				}
			})
		})
	}
}

// sentMeanwhile is a run whose User says yes as another run, which then ends, has the approval of the same terms recorded.
func sentMeanwhile(t *testing.T) *world {
	w, s, g := newWorld(t), newShop(), &gate{}
	w.company.live, w.chrome.live = s.answer, s.page
	gone, b := w.beside("run_a", &gate{n: 3}, nil), w.beside("run_b", g, nil)
	for _, r := range []*world{gone, b} {
		r.press(r.tab)
	}
	synctest.Wait()
	g.close(2)
	stop := b.answers(yes)
	synctest.Wait() // it waits at the gate
	w.disk.onLine("recorded", func() { gone.ops.end() })
	defer gone.answers(yes)()
	synctest.Wait()
	_, _ = g.Read(nil) // opens the gate
	w.must(b.settle())
	stop()
	if s.performed != 1 || len(s.approved) != 1 {
		t.Errorf("%d approvals, performed %d times", len(s.approved), s.performed)
	}
	return b
}

// Clauses: OPS3-7.13
func TestAnApprovalOfTheVerySameTermsThatWasRecordedMeanwhileIsUsedInPlaceOfOnesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sentMeanwhile(t)
		if got := b.ops.Outcomes(); !slices.Equal(got, []Outcome{Performed}) {
			t.Errorf("outcomes = %v", got)
		}
		if m := bodies[ApprovedBefore](b); len(m) != 1 {
			t.Errorf("approved before: %+v", m)
		}
	})
}

// The right to make the act again is spent by whoever writes so first: here a run that took the approval over while the
// run which had it recorded waited for its tab.
//
// Clauses: OPS3-7.17, OPS3-7.21
func TestOfTwoRunsWithOneRecordedApprovalOneMakesTheActAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, g := newWorld(t), newShop(), &gate{}
		w.company.live, w.chrome.live = s.answer, s.page
		first, b := w.beside("run_a", g, nil), w.beside("run_b", g, nil)
		w.disk.onLine("recorded", func() { first.tab.turn <- struct{}{} })
		stop := first.answers(yes)
		first.press(first.tab)
		synctest.Wait() // it waits for its tab
		w.disk.onLine("", nil)
		// The page of the other run gets a reference to the same operation, by another request than the approved one.
		answers := b.chrome.live
		b.chrome.live = func() page { b.chrome.live = answers; return refusedScript("r9") }
		b.press(b.tab)
		w.must(b.settle())
		<-first.tab.turn
		w.must(first.settle())
		stop()
		for _, r := range []*world{first, b} {
			if got := r.ops.Outcomes(); !slices.Equal(got, []Outcome{Performed}) {
				t.Errorf("outcomes = %v\n%s", got, r.trace())
			}
		}
		if s.performed != 1 || strings.Contains(first.trace(), "PRESS") || count(w.disk.records(), "replaying") != 1 {
			t.Errorf("performed %d times, %d lines of an act\n%s", s.performed, count(w.disk.records(), "replaying"), first.trace())
		}
	})
}

// Two runs ask about one operation. What the other one's answer came to is what it came to, also where nobody answers here
// or the User says no; and what the Company declined there is not approved here.
//
// Clauses: OPS3-6.88, OPS3-7.13, OPS3-7.14
func TestWhatAnotherRunCameToMeanwhileIsNotDeniedHere(t *testing.T) {
	for name, tc := range map[string]struct {
		says    []say
		decline bool
		outcome Outcome
	}{
		"performed there, no here":        {[]say{no}, false, Performed},
		"performed there, no answer here": {nil, false, Performed},
		"declined there, yes here":        {[]say{yes}, true, Declined},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s := newWorld(t), newShop()
				w.company.live, w.chrome.live = s.answer, s.page
				if tc.decline {
					w.company.live = func(p post) answer {
						if p.approval != "" {
							s.approved[approvalMembers(p.approval)["reference"]]++
							return declined("")
						}
						return s.answer(p)
					}
				}
				a, b := w.beside("run_a", &gate{n: 3}, nil), w.beside("run_b", &gate{}, nil)
				for _, r := range []*world{a, b} {
					r.press(r.tab)
				}
				synctest.Wait() // both Users are asked
				stop := a.answers(yes)
				w.must(a.settle())
				stop()
				defer b.answers(tc.says...)()
				w.must(b.settle())
				if got := b.ops.Outcomes(); !slices.Equal(got, []Outcome{tc.outcome}) || len(s.approved) != 1 {
					t.Errorf("outcomes = %v, want %s; %d approvals left", got, tc.outcome, len(s.approved))
				}
			})
		})
	}
}

// A page that asks again gets another operation as soon as the first is performed, also when another run approved that: nobody
// is asked about it while that one's end is not known.
//
// Clauses: OPS3-7.14, OPS3-7.22
func TestAPageThatAsksAgainForWhatAnotherRunApprovedBringsNoQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(t), newShop()
		w.chrome.live = s.page
		w.company.live = s.answerTwo
		a, b := w.beside("run_a", &gate{n: 3}, nil), w.beside("run_b", &gate{}, nil)
		for _, r := range []*world{a, b} {
			r.press(r.tab)
		}
		synctest.Wait()
		defer a.answers(yes)()
		w.must(a.settle())
		b.byItself(refusedScript("r9"))
		synctest.Wait()
		if requests, _ := b.ops.Desk().Pending(); len(requests) != 1 || requests[0].Question.Operation.ID != "exc_1" {
			t.Errorf("asked: %+v", requests)
		}
		if got := b.ops.Outcomes(); !slices.Equal(got, []Outcome{Failed}) {
			t.Errorf("outcomes = %v", got)
		}
	})
}

// The page asks again before it is known here what its first request was for. The User says yes to the second operation, and
// by then another run turns out to have approved the first one: nothing of the second is sent.
//
// Clauses: OPS3-7.14, OPS3-7.22
func TestAYesIsNotUsedWhenTheSameRequestTurnsOutToBeApprovedByAnotherRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(t), newShop()
		w.chrome.live = s.page
		slow, second := true, 0
		w.company.live = func(p post) answer {
			switch {
			case p.ref == "r9" && p.approval != "":
				second++
				return recorded
			case p.ref == "r9":
				return termsOf("exc_2", "v1", time.Hour)
			case p.ref == "r2" && slow:
				slow = false
				return busy(http.StatusServiceUnavailable, "300")
			}
			return s.answer(p)
		}
		a, b := w.beside("run_a", &gate{n: 3}, nil), w.beside("run_b", &gate{}, nil)
		a.press(a.tab)
		b.press(b.tab)
		synctest.Wait()
		b.byItself(refusedScript("r9")) // it is asked about: nobody knows yet what r2 is for
		synctest.Wait()
		if requests, _ := b.ops.Desk().Pending(); len(requests) != 1 || requests[0].Question.Operation.ID != "exc_2" {
			t.Fatalf("asked: %+v", requests)
		}
		w.disk.onLine("recorded", a.ops.end) // the act is not made again
		stop := a.answers(yes)
		synctest.Wait()
		stop()
		w.must(wait(t.Context(), 10*time.Minute))
		defer b.answers(yes)()
		w.must(b.settle())
		if second != 0 || count(w.disk.records(), "sending") != 1 {
			t.Errorf("%d approvals of the second operation left; %d lines", second, count(w.disk.records(), "sending"))
		}
	})
}

// A run that is gone had written that its approval leaves. Another one finds that it never came to be recorded, asks anew, and
// its approval leaves. Whoever then goes on with the first sends nothing of it any more.
//
// Clauses: OPS3-7.13, OPS3-7.14
func TestAnApprovalIsNotSentAgainOnceAnotherRunApprovedTheOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		day := termsOf("exc_1", "v1", 24*time.Hour)
		w := killAt(t, story{endpoint: []answer{day}, site: []page{refused("r1")}, user: []say{yes}}, "sending")
		w.skip(2 * time.Hour)
		b := w.beside("run_2", &gate{}, nil)
		w.company.script = []answer{day, day, lost}
		b.chrome.script = []page{refused("r2")}
		sent := 0
		w.disk.onLine("sending", func() { sent++ })
		stop := b.answers(yes)
		b.press(b.tab)
		synctest.Wait()
		stop()
		b.ops.Close()
		if sent != 1 {
			t.Fatalf("the second run did not come to send: %s", b.trace())
		}
		w.log = nil
		w.company.script = []answer{state("approved")}
		w.must(w.resumes("run_3", false))
		_, err := w.ops.Resumed(t.Context())
		w.must(err)
		w.ops.Close()
		if got := w.trace(); got != "resumed state-known LOOK:r1 settled" {
			t.Errorf("what happened: %s", got)
		}
	})
}
