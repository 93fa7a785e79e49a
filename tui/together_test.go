package tui

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/operation"
)

// deskProcess is a running process: a real desk with one open question, behind a real socket.
type deskProcess struct {
	desk *approval.Desk

	mu       sync.Mutex
	view     attach.View
	changed  chan struct{}
	recorded []approval.Decision
}

// Snapshot implements attach.Source.
func (p *deskProcess) Snapshot() (attach.View, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return attach.View{Tasks: slices.Clone(p.view.Tasks), Questions: slices.Clone(p.view.Questions), Closed: slices.Clone(p.view.Closed)}, p.changed
}

// Decide implements attach.Source.
func (p *deskProcess) Decide(ctx context.Context, a approval.Answer) (approval.Decision, error) {
	return p.desk.Decide(ctx, a)
}

func (p *deskProcess) update(change func(*attach.View)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.view)
	close(p.changed)
	p.changed = make(chan struct{})
}

func serveDesk(t *testing.T, dir string) *deskProcess {
	t.Helper()
	p := &deskProcess{changed: make(chan struct{}), view: attach.View{Tasks: []attach.Task{jacketTask()}}}
	var err error
	p.desk, err = approval.NewDesk(approval.Config{Record: func(_ context.Context, _ approval.Request, d approval.Decision) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.recorded = append(p.recorded, d)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	server, err := attach.Serve(t.Context(), dir, "r1", p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return p
}

// ask opens q until it has its outcome, which the terminals are told.
func (p *deskProcess) ask(t *testing.T, q attach.Question) {
	t.Helper()
	question := q.Request.Question
	question.Deadline = question.Deadline.UTC().Truncate(time.Second)
	question.Operation.ExpiresAt, question.Operation.ExpiresAtSent = question.Deadline, question.Deadline.Format(time.RFC3339)
	r, err := p.desk.NewRequest(question)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	asking.Go(func() {
		d, err := p.desk.Ask(ctx, r)
		p.update(func(v *attach.View) {
			v.Questions = nil
			if err == nil {
				v.Closed = append(v.Closed, attach.Closed{Request: r.ID, Round: "r1", Decision: d})
			}
		})
	})
	t.Cleanup(func() { cancel(); asking.Wait() })
	p.update(func(v *attach.View) { v.Questions = []attach.Question{{Task: "r1", Request: r, Front: true}} })
}

// attached is a UI on a terminal of its own that watches dir, as papaver tui does.
func attached(t *testing.T, run runFunc, dir string) *running {
	t.Helper()
	client, err := attach.Watch(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return startWith(t, run, 80, 30, false, func(c *Config) { c.Feed = client })
}

// Clauses: RD-3.05
func TestOfTwoUIsTheFirstAnswerWinsAndTheOtherSaysWhoAnswered(t *testing.T) {
	for name, second := range modes() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := serveDesk(t, dir)
			one, two := attached(t, Run, dir), attached(t, second, dir)
			p.ask(t, live(short(t)))
			one.waitFor("a approve")
			two.waitFor("a approve")
			one.pressSeen("a", "a approve", "You approved.")
			two.waitFor("That question was approved by you, at another")
			two.press("d") // too late, and to nothing
			if open, _ := p.desk.Pending(); len(open) != 0 {
				t.Errorf("%d questions are open", len(open))
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.recorded) != 1 || p.recorded[0].State != approval.Approved || p.recorded[0].Approver != operation.ByUser {
				t.Errorf("recorded: %+v", p.recorded)
			}
		})
	}
}

// A UI that goes away leaves the question open for the next one; the deadline stays.
func TestAUIThatIsLeftLeavesTheQuestionOpenForTheNext(t *testing.T) {
	dir := t.TempDir()
	p := serveDesk(t, dir)
	p.ask(t, live(short(t)))
	one := attached(t, Run, dir)
	one.waitFor("a approve")
	one.stop()
	_ = one.end()
	if open, _ := p.desk.Pending(); len(open) != 1 {
		t.Fatalf("%d questions are open", len(open))
	}
	two := attached(t, Run, dir)
	two.waitFor("a approve")
	two.pressSeen("d", "a approve", "You did not approve.")
}

// Clauses: RD-5.04, RD-5.05
func TestAQuestionThatExpiresOnTheScreenSaysSoAndTakesNoAnswer(t *testing.T) {
	dir := t.TempDir()
	p := serveDesk(t, dir)
	one := attached(t, Run, dir)
	q := short(t)
	q.Request.Question.Deadline = time.Now().Add(3 * time.Second)
	p.ask(t, q)
	one.waitFor("Papaver asks")
	one.waitFor("That question expired unanswered.")
	one.press("a")
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.recorded) != 1 || p.recorded[0].State != approval.Expired {
		t.Errorf("recorded: %+v", p.recorded)
	}
}

// Clauses: OPS3-5.05, OPS3-3.27
func TestANewRevisionOnTheScreenStartsTheWaitAgain(t *testing.T) {
	r := start(t, Run, 80, 24, true)
	q := live(short(t))
	r.feed.views <- viewOf(q)
	r.waitFor("a approve")
	next := live(revised(t))
	next.Request.ID, next.Request.Question.Operation.Revision = "q2", "rev_2"
	r.feed.views <- viewOf(next)
	r.waitFor("Differs: “amount” changed: “7.00” → “9.00”")
	r.press("a")
	r.waitFor("wait a moment")
	if err := r.answer("d"); err != nil {
		t.Fatal(err)
	}
	given := r.feed.given()
	if len(given) != 1 || given[0].Approved() || given[0].Shown().Revision != "rev_2" {
		t.Errorf("answers %+v", given)
	}
}

// pressSeen presses key once the screen says when, again after a while, until the screen says text.
func (s *terminal) pressSeen(key, when, text string) {
	s.t.Helper()
	seen := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watch(text, seen)
	}()
	s.pressUntil(key, when, seen)
	<-done
}

// watch sends nil when the screen says text.
func (s *terminal) watch(text string, seen chan<- error) {
	for {
		s.mu.Lock()
		found, changed := strings.Contains(s.screen.text(), text), s.changed
		s.mu.Unlock()
		if found {
			seen <- nil
			return
		}
		select {
		case <-changed:
		case <-s.done:
			seen <- nil
			return
		}
	}
}
