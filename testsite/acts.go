package testsite

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// act is something that a person or the Company's operator does, asked for at the control port. Its error says what is
// wrong with the request.
type act func(r *http.Request, values url.Values) (any, error)

// maxAdvance bounds how far the clock is moved at once.
const maxAdvance = 400 * 24 * time.Hour

// acts are what the control port does beside the switches, by name. Whoever reaches them is the User.
func (s *Site) acts() map[string]act {
	return map[string]act{
		"about":                 s.actAbout,
		"approve-device":        s.actApproveDevice,
		"deny-device":           s.actDenyDevice,
		"approve-authorization": s.actApproveAuthorization,
		"signed-in-as":          s.actSignedInAs,
		"disconnect":            s.actDisconnect,
		"end-session":           s.actEndSession,
		"revoke-client":         s.actRevokeClient,
		"require-nonces":        s.actRequireNonces,
		"performed":             s.actPerformed,
		"advance":               s.actAdvance,
		"rate-limit":            s.actRateLimit,
		"fault":                 s.actFault,
		"log":                   s.actLog,
		"map":                   s.actMap,
	}
}

// capabilities are the abilities of this control port by the names that the peer's checks ask for.
func capabilities() []string {
	return []string{"disconnect", "performed", "clock", "direct_sign_in", "second_identity", "log", "map", "rate_limit", "fault"}
}

// scenario is what a check can do here: what it may read, and whose credentials it may use.
func (s *Site) scenario() map[string]any {
	first := Accounts()[0]
	m := map[string]any{
		"read_path": apiPath + "/orders", "read_scope": "poppy:read", "scopes": []string{"poppy:read", "poppy:write"},
		"greeting":    "Hello.",
		"credentials": map[string]string{"email": first.Email, "password": first.Password},
		"code":        first.Code, "account": first.ID, "web_page": "/account",
	}
	if s.mcp() != "" {
		m["mcp_read_tool"] = toolOrders
	}
	return m
}

func (s *Site) actAbout(*http.Request, url.Values) (any, error) {
	return map[string]any{
		"draft": s.profile.Version, "profile": s.profile.Version, "company": s.shopOrigin(), "issuer": s.issuer(),
		"now": s.now().UTC().Format(time.RFC3339Nano), "capabilities": capabilities(), "accounts": Accounts(), "scenario": s.scenario(),
	}, nil
}

// accountFor gives the account that a request names, or the one people are signed in as.
func (s *Site) accountFor(values url.Values) (string, error) {
	id := values.Get("account")
	if id == "" {
		id, _ = s.signedInAs.Load().(string)
	}
	if id == "" {
		id = Accounts()[0].ID
	}
	if _, known := s.auth.AccountOf(id); !known {
		return "", fmt.Errorf("no account %q", id)
	}
	return id, nil
}

// scopesOf gives the scopes that a request names, and nil for all that were asked for.
func scopesOf(values url.Values) []string {
	if !values.Has("scopes") {
		return nil
	}
	return values["scopes"]
}

func (s *Site) actApproveDevice(_ *http.Request, values url.Values) (any, error) {
	account, err := s.accountFor(values)
	if err != nil {
		return nil, err
	}
	granted, ok := s.auth.ApproveDevice(values.Get("user_code"), account, scopesOf(values))
	if !ok {
		return nil, errors.New("no request waits under this code for these scopes")
	}
	return map[string]any{"granted": granted}, nil
}

func (s *Site) actDenyDevice(_ *http.Request, values url.Values) (any, error) {
	if !s.auth.DenyDevice(values.Get("user_code")) {
		return nil, errors.New("no request waits under this code")
	}
	return nil, nil
}

func (s *Site) actApproveAuthorization(r *http.Request, values url.Values) (any, error) {
	account, err := s.accountFor(values)
	if err != nil {
		return nil, err
	}
	opened, err := http.NewRequestWithContext(r.Context(), http.MethodGet, values.Get("authorization_url"), nil)
	if err != nil {
		return nil, errors.New("authorization_url can't be read")
	}
	back, ok := s.auth.ApproveAuthorization(opened, account, scopesOf(values))
	if !ok {
		return nil, errors.New("the authorization request shows an error page, or doesn't ask for these scopes")
	}
	return map[string]any{"callback_url": back}, nil
}

