package flow_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/flow"
	"github.com/papaver-agent/papaver/opsweb"
)

// visitor notes what it is asked to do. It implements [flow.Visitor].
type visitor struct {
	outcomes map[int][]opsweb.Outcome // of each step
	fails    int                      // the step that cannot be made; -1 for none
	settled  error
	done     []int
	settles  int
}

var errStep = errors.New("the step was not finished")

func (v *visitor) Do(_ context.Context, s agent.Step) (agent.Result, error) {
	v.done = append(v.done, s.Number)
	if s.Number == v.fails {
		return agent.Result{}, errStep
	}
	return agent.Result{Outcomes: v.outcomes[s.Number]}, nil
}

func (v *visitor) Settle(context.Context) error { v.settles++; return v.settled }

var _ flow.Visitor = (*agent.Visit)(nil)

func TestAFlowStopsOnlyWhereAnEffectIsNotKnown(t *testing.T) {
	t.Parallel()
	for outcome, stops := range map[opsweb.Outcome]bool{
		opsweb.Performed: false, opsweb.Refused: false, opsweb.Declined: false, opsweb.Expired: false,
		opsweb.Unknown: true, opsweb.Failed: true,
	} {
		f, err := flow.Parse(recording(openStep, clickStep, fillStep), flow.Values{})
		if err != nil {
			t.Fatal(err)
		}
		for name, outcomes := range map[string][]opsweb.Outcome{
			"alone": {outcome}, "after another": {opsweb.Performed, outcome}, "before another": {outcome, opsweb.Refused},
		} {
			v := &visitor{outcomes: map[int][]opsweb.Outcome{1: outcomes}, fails: -1}
			if err := flow.Run(t.Context(), v, f); err != nil {
				t.Errorf("%s, %s: %v", outcome, name, err)
			}
			want := []int{0, 1, 2}
			if stops {
				want = want[:2]
			}
			if !slices.Equal(v.done, want) || v.settles != 1 {
				t.Errorf("%s, %s: made steps %v and settled %d times; want %v", outcome, name, v.done, v.settles, want)
			}
		}
	}
}

func TestAStepThatCannotBeMadeEndsTheFlow(t *testing.T) {
	t.Parallel()
	f, err := flow.Parse(recording(openStep, clickStep, fillStep), flow.Values{})
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{fails: 1}
	if err := flow.Run(t.Context(), v, f); !errors.Is(err, errStep) || !slices.Equal(v.done, []int{0, 1}) {
		t.Errorf("made steps %v, %v", v.done, err)
	}
	open := errors.New("a round is open")
	v = &visitor{fails: -1, settled: open}
	if err := flow.Run(t.Context(), v, f); !errors.Is(err, open) || len(v.done) != 3 {
		t.Errorf("made steps %v, %v", v.done, err)
	}
}
