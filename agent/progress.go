package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/operation"
	"github.com/papaver-agent/papaver/opsweb"
)

// maxAsked is how many questions a run remembers, to tell a terminal how one ended.
const maxAsked = 256

// progress is a run as its terminals see it: the source of its socket.
type progress struct {
	desk *approval.Desk
	now  func() time.Time

	mu      sync.Mutex
	task    attach.Task
	asked   []askedQuestion
	why     opsweb.Refusal // of the last sighting of this step that could not be used
	changed chan struct{}
}

type askedQuestion struct {
	request approval.RequestID
	round   string
}

func newProgress(desk *approval.Desk, id, title string, steps []string, now func() time.Time) *progress {
	p := &progress{desk: desk, now: now, changed: make(chan struct{})}
	p.task = attach.Task{ID: id, Title: title, Started: now(), Now: "starting"}
	for _, label := range steps {
		p.task.Steps = append(p.task.Steps, attach.Step{Label: label, State: attach.StepToDo})
	}
	return p
}

// Snapshot implements [attach.Source].
func (p *progress) Snapshot() (attach.View, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	task := p.task
	task.Steps = slices.Clone(task.Steps)
	task.Rounds = slices.Clone(task.Rounds)
	for i := range task.Rounds {
		task.Rounds[i].Stages = slices.Clone(task.Rounds[i].Stages)
	}
	view := attach.View{Tasks: []attach.Task{task}}
	open, _ := p.desk.Pending()
	for _, r := range open {
		// What no act of ours explains never comes to the front by itself.
		view.Questions = append(view.Questions, attach.Question{Task: task.ID, Request: r, Front: r.Question.Act != ""})
	}
	for _, a := range p.asked {
		if d, ended := p.desk.Outcome(a.request); ended {
			view.Closed = append(view.Closed, attach.Closed{Request: a.request, Round: a.round, Decision: d})
		}
	}
	return view, p.changed
}

// Decide implements [attach.Source].
func (p *progress) Decide(ctx context.Context, a approval.Answer) (approval.Decision, error) {
	return p.desk.Decide(ctx, a)
}

