package agent_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/testsite"
)

// A visit that failed, at its documents or at its join, leaves no context behind, a visit can be closed, and another one at the same Company works after both.
func TestAVisitThatFailedOrWasClosedLeavesItsContextBehindNowhere(t *testing.T) {
	w := newWorld(t)
	a := w.start(&log{})
	defer w.user(a, func(approval.Question) bool { return true })()
	// Chromium is being started while the documents turn out not to agree; then it may run already.
	if err := w.site.Disagree(testsite.Disagreements()[0]); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := a.Visit(t.Context(), w.site.Company()); !errors.Is(err, company.ErrDisagree) {
			t.Fatalf("documents that disagree: %v", err)
		}
	}
	if err := w.site.Disagree(""); err != nil {
		t.Fatal(err)
	}
	w.site.RefuseJoins(1)
	if _, err := a.Visit(t.Context(), w.site.Company()); err == nil {
		t.Fatal("a refused join was a visit")
	}
	if n := agent.Contexts(a); n != 0 {
		t.Errorf("%d contexts are joined after a join that failed", n)
	}
	v, err := a.Visit(t.Context(), w.site.Company())
	if err != nil {
		t.Fatal(err)
	}
	if n := agent.Contexts(a); n != 1 {
		t.Errorf("%d contexts are joined", n)
	}
	if err := v.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if n := agent.Contexts(a); n != 0 {
		t.Errorf("%d contexts are joined after Close", n)
	}
	if _, err := v.Text(t.Context()); err == nil {
		t.Error("a closed visit's page is still there")
	}
	if v, err = a.Visit(t.Context(), w.site.Company()); err != nil {
		t.Fatal(err)
	}
	if got := w.do(v, exchange()...); !slices.Equal(got, []opsweb.Outcome{opsweb.Performed}) {
		t.Errorf("the exchange ended as %q", got)
	}
}
