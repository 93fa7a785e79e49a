package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/join"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

// The peer's Company, as company.py has it.
const (
	peerName     = "company.example"
	orders       = "https://company.example/api/orders"
	accountPage  = "https://company.example/account"
	dana         = "acct_dana"
	danaBusiness = "acct_dana_business"
	danaEmail    = "dana@example.org"
	danaPassword = "peer-kit password 1"
	danaCode     = "314159"
	wrongCode    = "000000"
	wrongWord    = "not the password 7"
)

// asked are the scopes that our sign-ins ask for.
var asked = []string{"poppy:read", "poppy:write"}

// almostAnHour is how far the clocks are moved so that a Session Token is about to end: it lives an hour there.
const almostAnHour = 58 * time.Minute

// journeys run our agent against the peer's Company.
type journeys struct {
	*ourAgent
	t       *tally
	control string
	server  *session.Server
	browser *browser.Browser
}

// oursAgainstPeer is one row: our agent, with a real Chromium for the join, against the peer's Company.
func oursAgainstPeer(draft need, options ...string) func(context.Context, *world, *tally) error {
	return func(ctx context.Context, w *world, t *tally) error {
		dir, err := w.stateFolder("ours-" + string(draft) + strings.Join(options, ""))
		if err != nil {
			return err
		}
		agent, err := newAgent(ctx, dir)
		if err != nil {
			return err
		}
		defer agent.close()
		args := append(w.python(draft, "company.py", "--dir", dir, "--trust", agent.ca.file, "--map", peerAgent+"="+agent.address()), options...)
		var ready peerCompany
		company, err := serve(ctx, command(ctx, args[0], args[1:]...), &ready)
		if err != nil {
			return err
		}
		defer company.close()
		if err := agent.meet(ctx, ready.Company, ready.Address, ready.CA, peerName); err != nil {
			return err
		}
		j := &journeys{ourAgent: agent, t: t, control: ready.Control}
		if j.server, err = agent.authorizationServer(); err != nil {
			return err
		}
		if err := j.startBrowser(ctx); err != nil {
			return err
		}
		defer func() { _ = j.browser.Close(context.WithoutCancel(ctx)) }()
		t.check("discovery chooses the draft's profile", agent.profileIs(draft))
		for _, kind := range []signin.Type{signin.Device, signin.Direct, signin.Mediated} {
			j.journey(ctx, kind)
		}
		j.mcp(ctx)
		j.refusals(ctx)
		return j.log(ctx, draft, slices.Contains(options, "--nonce"))
	}
}

func (j *journeys) startBrowser(ctx context.Context) error {
	how := j.reach.Chromium(ctx)
	if len(how.Notices) > 0 {
		return errors.New(how.Notices[0])
	}
	var err error
	j.browser, err = browser.Start(ctx, browser.Config{
		Driver: chromedpdriver.Driver{}, NoSandbox: os.Geteuid() == 0, // it loads the peer's pages alone
		HostResolverRules: how.HostResolverRules, LeafKeys: how.LeafKeys, Private: j.reach.Named, Now: time.Now,
		Watch: "Poppy-Operation", OnHeld: func(context.Context, browser.Held) {}, // the drafts have no such header
	})
	return err
}

