package agenttest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/agent/agenttest"
	"github.com/papaver-agent/papaver/testsite"
)

const patience = 60 * time.Second // for anything these tests wait for

// visit starts an agent in the site's home, and joins it.
func visit(ctx context.Context, t *testing.T, site *agenttest.Site) *agent.Visit {
	t.Helper()
	a, err := agent.Start(ctx, site.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := a.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	v, err := a.Visit(ctx, site.Company())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// One site, one Chromium: what the scripted User presses is what becomes of each act, the question is shown to them whole, and
// what they leave stays open.
//
// Clauses: OPS3-5.05, OPS3-5.06
func TestAScriptedUsersKeysDecide(t *testing.T) {
	site := agenttest.NewSite(t)
	seen := make(chan agenttest.Question, 3)
	user := site.User(t, func(q agenttest.Question) agenttest.Key {
		seen <- q
		switch {
		case strings.HasPrefix(q.Summary, "Exchange"):
			return agenttest.KeyApprove
		case strings.Contains(q.Summary, "Trail Club"):
			return agenttest.KeyRefuse
		}
		return agenttest.Leave
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	v := visit(ctx, t, site)
	do := func(want agent.Status, steps ...agent.Step) {
		t.Helper()
		var result agent.Result
		for _, s := range steps {
			var err error
			if result, err = v.Do(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
		if got := result.Status(); got != want {
			t.Fatalf("it came to %s, want %s; the terminal showed\n%s", got, want, user.Screen())
		}
	}
	do(agent.StatusPerformed, agent.Navigate(site.Company()+"/orders/ord_7Hk2"), agent.Fill("#size", "L"), agent.Click("aria/Exchange"))
	if q := <-seen; q.Company != "stormline.test" || !strings.Contains(q.Act, "Exchange") || !strings.Contains(string(q.Terms), "(L)") {
		t.Errorf("the User was asked %+v", q)
	}
	if got := user.Screen(); !strings.Contains(got, "stormline.test") || !strings.Contains(got, "You approved.") {
		t.Errorf("the terminal showed\n%s", got)
	}
	do(agent.StatusRefused, agent.Navigate(site.Company()+"/membership"), agent.Click("#cancel-membership"))
	if n := len(site.Report().Performances); n != 1 {
		t.Errorf("performed %d times", n)
	}
	for _, s := range []agent.Step{agent.Navigate(site.Company() + "/gift"), agent.Fill("#message", "For you"), agent.Click("#add-gift-wrap")} {
		if _, err := v.Begin(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	<-seen
	<-seen
	if r := site.Report(); r.Recorded != 1 {
		t.Errorf("%d approvals were recorded", r.Recorded)
	}
}

// recorder is a testing.TB that remembers what it was told, and runs its clean-ups when it is asked to.
type recorder struct {
	testing.TB
	errors   []string
	cleanUps []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Cleanup(f func()) { r.cleanUps = append(r.cleanUps, f) }
func (r *recorder) end() {
	for _, f := range slices.Backward(r.cleanUps) {
		f()
	}
}

// An agent that breaks a rule of the protocol fails its author's test, whatever that test looked at.
func TestABrokenAgentFailsItsTest(t *testing.T) {
	r := &recorder{TB: t}
	site := agenttest.NewSite(r, func(cfg *testsite.Config) { cfg.OperationLife = time.Hour })
	_, address, _ := strings.Cut(site.ConnectTo()[0], ":443:")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(site.Authority())
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, site.Company()+"/poppy/operations", strings.NewReader(`{"ref":"op_1.x"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req) // without a Session header
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	r.end()
	if len(r.errors) == 0 || !strings.Contains(strings.Join(r.errors, "\n"), "session-missing") {
		t.Errorf("the author's test was told %q", r.errors)
	}
	good := &recorder{TB: t}
	agenttest.NewSite(good)
	good.end()
	if len(good.errors) > 0 {
		t.Errorf("a test without an agent was told %q", good.errors)
	}
}
