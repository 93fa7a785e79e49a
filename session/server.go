package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/profile"
)

// The grant types and what goes with them (RFC 6749, RFC 7523, RFC 8628).
const (
	GrantCode    = "authorization_code"
	GrantDevice  = "urn:ietf:params:oauth:grant-type:device_code"
	grantRefresh = "refresh_token"
	grantJWT     = "urn:ietf:params:oauth:grant-type:jwt-bearer"

	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	assertionTyp  = "JWT" // of a client assertion
)

// ServerConfig is what a [Server] is made of. Now is time.Now and Rand crypto/rand when nil; the rest is required.
type ServerConfig struct {
	Company  *company.Company
	Identity *Identity
	UserID   string // the User's ID at this Company
	// Client makes the requests. No redirect is followed and no cookie is kept with it, whatever it says.
	Client *http.Client
	Now    func() time.Time
	Rand   io.Reader
}

// Server makes the agent's requests to one Company's authorization server: each with a client assertion
// (private_key_jwt, RFC 7523), in the drafts with a DPoP proof beside it, and in what is named by the Company's profile.
// Every request has an overall deadline, and no redirect is followed. Safe for concurrent use.
//
// Its errors are a [*ServerError] or [*RateLimited] when the Company refused, and else of the families ErrNoAnswer,
// ErrNotSent, which holds internal/pace's ErrHeld when its client holds the Company, ErrUnreadable and ErrNotOffered.
type Server struct {
	company *company.Company
	profile profile.Profile
	speaker speaker
	client  *http.Client
	pauses  *pauses
	order   atomic.Uint64 // of token requests, by when they were made

	mu     sync.Mutex
	proofs map[string]proofsAt // of MCP servers, by URL
}

