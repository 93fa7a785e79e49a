package session_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
)

// This file is a Company: its authorization server and its APIs, as draft 0.1's sections 4 and 6 have them, with the
// standard library alone. It fails the test for every request that breaks a rule.

const (
	draftIssuer = "https://auth.example.com"
	draftUser   = "usr_Q7c1vK"
	ordersAPI   = "https://api.example.com/orders"
	mcpServer   = "https://mcp.example.com/mcp"
)

// draft is a draft's own words about audiences.
type draft struct {
	p               profile.Profile
	sessionAudience string
	clientAudience  func(called string) string
}

func called(u string) string { return u }

var drafts = map[string]draft{
	"0.1": {profile.V01(), draftIssuer + "/oauth/token", called},
	"0.2": {profile.V02(), draftIssuer, func(string) string { return draftIssuer }},
}

// eachDraft runs a test for both drafts.
func eachDraft(t *testing.T, test func(t *testing.T, f *fake)) {
	t.Helper()
	for name, d := range drafts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newFake(t, d, (&clock{now: noon}).Now))
		})
	}
}

// fake is the Company. It implements [http.RoundTripper].
type fake struct {
	t    testing.TB
	d    draft
	now  func() time.Time
	id   *session.Identity
	c    *company.Company
	life int // of the tokens it issues, in seconds

	mcpProofs bool // its MCP server takes proofs

	mu       sync.Mutex
	keys     []map[string]any
	jtis     map[string]bool
	sessions map[string]*fakeSession
	tokens   map[string]*fakeToken
	accounts map[string]bool // Account Tokens that are good
	nonce    string          // wanted in proofs, when there is one
	answers  map[string]func(*http.Request, url.Values) *http.Response
	seen     []sent
	made     int
}

type fakeSession struct{ account, ended bool }

type fakeToken struct {
	session, jkt, resource string
	account, dead          bool
	ends                   time.Time
}

// sent is a request that arrived.
type sent struct {
	url    string
	form   url.Values
	header http.Header
	proof  jwt // zero without one
}

func newFake(t testing.TB, d draft, now func() time.Time) *fake {
	t.Helper()
	id, _ := newIdentity(t)
	return &fake{
		t: t, d: d, now: now, id: id, keys: published(t, id), life: 3600,
		c: &company.Company{
			Domain: "example.com", Issuer: draftIssuer, Profile: d.p, OperationsByID: "https://example.com/poppy/operations",
			Server: company.Server{Token: draftIssuer + "/oauth/token", Revocation: draftIssuer + "/oauth/revoke", Device: draftIssuer + "/oauth/device"},
			SignIn: company.SignIn{Mediated: &company.Mediated{Endpoint: draftIssuer + "/poppy/sign-in"}},
			APIs: []company.API{
				{Type: "openapi", URL: "https://api.example.com/openapi.json"},
				{Type: "mcp", URL: mcpServer},
				{Type: "openapi", URL: "https://stock.example.com/openapi.json", Resource: "https://stock.example.com/"},
			},
		},
		jtis: make(map[string]bool), sessions: make(map[string]*fakeSession), tokens: make(map[string]*fakeToken),
		accounts: make(map[string]bool), answers: make(map[string]func(*http.Request, url.Values) *http.Response),
	}
}

func (f *fake) client() *http.Client { return &http.Client{Transport: f} }

