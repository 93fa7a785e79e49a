package approval_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/operation"
)

// record is what a desk wrote down.
type record struct {
	mu   sync.Mutex
	list []approval.Decision
	fail error
	stop func() // called before it is written
}

func (r *record) write(_ context.Context, _ approval.Request, d approval.Decision) error {
	if r.stop != nil {
		r.stop()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return r.fail
	}
	r.list = append(r.list, d)
	return nil
}

func (r *record) failing(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = err
}

func (r *record) all() []approval.Decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]approval.Decision(nil), r.list...)
}

func newDesk(t *testing.T) (*approval.Desk, *record) {
	t.Helper()
	r := &record{}
	d, err := approval.NewDesk(approval.Config{Record: r.write})
	if err != nil {
		t.Fatal(err)
	}
	return d, r
}

const life = time.Minute

func newRequest(t *testing.T, d *approval.Desk, revision string) approval.Request {
	t.Helper()
	terms, err := operation.ParseTerms([]byte(`{"price":"70.00"}`))
	if err != nil {
		t.Fatal(err)
	}
	ends := time.Now().Add(life)
	r, err := d.NewRequest(approval.Question{Kind: approval.KindApproval, Round: "r", Deadline: ends,
		Operation: operation.Operation{ID: "exc_1", Revision: revision, Terms: terms, ExpiresAt: ends}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// outcome is what an Ask came to.
type outcome struct {
	decision approval.Decision
	err      error
}

// ask opens r and returns where its outcome comes. It is open when ask returns.
func ask(t *testing.T, ctx context.Context, d *approval.Desk, r approval.Request) <-chan outcome {
	t.Helper()
	_, changed := d.Pending()
	came := make(chan outcome, 1)
	go func() {
		decision, err := d.Ask(ctx, r)
		came <- outcome{decision, err}
	}()
	<-changed
	return came
}

func yes(r approval.Request) approval.Answer { return approval.FromUser(true, r.Shows()) }
func no(r approval.Request) approval.Answer  { return approval.FromUser(false, r.Shows()) }

// Clauses: RD-3.01, RD-3.04, RD-3.05, RD-4.01, RD-4.02, RD-4.03, RD-4.04, RD-6.01, RD-6.09
func TestTheFirstAnswerWinsAndALaterOneIsToldWhatWon(t *testing.T) {
	for _, tc := range []struct {
		name         string
		first, other func(approval.Request) approval.Answer
		state        approval.State
	}{
		{"a yes", yes, no, approval.Approved},
		{"a no", no, yes, approval.Denied},
		{"a refusal of a run that may not ask", func(r approval.Request) approval.Answer { return approval.Refusal(r.Shows()) }, yes, approval.Denied},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, written := newDesk(t)
				r := newRequest(t, d, "v1")
				came := ask(t, t.Context(), d, r)
				won, err := d.Decide(t.Context(), tc.first(r))
				if err != nil || won.State != tc.state || won.Shown != r.Shows() || !won.DecidedAt.Equal(time.Now()) {
					t.Fatalf("%+v, %v", won, err)
				}
				if tc.state == approval.Approved {
					if !won.ExpiresAt.Equal(r.Question.Operation.ExpiresAt) || !won.ExpiresAt.After(won.DecidedAt) {
						t.Errorf("it may be used until %v", won.ExpiresAt)
					}
				} else if !won.ExpiresAt.IsZero() {
					t.Errorf("a no may be used until %v", won.ExpiresAt)
				}
				for _, late := range []approval.Answer{tc.other(r), tc.first(r)} {
					if got, err := d.Decide(t.Context(), late); !errors.Is(err, approval.ErrAnswered) || got != won {
						t.Errorf("a later answer: %+v, %v", got, err)
					}
				}
				if o := <-came; o.err != nil || o.decision != won {
					t.Errorf("who asked got %+v", o)
				}
				if got, ok := d.Outcome(r.ID); !ok || got != won {
					t.Errorf("the outcome is %+v, %v", got, ok)
				}
				if list := written.all(); len(list) != 1 || list[0] != won {
					t.Errorf("written down: %+v", list)
				}
				if open, _ := d.Pending(); len(open) != 0 {
					t.Errorf("%d questions are open", len(open))
				}
			})
		})
	}
}

