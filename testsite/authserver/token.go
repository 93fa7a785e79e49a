package authserver

import (
	"net/http"
	"net/url"
	"slices"
	"time"
)

// The grant types (RFC 6749, RFC 7523, RFC 8628).
const (
	grantAssertion = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantDevice    = "urn:ietf:params:oauth:grant-type:device_code"
	grantCode      = "authorization_code"
	grantRefresh   = "refresh_token"
)

// The schemes of access tokens.
const (
	schemeDPoP   = "DPoP"
	schemeBearer = "Bearer"
)

// token is an access token: in the drafts a Session Token. It reflects the Session as it was when it was issued.
type token struct {
	scheme   string
	client   string
	user     string // in 1.0 the grant's
	session  *Session
	grant    *grant // nil: issued signed out
	scopes   []string
	key      string // thumbprint of the key it is bound to
	resource string // the one service it is for, or empty
	expires  time.Time
	number   int // tokens are counted as they are issued
}

// tokenAnswer is the answer of the token endpoint (RFC 6749, section 5.1; draft 0.1, sections 4.2 and 4.4).
type tokenAnswer struct {
	Status           string `json:"status,omitempty"` // of Mediated Sign-In
	AccessToken      string `json:"access_token"`
	TokenType        string `json:"token_type"`
	ExpiresIn        int64  `json:"expires_in"`
	Scope            string `json:"scope"`
	SessionID        string `json:"session_id,omitempty"`
	SignedIn         *bool  `json:"signed_in,omitempty"`
	AccountToken     string `json:"refresh_token,omitempty"`
	AccountExpiresIn int64  `json:"refresh_token_expires_in,omitempty"`
}

// tokenEndpoint answers /oauth/token.
func (s *Server) tokenEndpoint(w http.ResponseWriter, r *http.Request) {
	form, client, ok := s.clientForm(w, r)
	if !ok {
		return
	}
	p, failed := s.tokenProof(r, form)
	if failed != nil {
		s.refuse(w, failed)
		return
	}
	answer, failed := s.tokenGrant(r, client, form, p)
	if failed != nil {
		s.refuse(w, failed)
		return
	}
	s.offerNonce(w.Header())
	WriteJSON(w, http.StatusOK, answer)
}

// tokenProof checks the proof of a token request, and that proof and resource go together: a token without a proof is a
// Bearer token, and that is for the MCP server alone (draft 0.1, section 4.3). In 1.0 every token is a Bearer one.
func (s *Server) tokenProof(r *http.Request, form url.Values) (*proof, *refusal) {
	resource := form.Get("resource")
	if !s.cfg.Profile.SessionTokens {
		if resource != "" && resource != s.cfg.Resource {
			return nil, broken(http.StatusBadRequest, "invalid_target", ruleResource, "a resource that isn't this Company's")
		}
		return nil, nil
	}
	mcp := s.cfg.MCP != "" && resource == s.cfg.MCP
	if resource != "" && resource != s.cfg.Resource && !mcp {
		return nil, broken(http.StatusBadRequest, "invalid_target", ruleResource, "a resource that isn't this Company's")
	}
	if mcp && len(r.Header.Values("DPoP")) == 0 {
		return nil, nil
	}
	p, failed := s.checkProof(r, "")
	if failed != nil {
		return nil, failed
	}
	if mcp { // the server chooses the type, and takes Bearer tokens only
		return nil, nil
	}
	return &p, nil
}

// tokenGrant answers by the grant type.
func (s *Server) tokenGrant(r *http.Request, client Client, form url.Values, p *proof) (tokenAnswer, *refusal) {
	switch kind := form.Get("grant_type"); {
	case kind == grantAssertion && s.cfg.Profile.SessionTokens:
		return s.assertionGrant(r, client, form, p)
	case kind == grantRefresh:
		return s.refreshGrant(r, client, form, p)
	case kind == grantCode:
		return s.codeGrant(client, form, p)
	case kind == grantDevice:
		return s.deviceGrant(client, form, p)
	default:
		return tokenAnswer{}, broken(http.StatusBadRequest, "unsupported_grant_type", ruleGrantType, "a grant_type that isn't offered")
	}
}

