package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/testsite"
)

const (
	patience     = 2 * time.Minute // for anything that is not measured
	closeTimeout = 20 * time.Second
	requestLimit = 30 * time.Second

	userID = "usr_bench"
)

// world is what all measurements share: one bundled site, one home, and how Chromium is started.
type world struct {
	log       io.Writer
	dir       string
	site      *testsite.Site
	home      string
	authority string // the file of the site's authority
	identity  *session.Identity
	reach     *reach.Reach
	company   *company.Company
	chromium  browser.Config // what it is started with, the driver and OnHeld left out
	bin       string
	version   string
}

func newWorld(ctx context.Context, log io.Writer) (_ *world, err error) {
	dir, err := os.MkdirTemp("", "b") // short: sockets are below it
	if err != nil {
		return nil, err
	}
	w := &world{log: log, dir: dir, home: filepath.Join(dir, "home"), authority: filepath.Join(dir, "authority.pem")}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return nil, err
	}
	h, err := home.Open(w.home)
	if err != nil {
		return nil, err
	}
	if w.identity, err = session.Init(h.Identity(), session.Options{ClientID: "https://agent.test/agent.json", Name: "Measured agent"}, time.Now(), rand.Reader); err != nil {
		return nil, err
	}
	if w.site, err = testsite.Start(ctx, testsite.Config{AgentDirs: []string{w.identity.PublicDir()}}); err != nil {
		return nil, err
	}
	if err := os.WriteFile(w.authority, w.site.Authority(), 0o600); err != nil {
		return nil, err
	}
	if w.reach, err = reach.New(reach.Config{ConnectTo: w.site.ConnectTo(), CACerts: []string{w.authority}}); err != nil {
		return nil, err
	}
	where, err := company.ParseAddress(w.site.Company())
	if err != nil {
		return nil, err
	}
	if w.company, err = company.Discover(ctx, w.client(), where, company.Options{}); err != nil {
		return nil, err
	}
	how := w.reach.Chromium(ctx)
	if len(how.Notices) > 0 {
		return nil, fmt.Errorf("the site is not trusted: %v", how.Notices)
	}
	w.chromium = browser.Config{NoSandbox: noSandbox(), HostResolverRules: how.HostResolverRules, LeafKeys: how.LeafKeys, Private: w.reach.Named, Watch: opsweb.Header}
	if w.bin, err = browser.Find(""); err != nil {
		return nil, err
	}
	return w, w.warm(ctx)
}

// warm runs one agent, so that the self-check of this Chromium is done and its files are in memory.
func (w *world) warm(ctx context.Context) error {
	a, _, err := w.visit(ctx, chromedpdriver.Driver{})
	if err != nil {
		return err
	}
	if err := w.end(ctx, a); err != nil {
		return err
	}
	b, err := w.ours(ctx, nil)
	if err != nil {
		return err
	}
	w.version = b.Version()
	return b.Close(ctx)
}

func noSandbox() bool { return os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0 }

// client makes requests of our own to the site.
func (w *world) client() *http.Client {
	c := w.reach.Client(requestLimit)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// session is a new one at the site.
func (w *world) session() (*session.Session, error) {
	return session.New(session.Config{Identity: w.identity, Company: w.company, UserID: userID})
}

// visit starts an agent that is joined to a Session at the site.
func (w *world) visit(ctx context.Context, driver browser.Driver) (*agent.Agent, *agent.Visit, error) {
	a, err := agent.Start(ctx, agent.Config{
		Home: w.home, Driver: driver, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.authority}, NoSandbox: noSandbox(), Title: "bench",
	})
	if err != nil {
		return nil, nil, err
	}
	v, err := a.Visit(ctx, w.site.Company())
	if err != nil {
		return nil, nil, errors.Join(err, w.end(ctx, a))
	}
	return a, v, nil
}

func (w *world) end(ctx context.Context, a *agent.Agent) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return a.Close(ctx)
}

// ours is a Chromium of ours with no agent above it. held may be nil.
func (w *world) ours(ctx context.Context, driver browser.Driver) (*browser.Browser, error) {
	cfg := w.chromium
	if cfg.Driver = driver; driver == nil {
		cfg.Driver = chromedpdriver.Driver{}
	}
	cfg.OnHeld = func(context.Context, browser.Held) {}
	return browser.Start(ctx, cfg)
}

func (w *world) closeOurs(ctx context.Context, b *browser.Browser) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return b.Close(ctx)
}

func (w *world) close() {
	if w.site != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := w.site.Close(ctx); err != nil {
			fmt.Fprintf(w.log, "the site did not close: %v\n", err)
		}
	}
	if err := os.RemoveAll(w.dir); err != nil {
		fmt.Fprintf(w.log, "%v\n", err)
	}
}
