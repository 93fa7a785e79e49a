package agenttest

import (
	"context"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
)

// feed gives the terminal UI one question at a time, the one that the User reads and presses a key for, and none that is not
// about an operation of the site. One goroutine calls Next.
type feed struct {
	*attach.Client
	asked  func(operationID string) bool
	decide func(Question) Key
	errorf func(format string, args ...any)
	shown  func()         // called before a question is shown
	asks   chan<- pressed // of each question that is shown; it is taken before the next one is

	now  approval.RequestID          // the question that is shown; empty for none
	over chan struct{}               // closed when it is open no more
	left map[approval.RequestID]bool // those that are not shown
}

// pressed is what the User presses at a question, while it is open.
type pressed struct {
	key  Key
	over <-chan struct{}
}

// Next implements [tui.Feed].
func (f *feed) Next(ctx context.Context) (attach.View, error) {
	view, err := f.Client.Next(ctx)
	if err != nil {
		return view, err
	}
	view.Questions, err = f.choose(ctx, view.Questions)
	return view, err
}

// choose returns the one question that is shown, of those that are open. It returns soon after ctx ends.
func (f *feed) choose(ctx context.Context, open []attach.Question) ([]attach.Question, error) {
	for _, q := range open {
		if q.Request.ID == f.now {
			return []attach.Question{q}, nil
		}
	}
	if f.now != "" {
		close(f.over)
		f.now = ""
	}
	for _, q := range open {
		if f.left[q.Request.ID] {
			continue
		}
		key := f.keyFor(q.Request.Question)
		if key == Leave {
			f.left[q.Request.ID] = true
			continue
		}
		f.now, f.over = q.Request.ID, make(chan struct{})
		f.shown()
		select {
		case f.asks <- pressed{key, f.over}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		q.Front = true
		return []attach.Question{q}, nil
	}
	return nil, nil
}

// keyFor has the User decide.
func (f *feed) keyFor(q approval.Question) Key {
	if !f.asked(q.Operation.ID) {
		f.errorf("agenttest: a question of %s is about an operation that no site of this test made: it is left open", q.Company.Domain)
		return Leave
	}
	return f.decide(Question{
		Company: q.Company.Domain, Act: q.Act, Summary: q.Operation.Summary, Terms: q.Operation.Terms.Raw(), Differences: q.Differences,
	})
}
