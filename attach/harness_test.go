package attach

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/operation"
)

// limit is how long anything here may take; nothing of a working package comes near it.
const limit = 30 * time.Second

// process is what a running process shows: a real desk, and one task.
type process struct {
	t    *testing.T
	desk *approval.Desk

	mu      sync.Mutex
	view    View
	changed chan struct{}
	answers int
	asking  sync.WaitGroup
}

func newProcess(t *testing.T) *process {
	t.Helper()
	p := &process{t: t, changed: make(chan struct{}), view: View{Tasks: []Task{{ID: "task", Title: "Exchange", Now: "browsing"}}}}
	var err error
	p.desk, err = approval.NewDesk(approval.Config{Record: func(context.Context, approval.Request, approval.Decision) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.answers++
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) Snapshot() (View, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return View{Tasks: slices.Clone(p.view.Tasks), Questions: slices.Clone(p.view.Questions), Closed: slices.Clone(p.view.Closed)}, p.changed
}

func (p *process) Decide(ctx context.Context, a approval.Answer) (approval.Decision, error) {
	return p.desk.Decide(ctx, a)
}

func (p *process) change(f func(*View)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.view)
	close(p.changed)
	p.changed = make(chan struct{})
}

// ask opens a question that ends in so long, and takes it off the view when it has its outcome.
func (p *process) ask(revision string, life time.Duration) approval.Request {
	p.t.Helper()
	terms, err := operation.ParseTerms([]byte(`{"price":"70.00","note":"<ü> \u0000"}`))
	if err != nil {
		p.t.Fatal(err)
	}
	ends := time.Now().Add(life).UTC().Truncate(time.Second)
	r, err := p.desk.NewRequest(approval.Question{Kind: approval.KindApproval, Round: "round", Deadline: ends, Company: approval.Company{Domain: "shop.test"},
		Differences: []string{"Differs: x"}, Operation: operation.Operation{ID: "exc_1", Revision: revision, Terms: terms, ExpiresAt: ends, ExpiresAtSent: ends.Format(time.RFC3339)}})
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.t.Cleanup(func() { cancel(); p.asking.Wait() })
	_, opened := p.desk.Pending()
	p.asking.Go(func() {
		d, err := p.desk.Ask(ctx, r)
		p.change(func(v *View) {
			v.drop(r.ID)
			if err == nil {
				v.Closed = append(v.Closed, Closed{Request: r.ID, Round: "round", Decision: d})
			}
		})
	})
	<-opened
	p.change(func(v *View) { v.Questions = append(v.Questions, Question{Request: r, Front: true}) })
	return r
}

// runFolder is a folder for sockets.
func runFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func serve(t *testing.T, dir, run string, source Source) *Server {
	t.Helper()
	s, err := Serve(t.Context(), dir, run, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func watch(t *testing.T, dir, run string) *Client {
	t.Helper()
	c, err := Watch(t.Context(), dir, run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// until waits for a view that is as wanted.
func until(t *testing.T, c *Client, what string, wanted func(View) bool) View {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var v View
	for {
		next, err := c.Next(ctx)
		if err != nil {
			t.Fatalf("%s never came (%v); the last view is %+v", what, err, v)
		}
		if v = next; wanted(v) {
			return v
		}
	}
}

func questions(n int) func(View) bool { return func(v View) bool { return len(v.Questions) == n } }
func tasks(n int) func(View) bool     { return func(v View) bool { return len(v.Tasks) == n } }

// leaves fails the test when a goroutine of this package is left at its end.
func leavesNothing(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		buf := make([]byte, 1<<20)
		for range 1000 {
			stacks := string(buf[:runtime.Stack(buf, true)])
			if !strings.Contains(stacks, "attach.(*Server).") && !strings.Contains(stacks, "attach.(*Client).") {
				return
			}
			runtime.Gosched() // one that is past its last act may still be seen
		}
		t.Errorf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
	})
}
