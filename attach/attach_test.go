package attach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/approval"
)

func TestATerminalSeesTheTasksAndQuestionsAndItsAnswerReachesTheDesk(t *testing.T) {
	leavesNothing(t)
	dir, p := runFolder(t), newProcess(t)
	r := p.ask("v1", time.Hour)
	serve(t, dir, "run_1", p)
	c := watch(t, dir, "")
	v := until(t, c, "the question", questions(1))
	q := v.Questions[0]
	if q.Task != "run_1" || !q.Front || len(v.Tasks) != 1 || v.Tasks[0].ID != "run_1" || v.Tasks[0].Title != "Exchange" {
		t.Errorf("%+v", v)
	}
	if q.Request.Shows() != r.Shows() || !reflect.DeepEqual(q.Request.Question.Differences, r.Question.Differences) || !q.Request.Question.Deadline.Equal(r.Question.Deadline) ||
		!reflect.DeepEqual(q.Request.Question.Operation.Terms.Rows(), r.Question.Operation.Terms.Rows()) {
		t.Errorf("the question came as %+v", q.Request)
	}
	p.change(func(v *View) { v.Tasks[0].Now = "asking" })
	until(t, c, "the change", func(v View) bool { return v.Tasks[0].Now == "asking" })

	d, err := c.Answer(t.Context(), approval.FromUser(true, q.Request.Shows()))
	if err != nil || d.State != approval.Approved || d.Shown != r.Shows() {
		t.Errorf("%+v, %v", d, err)
	}
	v = until(t, c, "its end", func(v View) bool { return len(v.Questions) == 0 && len(v.Closed) == 1 })
	if v.Closed[0].Request != r.ID || v.Closed[0].Decision.State != approval.Approved {
		t.Errorf("%+v", v.Closed)
	}
	if again, err := c.Answer(t.Context(), approval.FromUser(false, q.Request.Shows())); !errors.Is(err, approval.ErrAnswered) || again.State != approval.Approved {
		t.Errorf("a later answer: %+v, %v", again, err)
	}
}

func TestATerminalSeesADeadlineThatMoved(t *testing.T) {
	leavesNothing(t)
	dir, p := runFolder(t), newProcess(t)
	r := p.ask("v1", time.Hour)
	serve(t, dir, "run_1", p)
	c := watch(t, dir, "")
	until(t, c, "the question", questions(1))
	moved := r.Question.Deadline.Add(-time.Minute)
	p.change(func(v *View) { v.Questions[0].Request.Question.Deadline = moved })
	until(t, c, "the deadline that moved, of the one question", func(v View) bool {
		return len(v.Questions) == 1 && v.Questions[0].Request.Question.Deadline.Equal(moved)
	})
}

