package agent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/opsweb"
)

// What a step leads to is waited for once its operation was performed, and not when the User said no.
func TestWhereAnApprovedStepLeadsIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	a := w.start(&log{})
	defer w.close(a)
	stop := w.user(a, func(q approval.Question) bool { return strings.HasPrefix(q.Operation.Summary, "Exchange") })
	defer stop()
	v, err := a.Visit(t.Context(), w.site.Company())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		acts    []browser.Act
		outcome opsweb.Outcome
		waited  bool
	}{
		{cancellation(), opsweb.Refused, false},
		{exchange(), opsweb.Performed, true},
	} {
		last := len(tc.acts) - 1
		w.do(v, tc.acts[:last]...)
		tc.acts[last].Expect, tc.acts[last].Timeout = &browser.Navigation{URL: "https://elsewhere.test/*"}, time.Second
		r, err := v.Do(t.Context(), agent.Step{Number: last, Act: tc.acts[last]})
		if _, waited := errors.AsType[*browser.NavigationError](err); waited != tc.waited || !slices.Equal(r.Outcomes, []opsweb.Outcome{tc.outcome}) {
			t.Errorf("%q, %v", r.Outcomes, err)
		}
	}
}