func (f *fake) server() *session.Server {
	f.t.Helper()
	s, err := session.NewServer(session.ServerConfig{Company: f.c, Identity: f.id, UserID: draftUser, Client: f.client(), Now: f.now})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// session returns a Session, signed in with an Account Token when there is one.
func (f *fake) session(account string) *session.Session {
	f.t.Helper()
	return f.sessionOf(f.server(), account)
}

// sessionOf is session with a Server that a sign-in has, too.
func (f *fake) sessionOf(server *session.Server, account string) *session.Session {
	f.t.Helper()
	cfg := session.Config{Identity: f.id, Company: f.c, UserID: draftUser, Server: server, Now: f.now}
	var s *session.Session
	if account != "" {
		f.accounts[account] = true
		cfg.Refresh, cfg.RefreshFor = refreshing(server, account, func() *session.ProofKey { return s.Key() })
	}
	s, err := session.New(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// RoundTrip implements [http.RoundTripper].
func (f *fake) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := sent{url: req.URL.String(), header: req.Header.Clone()}
	if req.Body != nil {
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		if req.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
			if s.form, err = url.ParseQuery(string(data)); err != nil {
				f.t.Errorf("form: %v", err)
			}
			for name, values := range s.form {
				if len(values) != 1 {
					f.t.Errorf("form field %s stands %d times", name, len(values))
				}
			}
		}
	}
	if compact := req.Header.Get("DPoP"); compact != "" {
		s.proof, _ = parseJWT(compact)
	}
	f.seen = append(f.seen, s)
	if answer := f.answers[req.URL.Host+req.URL.Path]; answer != nil {
		if res := answer(req, s.form); res != nil {
			return res, nil
		}
	}
	switch at := req.URL.Host + req.URL.Path; {
	case at == "auth.example.com/oauth/token":
		return f.token(req, s.form), nil
	case at == "auth.example.com/oauth/revoke":
		f.client401(req, s.form)
		if s.form.Get("token_type_hint") != "refresh_token" {
			f.t.Errorf("token_type_hint = %q", s.form.Get("token_type_hint"))
		}
		delete(f.accounts, s.form.Get("token"))
		for _, s := range f.sessions {
			s.account = false
		}
		for _, token := range f.tokens {
			token.dead = token.dead || token.account
		}
		return reply(req, 200, ""), nil
	case at == "auth.example.com/oauth/device":
		f.client401(req, s.form)
		return reply(req, 200, `{"device_code":"dev_secret","user_code":"WDJB-MJHT","verification_uri":"https://auth.example.com/device",
			"verification_uri_complete":"https://auth.example.com/device?user_code=WDJB-MJHT","expires_in":600,"interval":5}`), nil
	case strings.HasPrefix(req.URL.Path, "/.well-known/"):
		if len(req.Header.Values("Authorization"))+len(req.Header.Values("DPoP")) > 0 {
			f.t.Errorf("%s was asked with credentials", req.URL)
		}
		return reply(req, 404, ""), nil
	default:
		return f.resource(req), nil
	}
}

// reply is an answer with a JSON body, and fields as name: value.
func reply(req *http.Request, status int, body string, fields ...string) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		header.Add(name, value)
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: req, ProtoMajor: 1, ProtoMinor: 1}
}

// assertion checks a client or a Session assertion.
func (f *fake) assertion(compact, subject, audience string) {
	t, err := parseJWT(compact)
	if err != nil {
		f.t.Errorf("assertion: %v", err)
		return
	}
	known := false
	for _, key := range f.keys {
		known = known || key["kid"] == t.header["kid"] && t.verify(key) == nil
	}
	if !known || t.header["typ"] != "JWT" {
		f.t.Errorf("assertion header %v: no published key made it", t.header)
	}
	for name, want := range map[string]any{"iss": clientID, "sub": subject, "aud": audience} {
		if t.payload[name] != want {
			f.t.Errorf("assertion's %s = %v, want %v", name, t.payload[name], want)
		}
	}
	if issued, ends := t.seconds("iat"), t.seconds("exp"); issued.After(f.now()) || !ends.After(f.now()) || ends.Sub(issued) != time.Minute {
		f.t.Errorf("assertion from %v to %v, and it is %v", issued, ends, f.now())
	}
	f.once(t)
}

// once checks that an identifier is random enough and new.
func (f *fake) once(t jwt) {
	jti, _ := t.payload["jti"].(string)
	if random, err := part(jti); err != nil || len(random) < 16 || f.jtis[jti] {
		f.t.Errorf("jti %q is short or was used before", jti)
	}
	f.jtis[jti] = true
}

// client401 checks the client's identification.
func (f *fake) client401(req *http.Request, form url.Values) {
	if req.URL.RawQuery != "" || req.Method != http.MethodPost || form.Get("client_id") != clientID ||
		form.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
		f.t.Errorf("%s %s with %q", req.Method, req.URL, slices.Sorted(maps.Keys(form)))
	}
	f.assertion(form.Get("client_assertion"), clientID, f.d.clientAudience(req.URL.String()))
}

