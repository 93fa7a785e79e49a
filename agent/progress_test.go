package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/trouble"
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
