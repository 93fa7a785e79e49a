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
	Profile   string   `json:"profile"`
	ConnectTo []string `json:"connect_to"`
	CACert    string   `json:"cacert"`
	// Control is there when a control port was asked for: whoever reaches it is the User and the Company's operator.
	Control string `json:"control,omitempty"`
}

func runSite(ctx context.Context, e env, args []string) error {
	f := newFlags("site")
	var cfg testsite.Config
	var agents list
	f.Var(&agents, "agent-dir", "an identity/public folder (`DIR`) whose agent the site knows without fetching; may be repeated")
	f.StringVar(&cfg.Profile, "profile", "1.0", "the `VERSION` of the protocol that the site speaks: 0.1, 0.2 or 1.0")
	f.StringVar(&cfg.Listen, "listen", "", "the `ADDR:PORT` the site listens at; a free port of 127.0.0.1 without it")
	f.StringVar(&cfg.Control, "control", "", "serve the control port at `ADDR:PORT`; whoever reaches it is the User and the Company's operator")
	f.DurationVar(&cfg.DeviceInterval, "device-interval", testsite.DefaultDeviceInterval, "the pause between two questions of a Device Sign-In")
	f.BoolVar(&cfg.RequireNonces, "require-nonces", false, "let DPoP proofs need a nonce of the site (drafts)")
	way := f.addWay()
	if _, err := f.parse(e, args, 0, 0); err != nil {
		return err
	}
	if err := way.check(); err != nil {
		return err
	}
	switch cfg.Profile {
	case "0.1", "0.2", "1.0":
	default:
		return usageError{fmt.Sprintf("no version %q: the site speaks 0.1, 0.2 or 1.0", cfg.Profile)}
	}
	cfg.AgentDirs, cfg.Fetch = agents, way.connectTo
	for _, file := range way.cacerts {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		cfg.FetchCAs = append(append(cfg.FetchCAs, data...), '\n')
	}
	site, ready, cleanUp, err := startSite(ctx, cfg)
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
func startSite(ctx context.Context, cfg testsite.Config) (site *testsite.Site, ready siteReady, cleanUp func(), err error) {
	dir, err := os.MkdirTemp("", "papaver-site-*")
	if err != nil {
		return nil, siteReady{}, nil, err
	}
	site, err = testsite.Start(ctx, cfg)
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
	ready = siteReady{
		Company: site.Company(), Profile: site.Profile(), ConnectTo: site.ConnectTo(), CACert: cacert, Control: site.Control(),
	}
	return site, ready, cleanUp, nil
}
