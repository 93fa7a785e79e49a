package agent_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/session"
)

// Each error of a visit that doesn't come about is one that a caller can decide by, in words for a person too, whether there
// is a Chromium or not.
func TestACallerDecidesByTheErrorOfAVisit(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		change  func(*agent.Config)
		address string
		want    error
	}{
		"no identity": {func(cfg *agent.Config) { cfg.Home = filepath.Join(filepath.Dir(w.home), "other") }, w.site.Company(), session.ErrNoIdentity},
		"no Chromium": {func(cfg *agent.Config) { cfg.Chromium = filepath.Join(w.home, "no-such-program") }, w.site.Company(), browser.ErrNoChromium},
		"no sign-in":  {func(cfg *agent.Config) { cfg.SignedIn = true }, w.site.Company(), account.ErrNone},
		"not allowed": {func(cfg *agent.Config) { cfg.Allowed = []string{"other.example"} }, w.site.Company(), browser.ErrNotAllowed},
		"no answer": {func(cfg *agent.Config) { cfg.ConnectTo = []string{"stormline.test:443:127.0.0.1:1"} }, w.site.Company(),
			company.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := agent.Config{Home: w.home, Driver: chromedpdriver.Driver{}, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.cacert}, NoSandbox: true, Chromium: filepath.Join(w.home, "none")}
			c.change(&cfg)
			a, err := agent.Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer w.close(a)
			_, err = a.Visit(t.Context(), c.address)
			said, ok := errors.AsType[*agent.Failed](err)
			if !errors.Is(err, c.want) || !ok || said.Done == "" || said.Undone == "" || said.Next == "" {
				t.Errorf("Visit: %v (%+v)", err, said)
			}
		})
	}
	if !errors.Is(agent.ErrClosed, context.Canceled) {
		t.Error("a closed agent is no canceled context")
	}
}