// assertionGrant starts a Session, or renews a signed-out token of one (draft 0.1, section 4.2).
func (s *Server) assertionGrant(r *http.Request, client Client, form url.Values, p *proof) (tokenAnswer, *refusal) {
	user, failed := s.sessionAssertion(r.Context(), client, form.Get("assertion"))
	if failed != nil {
		return tokenAnswer{}, failed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if failed := s.bindLocked(client.ID, user, p); failed != nil {
		return tokenAnswer{}, failed
	}
	id := form.Get("session_id")
	if id == "" {
		return s.issueLocked(s.startLocked(client, user), nil, nil, form.Get("resource"), p), nil
	}
	x, failed := s.ownedLocked(id, client, user)
	if failed != nil {
		return tokenAnswer{}, failed
	}
	return s.issueLocked(x, nil, nil, form.Get("resource"), p), nil
}

// bindLocked notes whose key a proof's is.
func (s *Server) bindLocked(client, user string, p *proof) *refusal {
	if p == nil || user == "" {
		return nil
	}
	owner := client + " " + user
	if before, found := s.keys[p.thumbprint]; found && before != owner && s.cfg.Profile.KeyPerUser {
		f := broken(http.StatusBadRequest, "invalid_dpop_proof", ruleKeyOfAnother, "a key that another User's proofs had")
		f.proof = true
		return f
	}
	s.keys[p.thumbprint] = owner
	return nil
}

// issueLocked issues an access token for a Session of the drafts, or for a grant of 1.0.
func (s *Server) issueLocked(x *Session, g *grant, scopes []string, resource string, p *proof) tokenAnswer {
	now := s.cfg.Now()
	s.issued++
	for key, old := range s.tokens {
		if now.After(old.expires.Add(tokenLife)) {
			delete(s.tokens, key)
		}
	}
	t := &token{scheme: schemeBearer, session: x, grant: g, scopes: scopes, resource: resource, expires: now.Add(tokenLife), number: s.issued}
	if p != nil {
		t.scheme, t.key = schemeDPoP, p.thumbprint
	}
	prefix := "at_"
	answer := tokenAnswer{TokenType: t.scheme, ExpiresIn: int64(tokenLife / time.Second), Scope: join(scopes)}
	if x != nil {
		prefix = "sat_"
		x.expires = now.Add(sessionLife)
		t.client, t.user = x.client, x.user
		signedIn := g != nil
		answer.SessionID, answer.SignedIn = x.id, &signedIn
	} else {
		t.client, t.user = g.client, g.user
	}
	if g != nil {
		// A token doesn't outlive what it was given by.
		if g.expires.Before(t.expires) {
			t.expires = g.expires
			answer.ExpiresIn = max(1, s.leftLocked(g))
		}
	}
	answer.AccessToken = prefix + s.cfg.Fresh(32)
	s.tokens[hash(answer.AccessToken)] = t
	return answer
}

// finishLocked makes the grant of a sign-in and the first tokens of it. In the drafts it is for the Session that the form
// names.
func (s *Server) finishLocked(client Client, account string, scopes []string, form url.Values, p *proof) (tokenAnswer, *refusal) {
	user := ""
	if s.cfg.Profile.SessionTokens {
		x, failed := s.ownedLocked(form.Get("session_id"), client, "")
		if failed != nil {
			return tokenAnswer{}, failed
		}
		user = x.user
	}
	g, value := s.grantLocked(client, user, account, scopes)
	answer, failed := s.signedInLocked(client, g, scopes, form, p)
	if failed != nil {
		s.grants = slices.DeleteFunc(s.grants, func(other *grant) bool { return other == g })
		delete(s.refresh, hash(value))
		return tokenAnswer{}, failed
	}
	answer.AccountToken, answer.AccountExpiresIn = value, s.leftLocked(g)
	return answer, nil
}
