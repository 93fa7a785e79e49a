package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/internal/randomid"
	"github.com/papaver-agent/papaver/session"
)

// scribe writes a log as the peer's Company would.
type scribe struct {
	t         *testing.T
	published *session.Signer
	log       wireLog
	at        float64
}

func (s *scribe) signer() *session.Signer {
	s.t.Helper()
	k, err := session.NewSigner(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	return k
}

func (s *scribe) jwt(k *session.Signer, header, payload map[string]any) string {
	s.t.Helper()
	jti, err := randomid.Long(rand.Reader, "")
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]any{"jti": jti, "iat": s.at, "exp": s.at + 60}
	for name, value := range payload {
		all[name] = value
	}
	text, err := k.Sign(header, all)
	if err != nil {
		s.t.Fatal(err)
	}
	return text.Reveal()
}

func (s *scribe) statement(aud string, payload map[string]any) string {
	all := map[string]any{"iss": ourClientID, "sub": ourClientID, "aud": aud}
	for name, value := range payload {
		all[name] = value
	}
	typ := "JWT"
	if payload["return_to"] != nil {
		typ = "poppy-browser+jwt"
	}
	return s.jwt(s.published, map[string]any{"typ": typ, "kid": s.published.KeyID()}, all)
}

func (s *scribe) proof(k *session.Signer, method, path, token string) string {
	payload := map[string]any{"htm": method, "htu": "https://company.example" + path}
	if token != "" {
		payload["ath"] = hashed(token)
	}
	return s.jwt(k, map[string]any{"typ": "dpop+jwt", "jwk": bare(k.PublicJWK())}, payload)
}

func bare(jwk map[string]any) map[string]any {
	return map[string]any{"kty": jwk["kty"], "crv": jwk["crv"], "x": jwk["x"], "y": jwk["y"]}
}

func (s *scribe) seen(method, path string, headers [][2]string, body string, status int, answer string) {
	var e exchange
	e.At = s.at
	e.Request.Method, e.Request.URL, e.Request.Headers, e.Request.Body = method, "https://company.example"+path, headers, body
	e.Response.Status, e.Response.Body = status, answer
	s.log.exchanges = append(s.log.exchanges, e)
	s.at += 2
}

var formType = [2]string{"Content-Type", "application/x-www-form-urlencoded"}

// posted is a request to the authorization server.
func (s *scribe) posted(path string, k *session.Signer, form url.Values, status int, answer string) {
	headers := [][2]string{formType}
	if k != nil {
		headers = append(headers, [2]string{"DPoP", s.proof(k, "POST", path, "")})
	}
	form.Set("client_assertion", s.statement("https://company.example", nil))
	s.seen("POST", path, headers, form.Encode(), status, answer)
}

func (s *scribe) called(k *session.Signer, token string, status int, answer string) {
	s.seen("GET", "/api/orders", [][2]string{{"Authorization", "DPoP " + token}, {"DPoP", s.proof(k, "GET", "/api/orders", token)}}, "", status, answer)
}

// goodLog is a short log that breaks no rule.
func goodLog(t *testing.T) *scribe {
	s := &scribe{t: t, at: 1796001774}
	s.published = s.signer()
	s.log = wireLog{draft: python02, issuer: "https://company.example", published: []map[string]any{s.published.PublicJWK()}}
	k := s.signer()
	start := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {s.statement("https://company.example", map[string]any{"sub": "usr_JhLa3YaZA6bPBNh7f68J2Q"})}}
	s.posted(tokenPath, k, start, 200, `{"access_token":"sat_1","session_id":"ses_1"}`)
	s.called(k, "sat_1", 403, `{"error":"sign_in_required"}`)
	s.posted(devicePath, nil, url.Values{}, 200, `{"device_code":"dev_1","interval":1}`)
	s.posted(tokenPath, k, url.Values{"device_code": {"dev_1"}}, 200, `{"access_token":"sat_2","session_id":"ses_1","refresh_token":"acct_1"}`)
	s.called(k, "sat_2", 200, `{"orders":[]}`)
	s.seen("POST", signInPath, [][2]string{{"Authorization", "DPoP sat_2"}, {"DPoP", s.proof(k, "POST", signInPath, "sat_2")}}, `{"password":"`+danaPassword+`"}`, 200, `{}`)
	chrome := [2]string{"User-Agent", "Mozilla/5.0 Chrome/156.0"}
	assertion := s.statement("https://company.example"+joinPath, map[string]any{"session_id": "ses_1", "return_to": "https://company.example/"})
	s.seen("POST", joinPath, [][2]string{chrome, formType}, url.Values{"assertion": {assertion}}.Encode(), 303, "")
	s.seen("GET", "/account", [][2]string{chrome}, "", 200, "<p>")
	s.posted(tokenPath, k, url.Values{"refresh_token": {"acct_1"}, "session_id": {"ses_1"}}, 200, `{"access_token":"sat_3","session_id":"ses_1","refresh_token":"acct_2"}`)
	s.posted(revokePath, nil, url.Values{"token": {"acct_2"}}, 200, `{}`)
	return s
}

