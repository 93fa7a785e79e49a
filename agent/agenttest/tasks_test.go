package agenttest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/agent/agenttest"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/flow"
	"github.com/papaver-agent/papaver/testsite"
)

// These functions are the snippets of docs/api.md and docs/testing.md.

func watch(ctx context.Context, v *agent.Visit, out io.Writer) error {
	result, err := v.Begin(ctx, agent.Click("#exchange"))
	if err != nil {
		return err
	}
	for _, round := range result.Rounds {
		for e := range round.Events(ctx) { // from its beginning to its outcome
			fmt.Fprintln(out, e.Name)
		}
		fmt.Fprintln(out, round.Status(), round.Why())
	}
	return nil
}

func choose(ctx context.Context, v *agent.Visit) error {
	page, err := v.Snapshot(ctx, browser.SnapshotOptions{})
	if err != nil {
		return err
	}
	// Each element has a reference: - button "Add gift wrap" [ref=e24]
	found := regexp.MustCompile(`button "Add gift wrap" \[ref=(\w+)\]`).FindStringSubmatch(page.Text)
	if found == nil {
		return errors.New("the page has no such button")
	}
	_, err = v.Do(ctx, agent.Click("ref/"+found[1]))
	return err
}

func decide(ctx context.Context, v *agent.Visit) string {
	_, err := v.Do(ctx, agent.Step{Number: agent.Next, Act: browser.Act{
		Kind: browser.Click, Selectors: [][]string{{"aria/No such button"}}, Timeout: 2 * time.Second,
	}})
	if missing, ok := errors.AsType[*browser.FindError](err); ok {
		return string(missing.Reason) // no match, hidden, covered, disabled, …
	}
	if failed, ok := errors.AsType[*agent.Failed](err); ok {
		return failed.Next // for a person: What, Done, Undone, Next
	}
	return ""
}

func recorded(ctx context.Context, v *agent.Visit, data []byte) error {
	f, err := flow.Parse(data, flow.Values{Set: map[string]string{"size": "L"}})
	if err != nil {
		return err // names every part that can't be run
	}
	return flow.Run(ctx, v, f)
}

// One site, one Chromium, every task of the papers.
func TestTheTasksOfThePapers(t *testing.T) {
	site := agenttest.NewSite(t)
	user := site.User(t, agenttest.Approve)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	v := visit(ctx, t, site)
	do := func(s agent.Step) agent.Result {
		t.Helper()
		result, err := v.Do(ctx, s)
		if err != nil {
			t.Fatalf("%v; the terminal showed\n%s", err, user.Screen())
		}
		return result
	}

	do(agent.Navigate(site.Company() + "/orders/ord_7Hk2"))
	var out strings.Builder
	if err := watch(ctx, v, &out); err != nil || !strings.HasSuffix(out.String(), "replay\nsettled\nperformed \n") {
		t.Errorf("watched %q, %v", out.String(), err)
	}
	do(agent.Navigate(site.Company() + "/gift"))
	vague := agent.Click("text/Add gift wrap") // a heading says so too
	vague.Act.Timeout = time.Second
	_, err := v.Do(ctx, vague)
	if several, ok := errors.AsType[*browser.FindError](err); !ok || several.Reason != browser.Several {
		t.Errorf("a press on one of two: %v", err)
	}
	if err := choose(ctx, v); err != nil {
		t.Error(err)
	}
	if n := len(site.Report().Performances); n != 2 {
		t.Errorf("performed %d times", n)
	}
	if got := decide(ctx, v); got != string(browser.NoMatch) {
		t.Errorf("a button that isn't there: %q", got)
	}
	recording := `{"title": "t", "steps": [{"type": "navigate", "url": "` + site.Company() + `/orders/ord_7Hk2"}, {"type": "change", "selectors": [["#size"]], "value": "${size}"}]}`
	if err := recorded(ctx, v, []byte(recording)); err != nil {
		t.Error(err)
	}

	site.Decline("membership", testsite.Decline{Reason: "Your plan is bound until May."})
	do(agent.Navigate(site.Company() + "/membership"))
	result := do(agent.Click("#cancel-membership"))
	if result.Status() != agent.StatusDeclined || result.Rounds[0].Why() != "Your plan is bound until May." {
		t.Errorf("declined: %s, %q", result.Status(), result.Rounds[0].Why())
	}
}
