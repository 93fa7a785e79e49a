package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/signin"
	"github.com/papaver-agent/papaver/testsite"
)

// accountPage shows who the Company takes the browser for.
const accountPage = "https://stormline.test/account"

// dana gives her credentials when she is asked. It implements [signin.UI].
type dana struct {
	signin.UI
	as int // which of her accounts
}

func (d dana) Credentials(context.Context, signin.CredentialsPrompt) (map[string][]byte, error) {
	who := testsite.Accounts()[d.as]
	return map[string][]byte{"email": []byte(who.Email), "password": []byte(who.Password)}, nil
}

func (d dana) OneTimeCode(context.Context, signin.OneTimePrompt) ([]byte, error) {
	return []byte(testsite.Accounts()[d.as].Code), nil
}

// signIn signs the home in at the site, without a browser.
func (w *world) signIn(as int) { w.signInAs(as, "") }

// signInAs signs in one of several accounts, under the word for it.
func (w *world) signInAs(as int, label string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	access, err := agent.OpenAccess(ctx, agent.AccessConfig{Home: w.home, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.cacert}}, w.site.Company())
	if err != nil {
		w.t.Fatal(err)
	}
	defer access.Close()
	how := agent.SignIn{Type: signin.Mediated, Scope: []string{"poppy:read", "poppy:write"}, Account: label, UI: dana{as: as}}
	if _, err := access.SignIn(ctx, how); err != nil {
		w.t.Fatal(err)
	}
}

// control does something at the site's control port, as its operator or the User at its pages.
func (w *world) control(name string, values map[string]any) {
	w.t.Helper()
	body, err := json.Marshal(values)
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := http.Post(w.site.Control()+"/"+name, "application/json", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		w.t.Fatalf("control %s: status %d", name, res.StatusCode)
	}
}

func (w *world) startSignedIn(l *log) *agent.Agent { return w.startSignedInAs(l, "") }

func (w *world) startSignedInAs(l *log, label string) *agent.Agent {
	w.t.Helper()
	a, err := agent.Start(w.t.Context(), agent.Config{
		Home: w.home, Driver: chromedpdriver.Driver{}, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.cacert}, SignedIn: true, Account: label,
		NoSandbox: os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0, Title: "test", Events: l.add,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.close(a) })
	return a
}

