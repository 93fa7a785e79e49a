package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

// The Company whose authorization server is oidc-provider.
const (
	providerName = "shop.provider.example"
	providerAuth = "auth.provider.example"
)

// providerScopes are what our sign-ins there ask for.
var providerScopes = []string{"orders:read", "orders:write"}

// accessLife is how far our clock is moved so that an access token of a minute is about to end. The provider's stays.
const accessLife = 55 * time.Second

// provider is one run against oidc-provider.
type provider struct {
	*ourAgent
	t       *tally
	control string
	server  *session.Server
}

// providerChecks run our sign-in in protocol 1.0 against oidc-provider, and our API calls against jose.
func providerChecks(ctx context.Context, w *world, t *tally) error {
	dir, err := w.stateFolder("provider")
	if err != nil {
		return err
	}
	agent, err := newAgent(ctx, dir)
	if err != nil {
		return err
	}
	defer agent.close()
	_, cert, key, err := agent.ca.issue(providerName, providerAuth)
	if err != nil {
		return err
	}
	settings, err := json.Marshal(map[string]string{
		"company": providerName, "auth": providerAuth, "client_id": ourClientID, "redirect_uri": ourRedirect,
		"agent_address": agent.address(), "ca": agent.ca.file, "cert": cert, "key": key,
	})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		return err
	}
	var ready struct {
		Company string `json:"company"`
		Address string `json:"address"`
		Control string `json:"control"`
	}
	company, err := serve(ctx, command(ctx, w.node, filepath.Join(w.nodes, "provider.mjs"), file), &ready)
	if err != nil {
		return err
	}
	defer company.close()
	if err := agent.meet(ctx, ready.Company, ready.Address, agent.ca.file, providerName, providerAuth); err != nil {
		return err
	}
	p := provider{ourAgent: agent, t: t, control: ready.Control}
	if p.server, err = agent.authorizationServer(); err != nil {
		return err
	}
	t.check("discovery chooses 1.0", agent.profileIs("1.0"))
	p.journey(ctx, signin.Direct, "authorization_code")
	p.journey(ctx, signin.Device, "urn:ietf:params:oauth:grant-type:device_code")
	t.check("a declined Device Sign-In", p.declined(ctx))
	t.check("an agent whose key is not published is refused", p.stranger(ctx))
	return nil
}

// journey signs in, calls the API, renews twice and signs out, and compares what the provider saw.
func (p *provider) journey(ctx context.Context, kind signin.Type, grant string) {
	name := func(step string) string { return string(kind) + ": " + step }
	key := account.Key{Issuer: p.company.Issuer, Label: string(kind)}
	s, err := p.newSession(p.server, key)
	if err != nil {
		p.t.fail(name("a Session"), err.Error())
		return
	}
	p.t.check(name("the API challenges a signed-out Session"), wanted(p.callAPI(ctx, s), session.ErrSignInRequired))
	result, err := p.signIn(ctx, s, key, kind, &user{control: p.control})
	if err == nil && (!slices.Equal(result.Kept.Account.Scope, providerScopes) || !s.SignedIn()) {
		err = fmt.Errorf("granted %q, signed in: %v", result.Kept.Account.Scope, s.SignedIn())
	}
	p.t.check(name("the User signs in"), err)
	if err != nil {
		return
	}
	p.t.check(name("the API answers"), p.callAPI(ctx, s))
	defer p.skew.Store(0)
	for _, which := range []string{"", " again"} {
		p.skew.Add(int64(accessLife))
		p.t.check(name("the API answers after the token was renewed"+which), p.callAPI(ctx, s))
	}
	_, err = p.accounts.SignOut(ctx, key, p.server)
	p.t.check(name("the User signs out"), err)
	s.SignOut()
	p.t.check(name("the API challenges again"), wanted(p.callAPI(ctx, s), session.ErrSignInRequired))
	p.t.check(name("what the provider saw"), p.saw(ctx, map[string]int{
		"grant.success " + grant: 1, "grant.success refresh_token": 2, "refresh_token.consumed ": 2, "grant.revoked ": 1,
	}))
}

func (p *provider) signIn(ctx context.Context, s *session.Session, key account.Key, kind signin.Type, u *user) (signin.Result, error) {
	return signin.SignIn(ctx, signin.Config{
		Company: p.company, Server: p.server, Session: s, Client: p.client, Accounts: p.accounts, Label: key.Label,
		Place: account.PlaceFile, ClientID: ourClientID, Redirect: ourRedirect, UI: u, Now: p.now,
	}, kind, providerScopes)
}

// callAPI asks for the User's orders; the answer says what was verified.
func (p *provider) callAPI(ctx context.Context, s *session.Session) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+providerName+"/api/orders", nil)
	if err != nil {
		return err
	}
	res, err := s.Do(ctx, p.client, req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	var seen struct {
		Account string `json:"account"`
		SID     string `json:"sid"`
	}
	if err := json.Unmarshal(body, &seen); err != nil || res.StatusCode != http.StatusOK || seen.Account != dana || seen.SID != s.ID() {
		return fmt.Errorf("status %d: %s", res.StatusCode, tail(string(body)))
	}
	return nil
}

// saw compares what the provider did since it was last asked.
func (p *provider) saw(ctx context.Context, want map[string]int) error {
	var answer struct {
		Events []struct {
			Event     string `json:"event"`
			GrantType string `json:"grant_type"`
			Error     string `json:"error"`
			Detail    string `json:"detail"`
		} `json:"events"`
	}
	if err := control(ctx, p.control, "events", map[string]any{}, &answer); err != nil {
		return err
	}
	got := make(map[string]int)
	var broken []error
	for _, e := range answer.Events {
		switch {
		case e.Error == "authorization_pending":
		case e.Error != "":
			broken = append(broken, fmt.Errorf("%s of %s: %s (%s)", e.Event, e.GrantType, e.Error, e.Detail))
		default:
			got[e.Event+" "+e.GrantType]++
		}
	}
	for what, n := range want {
		if got[what] != n {
			broken = append(broken, fmt.Errorf("%s: %d times, not %d (of %v)", what, got[what], n, got))
		}
	}
	return errors.Join(broken...)
}

// declined has the User abort on the device page.
func (p *provider) declined(ctx context.Context) error {
	key := account.Key{Issuer: p.company.Issuer, Label: "declined"}
	s, err := p.newSession(p.server, key)
	if err != nil {
		return err
	}
	if _, err = p.signIn(ctx, s, key, signin.Device, &user{control: p.control, decline: true}); !errors.Is(err, signin.ErrDeclined) {
		return fmt.Errorf("%w, not a decline", err)
	}
	return control(ctx, p.control, "events", map[string]any{}, nil)
}

// stranger signs with a key that nobody publishes: the provider must refuse it, or the rows above prove nothing.
func (p *provider) stranger(ctx context.Context) error {
	dir := filepath.Join(p.dir, "stranger")
	id, err := session.Init(dir, session.Options{ClientID: ourClientID, Name: "Stranger"}, p.now(), rand.Reader)
	if err != nil {
		return err
	}
	server, err := session.NewServer(session.ServerConfig{Company: p.company, Identity: id, UserID: "usr_stranger", Client: p.client})
	if err != nil {
		return err
	}
	_, err = server.Device(ctx, providerScopes)
	refused, ok := errors.AsType[*session.ServerError](err)
	if !ok || refused.Code != "invalid_client" {
		return fmt.Errorf("%v, not invalid_client", err)
	}
	return nil
}
