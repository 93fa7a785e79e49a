package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/opsweb"
)

// began makes steps with Begin, and wants each of them to end so.
func (w *world) began(v *agent.Visit, want agent.Status, steps ...agent.Step) agent.Result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var last agent.Result
	for i, s := range steps {
		r, err := v.Begin(ctx, s)
		if err != nil {
			w.t.Fatalf("step %d: %v", i, err)
		}
		status := agent.StatusDone
		if i == len(steps)-1 {
			status = want
		}
		if got := r.Status(); got != status {
			w.t.Fatalf("step %d is %s, want %s", i, got, status)
		}
		last = r
	}
	return last
}

func exchangeSteps() []agent.Step {
	return []agent.Step{agent.Navigate(orders), agent.Fill("#size", "L"), agent.Click("aria/Exchange")}
}

// One agent, one Chromium: an act that meets an operation returns while the User is asked, its round is watched to its
// outcome, no other act takes its page away meanwhile, and what is open when the agent closes says so.
//
// Clauses: OPS3-5.05, OPS3-5.06
func TestAnActReturnsWhileItsOperationWaitsForTheUser(t *testing.T) {
	w := newWorld(t)
	l, opened := &log{}, &connections{}
	a := w.startWith(l, func(cfg *agent.Config) { cfg.Wrap = opened.wrap })
	v, err := a.Visit(t.Context(), w.site.Company())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	result := w.began(v, agent.StatusWaiting, exchangeSteps()...)
	round := result.Rounds[0]
	if op, known := round.Operation(); !known || !strings.HasPrefix(op.Summary, "Exchange") || len(op.Terms) == 0 || op.Company != "stormline.test" {
		t.Errorf("the operation that waits is %+v", op)
	}
	if found, known := a.Round(round.ID()); !known || found.ID() != round.ID() || len(a.Rounds()) != 1 {
		t.Errorf("the run has %d rounds; by its name: %v", len(a.Rounds()), known)
	}
	var open *agent.OpenError
	if _, err := v.Begin(ctx, agent.Click("#exchange")); !errors.As(err, &open) || !errors.Is(err, agent.ErrOpen) || open.Rounds[0].ID() != round.ID() {
		t.Errorf("a second press while the first one's operation is open: %v", err)
	}
	if r, err := v.Begin(ctx, agent.WaitFor("h1")); err != nil || r.Status() != agent.StatusDone {
		t.Errorf("a wait while an operation is open: %v, %v", r.Status(), err)
	}
	if s, err := v.Snapshot(ctx, browser.SnapshotOptions{}); err != nil || !strings.Contains(s.Text, "Waiting for approval") {
		t.Errorf("a snapshot while an operation is open: %q, %v", s.Text, err)
	}
	brief, stop := context.WithCancel(ctx)
	stop()
	if got, err := round.Wait(brief); got != agent.StatusWaiting || !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was given up: %s, %v", got, err)
	}
	w.counted(0, 0)

	stopUser := w.user(a, func(q approval.Question) bool { return strings.HasPrefix(q.Operation.Summary, "Exchange") })
	var names []string
	for e := range round.Events(ctx) {
		names = append(names, e.Name)
	}
	if want := []string{"sighting", "operation", "question", "answer", "approval", "replay", "settled"}; !slices.Equal(names, want) {
		t.Errorf("events %q, want %q", names, want)
	}
	if got, err := round.Wait(ctx); got != agent.StatusPerformed || err != nil || result.Status() != got {
		t.Errorf("the exchange came to %s, %v; the act to %s", got, err, result.Status())
	}
	w.counted(1, 1)
	stopUser()
	opened.ready(t)

	// Do waits for what Begin left.
	result = w.began(v, agent.StatusWaiting, agent.Navigate("https://stormline.test/membership"), agent.Click("#cancel-membership"))
	stopUser = w.user(a, func(approval.Question) bool { return false })
	if _, err := v.Do(ctx, agent.Navigate(orders)); err != nil || result.Status() != agent.StatusRefused {
		t.Errorf("the cancellation is %s as the next step is made (%v)", result.Status(), err)
	}
	w.counted(1, 1)
	stopUser()

	result = w.began(v, agent.StatusWaiting, agent.Navigate("https://stormline.test/gift"), agent.Fill("#message", "For you"), agent.Click("#add-gift-wrap"))
	waited := make(chan error, 1)
	go func() {
		_, err := result.Rounds[0].Wait(ctx)
		waited <- err
	}()
	w.close(a)
	if last := l.events[len(l.events)-1]; last.Name != "finished" || last.Body != (agent.Finished{Outcome: "interrupted"}) {
		t.Errorf("the last event is %+v", last)
	}
	if err := <-waited; !errors.Is(err, agent.ErrClosed) || result.Status() != agent.StatusFailed {
		t.Errorf("the operation that was open at the end: %s, %v", result.Status(), err)
	}
	if _, err := v.Begin(ctx, agent.Navigate(orders)); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("a step after the end: %v", err)
	}
	for range result.Rounds[0].Events(ctx) { // ends by itself
	}
	w.counted(1, 1)
}

// The status of an act that met several operations is the one that a caller has to look at first.
func TestTheWeightiestOutcomeIsTheActs(t *testing.T) {
	t.Parallel()
	for want, outcomes := range map[agent.Status][]opsweb.Outcome{
		agent.StatusDone:      nil,
		agent.StatusPerformed: {opsweb.Performed, opsweb.Performed},
		agent.StatusDeclined:  {opsweb.Performed, opsweb.Declined},
		agent.StatusRefused:   {opsweb.Declined, opsweb.Refused},
		agent.StatusExpired:   {opsweb.Refused, opsweb.Expired},
		agent.StatusFailed:    {opsweb.Expired, opsweb.Failed},
		agent.StatusUnknown:   {opsweb.Failed, opsweb.Unknown, opsweb.Performed},
	} {
		if got := (agent.Result{Outcomes: outcomes}).Status(); got != want || !got.Final() {
			t.Errorf("%q come to %s, want %s", outcomes, got, want)
		}
	}
}
