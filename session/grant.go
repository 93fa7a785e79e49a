package session

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

const (
	maxAnswer       = 64 << 10 // bytes of an answer of the authorization server
	maxAnswerLevels = 16
	maxToken        = 16 << 10 // bytes
	maxLife         = 10 * 365 * 24 * time.Hour
)

// The types of tokens.
const (
	typeDPoP   = "DPoP"
	typeBearer = "Bearer"
)

// Grant is what a token request, or a sign-in, brought: a Session Token, or an access token of 1.0, and with it what is
// new of the account.
type Grant struct {
	AccessToken secret.Text
	// Type is DPoP or Bearer.
	Type string
	// Expires is when the access token ends, counted from when it was asked for.
	Expires time.Time
	// AccountToken is the new Account Token (OAuth's refresh token); empty when there is none, and an older one stays.
	AccountToken secret.Text
	// AccountExpires is when it ends; zero when the Company does not say.
	AccountExpires time.Time
	// Scope is what was granted, which may be less than what was asked for.
	Scope []string
	// SessionID is the Session's; empty where token requests name none.
	SessionID string
	// SignedIn says that the token gives access to the account.
	SignedIn bool

	from  *Server
	order uint64 // of from's grants, by when they were asked for
	lived time.Duration
}

// asked is what a token request asked for.
type asked struct {
	dpop      bool   // a DPoP token, else a Bearer one
	session   string // the Session that was named; empty for a new one
	named     bool   // the answer must name the Session
	assertion bool   // by the agent's assertion alone: nobody signs in
	scope     []string
	at        time.Time
	from      *Server
	order     uint64
}

// tokenAnswer is the answer of a token endpoint (RFC 6749, section 5.1; draft 0.1, sections 4.2 and 4.4).
type tokenAnswer struct {
	AccessToken      *string `json:"access_token"`
	Type             *string `json:"token_type"`
	ExpiresIn        *int64  `json:"expires_in"`
	AccountToken     *string `json:"refresh_token"`
	AccountExpiresIn *int64  `json:"refresh_token_expires_in"`
	Scope            *string `json:"scope"`
	SessionID        *string `json:"session_id"`
	SignedIn         *bool   `json:"signed_in"`
}

var (
	token68Form   = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)
	sessionIDForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
)

// readGrant reads an answer strictly. The Account Token stands in the grant even beside an error, wherever it could be
// read: the Company may have replaced the old one.
func readGrant(data []byte, want asked) (Grant, error) {
	var a tokenAnswer
	if err := strictjson.Decode(data, strictjson.Limits{Bytes: maxAnswer, Depth: maxAnswerLevels}, &a); err != nil {
		return Grant{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	g := Grant{from: want.from, order: want.order}
	if err := a.account(&g, want); err != nil {
		return Grant{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	kept := Grant{AccountToken: g.AccountToken, AccountExpires: g.AccountExpires}
	for _, read := range []func(*Grant, asked) error{a.access, a.session, a.state} {
		if err := read(&g, want); err != nil {
			return kept, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
	}
	return g, nil
}

type memberError struct{ member, is string }

func (e *memberError) Error() string { return e.member + " " + e.is }

// account reads what is new of the account.
func (a *tokenAnswer) account(g *Grant, want asked) error {
	if a.AccountToken == nil {
		return nil
	}
	token := *a.AccountToken
	if token == "" || len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r > '~' }) {
		return &memberError{"refresh_token", "is not one"}
	}
	if a.AccountExpiresIn != nil {
		if *a.AccountExpiresIn <= 0 {
			return &memberError{"refresh_token_expires_in", "is not greater than 0"}
		}
		g.AccountExpires = want.at.Add(seconds(*a.AccountExpiresIn))
	}
	g.AccountToken = secret.New(token)
	return nil
}

// access reads the access token itself.
func (a *tokenAnswer) access(g *Grant, want asked) error {
	g.Type = typeBearer
	if want.dpop {
		g.Type = typeDPoP
	}
	switch {
	case a.AccessToken == nil || len(*a.AccessToken) > maxToken || !token68Form.MatchString(*a.AccessToken):
		return &memberError{"access_token", "is missing or can't stand in a header"}
	case a.Type == nil || !strings.EqualFold(*a.Type, g.Type):
		return &memberError{"token_type", "is not " + g.Type + ", which was asked for"}
	case a.ExpiresIn == nil || *a.ExpiresIn <= 0:
		return &memberError{"expires_in", "is missing or not greater than 0"}
	}
	g.AccessToken, g.lived = secret.New(*a.AccessToken), seconds(*a.ExpiresIn)
	g.Expires = want.at.Add(g.lived)
	return nil
}

// session reads which Session it is for.
func (a *tokenAnswer) session(g *Grant, want asked) error {
	if !want.named {
		return nil
	}
	switch {
	case a.SessionID == nil || !sessionIDForm.MatchString(*a.SessionID):
		return &memberError{"session_id", "is missing or not one"}
	case want.session != "" && *a.SessionID != want.session:
		return &memberError{"session_id", "is not the Session that was named"}
	}
	g.SessionID = *a.SessionID
	return nil
}

// state reads what the token is good for.
func (a *tokenAnswer) state(g *Grant, want asked) error {
	g.Scope, g.SignedIn = want.scope, !want.assertion
	if a.Scope != nil {
		scope, ok := readScope(*a.Scope)
		if !ok {
			return &memberError{"scope", "is not a list of scopes"}
		}
		g.Scope = scope
	}
	if !want.named {
		return nil
	}
	switch {
	case a.Scope == nil:
		return &memberError{"scope", "is missing"}
	case a.SignedIn == nil:
		return &memberError{"signed_in", "is missing"}
	case want.assertion && *a.SignedIn:
		return &memberError{"signed_in", "is true, and nobody signed in"}
	case !want.assertion && !*a.SignedIn:
		return &memberError{"signed_in", "is false after a sign-in"}
	}
	return nil
}

func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(maxLife/time.Second))) * time.Second
}