// Answers, the deadline and the end of the run come at one moment; one outcome is on record, and everybody is told that.
//
// Clauses: RD-3.05, RD-5.09
func TestManyAnswersAtOnceHaveOneOutcome(t *testing.T) {
	for i := range 200 {
		d, written := newDesk(t)
		r := newRequest(t, d, "v1")
		ctx, cancel := context.WithCancel(t.Context())
		came := ask(t, ctx, d, r)
		start := make(chan struct{})
		var wins atomic.Int32
		var told sync.Map
		var everybody sync.WaitGroup
		for n := range 16 {
			everybody.Go(func() {
				<-start
				decision, err := d.Decide(context.Background(), approval.FromUser(n%2 == 0, r.Shows()))
				switch {
				case err == nil:
					wins.Add(1)
					told.Store(decision.State, true)
				case errors.Is(err, approval.ErrAnswered):
					told.Store(decision.State, true)
				case !errors.Is(err, approval.ErrUnknownRequest): // withdrawn before
					t.Error(err)
				}
			})
		}
		if i%2 == 0 {
			everybody.Go(func() { <-start; cancel() })
		}
		close(start)
		everybody.Wait()
		o := <-came
		cancel()
		states := 0
		told.Range(func(any, any) bool { states++; return true })
		list := written.all()
		if len(list) > 1 || int(wins.Load()) != len(list) || states > 1 {
			t.Fatalf("%d wins, %d on record, %d outcomes were told", wins.Load(), len(list), states)
		}
		if i%2 == 1 && (len(list) != 1 || o.err != nil || o.decision != list[0]) {
			t.Fatalf("who asked got %+v, on record is %+v", o, list)
		}
	}
}

// Clauses: OPS3-5.05, OPS3-5.24, RD-6.02
func TestAnAnswerToOtherTermsChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, written := newDesk(t)
		r := newRequest(t, d, "v2")
		ctx, cancel := context.WithCancel(t.Context())
		came := ask(t, ctx, d, r)
		for name, change := range map[string]func(*approval.Shown){
			"the earlier revision": func(s *approval.Shown) { s.Revision = "v1" },
			"another operation":    func(s *approval.Shown) { s.OperationID = "exc_2" },
			"other terms":          func(s *approval.Shown) { s.TermsHash = "00" },
			"no terms":             func(s *approval.Shown) { s.TermsHash = "" },
		} {
			shown := r.Shows()
			change(&shown)
			if _, err := d.Decide(t.Context(), approval.FromUser(true, shown)); !errors.Is(err, approval.ErrOtherTerms) {
				t.Errorf("%s: %v", name, err)
			}
		}
		other := newRequest(t, d, "v2") // the same terms, asked anew: an answer to one is none to the other
		if _, err := d.Decide(t.Context(), yes(other)); !errors.Is(err, approval.ErrUnknownRequest) {
			t.Errorf("a request that is not open: %v", err)
		}
		if open, _ := d.Pending(); len(open) != 1 || len(written.all()) != 0 {
			t.Errorf("%d questions are open, %d answers on record", len(open), len(written.all()))
		}
		cancel()
		<-came
	})
}

// Clauses: RD-5.04, RD-5.05, RD-3.04
func TestAQuestionExpiresAtItsDeadlineAndNoAnswerCountsAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, written := newDesk(t)
		r := newRequest(t, d, "v1")
		o := <-ask(t, t.Context(), d, r)
		if o.err != nil || o.decision.State != approval.Expired || !o.decision.ExpiresAt.IsZero() {
			t.Errorf("%+v", o)
		}
		if got, err := d.Decide(t.Context(), yes(r)); !errors.Is(err, approval.ErrAnswered) || got.State != approval.Expired {
			t.Errorf("a late yes: %+v, %v", got, err)
		}
		if list := written.all(); len(list) != 1 || list[0].State != approval.Expired {
			t.Errorf("on record: %+v", list)
		}
	})
}

