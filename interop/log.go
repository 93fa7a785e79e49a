package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// The peer's endpoints.
const (
	tokenPath  = "/oauth/token"
	devicePath = "/oauth/device"
	revokePath = "/oauth/revoke"
	signInPath = "/poppy/sign-in"
	joinPath   = "/poppy/browser-session"
)

// wireLog is everything the peer's Company saw of us, in order, with what is needed to judge it.
type wireLog struct {
	draft     need
	nonces    bool // the Company requires DPoP nonces
	issuer    string
	published []map[string]any // our key set
	exchanges []exchange
}

// rule is one thing that must hold of a whole log. It returns what breaks it.
type rule struct {
	name  string
	check func(*wireLog) []string
}

// log judges what the Company saw.
func (j *journeys) log(ctx context.Context, draft need, nonces bool) error {
	l := wireLog{draft: draft, nonces: nonces, issuer: j.company.Issuer}
	var answer struct {
		Exchanges []exchange `json:"exchanges"`
	}
	if err := control(ctx, j.control, "log", map[string]any{}, &answer); err != nil {
		return err
	}
	l.exchanges = answer.Exchanges
	published, err := j.identity.Published()
	if err != nil {
		return err
	}
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := json.Unmarshal(published.Keys, &set); err != nil {
		return err
	}
	l.published = set.Keys
	for _, r := range logRules {
		j.t.check("log: "+r.name, l.judge(r))
	}
	return nil
}

// judge is the first things that break a rule, as one error.
func (l *wireLog) judge(r rule) error {
	const shown = 3
	broken := r.check(l)
	switch {
	case len(broken) == 0:
		return nil
	case len(broken) > shown:
		return fmt.Errorf("%s; and %d more", strings.Join(broken[:shown], "; "), len(broken)-shown)
	default:
		return fmt.Errorf("%s", strings.Join(broken, "; "))
	}
}

// each collects what find says of the exchanges for which it says something.
func (l *wireLog) each(find func(*exchange) string) []string {
	var found []string
	for i := range l.exchanges {
		e := &l.exchanges[i]
		if what := find(e); what != "" {
			found = append(found, fmt.Sprintf("%s %s (%d): %s", e.Request.Method, e.path(), i, what))
		}
	}
	return found
}

// wireSecret is a value that may stand in few places.
type wireSecret struct {
	kind, value string
	// may says whether it may stand in a part of a request: "url", "body", or a header's name in lower case.
	may func(e *exchange, part string) bool
}

// secrets are all that crossed the wire, and what the User gave.
func (l *wireLog) secrets() []wireSecret {
	in := func(part string, paths ...string) func(*exchange, string) bool {
		return func(e *exchange, p string) bool {
			return p == part && slices.ContainsFunc(paths, func(path string) bool { return e.path() == path || strings.HasPrefix(e.path(), path+"/") })
		}
	}
	all := []wireSecret{
		{"password", danaPassword, in("body", signInPath)},
		{"password", wrongWord, in("body", signInPath)},
		{"one-time code", danaCode, in("body", signInPath)},
	}
	add := func(kind, value string, may func(*exchange, string) bool) {
		known := slices.ContainsFunc(all, func(s wireSecret) bool { return s.value == value })
		if value != "" && !known {
			all = append(all, wireSecret{kind, value, may})
		}
	}
	for i := range l.exchanges {
		e := &l.exchanges[i]
		answer, form := e.answer(), e.form()
		add("access token", answer.AccessToken, func(_ *exchange, part string) bool { return part == "authorization" })
		add("Account Token", answer.AccountToken, in("body", tokenPath, revokePath))
		add("browser assertion", form.Get("assertion"), in("body", e.path()))
		add("client assertion", form.Get("client_assertion"), in("body", e.path()))
		for _, name := range []string{"code", "code_verifier", "device_code"} {
			add(name, form.Get(name), in("body", tokenPath))
		}
	}
	return all
}

// misplaced looks for secrets where they don't belong.
func (l *wireLog) misplaced() []string {
	secrets := l.secrets()
	return l.each(func(e *exchange) string {
		parts := map[string]string{"url": e.Request.URL, "body": e.Request.Body}
		for _, h := range e.Request.Headers {
			parts[strings.ToLower(h[0])] += "\n" + h[1]
		}
		for part, text := range parts {
			if plain, err := url.QueryUnescape(text); err == nil && part != "authorization" {
				text += "\n" + plain
			}
			for _, s := range secrets {
				if strings.Contains(text, s.value) && !s.may(e, part) {
					return fmt.Sprintf("%s in its %s", s.kind, part)
				}
			}
		}
		return ""
	})
}
