package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/papaver-agent/papaver/testsite"
)

// closeTimeout bounds the orderly end of what a command started.
const closeTimeout = 20 * time.Second

// siteReady is the line that `papaver site` prints when it listens.
type siteReady struct {
	Company   string   `json:"company"`
	ConnectTo []string `json:"connect_to"`
	CACert    string   `json:"cacert"`
	Control   string   `json:"control"`
}

func runSite(ctx context.Context, e env, args []string) error {
	f := newFlags("site")
	var agents list
	f.Var(&agents, "agent-dir", "an identity/public folder (`DIR`) whose agent the site knows without fetching; may be repeated")
	if _, err := f.parse(e, args, 0, 0); err != nil {
		return err
	}
	site, ready, cleanUp, err := startSite(ctx, agents)
	if err != nil {
		return err
	}
	defer cleanUp()
	out := lines{w: e.stdout}
	out.write(ready)
	if err := out.failed(); err != nil {
		return fmt.Errorf("the ready line: %w", err)
	}
	<-ctx.Done()
	report := site.Report()
	fmt.Fprintf(e.stderr, "performances: %d, approvals recorded: %d, broken rules: %d\n", len(report.Performances), report.Recorded, len(report.Broken))
	for _, v := range report.Broken {
		fmt.Fprintf(e.stderr, "broken rule: %s %s: %s\n", v.Rule, v.Clause, v.Seen)
	}
	return nil
}

// startSite starts the bundled Company, with its authority's certificate in a file. cleanUp ends both.
func startSite(ctx context.Context, agentDirs []string) (site *testsite.Site, ready siteReady, cleanUp func(), err error) {
	dir, err := os.MkdirTemp("", "papaver-site-*")
	if err != nil {
		return nil, siteReady{}, nil, err
	}
	site, err = testsite.Start(ctx, testsite.Config{AgentDirs: agentDirs})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, siteReady{}, nil, err
	}
	cleanUp = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = site.Close(ctx) // it ends with the process in any case
		_ = os.RemoveAll(dir)
	}
	cacert := filepath.Join(dir, "cacert.pem")
	if err := os.WriteFile(cacert, site.Authority(), 0o600); err != nil {
		cleanUp()
		return nil, siteReady{}, nil, err
	}
	return site, siteReady{Company: site.Company(), ConnectTo: site.ConnectTo(), CACert: cacert, Control: site.Control()}, cleanUp, nil
}
