package authserver

import (
	"net/http"
	"slices"
	"strings"
)

// Access is what a request's credentials are worth.
type Access struct {
	Client  string
	User    string
	Agent   string // the agent's name
	Session string // its id
	Account string // empty: signed out
	Scopes  []string
}

// SignedIn says whether the request is the account's.
func (a Access) SignedIn() bool { return a.Account != "" }

// Has says whether the request may do what the scope is for.
func (a Access) Has(scope string) bool { return slices.Contains(a.Scopes, scope) }

// Denial is an error answer at an API, the website or an extension's endpoint (draft 0.1, section 6; PROTOCOL, section
// 8).
type Denial struct {
	Status int
	Code   string // of error
	Scope  string // what is needed
	// Scheme is that of the challenge: "DPoP" or "Bearer"; empty for none.
	Scheme string
	// Bare leaves the error out of the challenge: no credentials were sent, or it is the sign-in challenge of 1.0.
	Bare bool
	// Metadata is the address of the protected resource's document, for a challenge that names it (RFC 9728, section 5.1).
	Metadata string
}

// Write answers with the denial: in WWW-Authenticate where it has a scheme, and always in the body.
func (d *Denial) Write(w http.ResponseWriter) {
	if d.Scheme != "" {
		w.Header().Add("WWW-Authenticate", d.Challenge())
	}
	WriteJSON(w, d.Status, errorAnswer{Error: d.Code, Scope: d.Scope})
}

// Challenge is the value of WWW-Authenticate (RFC 9110, section 11.6.1).
func (d *Denial) Challenge() string {
	var params []string
	add := func(name, value string) {
		if value != "" {
			params = append(params, name+`="`+value+`"`)
		}
	}
	if !d.Bare {
		add("error", d.Code)
	}
	add("scope", d.Scope)
	if d.Scheme == schemeDPoP {
		add("algs", "ES256") // RFC 9449, section 7.1
	}
	add("resource_metadata", d.Metadata)
	if len(params) == 0 {
		return d.Scheme
	}
	return d.Scheme + " " + strings.Join(params, ", ")
}

// SignInRequired is the answer to a signed-out request for what needs the account.
func (s *Server) SignInRequired(scope string) *Denial {
	if s.cfg.Profile.SessionTokens {
		return &Denial{Status: http.StatusForbidden, Code: "sign_in_required", Scope: scope, Scheme: schemeDPoP}
	}
	return &Denial{Status: http.StatusUnauthorized, Code: "sign_in_required", Scope: scope, Scheme: schemeBearer, Bare: true}
}

// InsufficientScope is the answer to a request that is signed in without the scope.
func (s *Server) InsufficientScope(scope string) *Denial {
	d := &Denial{Status: http.StatusForbidden, Code: "insufficient_scope", Scope: scope, Scheme: schemeBearer}
	if s.cfg.Profile.SessionTokens {
		d.Scheme = schemeDPoP
	}
	return d
}

// Credential takes the one credential out of a request: its scheme in lower case and the token. ok is false when
// Authorization holds anything else; none says that there is no Authorization at all.
func Credential(r *http.Request) (scheme, token string, none, ok bool) {
	lines := r.Header.Values("Authorization")
	if len(lines) == 0 {
		return "", "", true, false
	}
	scheme, token, found := strings.Cut(lines[0], " ")
	token = strings.TrimLeft(token, " ")
	if len(lines) > 1 || !found || token == "" || strings.ContainsAny(token, " ,\t") {
		return "", "", false, false
	}
	return strings.ToLower(scheme), token, false, true
}

// tokenInURL notices a token in the request's URL. None is accepted from there.
func (s *Server) tokenInURL(r *http.Request) {
	if r.URL.Query().Has("access_token") {
		s.cfg.Broken(ruleTokenInURL, "an access_token in the URL")
	}
}