// Clauses: RD-3.05, RD-5.09
func TestOfTwoTerminalsTheFirstAnswerWins(t *testing.T) {
	leavesNothing(t)
	dir, p := runFolder(t), newProcess(t)
	serve(t, dir, "run_1", p)
	clients := []*Client{watch(t, dir, ""), watch(t, dir, "")}
	for i := range 20 {
		r := p.ask(fmt.Sprint("v", i), time.Hour)
		for _, c := range clients {
			until(t, c, "the question", func(v View) bool { return len(v.Questions) == 1 && v.Questions[0].Request.ID == r.ID })
		}
		var both sync.WaitGroup
		decisions, errs := make([]approval.Decision, 2), make([]error, 2)
		for n, c := range clients {
			both.Go(func() { decisions[n], errs[n] = c.Answer(t.Context(), approval.FromUser(n == 0, r.Shows())) })
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || decisions[0].State != decisions[1].State {
			t.Fatalf("both were told %+v, %v", decisions, errs)
		}
		for n, err := range errs {
			if err != nil && !errors.Is(err, approval.ErrAnswered) {
				t.Fatalf("terminal %d: %v", n, err)
			}
		}
		for _, c := range clients {
			until(t, c, "its end", questions(0))
		}
	}
	if p.answers != 20 {
		t.Errorf("%d answers are on record", p.answers)
	}
}

func TestAnAnswerToOtherTermsIsRefusedAcrossTheSocketToo(t *testing.T) {
	dir, p := runFolder(t), newProcess(t)
	r := p.ask("v1", time.Hour)
	serve(t, dir, "run_1", p)
	c := watch(t, dir, "")
	until(t, c, "the question", questions(1))
	shown := r.Shows()
	shown.Revision = "v0"
	if _, err := c.Answer(t.Context(), approval.FromUser(true, shown)); !errors.Is(err, approval.ErrOtherTerms) {
		t.Errorf("other terms: %v", err)
	}
	shown.Request = "q_none"
	if _, err := c.Answer(t.Context(), approval.FromUser(true, shown)); !errors.Is(err, approval.ErrUnknownRequest) {
		t.Errorf("an unknown request: %v", err)
	}
	if p.answers != 0 {
		t.Errorf("%d answers are on record", p.answers)
	}
}

func TestATerminalWatchesAllRunsAlsoLaterOnesOrOneAlone(t *testing.T) {
	leavesNothing(t)
	dir := runFolder(t)
	all, one := watch(t, dir, ""), watch(t, dir, "run_2")
	p1, p2 := newProcess(t), newProcess(t)
	p1.ask("v1", 2*time.Hour)
	p2.ask("v1", time.Hour)
	s1 := serve(t, dir, "run_1", p1)
	serve(t, dir, "run_2", p2)
	v := until(t, all, "both questions", questions(2))
	if v.Questions[0].Task != "run_2" { // the sooner deadline first
		t.Errorf("the questions are of %s and %s", v.Questions[0].Task, v.Questions[1].Task)
	}
	s1.Close()
	v = until(t, all, "the end of one", questions(1))
	if v.Questions[0].Task != "run_2" {
		t.Errorf("left is the question of %s", v.Questions[0].Task)
	}
	v = until(t, one, "its own question", questions(1))
	if len(v.Tasks) != 1 || v.Tasks[0].ID != "run_2" {
		t.Errorf("it watches %+v", v.Tasks)
	}
}

func TestTheLastNewsArriveBeforeTheConnectionEnds(t *testing.T) {
	leavesNothing(t)
	for range 20 {
		dir, p := runFolder(t), newProcess(t)
		s := serve(t, dir, "run_1", p)
		c := watch(t, dir, "")
		until(t, c, "the task", tasks(1))
		p.mu.Lock()
		p.view.Tasks[0].Outcome = "performed" // and nothing but the end makes the server look
		p.mu.Unlock()
		s.Close()
		v := until(t, c, "an outcome", func(v View) bool { return v.Tasks[0].Outcome != "" })
		if v.Tasks[0].Outcome != "performed" {
			t.Fatalf("the last news is %q", v.Tasks[0].Outcome)
		}
		s.Close() // once more does nothing
	}
}

func TestTheTaskOfAProcessThatDiedIsInterruptedAndItsQuestionGone(t *testing.T) {
	leavesNothing(t)
	dir, p := runFolder(t), newProcess(t)
	r := p.ask("v1", time.Hour)
	s := serve(t, dir, "run_1", p)
	c := watch(t, dir, "")
	until(t, c, "the question", questions(1))
	s.end() // as when it is killed: no last news
	v := until(t, c, "the end", questions(0))
	if v.Tasks[0].Outcome != "interrupted" {
		t.Errorf("%+v", v.Tasks[0])
	}
	s.Close()
	if _, err := c.Answer(t.Context(), approval.FromUser(true, r.Shows())); err == nil {
		t.Error("an answer to it was taken")
	}
}

func TestSocketAndLockAreTheUsersAloneAndGoneAfterClose(t *testing.T) {
	dir, p := filepath.Join(t.TempDir(), "home", "run"), newProcess(t)
	s := serve(t, dir, "run_1", p)
	for name, want := range map[string]os.FileMode{".": 0o700, "run_1.sock": 0o600, "run_1.lock": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := Serve(t.Context(), dir, "run_1", p); err == nil {
		t.Error("a second process took the same run")
	}
	if _, err := os.Stat(filepath.Join(dir, "run_1.sock")); err != nil {
		t.Errorf("the second one took the first one's socket away: %v", err)
	}
	s.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestWhatAKilledProcessLeftIsClearedAway(t *testing.T) {
	dir := runFolder(t)
	// A socket that nobody listens on, with and without its lock file.
	for _, run := range []string{"dead_1", "dead_2"} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, run+sockSuffix), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		_ = l.Close()
	}
	if err := os.WriteFile(filepath.Join(dir, "dead_1.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// One whose lock is held lives: perhaps it only begins.
	if err := os.WriteFile(filepath.Join(dir, "alive.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := tryLock(filepath.Join(dir, "alive.lock"))
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	defer func() { _ = held.Close() }()
	watch(t, dir, "") // it looks before it returns
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "alive.lock alive.sock" {
		t.Errorf("left: %s", got)
	}
}

func TestAHomeWithALongPathWorks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long-", 30), strings.Repeat("path-", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p := newProcess(t)
	s := serve(t, dir, "run_1", p)
	c := watch(t, dir, "")
	until(t, c, "the task", tasks(1))
	s.Close()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAWatchOfNoFolderIsAnErrorAndNextEndsWithItsContext(t *testing.T) {
	if _, err := Watch(t.Context(), filepath.Join(t.TempDir(), "none"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	c := watch(t, runFolder(t), "")
	if v, err := c.Next(t.Context()); err != nil || len(v.Tasks) != 0 {
		t.Errorf("the first view: %+v, %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	c.Close()
	if _, err := c.Next(t.Context()); err == nil {
		t.Error("Next goes on after Close")
	}
}