// The clock can be past the deadline before anybody noticed: after a sleep of the machine the first to come is the yes.
//
// Clauses: RD-5.05
func TestAYesAfterTheDeadlineExpiresTheQuestionItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var skipped atomic.Int64
		written := &record{}
		d, err := approval.NewDesk(approval.Config{Record: written.write, Now: func() time.Time { return time.Now().Add(time.Duration(skipped.Load())) }})
		if err != nil {
			t.Fatal(err)
		}
		r := newRequest(t, d, "v1")
		came := ask(t, t.Context(), d, r)
		skipped.Store(int64(life))
		if got, err := d.Decide(t.Context(), yes(r)); !errors.Is(err, approval.ErrAnswered) || got.State != approval.Expired {
			t.Errorf("%+v, %v", got, err)
		}
		if o := <-came; o.decision.State != approval.Expired {
			t.Errorf("who asked got %+v", o)
		}
	})
}

// Clauses: RD-3.03
func TestAnAnswerThatCanNotBeWrittenDownDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, written := newDesk(t)
		r := newRequest(t, d, "v1")
		came := ask(t, t.Context(), d, r)
		full := errors.New("disk full")
		written.failing(full)
		if got, err := d.Decide(t.Context(), yes(r)); !errors.Is(err, full) || got != (approval.Decision{}) {
			t.Errorf("%+v, %v", got, err)
		}
		if open, _ := d.Pending(); len(open) != 1 {
			t.Errorf("%d questions are open", len(open))
		}
		if _, ok := d.Outcome(r.ID); ok {
			t.Error("it has an outcome")
		}
		written.failing(nil)
		if got, err := d.Decide(t.Context(), no(r)); err != nil || got.State != approval.Denied {
			t.Errorf("the next answer: %+v, %v", got, err)
		}
		if o := <-came; o.decision.State != approval.Denied {
			t.Errorf("who asked got %+v", o)
		}
	})
}

func TestNobodyLearnsOfAnAnswerBeforeItIsWrittenDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, written := newDesk(t)
		r := newRequest(t, d, "v1")
		came := ask(t, t.Context(), d, r)
		writing, goOn := make(chan struct{}), make(chan struct{})
		written.stop = func() { close(writing); <-goOn }
		decided := make(chan outcome, 1)
		go func() {
			decision, err := d.Decide(t.Context(), yes(r))
			decided <- outcome{decision, err}
		}()
		<-writing
		synctest.Wait()
		if _, ok := d.Outcome(r.ID); ok || len(came) > 0 || len(decided) > 0 {
			t.Error("the answer is known and not on record")
		}
		close(goOn)
		<-came
		<-decided
	})
}

// Clauses: RD-5.06, RD-5.07
func TestTheEndOfARunWithdrawsItsQuestionWithoutAnOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, written := newDesk(t)
		r := newRequest(t, d, "v1")
		ctx, cancel := context.WithCancel(t.Context())
		came := ask(t, ctx, d, r)
		cancel()
		if o := <-came; !errors.Is(o.err, context.Canceled) || o.decision != (approval.Decision{}) {
			t.Errorf("%+v", o)
		}
		if _, err := d.Decide(t.Context(), yes(r)); !errors.Is(err, approval.ErrUnknownRequest) {
			t.Errorf("a yes afterwards: %v", err)
		}
		if open, _ := d.Pending(); len(open) != 0 || len(written.all()) != 0 {
			t.Errorf("%d questions are open, %d answers on record", len(open), len(written.all()))
		}
	})
}

// Clauses: RD-2.02
func TestQuestionsKeepTheirOrderAndTheirNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := newDesk(t)
		ctx, cancel := context.WithCancel(t.Context())
		var ids []approval.RequestID
		var all []<-chan outcome
		for i := range 3 {
			r := newRequest(t, d, fmt.Sprint("v", i))
			all = append(all, ask(t, ctx, d, r))
			ids = append(ids, r.ID)
		}
		open, _ := d.Pending()
		for i, r := range open {
			if r.ID != ids[i] || r.Shows().Request != r.ID || i > 0 && r.ID == ids[i-1] {
				t.Errorf("question %d is %s of %v", i, r.ID, ids)
			}
		}
		cancel()
		for _, came := range all {
			<-came
		}
	})
}

