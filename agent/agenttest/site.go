// Package agenttest is what an author tests an agent with: the bundled Company in the test's own process, a home that it
// knows, and a scripted User who reads questions and presses keys.
//
//	func TestTheJacketIsExchanged(t *testing.T) {
//		site := agenttest.NewSite(t)
//		site.User(t, agenttest.Approve)
//		if err := exchange(t.Context(), site.Config(), site.Company()); err != nil { // what is tested
//			t.Fatal(err)
//		}
//		if n := len(site.Report().Performances); n != 1 {
//			t.Errorf("performed %d times", n)
//		}
//	}
//
// The test needs a Chromium and no network. When it ends, each rule of the protocol that the site saw broken is an error of
// it. The controls of the site's pages are listed in package testsite, and so are the ways in which it can be told to
// misbehave.
//
// The scripted User is no way around a User's answer. It presses keys in a pseudo-terminal, against the terminal UI itself,
// and it is shown nothing but questions about operations that a site of this process made.
package agenttest

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/testsite"
)

// closeTimeout bounds the end of a site.
const closeTimeout = 10 * time.Second

// Site is a bundled Company in this process, with one agent's home that it knows. Safe for concurrent use.
type Site struct {
	*testsite.Site
	home   home.Home
	cacert string
}

// NewSite starts a Company and makes a home with an identity that the Company knows. configure may change how the Company
// is started. When the test ends, each rule that an agent broke at the site is an error of t, the site is closed and the
// home is removed.
func NewSite(t testing.TB, configure ...func(*testsite.Config)) *Site {
	t.Helper()
	dir, err := os.MkdirTemp("", "p") // t.TempDir's names are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("agenttest: %v", err)
		}
	})
	s := &Site{cacert: filepath.Join(dir, "cacert.pem")}
	if s.home, err = home.Open(filepath.Join(dir, "home")); err != nil {
		t.Fatal(err)
	}
	identity, err := session.Init(s.home.Identity(), session.Options{ClientID: "https://agent.test/agent.json", Name: "Test agent"}, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.home.Run(), 0o700); err != nil { // a User may sit down before an agent has made it
		t.Fatal(err)
	}
	cfg := testsite.Config{}
	for _, change := range configure {
		change(&cfg)
	}
	cfg.AgentDirs = append(cfg.AgentDirs, identity.PublicDir())
	if s.Site, err = testsite.Start(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.end(t) })
	if err := os.WriteFile(s.cacert, s.Authority(), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// end says which rules were broken, and closes the site.
func (s *Site) end(t testing.TB) {
	t.Helper()
	for _, v := range s.Broken() {
		t.Errorf("the agent broke a rule at %s: %s %s (%s): %s: %s", s.Company(), v.Severity, v.Rule, v.Clause, v.Says, v.Seen)
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("agenttest: %v", err)
	}
}

// Config is what [agent.Start] needs to run in the site's home and to reach the site. Its other fields are the caller's. As
// root Chromium's sandbox is off, since Chromium doesn't start otherwise.
func (s *Site) Config() agent.Config {
	return agent.Config{
		Home: s.home.Dir(), Driver: chromedpdriver.Driver{}, ConnectTo: s.ConnectTo(), CACerts: []string{s.cacert},
		NoSandbox: os.Geteuid() == 0 || os.Getenv("PAPAVER_TEST_SANDBOX") == "off",
	}
}
