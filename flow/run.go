package flow

import (
	"context"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/opsweb"
)

// Visitor makes steps at one site; *agent.Visit does.
type Visitor interface {
	// Do makes one step and waits until the operations it caused are settled; see [agent.Visit].
	Do(ctx context.Context, s agent.Step) (agent.Result, error)
	// Settle waits until no operation is open any more; see [agent.Visit].
	Settle(ctx context.Context) error
}

// Run makes the flow's steps one after another in v, but for those that are skipped. After each it waits until the operations it caused are settled.
// It goes on after an operation that was refused, declined or has expired, and stops after one whose outcome is not
// known or that failed: what comes after could meet its effect. At the end it waits until nothing is open any more.
func Run(ctx context.Context, v Visitor, f *Flow) error {
	for i, step := range f.Steps {
		if step.Skip {
			continue
		}
		result, err := v.Do(ctx, agent.Step{Number: i, Act: step.Act})
		if err != nil {
			return err
		}
		for _, outcome := range result.Outcomes {
			if outcome == opsweb.Unknown || outcome == opsweb.Failed {
				return v.Settle(ctx)
			}
		}
	}
	return v.Settle(ctx)
}