// follow passes the desk's changes on, until ctx ends.
func (p *progress) follow(ctx context.Context) {
	for {
		_, changed := p.desk.Pending()
		p.update(func(*attach.Task) {})
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// refuseAll answers no to every question, until ctx ends.
func (p *progress) refuseAll(ctx context.Context) {
	for {
		open, changed := p.desk.Pending()
		for _, r := range open {
			_, _ = p.desk.Decide(ctx, approval.Refusal(r.Shows())) // one that has its answer already needs none
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (p *progress) update(change func(*attach.Task)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.task)
	close(p.changed)
	p.changed = make(chan struct{})
}

// visiting notes whose site it is; the next news tells it.
func (p *progress) visiting(domain, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.task.Company.Domain, p.task.Company.Name = domain, name
}

func (p *progress) doing(what string) {
	p.update(func(t *attach.Task) { t.Now = what })
}

func (p *progress) step(i int, state attach.StepState) {
	p.update(func(t *attach.Task) {
		if i < 0 || i >= len(t.Steps) {
			return
		}
		t.Steps[i].State = state
		if state == attach.StepDoing {
			t.Now = t.Steps[i].Label
			passOver(t.Steps[:i])
		}
	})
}

// passOver has the steps that a flow leaves out, as their labels say, count as done: nothing is to come of them.
func passOver(steps []attach.Step) {
	for i := range steps {
		if steps[i].State == attach.StepToDo {
			steps[i].State = attach.StepDone
		}
	}
}

func (p *progress) finish(outcome, now string, err *trouble.Error) {
	p.update(func(t *attach.Task) {
		t.Outcome, t.Now, t.Ended, t.Trouble = outcome, now, p.now(), err
		if err == nil && (outcome == "done" || outcome == string(opsweb.Performed)) {
			passOver(t.Steps)
		}
	})
}

// unused notes why a sighting could not be used; empty when a step begins.
func (p *progress) unused(why opsweb.Refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why = why
}

func (p *progress) whyUnused() opsweb.Refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// happened puts a happening of the operations on the screen.
func (p *progress) happened(h opsweb.Happening) {
	if s, ok := h.Body.(opsweb.Sighting); ok && !s.Accepted {
		p.unused(s.Why)
	}
	if q, ok := h.Body.(opsweb.Question); ok {
		p.mu.Lock()
		p.asked = append(p.asked, askedQuestion{request: q.Request, round: h.Round})
		if len(p.asked) > maxAsked {
			p.asked = slices.Delete(p.asked, 0, len(p.asked)-maxAsked)
		}
		p.mu.Unlock()
	}
	p.update(func(t *attach.Task) {
		defer leaveOut(t)
		if s, ok := h.Body.(opsweb.Sighting); ok && s.Accepted && s.Act == nil {
			t.Unexplained++
		}
		if h.Round == "" {
			return
		}
		if _, merged := h.Body.(opsweb.MergedInto); merged {
			t.Rounds = slices.DeleteFunc(t.Rounds, func(r attach.Round) bool { return r.ID == h.Round })
			return
		}
		r := roundOf(t, h.Round)
		describe(r, h)
		if label, now := stage(h.Body); label != "" {
			r.Stages = append(r.Stages, attach.Stage{Label: label, At: h.Time})
			t.Now = now
		}
	})
}

// maxEnded is how many operations that have ended a run's screen keeps: the last ones.
const maxEnded = 50

// leaveOut takes the oldest operations that have ended off the screen, once there are too many. The ledger has them.
func leaveOut(t *attach.Task) {
	ended := 0
	for _, r := range t.Rounds {
		if r.Outcome != "" {
			ended++
		}
	}
	t.Rounds = slices.DeleteFunc(t.Rounds, func(r attach.Round) bool {
		out := r.Outcome != "" && ended > maxEnded
		if out {
			ended--
			t.Earlier++
		}
		return out
	})
}

func roundOf(t *attach.Task, id string) *attach.Round {
	for i := range t.Rounds {
		if t.Rounds[i].ID == id {
			return &t.Rounds[i]
		}
	}
	t.Rounds = append(t.Rounds, attach.Round{ID: id})
	return &t.Rounds[len(t.Rounds)-1]
}

// takenUp shows an operation that a run before left.
func (p *progress) takenUp(past opsweb.Past) {
	p.update(func(t *attach.Task) {
		r := roundOf(t, past.ID)
		r.Summary = past.Summary
		if at, err := time.Parse(time.RFC3339, past.Ends); err == nil {
			r.Expires = at
		}
		r.Stages = append(r.Stages, attach.Stage{Label: "a run that has ended left it " + string(past.State) + "; now: " + past.Restart(), At: p.now()})
	})
}

// describe takes over what a happening says of the round itself.
func describe(r *attach.Round, h opsweb.Happening) {
	switch body := h.Body.(type) {
	case opsweb.Operation:
		r.Summary = body.Summary
		if at, err := time.Parse(time.RFC3339, body.ExpiresAt); err == nil {
			r.Expires = at
		}
	case opsweb.Approval:
		if body.Outcome == "declined" {
			r.Said = saidOf(body)
		}
	case opsweb.SettledAs:
		r.Outcome = string(body.Outcome)
	case opsweb.Standing:
		r.Outcome = string(opsweb.Unknown)
	}
}

func saidOf(a opsweb.Approval) string {
	said := []string{a.Reason}
	if a.Alternative != nil {
		said = append(said, a.Alternative.Instructions)
		for _, place := range a.Alternative.References {
			said = append(said, place.URL)
		}
	}
	return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), "\n")
}

// stage says in our words what a round has come to, and what is happening now.
func stage(body any) (label, now string) {
	switch b := body.(type) {
	case opsweb.Sighting:
		if b.Accepted {
			return "the Company asked for an approval", "fetching the terms"
		}
	case opsweb.Operation:
		return "the terms were fetched", "comparing the terms"
	case opsweb.Question:
		if b.Kind == approval.KindRerun {
			return "you were asked whether the flow is run again", "waiting for your answer"
		}
		return "you were asked", "waiting for your answer"
	case opsweb.Answer:
		if b.Kind == approval.KindRerun {
			if b.Approved {
				return "you want the flow to be run again", "running the flow again"
			}
			return "you don't want the flow to be run again", "looking up what became of the approval"
		}
		if b.Approved {
			return "you approved", "sending the approval"
		}
		return "you refused", "ending the operation"
	case opsweb.Sent:
		if b.Attempt > 1 {
			return fmt.Sprintf("the same approval was sent again (%d)", b.Attempt), "waiting for the Company"
		}
		return "the approval was sent", "waiting for the Company"
	case opsweb.Approval:
		switch b.Outcome {
		case "recorded":
			return "the Company recorded the approval", "making the act again"
		case "declined":
			return "the Company declined", "ending the operation"
		case "new_terms":
			return "the Company has new terms", "asking again"
		}
		return "the Company did not say whether it has the approval", "ending the operation"
	case opsweb.Replay:
		return "the browser makes the request again " + ways[b.How], "waiting for the page"
	case opsweb.ApprovedBefore:
		return "an earlier run's approval of these terms is recorded: it is used, and you are not asked again", "making the act again"
	case opsweb.LookedUp:
		if b.For != "" {
			return "the Company says " + b.Status + "; this waits for " + b.For, "waiting for " + b.For
		}
		switch operation.State(b.Status) {
		case operation.Performing:
			return "the Company is performing it", "waiting for the Company"
		case operation.Approved:
			return "the Company says: approved, not performed", "looking how to go on"
		}
	case opsweb.SettledAs:
		// The outcome has a line of its own; why it is one is a stage.
		if b.Outcome != opsweb.Declined {
			return b.Why, ""
		}
	case opsweb.Standing:
		return b.Why, ""
	}
	return "", ""
}

var ways = map[browser.How]string{
	browser.ByPage:     "by itself (the page did)",
	browser.ByContinue: "with the page's Continue",
	browser.ByReload:   "by loading the refused page again",
	browser.ByRepeat:   "by the same control",
}