// proof checks a DPoP proof and returns its key's thumbprint, or an error code.
func (f *fake) proof(req *http.Request, token string) (jkt, refused string) {
	if fields := req.Header.Values("DPoP"); len(fields) != 1 {
		f.t.Errorf("%s has %d proofs", req.URL, len(fields))
		return "", "invalid_dpop_proof"
	}
	t, err := parseJWT(req.Header.Get("DPoP"))
	if err != nil {
		f.t.Errorf("proof: %v", err)
		return "", "invalid_dpop_proof"
	}
	key, _ := t.header["jwk"].(map[string]any)
	if names := slices.Sorted(maps.Keys(key)); t.header["typ"] != "dpop+jwt" || !slices.Equal(names, []string{"crv", "kty", "x", "y"}) {
		f.t.Errorf("proof header %v", t.header)
	}
	if err := t.verify(key); err != nil {
		f.t.Errorf("proof: %v", err)
	}
	want := map[string]any{"htm": req.Method, "htu": "https://" + strings.TrimSuffix(strings.ToLower(req.URL.Host), ":443") + req.URL.EscapedPath()}
	if token != "" {
		want["ath"] = hash(token)
	}
	for _, name := range []string{"htm", "htu", "ath"} {
		if t.payload[name] != want[name] {
			f.t.Errorf("proof's %s = %v, want %v", name, t.payload[name], want[name])
		}
	}
	if issued := t.seconds("iat"); issued.After(f.now()) || f.now().Sub(issued) > time.Second {
		f.t.Errorf("proof of %v, and it is %v", issued, f.now())
	}
	f.once(t)
	canonical := fmt.Sprintf(`{"crv":%q,"kty":%q,"x":%q,"y":%q}`, key["crv"], key["kty"], key["x"], key["y"])
	if nonce, _ := t.payload["nonce"].(string); nonce != f.nonce {
		return hash(canonical), "use_dpop_nonce"
	}
	return hash(canonical), ""
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// token is the token endpoint.
func (f *fake) token(req *http.Request, form url.Values) *http.Response {
	f.client401(req, form)
	jkt, kind := "", "Bearer"
	if len(req.Header.Values("DPoP")) > 0 {
		var refused string
		if jkt, refused = f.proof(req, ""); refused != "" {
			return reply(req, 400, `{"error":"`+refused+`"}`, "DPoP-Nonce: "+f.nonce)
		}
		kind = "DPoP"
	}
	s := f.sessions[form.Get("session_id")]
	if form.Has("session_id") && (s == nil || s.ended) {
		return reply(req, 400, `{"error":"invalid_session"}`)
	}
	account, rotated := false, ""
	switch form.Get("grant_type") {
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		f.assertion(form.Get("assertion"), draftUser, f.d.sessionAudience)
	case "refresh_token":
		if !form.Has("session_id") {
			f.t.Error("an Account Token without a Session")
		}
		if !f.accounts[form.Get("refresh_token")] {
			return reply(req, 400, `{"error":"invalid_grant"}`)
		}
		account = true
	case "authorization_code":
		account, rotated = true, `,"refresh_token":"acct_new","refresh_token_expires_in":2592000`
		f.accounts["acct_new"] = true
	default:
		return reply(req, 400, `{"error":"unsupported_grant_type"}`)
	}
	f.made++
	id := form.Get("session_id")
	if s == nil {
		id = fmt.Sprintf("ses_%d", f.made)
		f.sessions[id] = &fakeSession{}
		s = f.sessions[id]
	}
	if account {
		s.account = true
	}
	value, scope := fmt.Sprintf("sat_%d~+/==", f.made), ""
	if account {
		scope = "poppy:read poppy:write"
	}
	f.tokens[value] = &fakeToken{session: id, jkt: jkt, account: account, resource: form.Get("resource"), ends: f.now().Add(time.Duration(f.life) * time.Second)}
	return reply(req, 200, fmt.Sprintf(`{"access_token":%q,"token_type":%q,"expires_in":%d,"scope":%q,"session_id":%q,"signed_in":%t%s,"unknown":{"a":[1]}}`,
		value, kind, f.life, scope, id, account, rotated))
}

// resource is an API.
func (f *fake) resource(req *http.Request) *http.Response {
	scheme, value, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	token := f.tokens[value]
	resource, want := "", "DPoP"
	switch req.URL.Host {
	case "mcp.example.com":
		resource = mcpServer
		if !f.mcpProofs {
			want = "Bearer"
		}
	case "stock.example.com":
		resource = "https://stock.example.com/"
	}
	if scheme != want || token == nil || token.resource != resource {
		f.t.Errorf("%s: Authorization of scheme %q with a token for %+v", req.URL, scheme, token)
		return reply(req, 401, `{}`, "WWW-Authenticate: "+want+` error="invalid_token"`)
	}
	if want == "Bearer" {
		if len(req.Header.Values("DPoP")) > 0 {
			f.t.Errorf("%s has a proof", req.URL)
		}
	} else if jkt, refused := f.proof(req, value); refused != "" {
		return reply(req, 401, `{}`, `WWW-Authenticate: DPoP error="`+refused+`"`, "DPoP-Nonce: "+f.nonce)
	} else if jkt != token.jkt {
		f.t.Errorf("%s: the token is another key's", req.URL)
	}
	if token.dead || !f.now().Before(token.ends) {
		return reply(req, 401, `{}`, "WWW-Authenticate: "+want+` error="invalid_token"`)
	}
	if req.URL.Path == "/account" && !token.account {
		return reply(req, 403, `{"error":"sign_in_required","scope":"poppy:read"}`)
	}
	return reply(req, 200, `{"session":"`+token.session+`"}`)
}