// journey is one User's way with one type of sign-in: signed out, signed in, renewed, signed out.
func (j *journeys) journey(ctx context.Context, kind signin.Type) {
	name := func(step string) string { return string(kind) + ": " + step }
	key := account.Key{Issuer: j.company.Issuer, Label: string(kind)}
	s, err := j.newSession(j.server, key)
	if err != nil {
		j.t.fail(name("a Session"), err.Error())
		return
	}
	id, err := s.Start(ctx)
	if err == nil && (!strings.HasPrefix(id, "ses_") || s.SignedIn()) {
		err = fmt.Errorf("the Session %q, signed in: %v", id, s.SignedIn())
	}
	j.t.check(name("a Session starts signed out"), err)
	j.t.check(name("the API asks to sign in"), wanted(j.callAPI(ctx, s), session.ErrSignInRequired))

	page, err := j.browser.NewContext(ctx)
	if err != nil {
		j.t.fail(name("a browser context"), err.Error())
		return
	}
	defer func() { _ = page.Close(context.WithoutCancel(ctx)) }()
	j.t.check(name("the browser joins signed out"), j.joins(ctx, page, s, ""))

	u := &user{control: j.control, account: dana, email: danaEmail, password: danaPassword, codes: []string{wrongCode, danaCode}}
	result, err := j.signIn(ctx, s, key, kind, u)
	if err == nil && (!slices.Equal(result.Kept.Account.Scope, asked) || len(result.Missing()) > 0 || !s.SignedIn()) {
		err = fmt.Errorf("granted %q, missing %q, signed in: %v", result.Kept.Account.Scope, result.Missing(), s.SignedIn())
	}
	j.t.check(name("the User signs in"), err)
	if err != nil {
		return
	}
	if kind == signin.Mediated && u.said == "" {
		j.t.fail(name("where the code was sent"), "it is not said")
	}
	j.t.check(name("the API answers"), j.callAPI(ctx, s))
	j.t.check(name("the browser joins signed in"), j.joins(ctx, page, s, dana))

	// Twice, so that the Account Token that a rotation brought is used too.
	for _, which := range []string{"", " again"} {
		j.t.check(name("the clocks move"), j.advance(ctx, almostAnHour))
		j.t.check(name("the API answers after the token was renewed"+which), j.callAPI(ctx, s))
		j.t.check(name("the browser joins after the token was renewed"+which), j.joins(ctx, page, s, dana))
	}
	second, err := j.newSession(j.server, key)
	if err == nil {
		_, err = second.Start(ctx)
	}
	if err == nil && (second.ID() == s.ID() || !second.SignedIn()) {
		err = errors.New("it is the same Session, or signed out")
	}
	if err == nil {
		err = j.callAPI(ctx, second)
	}
	j.t.check(name("a second Session starts signed in"), err)

	_, err = j.accounts.SignOut(ctx, key, j.server)
	j.t.check(name("the User signs out"), err)
	if err == nil {
		j.t.check(name("the other Session is signed out with it"), wanted(j.callAPI(ctx, second), session.ErrSignInRequired))
	}
	s.SignOut()
	j.t.check(name("the API asks to sign in again"), wanted(j.callAPI(ctx, s), session.ErrSignInRequired))
	j.t.check(name("the browser joins signed out again"), j.joins(ctx, page, s, ""))
}

// signIn signs a Session in and keeps the account under key.
func (j *journeys) signIn(ctx context.Context, s *session.Session, key account.Key, kind signin.Type, u *user) (signin.Result, error) {
	return signin.SignIn(ctx, signin.Config{
		Company: j.company, Server: j.server, Session: s, Client: j.client, Accounts: j.accounts, Label: key.Label,
		Place: account.PlaceFile, ClientID: ourClientID, Redirect: ourRedirect, UI: u, Now: j.now,
	}, kind, asked)
}

// callAPI asks for the User's orders.
func (j *journeys) callAPI(ctx context.Context, s *session.Session) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, orders, nil)
	if err != nil {
		return err
	}
	res, err := s.Do(ctx, j.client, req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || !strings.Contains(string(body), "ord_1001") {
		return fmt.Errorf("status %d: %s", res.StatusCode, tail(string(body)))
	}
	return nil
}

// joins joins a browser context to a Session and looks at what the website then knows: the Session, and whose account.
func (j *journeys) joins(ctx context.Context, page *browser.Context, s *session.Session, account string) error {
	if _, err := join.Join(ctx, page, j.company, s, ""); err != nil {
		return err
	}
	return j.website(ctx, page, s.ID(), account)
}

// website looks at the Company's page that shows the Session behind the cookie.
func (j *journeys) website(ctx context.Context, page *browser.Context, id, account string) error {
	if _, err := page.Do(ctx, browser.Act{Kind: browser.Navigate, URL: accountPage}); err != nil {
		return err
	}
	text, err := page.Text(ctx)
	if err != nil {
		return err
	}
	_, text, _ = strings.Cut(text, "{")
	var state struct {
		SessionID string `json:"session_id"`
		Account   string `json:"account"`
	}
	if err := json.Unmarshal([]byte("{"+text), &state); err != nil {
		return fmt.Errorf("the page's state: %w", err)
	}
	if state.SessionID != id || state.Account != account {
		return fmt.Errorf("the page shows the Session %q of the account %q, not %q of %q", state.SessionID, state.Account, id, account)
	}
	return nil
}

// advance moves both clocks.
func (j *journeys) advance(ctx context.Context, by time.Duration) error {
	j.skew.Add(int64(by))
	return control(ctx, j.control, "advance", map[string]any{"seconds": by.Seconds()}, nil)
}