// Access says what a request with a Session Token is worth: at an API with the DPoP scheme and a proof, at the MCP
// server, when mcp is set, with a Bearer token that was issued for it (draft 0.1, section 4.3). After a Denial of a
// proof, the header may hold a nonce for the next try.
func (s *Server) Access(w http.ResponseWriter, r *http.Request, mcp bool) (Access, *Denial) {
	s.tokenInURL(r)
	deny := func(code, rule, seen string) (Access, *Denial) {
		if rule != "" {
			s.cfg.Broken(rule, seen)
		}
		d := &Denial{Status: http.StatusUnauthorized, Code: code, Scheme: schemeDPoP}
		if mcp {
			d.Scheme = schemeBearer
		}
		return Access{}, d
	}
	scheme, value, none, ok := Credential(r)
	switch {
	case none:
		_, d := deny("invalid_token", "", "")
		d.Bare = true
		return Access{}, d
	case !ok:
		return deny("invalid_token", ruleTwoCredentials, "an Authorization that isn't one token")
	case s.isAccountToken(value):
		return deny("invalid_token", ruleAccountToken, "an Account Token in Authorization")
	case mcp && scheme != "bearer":
		return deny("invalid_token", ruleResource, "another scheme than Bearer at the MCP server")
	case !mcp && scheme != "dpop":
		return deny("invalid_token", ruleBearerElsewhere, "another scheme than DPoP")
	}
	var p proof
	if !mcp {
		checked, failed := s.checkProof(r, value)
		if failed != nil {
			s.offerNonce(w.Header())
			return deny(failed.code, failed.rule, failed.seen)
		}
		p = checked
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tokens[hash(value)]
	switch {
	case t == nil:
		return deny("invalid_token", ruleTokenUnknown, "a token that this Company didn't issue")
	case t.scheme == schemeBearer && !mcp, t.scheme == schemeDPoP && mcp:
		return deny("invalid_token", ruleBearerElsewhere, "a token of the other scheme")
	case mcp && t.resource != s.cfg.MCP:
		return deny("invalid_token", ruleResource, "a token for another service")
	case !s.cfg.Now().Before(t.expires):
		return deny("invalid_token", ruleTokenExpired, "a token that has expired")
	case t.session == nil || s.activeLocked(t.session.id) == nil:
		return deny("invalid_token", "", "")
	case !mcp && t.key != p.thumbprint:
		return deny("invalid_dpop_proof", ruleProofKey, "a proof of another key than the token's")
	}
	s.noteOldLocked(t)
	current, _ := s.nonceLocked()
	if current != "" {
		w.Header().Set("DPoP-Nonce", current)
	}
	x := t.session
	a := Access{Client: x.client, User: x.user, Agent: x.name, Session: x.id}
	// The token reflects the Session as it was; a sign-out since then shows at once.
	if t.grant != nil && t.grant == x.grant && s.aliveLocked(t.grant) {
		a.Account, a.Scopes = x.account, slices.Clone(t.scopes)
	}
	return a, nil
}

// noteOldLocked notices a token that is used after a newer one of the Session for the same service was.
func (s *Server) noteOldLocked(t *token) {
	x := t.session
	if newest := x.newest[t.resource+t.scheme]; newest != nil && newest.number > t.number {
		s.cfg.Broken(ruleTokenOld, "a token after a newer one of its Session was used")
		return
	}
	x.newest[t.resource+t.scheme] = t
}

// isAccountToken says whether the value is an Account Token of ours.
func (s *Server) isAccountToken(value string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refresh[hash(value)] != nil
}

// Bearer says what an access token is worth beside a verified Session header of 1.0: both must belong to the same agent
// and the same User (PROTOCOL, section 7). To which User a sign-in belongs shows when its token comes with a Session
// header for the first time: a guess of ours, since no text says it. A Session is signed in to one account.
func (s *Server) Bearer(value, client, user, sid string) (Access, *Denial) {
	deny := func(rule, seen string) (Access, *Denial) {
		if rule != "" {
			s.cfg.Broken(rule, seen)
		}
		return Access{}, &Denial{Status: http.StatusUnauthorized, Code: "invalid_token", Scheme: schemeBearer}
	}
	if s.isAccountToken(value) {
		return deny(ruleAccountToken, "an Account Token where an access token belongs")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tokens[hash(value)]
	switch {
	case t == nil || t.grant == nil:
		return deny(ruleTokenUnknown, "a token that this Company didn't issue")
	case t.client != client:
		return deny(ruleTokenOther, "a token of another agent than the Session header's")
	case t.grant.user != "" && t.grant.user != user:
		return deny(ruleTokenOther, "a token of another User than the Session header's")
	case !s.cfg.Now().Before(t.expires):
		return deny(ruleTokenExpired, "a token that has expired")
	case !s.aliveLocked(t.grant):
		return deny("", "") // signed out or disconnected: the agent learns it here
	}
	key := client + " " + user + " " + sid
	if before := s.serverSide[key]; before != "" && before != t.grant.account {
		s.cfg.Broken(ruleAccountMismatch, "a Session of another account")
		return Access{}, &Denial{Status: http.StatusForbidden, Code: "account_mismatch"}
	}
	s.serverSide[key] = t.grant.account
	t.grant.user = user
	return Access{
		Client: client, User: user, Agent: t.grant.name, Session: sid, Account: t.grant.account, Scopes: slices.Clone(t.scopes),
	}, nil
}

// SignIn is the sign-in behind an access token, for as long as a browser that was joined with it is signed in.
type SignIn struct {
	server  *Server
	grant   *grant
	account string
	scopes  []string
}

// SignInOf gives the sign-in of an access token that Bearer accepted.
func (s *Server) SignInOf(value string) *SignIn {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tokens[hash(value)]
	if t == nil || t.grant == nil {
		return nil
	}
	return &SignIn{server: s, grant: t.grant, account: t.grant.account, scopes: slices.Clone(t.scopes)}
}

// Account gives the account and scopes, as long as the sign-in lives.
func (x *SignIn) Account() (account string, scopes []string, alive bool) {
	if x == nil {
		return "", nil, false
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	if !x.server.aliveLocked(x.grant) {
		return "", nil, false
	}
	return x.account, x.scopes, true
}