// NewServer returns the Server for a Company. It asks nobody.
func NewServer(cfg ServerConfig) (*Server, error) {
	if cfg.Company == nil || cfg.Identity == nil || cfg.UserID == "" || cfg.Client == nil {
		return nil, errors.New("server: company, identity, user id and client are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	return &Server{
		company: cfg.Company, profile: cfg.Company.Profile,
		speaker: speaker{cfg.Identity, cfg.UserID, cfg.Now, cfg.Rand},
		client:  unfollowing(cfg.Client), pauses: newPauses(cfg.Now), proofs: make(map[string]proofsAt),
	}, nil
}

// ClientID is the agent that the requests are made for.
func (s *Server) ClientID() string { return s.speaker.identity.ClientID() }

// unfollowing is the client without redirects, which would carry credentials elsewhere, and without cookies.
func unfollowing(client *http.Client) *http.Client {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Jar = nil
	return &own
}

// Token makes a token request: form is the grant, to which the client's identification is added, and the resource where
// the profile names it. With a key the token is bound to it; without one it is a Bearer token. A code or an Account
// Token in form is spent by this, whatever comes of it; a session_id in it is left out where the profile's token requests
// name no Session. On an error the grant is empty but for an AccountToken that the answer brought.
func (s *Server) Token(ctx context.Context, form url.Values, key *ProofKey) (Grant, error) {
	for name := range form {
		if strings.HasPrefix(name, "client_") || name == "assertion" {
			return Grant{}, fmt.Errorf("token request: %s is not the caller's", name)
		}
	}
	return s.token(ctx, func() (url.Values, error) { return form, nil }, key)
}

// token is Token with a form that is made anew for each try.
func (s *Server) token(ctx context.Context, form func() (url.Values, error), key *ProofKey) (Grant, error) {
	if s.company.Server.Token == "" {
		return Grant{}, fmt.Errorf("token endpoint: %w", ErrNotOffered)
	}
	var want asked
	ask := func() (url.Values, error) {
		given, err := form()
		if err != nil {
			return nil, err
		}
		fields := make(url.Values, len(given)+4)
		for name, values := range given {
			fields[name] = slices.Clone(values)
		}
		if !s.profile.TokenSession {
			fields.Del("session_id")
		}
		if s.profile.TokenResource && !fields.Has("resource") && s.company.Resource != "" {
			fields.Set("resource", s.company.Resource)
		}
		want = asked{
			dpop: key != nil, session: fields.Get("session_id"), named: s.profile.TokenSession,
			assertion: fields.Get("grant_type") == grantJWT, at: s.speaker.now(), from: s, order: s.next(),
		}
		want.scope, _ = readScope(fields.Get("scope"))
		return fields, nil
	}
	data, err := s.exchange(ctx, s.company.Server.Token, ask, key)
	if err != nil {
		return Grant{}, fmt.Errorf("token endpoint: %w", err)
	}
	g, err := readGrant(data, want)
	if err != nil {
		return g, fmt.Errorf("token endpoint: %w", err)
	}
	return g, nil
}

// next numbers a token request.
func (s *Server) next() uint64 { return s.order.Add(1) }

// ReadGrant reads the tokens that came by another way than the token endpoint, in answer to a request that carried the
// Session: Mediated Sign-In's (draft 0.1, section 4.7). Other members of data are ignored. asked is when the request was
// made. Its errors are ErrUnreadable, with the AccountToken that could be read in the grant.
func (s *Server) ReadGrant(data []byte, sessionID string, scope []string, asked time.Time) (Grant, error) {
	return readGrant(data, s.mediated(sessionID, scope, asked))
}

func (s *Server) mediated(sessionID string, scope []string, at time.Time) asked {
	return asked{dpop: s.profile.Credential == profile.CredentialDPoP, session: sessionID, named: s.profile.TokenSession,
		scope: scope, at: at, from: s, order: s.next()}
}

// Refresh exchanges the Account Token for a signed-in token of a Session. scope may be narrower than what was granted;
// empty leaves it as it is. Where the grant has a new AccountToken, the old one must not be used again.
func (s *Server) Refresh(ctx context.Context, accountToken secret.Text, sessionID string, scope []string, key *ProofKey) (Grant, error) {
	form, err := s.refreshing(accountToken, sessionID, scope)
	if err != nil {
		return Grant{}, err
	}
	return s.Token(ctx, form, key)
}

func (s *Server) refreshing(accountToken secret.Text, sessionID string, scope []string) (url.Values, error) {
	if accountToken.Empty() || s.profile.TokenSession && sessionID == "" {
		return nil, errors.New("refresh: an account token and the Session it is for are required")
	}
	form := url.Values{"grant_type": {grantRefresh}, "refresh_token": {accountToken.Reveal()}}
	if sessionID != "" {
		form.Set("session_id", sessionID)
	}
	if len(scope) > 0 {
		form.Set("scope", strings.Join(scope, " "))
	}
	return form, nil
}

// ForAPI gets a token for one API that needs one of its own, by its resource (RFC 8707; draft 0.1, section 4.3). For an
// MCP server that takes no proofs it is a Bearer token, whatever key says. With an Account Token it is signed in, else
// signed out. The Session's other tokens stay as they are.
func (s *Server) ForAPI(ctx context.Context, api company.API, accountToken secret.Text, sessionID string, scope []string, key *ProofKey) (Grant, error) {
	resource := resourceOf(api)
	if resource == "" || !slices.Contains(s.company.APIs, api) {
		return Grant{}, fmt.Errorf("a token for %s alone: %w", api.Type, ErrNotOffered)
	}
	proofs, err := s.takesProofs(ctx, api)
	switch {
	case err != nil:
		return Grant{}, fmt.Errorf("%s: %w: %w", api.URL, ErrNotSent, err)
	case !proofs:
		key = nil
	case key == nil:
		return Grant{}, fmt.Errorf("a token for %s: its key is required", api.URL)
	}
	if accountToken.Empty() {
		return s.start(ctx, sessionID, resource, key)
	}
	form, err := s.refreshing(accountToken, sessionID, scope)
	if err != nil {
		return Grant{}, err
	}
	form.Set("resource", resource)
	return s.Token(ctx, form, key)
}

// resourceOf is what a token for an API alone is asked for with, or nothing when the Session's own token serves.
func resourceOf(api company.API) string {
	if isMCP(api) {
		return api.URL
	}
	return api.Resource
}

// isMCP reports whether an API is an MCP server.
func isMCP(api company.API) bool { return api.Type == "mcp" }

// start starts a Session, or renews the named one signed out, by the agent's own assertion (draft 0.1, section 4.2).
func (s *Server) start(ctx context.Context, sessionID, resource string, key *ProofKey) (Grant, error) {
	if s.profile.Start != profile.StartToken {
		return Grant{}, fmt.Errorf("a signed-out token: %w", ErrNotOffered)
	}
	return s.token(ctx, func() (url.Values, error) {
		payload, err := s.speaker.claims(s.speaker.user, s.audience(s.profile.SessionAudience, s.company.Server.Token), s.profile.SessionLife)
		if err != nil {
			return nil, err
		}
		assertion, err := s.speaker.signPublished(s.profile.SessionTyp, payload)
		if err != nil {
			return nil, fmt.Errorf("session assertion: %w", err)
		}
		form := url.Values{"grant_type": {grantJWT}, "assertion": {assertion.Reveal()}}
		if sessionID != "" {
			form.Set("session_id", sessionID)
		}
		if resource != "" {
			form.Set("resource", resource)
		}
		return form, nil
	}, key)
}

// audience is what aud names, for a statement that is posted to endpoint.
func (s *Server) audience(a profile.Audience, endpoint string) string {
	switch a {
	case profile.AudienceEndpoint:
		return endpoint
	case profile.AudienceTokenEndpoint:
		return s.company.Server.Token
	default:
		return s.company.Issuer
	}
}

// Revoke revokes an Account Token at the Company (RFC 7009; draft 0.1, section 4.9). A token that the Company does not
// know any more is no error.
func (s *Server) Revoke(ctx context.Context, accountToken secret.Text) error {
	if s.company.Server.Revocation == "" {
		return fmt.Errorf("revocation endpoint: %w", ErrNotOffered)
	}
	_, err := s.exchange(ctx, s.company.Server.Revocation, func() (url.Values, error) {
		return url.Values{"token": {accountToken.Reveal()}, "token_type_hint": {"refresh_token"}}, nil
	}, nil)
	if err != nil {
		return fmt.Errorf("revocation endpoint: %w", err)
	}
	return nil
}