// In each log one thing is wrong, and the rule for it says so.
func TestEveryRuleOfTheLogCanBeBroken(t *testing.T) {
	for name, tc := range map[string]struct {
		rule   string
		spoil  func(s *scribe)
		change func(e *exchange) bool // whether the exchange was the one
	}{
		"a token in an address":         {rule: "secrets", change: func(e *exchange) bool { e.Request.URL += "?t=sat_2"; return e.path() == "/account" }},
		"an escaped password elsewhere": {rule: "secrets", change: func(e *exchange) bool { e.Request.Body += "&p=peer-kit+password+1"; return e.path() == devicePath }},
		"an Account Token in a header":  {rule: "secrets", change: func(e *exchange) bool { return e.path() == "/account" && add(e, "X-Token", "acct_1") }},
		"a proof beside the join":       {rule: "the browser carries", change: func(e *exchange) bool { return e.path() == joinPath && add(e, "DPoP", "x") }},
		"another field in the join":     {rule: "the browser carries", change: func(e *exchange) bool { e.Request.Body += "&access_token="; return e.path() == joinPath }},
		"a join that we made ourselves": {rule: "the browser carries", change: func(e *exchange) bool { e.Request.Headers = [][2]string{formType}; return e.path() == joinPath }},
		"a join at another endpoint": {rule: "the browser's assertion", spoil: func(s *scribe) {
			assertion := s.statement("https://company.example/other", map[string]any{"session_id": "ses_1", "return_to": "https://company.example/"})
			s.seen("POST", joinPath, [][2]string{formType}, url.Values{"assertion": {assertion}}.Encode(), 303, "")
		}},
		"a token of another request":   {rule: "every proof", change: func(e *exchange) bool { e.Request.Headers[0][1] = "DPoP sat_1"; return e.path() == signInPath }},
		"a proof of another method":    {rule: "every proof", change: func(e *exchange) bool { e.Request.Method = "PUT"; return e.path() == "/api/orders" }},
		"no proof":                     {rule: "every proof", change: func(e *exchange) bool { e.Request.Headers = e.Request.Headers[:1]; return e.path() == "/api/orders" }},
		"a proof where none is wanted": {rule: "every proof", change: func(e *exchange) bool { return e.path() == "/account" && add(e, "DPoP", "x") }},
		"an Account Token alone":       {rule: "an Account Token", change: drop("session_id")},
		"an Account Token used twice": {rule: "an Account Token", change: func(e *exchange) bool {
			return strings.Contains(e.Request.Body, "acct_2") && swap(e, "acct_2", "acct_1")
		}},
		"a stale Session Token": {rule: "no Session Token", change: func(e *exchange) bool { e.Request.Headers[0][1] = "DPoP sat_1"; return e.path() == signInPath }},
		"a Session Token at the MCP server": {rule: "a token for the MCP", spoil: func(s *scribe) {
			s.seen("POST", mcpPath, [][2]string{{"Authorization", "DPoP sat_3"}}, "", 200, "{}")
		}},
		"an MCP token elsewhere": {rule: "a token for the MCP", spoil: func(s *scribe) {
			k := s.signer()
			s.posted(tokenPath, k, url.Values{"resource": {mcpURL}}, 200, `{"access_token":"mcp_1","session_id":"ses_1"}`)
			s.called(k, "mcp_1", 200, "{}")
		}},
		"a poll too soon":                 {rule: "device polls", change: func(e *exchange) bool { e.At -= 1.5; return strings.Contains(e.Request.Body, "dev_1") }},
		"a refusal that nobody provoked":  {rule: "nothing was refused", change: func(e *exchange) bool { e.Response.Status = 400; return e.path() == revokePath }},
		"a client assertion for another":  {rule: "client assertions", spoil: func(s *scribe) { s.log.issuer = "https://other.example" }},
		"a key that is not published":     {rule: "client assertions", spoil: func(s *scribe) { s.log.published = []map[string]any{s.signer().PublicJWK()} }},
		"another key under our kid":       {rule: "client assertions", spoil: otherKey},
		"a Session assertion for another": {rule: "Session assertions", spoil: func(s *scribe) { s.log.draft = python01 }},
		"a User ID that names somebody": {rule: "Session assertions", spoil: func(s *scribe) {
			form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {s.statement(s.log.issuer, map[string]any{"sub": danaEmail})}}
			s.posted(tokenPath, s.signer(), form, 200, `{}`)
		}},
		"a Session whose key changes": {rule: "each Session", spoil: func(s *scribe) {
			s.posted(tokenPath, s.signer(), url.Values{}, 200, `{"access_token":"sat_9","session_id":"ses_1"}`)
		}},
		"a statement sent twice": {rule: "no statement's jti", spoil: func(s *scribe) { s.log.exchanges = append(s.log.exchanges, s.log.exchanges[0]) }},
		"a nonce nobody remembered": {rule: "nonces", spoil: func(s *scribe) {
			s.log.nonces = true
			k := s.signer()
			for range 2 {
				s.posted(tokenPath, k, url.Values{}, 400, `{"error":"use_dpop_nonce"}`)
				last := &s.log.exchanges[len(s.log.exchanges)-1]
				last.Response.Headers = [][2]string{{"DPoP-Nonce", "n"}}
			}
		}},
		"nearly nothing": {rule: "everything", spoil: func(*scribe) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := goodLog(t)
			if tc.rule != "everything" {
				for _, r := range logRules[1:] {
					if err := s.log.judge(r); err != nil {
						t.Fatalf("the good log breaks %q: %v", r.name, err)
					}
				}
			}
			if tc.spoil != nil {
				tc.spoil(s)
			}
			if tc.change != nil && !spoiled(s, tc.change) {
				t.Fatal("the log has no such exchange")
			}
			for _, r := range logRules {
				if strings.HasPrefix(r.name, tc.rule) {
					if err := s.log.judge(r); err == nil {
						t.Errorf("%q did not notice", r.name)
					}
					return
				}
			}
			t.Fatalf("no rule is named %q", tc.rule)
		})
	}
}