func TestAQuestionWithoutTermsCanNotBeAsked(t *testing.T) {
	d, _ := newDesk(t)
	empty, err := operation.ParseTerms([]byte(`{"note":null}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, terms := range []operation.Terms{{}, empty} {
		_, err := d.NewRequest(approval.Question{Operation: operation.Operation{ID: "exc_1", Revision: "v1", Summary: "Fine.", Terms: terms}})
		if !errors.Is(err, approval.ErrNotDisplayable) {
			t.Errorf("err = %v", err)
		}
	}
	if _, err := approval.NewDesk(approval.Config{}); err == nil {
		t.Error("a desk that keeps no record was made")
	}
}

// The desk remembers what won for so many questions, and forgets the oldest.
func TestTheDeskForgetsTheOldestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := newDesk(t)
		var all []approval.Request
		for range 257 {
			r := newRequest(t, d, "v1")
			came := ask(t, t.Context(), d, r)
			if _, err := d.Decide(t.Context(), no(r)); err != nil {
				t.Fatal(err)
			}
			<-came
			all = append(all, r)
		}
		if _, ok := d.Outcome(all[0].ID); ok {
			t.Error("the oldest is remembered")
		}
		if _, ok := d.Outcome(all[1].ID); !ok {
			t.Error("the next one is forgotten")
		}
		if _, err := d.Decide(t.Context(), yes(all[0])); !errors.Is(err, approval.ErrUnknownRequest) {
			t.Errorf("an answer to a forgotten question: %v", err)
		}
	})
}

// An answer that is being written down when the run ends counts: whoever asked learns of it, as the ledger does.
func TestAnAnswerThatIsBeingWrittenWhenTheRunEndsIsNotLost(t *testing.T) {
	d, written := newDesk(t)
	r := newRequest(t, d, "v1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	came := ask(t, ctx, d, r)
	written.stop = func() {
		cancel()
		for range 10_000 { // gives the one who asked every chance to go away
			if open, _ := d.Pending(); len(open) == 0 {
				break
			}
			runtime.Gosched()
		}
	}
	won, err := d.Decide(t.Context(), yes(r))
	if err != nil || won.State != approval.Approved {
		t.Errorf("Decide: %+v, %v", won, err)
	}
	if got := <-came; got.err != nil || got.decision != won {
		t.Errorf("Ask: %+v, %v; the answer is on record", got.decision, got.err)
	}
	if list := written.all(); len(list) != 1 {
		t.Errorf("on record: %+v", list)
	}
}

// Clauses: RD-5.04
func TestAnOpenQuestionLooksAtTheClockOnlyWhenItWasMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, moved atomic.Int64
		d, err := approval.NewDesk(approval.Config{Record: (&record{}).write, Deadline: func(q approval.Question) time.Time {
			asked.Add(1)
			return q.Operation.ExpiresAt.Add(time.Duration(moved.Load()))
		}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRequest(t, d, "v1")
		came := ask(t, t.Context(), d, r)
		synctest.Wait()
		before := asked.Load()
		<-time.After(life / 2)
		synctest.Wait()
		if n := asked.Load() - before; n != 0 {
			t.Errorf("while nothing happened the deadline was asked for %d times", n)
		}
		_, changed := d.Pending()
		moved.Store(-int64(life / 4))
		d.ClockMoved()
		<-changed // whoever shows it is told
		if open, _ := d.Pending(); len(open) != 1 || open[0].Question.Deadline != r.Question.Deadline.Add(-life/4) {
			t.Errorf("open: %+v", open)
		}
		moved.Store(-int64(life))
		began := time.Now()
		d.ClockMoved()
		if o := <-came; o.decision.State != approval.Expired || time.Since(began) != 0 {
			t.Errorf("after %v who asked got %+v", time.Since(began), o)
		}
	})
}
