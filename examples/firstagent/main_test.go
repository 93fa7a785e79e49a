package main

import (
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/agent/agenttest"
)

func TestTheJacketIsExchangedWhenTheUserApproves(t *testing.T) {
	for want, user := range map[string]func(agenttest.Question) agenttest.Key{
		"performed": agenttest.Approve, "refused": agenttest.Refuse,
	} {
		t.Run(want, func(t *testing.T) {
			site := agenttest.NewSite(t)
			site.User(t, user) // reads the question in a terminal of its own, and presses a key
			var out strings.Builder
			if err := exchange(t.Context(), site.Config(), site.Company(), &out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), "click: waiting\n"+want+": ") {
				t.Errorf("the agent said\n%s", out.String())
			}
			if n := len(site.Report().Performances); (n == 1) != (want == "performed") {
				t.Errorf("performed %d times", n)
			}
		})
	}
}
