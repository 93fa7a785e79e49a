package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
)

// blind is a driver of a Chromium that lets every response go on before anybody has seen it.
type blind struct{ chromedpdriver.Driver }

func (d blind) Start(ctx context.Context, p browser.Process, paused func(browser.Paused)) (browser.Engine, error) {
	engines := make(chan browser.Engine, 1)
	e, err := d.Driver.Start(ctx, p, func(p browser.Paused) {
		if p.Leaving {
			paused(p)
			return
		}
		go func() {
			e := <-engines
			engines <- e
			_ = e.Release(context.WithoutCancel(ctx), p.ID)
		}()
	})
	if err == nil {
		engines <- e
	}
	return e, err
}

// gated is a driver that tells of each browser context that is asked for, and opens none before open is closed.
type gated struct {
	chromedpdriver.Driver
	asked func()
	open  <-chan struct{}
}

func (d gated) Start(ctx context.Context, p browser.Process, paused func(browser.Paused)) (browser.Engine, error) {
	e, err := d.Driver.Start(ctx, p, paused)
	return gatedEngine{e, d}, err
}

type gatedEngine struct {
	browser.Engine
	gated gated
}

func (e gatedEngine) NewContext(ctx context.Context) (browser.ContextID, error) {
	e.gated.asked()
	select {
	case <-e.gated.open:
		return e.Engine.NewContext(ctx)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func TestNothingIsJoinedWithAChromiumThatDoesNotHoldResponses(t *testing.T) {
	w := newWorld(t)
	remembered := filepath.Join(w.home, "chromium.json")
	a, err := agent.Start(t.Context(), agent.Config{
		Home: w.home, Driver: blind{}, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.cacert},
		NoSandbox: os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Visit(t.Context(), w.site.Company())
	w.close(a)
	if !errors.Is(err, browser.ErrNotHeld) {
		t.Errorf("Visit: %v", err)
	}
	if joins := w.site.Report().Joins; joins != 0 {
		t.Errorf("%d joins", joins)
	}
	if _, err := os.Stat(remembered); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is remembered: %v", err)
	}

	// The check's browser context and the run's first one don't wait for each other: none opens before both are asked for.
	both := make(chan struct{})
	var asked atomic.Int64
	second := func() {
		if asked.Add(1) == 2 {
			close(both)
		}
	}
	a = w.startWith(&log{}, func(cfg *agent.Config) { cfg.Driver = gated{asked: second, open: both} })
	if _, err := a.Visit(t.Context(), w.site.Company()); err != nil {
		t.Fatal(err)
	}
	w.close(a)
	data, err := os.ReadFile(remembered)
	if err != nil || !strings.Contains(string(data), "agent_test.gated") || !strings.Contains(string(data), "Chrome/") {
		t.Errorf("remembered: %s, %v", data, err)
	}
}

// A Company that the run's own list leaves out is not asked, and no Chromium is started.
func TestACompanyThatIsNotAllowedIsNotVisited(t *testing.T) {
	w := newWorld(t)
	a, err := agent.Start(t.Context(), agent.Config{
		Home: w.home, Driver: blind{}, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.cacert}, Allowed: []string{"shop.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close(a)
	if _, err := a.Visit(t.Context(), w.site.Company()); err == nil || !strings.Contains(err.Error(), "not among the hosts") {
		t.Errorf("Visit: %v", err)
	}
}