// spoiled changes a copy of each exchange and keeps the first one that the change says was meant.
func spoiled(s *scribe, change func(*exchange) bool) bool {
	for i := range s.log.exchanges {
		data, err := json.Marshal(s.log.exchanges[i])
		if err != nil {
			s.t.Fatal(err)
		}
		var e exchange
		if err := json.Unmarshal(data, &e); err != nil {
			s.t.Fatal(err)
		}
		if len(e.Request.Headers) > 0 && change(&e) {
			s.log.exchanges[i] = e
			return true
		}
	}
	return false
}

func add(e *exchange, name, value string) bool {
	e.Request.Headers = append(e.Request.Headers, [2]string{name, value})
	return true
}

func swap(e *exchange, old, new string) bool {
	e.Request.Body = strings.ReplaceAll(e.Request.Body, old, new)
	return true
}

func drop(field string) func(*exchange) bool {
	return func(e *exchange) bool {
		form := e.form()
		if !form.Has(field) {
			return false
		}
		form.Del(field)
		e.Request.Body = form.Encode()
		return true
	}
}

// otherKey publishes another key under our kid.
func otherKey(s *scribe) {
	jwk := s.signer().PublicJWK()
	jwk["kid"] = s.published.KeyID()
	s.log.published = []map[string]any{jwk}
}

func TestATableIsDrawnWhereItBelongs(t *testing.T) {
	rows := table{{name: "one", passed: 2}, {name: "two", passed: 1, failed: 1, skipped: 3}}
	if p, f, s := rows.totals(); p != 3 || f != 1 || s != 3 {
		t.Error(p, f, s)
	}
	if want := fmt.Sprintf("| %-4s | %6d | %6d | %7d |", "two", 1, 1, 3); !strings.Contains(rows.text(), want) {
		t.Errorf("%q is not in %q", want, rows.text())
	}
}

func TestEverySkipIsExplainedInThePapers(t *testing.T) {
	paper, err := os.ReadFile("../docs/interop.md")
	if err != nil {
		t.Fatal(err)
	}
	for id, why := range skips {
		if !strings.Contains(string(paper), "`"+id+"`") || why == "" {
			t.Errorf("docs/interop.md does not explain %s", id)
		}
	}
}