func (s *Site) actSignedInAs(_ *http.Request, values url.Values) (any, error) {
	if _, known := s.auth.AccountOf(values.Get("account")); !known {
		return nil, fmt.Errorf("no account %q", values.Get("account"))
	}
	s.signedInAs.Store(values.Get("account"))
	return nil, nil
}

func (s *Site) actDisconnect(_ *http.Request, values url.Values) (any, error) {
	account, err := s.accountFor(values)
	if err != nil {
		return nil, err
	}
	return map[string]any{"revoked": s.auth.Disconnect(values.Get("client_id"), account)}, nil
}

func (s *Site) actEndSession(_ *http.Request, values url.Values) (any, error) {
	if !s.auth.EndSession(values.Get("session_id")) {
		return nil, errors.New("no active Session has this session_id")
	}
	return nil, nil
}

func (s *Site) actRevokeClient(_ *http.Request, values url.Values) (any, error) {
	s.clients.Revoke(values.Get("client_id"), values.Get("revoked") != "false")
	return nil, nil
}

func (s *Site) actRequireNonces(_ *http.Request, values url.Values) (any, error) {
	s.auth.RequireNonces(values.Get("required") != "false" && s.profile.SessionTokens)
	return nil, nil
}

func (s *Site) actPerformed(_ *http.Request, values url.Values) (any, error) {
	return map[string]any{"performed": s.Performed(values.Get("operation_id"))}, nil
}

// secondsOf reads a number of seconds that isn't negative.
func secondsOf(values url.Values, name string, most time.Duration) (time.Duration, error) {
	if !values.Has(name) {
		return 0, nil
	}
	n, err := strconv.ParseFloat(values.Get(name), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > most.Seconds() {
		return 0, fmt.Errorf("%s isn't a number of seconds from 0 to %.0f", name, most.Seconds())
	}
	return time.Duration(n * float64(time.Second)), nil
}

func (s *Site) actAdvance(_ *http.Request, values url.Values) (any, error) {
	d, err := secondsOf(values, "seconds", maxAdvance)
	if err != nil {
		return nil, err
	}
	s.Advance(d)
	return map[string]any{"now": s.now().UTC().Format(time.RFC3339Nano)}, nil
}

// timesOf reads a count; 1 when it isn't given.
func timesOf(values url.Values) (int, error) {
	if !values.Has("times") {
		return 1, nil
	}
	n, err := strconv.Atoi(values.Get("times"))
	if err != nil || n < 0 {
		return 0, errors.New("times isn't a count")
	}
	return n, nil
}

func (s *Site) actRateLimit(_ *http.Request, values url.Values) (any, error) {
	times, err := timesOf(values)
	if err != nil {
		return nil, err
	}
	after, err := secondsOf(values, "retry_after", maxAdvance)
	if err != nil {
		return nil, err
	}
	s.RateLimit(times, max(after, time.Second))
	return nil, nil
}

func (s *Site) actFault(_ *http.Request, values url.Values) (any, error) {
	times, err := timesOf(values)
	if err != nil {
		return nil, err
	}
	delay, err := secondsOf(values, "seconds", maxDelay)
	if err != nil {
		return nil, err
	}
	f := &fault{Path: values.Get("path"), Method: values.Get("method"), Delay: delay, Seconds: delay.Seconds(), times: times}
	if values.Has("status") {
		f.Status, err = strconv.Atoi(values.Get("status"))
		if err != nil || f.Status < 400 || f.Status > 599 {
			return nil, errors.New("status isn't that of an error")
		}
	}
	if f.Path == "" || times == 0 {
		return nil, errors.New("a fault has a path, and happens once or more")
	}
	s.traffic.add(f)
	return nil, nil
}

func (s *Site) actLog(_ *http.Request, values url.Values) (any, error) {
	forget := values.Has("clear") && values.Get("clear") != "false"
	return map[string]any{"exchanges": s.traffic.exchanges(forget)}, nil
}

func (s *Site) actMap(_ *http.Request, values url.Values) (any, error) {
	if values.Get("name") == "" || values.Get("address") == "" {
		return nil, errors.New("a name and an address are needed")
	}
	s.fetch.add(values.Get("name")+":443", values.Get("address"))
	return nil, nil
}
