package authserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/papaver-agent/papaver/testsite/wire"
)

// minState is how many characters a state has that nobody guesses; minChallenge is what S256 gives (RFC 7636, section
// 4.2).
const (
	minState     = 16
	maxState     = 512
	minChallenge = 43
)

// authorization is one Direct Sign-In: the agent's request, and what the User said to it (draft 0.1, section 4.5).
type authorization struct {
	id        string
	client    Client
	redirect  string
	scopes    []string
	state     string
	challenge string
	decision  decision
	account   string
	granted   []string
	expires   time.Time // of the request; once approved, of the code
	code      string    // its hash, once approved
	grant     *grant    // once exchanged
}

// readAuthorization checks an authorization request. With a nil refusal and an address it is the agent's fault, which the
// agent is told there; with a refusal nobody can be told but the User, since the agent or its address isn't certain.
func (s *Server) readAuthorization(r *http.Request) (a *authorization, back string, failed *refusal) {
	q := r.URL.Query()
	for _, values := range q {
		if len(values) > 1 {
			return nil, "", broken(http.StatusBadRequest, "invalid_request", ruleForm, "a parameter that comes twice")
		}
	}
	client, err := s.cfg.Clients.Find(r.Context(), q.Get("client_id"))
	if err != nil {
		return nil, "", broken(http.StatusBadRequest, "invalid_client", prefixClient+faultUnknown, "no known agent has this client_id")
	}
	redirect := q.Get("redirect_uri")
	if !slices.Contains(client.RedirectURIs, redirect) {
		return nil, "", broken(http.StatusBadRequest, "invalid_request", ruleRedirect, "a redirect_uri that isn't one of the agent's")
	}
	a = &authorization{client: client, redirect: redirect, state: q.Get("state"), challenge: q.Get("code_challenge"), decision: undecided}
	wrong := func(code, rule, seen string) (*authorization, string, *refusal) {
		s.cfg.Broken(rule, seen)
		return nil, s.answerTo(a, url.Values{"error": {code}}), nil
	}
	if q.Get("response_type") != "code" {
		return wrong("unsupported_response_type", ruleResponseType, "another response_type than code")
	}
	if len(a.state) < minState || len(a.state) > maxState {
		s.cfg.Broken(ruleState, "a state that is short enough to guess, or none")
	}
	if q.Get("code_challenge_method") != "S256" || len(a.challenge) != minChallenge || !wire.OnlyOf(a.challenge, "-_") {
		return wrong("invalid_request", rulePKCE, "no S256 code challenge")
	}
	if resource := q.Get("resource"); resource != "" && resource != s.cfg.Resource {
		return wrong("invalid_target", ruleResource, "a resource that isn't this Company's")
	}
	scopes, ok := readScope(q.Get("scope"), AllScopes().Direct)
	if !ok {
		return wrong("invalid_scope", ruleScope, "scopes that a Direct Sign-In can't grant")
	}
	a.scopes = scopes
	return a, "", nil
}

// answerTo is the address that the User's browser goes back to, with the answer's parameters, the state and our issuer
// (RFC 9207).
func (s *Server) answerTo(a *authorization, answer url.Values) string {
	u, err := url.Parse(a.redirect)
	if err != nil {
		return s.cfg.Issuer
	}
	q := u.Query()
	for name, values := range answer {
		q[name] = values
	}
	if a.state != "" {
		q.Set("state", a.state)
	}
	q.Set("iss", s.cfg.Issuer)
	u.RawQuery = q.Encode()
	return u.String()
}

// keep remembers a request until the User answers.
func (s *Server) keep(a *authorization) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	for id, old := range s.requests {
		if now.After(old.expires) {
			delete(s.requests, id)
		}
	}
	a.id, a.expires = s.cfg.Fresh(22), now.Add(requestLife)
	s.requests[a.id] = a
}

// decide takes the User's answer and gives where the browser goes; ok is false when no request waits or the scopes
// aren't those asked for. Without scopes, and with allow, all that was asked for is granted.
func (s *Server) decide(id, account string, allow bool, scopes []string) (back string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.requests[id]
	if a == nil || a.decision != undecided || s.cfg.Now().After(a.expires) {
		return "", false
	}
	if !allow {
		a.decision = denied
		return s.answerTo(a, url.Values{"error": {"access_denied"}}), true
	}
	if scopes == nil {
		scopes = a.scopes
	}
	if _, known := s.account(account); !known || len(scopes) == 0 || len(without(scopes, a.scopes)) > 0 {
		return "", false
	}
	code := "code_" + s.cfg.Fresh(32)
	a.decision, a.account, a.granted, a.code = approved, account, scopes, hash(code)
	a.expires = s.cfg.Now().Add(codeLife)
	s.codes[a.code] = a
	return s.answerTo(a, url.Values{"code": {code}}), true
}

// ApproveAuthorization opens an authorization URL as the User's browser does and approves it for the account: the address
// that the browser is sent to. ok is false when the request can't be approved.
func (s *Server) ApproveAuthorization(r *http.Request, account string, scopes []string) (back string, ok bool) {
	a, elsewhere, failed := s.readAuthorization(r)
	if failed != nil {
		s.cfg.Broken(failed.rule, failed.seen)
		return "", false
	}
	if elsewhere != "" {
		return elsewhere, true
	}
	s.keep(a)
	return s.decide(a.id, account, true, scopes)
}

// codeGrant exchanges a code (draft 0.1, section 4.5, step 4). A code that comes again revokes what it gave (RFC 6749,
// section 4.1.2).
func (s *Server) codeGrant(client Client, form url.Values, p *proof) (tokenAnswer, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bad := func(rule, seen string) (tokenAnswer, *refusal) {
		return tokenAnswer{}, broken(http.StatusBadRequest, "invalid_grant", rule, seen)
	}
	a := s.codes[hash(form.Get("code"))]
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	switch {
	case a == nil:
		return bad(ruleCodeReused, "a code that this Company didn't issue")
	case a.client.ID != client.ID:
		return bad(ruleCodeOther, "a code of another agent")
	case a.decision == spent:
		if a.grant != nil {
			a.grant.revoked = true
		}
		return bad(ruleCodeReused, "a code that was exchanged before")
	case s.cfg.Now().After(a.expires):
		return bad(ruleCodeReused, "a code that has expired")
	case form.Get("redirect_uri") != a.redirect:
		return bad(ruleRedirect, "another redirect_uri than the authorization request's")
	case len(form.Get("code_verifier")) < minChallenge || subtle.ConstantTimeCompare([]byte(challenge), []byte(a.challenge)) != 1:
		return bad(rulePKCE, "a code_verifier that doesn't match")
	}
	a.decision = spent
	answer, failed := s.finishLocked(client, a.account, a.granted, form, p)
	if failed == nil {
		a.grant = s.grants[len(s.grants)-1]
	}
	return answer, failed
}
