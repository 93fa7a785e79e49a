package agent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/opsweb"
)

// A step that a flow leaves out is not to come any more when a later one begins, or when the run has ended well.
func TestAStepThatIsLeftOutIsNotToCome(t *testing.T) {
	t.Parallel()
	const todo, doing, done, failed = attach.StepToDo, attach.StepDoing, attach.StepDone, attach.StepFailed
	for name, test := range map[string]struct {
		outcome string
		err     *trouble.Error
		last    attach.StepState
		want    []attach.StepState
	}{
		"it goes on":            {want: []attach.StepState{done, done, doing, todo}, last: doing},
		"it has ended well":     {"done", nil, done, []attach.StepState{done, done, done, done}},
		"it was performed":      {"performed", nil, done, []attach.StepState{done, done, done, done}},
		"it ended in the midst": {"error", &trouble.Error{}, failed, []attach.StepState{done, done, failed, todo}},
		"an operation failed":   {"failed", nil, done, []attach.StepState{done, done, done, todo}},
	} {
		p := newProgress(nil, "id", "task", []string{"skip a", "b", "c", "skip d"}, time.Now)
		p.step(1, doing)
		p.step(1, done)
		p.step(2, doing)
		p.step(2, test.last)
		if test.outcome != "" {
			p.finish(test.outcome, test.outcome, test.err)
		}
		var got []attach.StepState
		for _, s := range p.task.Steps {
			got = append(got, s.State)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A run of any length has a screen of one: the last operations that ended, each one that goes on, and a count of the rest.
func TestARunsScreenKeepsTheLastOperationsAndCountsTheOthers(t *testing.T) {
	t.Parallel()
	p, events := newProgress(nil, "id", "task", nil, time.Now), newRoundEvents()
	const rounds = 3 * maxEndedRounds
	for i := range rounds {
		id := fmt.Sprint("r", i)
		tell := func(body any) {
			p.happened(opsweb.Happening{Round: id, Body: body})
			events.add(Event{Round: id, Body: body})
		}
		tell(opsweb.Operation{Summary: id})
		if i != 3 { // that one goes on
			tell(opsweb.SettledAs{Outcome: opsweb.Performed, Why: "done"})
		}
	}
	if n := len(p.task.Rounds); n != maxEnded+1 || p.task.Earlier != rounds-n {
		t.Errorf("%d operations are on the screen, %d are counted", n, p.task.Earlier)
	}
	if first, last := p.task.Rounds[0].ID, p.task.Rounds[maxEnded].ID; first != "r3" || last != fmt.Sprint("r", rounds-1) {
		t.Errorf("the screen goes from %s to %s", first, last)
	}
	if n := len(events.events); n != maxEndedRounds+1 || len(events.of("r3")) != 1 || len(events.of("r2")) != 0 {
		t.Errorf("the events of %d operations are kept", n)
	}
	if more, _ := events.from("r2", 1); len(more) != 0 {
		t.Errorf("%d events of a forgotten operation", len(more))
	}
}