func (w *world) visit(a *agent.Agent) *agent.Visit {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	v, err := a.Visit(ctx, w.site.Company())
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// page is the text of one of the site's pages.
func (w *world) page(v *agent.Visit, url string) string {
	w.t.Helper()
	w.do(v, browser.Act{Kind: browser.Navigate, URL: url})
	text, err := v.Text(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// joins are the joined events, as "guest" and "signed in".
func (l *log) joins() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var joins []string
	for _, e := range l.events {
		if j, ok := e.Body.(agent.Joined); ok {
			joins = append(joins, map[bool]string{false: "guest", true: "signed in"}[j.SignedIn])
		}
	}
	return joins
}

// In every version of the protocol a run joins signed in with what the home keeps, and goes on as a guest, with a word,
// when the User takes the access back at the Company.
//
// Clauses: C10-9.01, C10-9.02, S01-4.05, S01-5.09, S01-4.9.08
func TestASignedInRunIsSignedInUntilTheUserDisconnectsTheAgent(t *testing.T) {
	for _, version := range []string{"1.0", "0.2", "0.1"} {
		t.Run(version, func(t *testing.T) {
			w := newWorldOf(t, testsite.Config{Profile: version, Control: "127.0.0.1:0"})
			w.signIn(0)
			l := &log{}
			a := w.startSignedIn(l)
			v := w.visit(a)
			if text := w.page(v, accountPage); !strings.Contains(text, testsite.Accounts()[0].Email) {
				t.Errorf("signed in, the account's page says %q", text)
			}
			w.control("disconnect", map[string]any{"client_id": "https://agent.test/agent.json", "account": "acct_dana"})
			w.control("advance", map[string]any{"seconds": 0})
			text := w.page(v, accountPage)
			for range 2 { // what the Company does at once, the agent learns with its next token
				if !strings.Contains(text, testsite.Accounts()[0].Email) {
					break
				}
				text = w.page(v, accountPage)
			}
			if strings.Contains(text, testsite.Accounts()[0].Email) {
				t.Errorf("disconnected, the account's page says %q", text)
			}
			if got := l.joins(); len(got) == 0 || got[0] != "signed in" {
				t.Errorf("joins %q", got)
			}
			for _, broken := range w.site.Broken() {
				t.Errorf("a broken rule: %+v", broken)
			}
		})
	}
}

// A User's two accounts at one Company are two sign-ins, each with Sessions of its own.
//
// Clauses: S01-4.4.18
func TestTwoAccountsAtOneCompanyShareNothing(t *testing.T) {
	w := newWorldOf(t, testsite.Config{Profile: "0.2", Control: "127.0.0.1:0"})
	sids := make(map[string]bool)
	for as, label := range []string{"home", "work"} {
		w.signInAs(as, label)
	}
	for as, label := range []string{"home", "work"} {
		l := &log{}
		v := w.visit(w.startSignedInAs(l, label))
		if text := w.page(v, accountPage); !strings.Contains(text, testsite.Accounts()[as].Email) || strings.Contains(text, testsite.Accounts()[1-as].Email) {
			t.Errorf("signed in to %s, the account's page says %q", label, text)
		}
		sids[l.sid()] = true
	}
	if len(sids) != 2 {
		t.Errorf("Sessions %v", sids)
	}
	w.counted(0, 0)
}

// An operation of a signed-in Session is approved in it, with its token beside the Session header.
func TestASignedInUserApproves(t *testing.T) {
	w := newWorldOf(t, testsite.Config{Control: "127.0.0.1:0"})
	w.signIn(0)
	a := w.startSignedIn(&log{})
	defer w.user(a, func(approval.Question) bool { return true })()
	v := w.visit(a)
	if got := w.do(v, exchange()...); !slices.Equal(got, []opsweb.Outcome{opsweb.Performed}) {
		t.Errorf("the exchange ended as %q", got)
	}
	w.counted(1, 1)
}

func TestARunThatIsToBeSignedInSaysWhatIsMissing(t *testing.T) {
	w := newWorldOf(t, testsite.Config{})
	a := w.startSignedIn(&log{})
	_, err := a.Visit(t.Context(), w.site.Company())
	said, ok := errors.AsType[*trouble.Error](err)
	if !ok || !strings.Contains(said.Next, "papaver signin stormline.test") {
		t.Errorf("Visit = %v", err)
	}
}

// Clauses: S01-5.37
func TestABrowserWhoseCookieIsGoneIsJoinedAgain(t *testing.T) {
	w := newWorldOf(t, testsite.Config{})
	l := &log{}
	v := w.visit(w.start(l))
	if text := w.page(v, orders); !strings.Contains(text, "Test agent") {
		t.Fatalf("joined, the page says %q", text)
	}
	w.do(v, browser.Act{Kind: browser.Navigate, URL: "https://stormline.test/leave"})
	if text := w.page(v, orders); !strings.Contains(text, "Test agent") {
		t.Errorf("after its cookie was gone the page says %q", text)
	}
	if got := l.joins(); len(got) < 2 {
		t.Errorf("joins %q", got)
	}
	w.counted(0, 0)
}

// Clauses: S01-4.3.27
func TestAWebsiteThatAsksToBeLeftAloneIsLeftAlone(t *testing.T) {
	w := newWorldOf(t, testsite.Config{Control: "127.0.0.1:0"})
	l := &log{}
	w.site.RateLimit(1, 2*time.Second) // the join
	v := w.visit(w.start(l))
	if text := w.page(v, orders); !strings.Contains(text, "Test agent") {
		t.Errorf("the page says %q", text)
	}
	if got := l.names(); !slices.Contains(got, "waiting") {
		t.Errorf("events %q", got)
	}
	w.counted(0, 0)
}

// The Company ends the Session while a page of it is open. The step that meets this is an error and no silent success, and
// a run that goes on is in a new Session.
//
// Clauses: S01-4.9.04
func TestASessionThatEndedIsSaidAndReplaced(t *testing.T) {
	w := newWorldOf(t, testsite.Config{Control: "127.0.0.1:0"})
	l := &log{}
	a := w.start(l)
	defer w.user(a, func(approval.Question) bool { return true })()
	v := w.visit(a)
	acts := exchange()
	w.do(v, acts[:2]...)
	first := l.sid()
	w.control("end-session", map[string]any{"session_id": first})
	_, err := v.Do(t.Context(), agent.Step{Number: 2, Act: acts[2]})
	if said, ok := errors.AsType[*trouble.Error](err); !ok || !strings.Contains(said.What, "no longer knew the Session") {
		t.Errorf("the step ended with %v", err)
	}
	w.counted(0, 0)
	if got := w.do(v, acts...); !slices.Equal(got, []opsweb.Outcome{opsweb.Performed}) {
		t.Errorf("in the new Session the exchange ended as %q", got)
	}
	if second := l.sid(); second == first || second == "" {
		t.Errorf("the Session was %s and is %s", first, second)
	}
	w.counted(1, 1)
}

// sid is the Session of the last join.
func (l *log) sid() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range slices.Backward(l.events) {
		if j, ok := e.Body.(agent.Joined); ok {
			return j.Sid
		}
	}
	return ""
}
