package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/randomid"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/profile"
)

// renewBefore is how long before its end a delegation is replaced, so that none ends on its way.
const renewBefore = 5 * time.Minute

// Config is what a [Session] is made of. Identity, UserID, and Company or Issuer are required.
type Config struct {
	Profile  profile.Profile // the Company's when it is the zero value
	Identity *Identity
	Issuer   string // the Company's issuer, character for character as published; the Company's when empty
	UserID   string // the User's ID at this Company
	// Company is where the Session's credentials may go. Without one they go nowhere, and browsers alone can join.
	Company *company.Company
	// Server makes the token requests. It is required where a token starts the Session.
	Server *Server
	// Refresh has a signed-in token of the Session anew, from the account's Account Token; see [Server.Refresh], and
	// [Session.Key] for the key. It is asked while the Session is signed in, and with the first use of the Session, which
	// then starts signed in. It returns ErrSignInRequired, or the Company's invalid_grant, when there is no access to the
	// account any more: the Session continues signed out. Nil: the Session starts signed out, and a sign-in lasts as long
	// as its first token.
	Refresh func(ctx context.Context, sessionID string) (Grant, error)
	// RefreshFor is Refresh for an API that needs a token of its own; see [Server.ForAPI]. It returns ErrSignInRequired
	// where that takes a sign-in of its own, and so does the use of such an API while it is nil and the Session is signed
	// in.
	RefreshFor func(ctx context.Context, sessionID string, api company.API) (Grant, error)
	Now        func() time.Time
	Rand       io.Reader
}

// Session is one Session at one Company: the one place where what identifies it is kept, renewed and put on requests.
// In 1.0 we name it ourselves and ask nobody (PROTOCOL 1.0, section 4); in the drafts the first use starts it with a
// token request (draft 0.1, section 4.2). Safe for concurrent use: all who share it use its newest token.
type Session struct {
	cfg       Config
	profile   profile.Profile
	speaker   speaker
	server    *Server
	key       *ProofKey // nil where no proofs are made
	pauses    *pauses
	delegated delegation

	mu      sync.Mutex
	id      string // empty until it is started
	ended   []string
	account bool // tokens are had from the account; what the newest token says is in it
	newest  uint64
	tokens  map[company.API]held // by the API that has a token of its own; the zero API stands for all others
	flight  *flight
	serial  uint64 // orders grants where there is no Server
}

// general stands for every place that the Session's own token is for.
var general company.API

// New names a Session where the profile has us name it. It asks nobody.
func New(cfg Config) (*Session, error) {
	if cfg.Company != nil && cfg.Profile.Version == "" {
		cfg.Profile = cfg.Company.Profile
	}
	if cfg.Company != nil && cfg.Issuer == "" {
		cfg.Issuer = cfg.Company.Issuer
	}
	if cfg.Identity == nil || cfg.Issuer == "" || cfg.UserID == "" {
		return nil, errors.New("session: identity, issuer and user id are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	s := &Session{
		cfg: cfg, profile: cfg.Profile, server: cfg.Server, account: cfg.Refresh != nil,
		speaker: speaker{cfg.Identity, cfg.UserID, cfg.Now, cfg.Rand}, tokens: make(map[company.API]held),
	}
	if s.server != nil {
		s.pauses = s.server.pauses
	} else {
		s.pauses = newPauses(cfg.Now)
	}
	if s.profile.Credential == profile.CredentialDPoP {
		key, err := NewProofKey(cfg.Now, cfg.Rand)
		if err != nil {
			return nil, err
		}
		s.key = key
	}
	if s.profile.Start == profile.StartToken {
		if s.server == nil {
			return nil, errors.New("session: a server is required to start it")
		}
		return s, nil
	}
	id, err := randomid.Long(cfg.Rand, s.profile.SessionIDPrefix)
	if err != nil {
		return nil, err
	}
	s.id = id
	return s, nil
}

// ID is the Session ID, empty while the Session is not started. It is not a credential.
func (s *Session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Start starts the Session when it isn't, and returns its ID. Its errors are a [Server]'s.
func (s *Session) Start(ctx context.Context) (string, error) {
	if id := s.ID(); id != "" {
		return id, nil
	}
	if _, err := s.token(ctx, general); err != nil {
		return "", fmt.Errorf("start of the Session: %w", err)
	}
	return s.ID(), nil
}

// Prepare has there what [Session.Assertion] needs of the Company: the Session is started, and its token is far from its end.
// Where nothing is needed it asks nobody. Its errors are those of Assertion.
func (s *Session) Prepare(ctx context.Context) error {
	if _, err := s.Start(ctx); err != nil || s.profile.JoinTokenField == "" {
		return err
	}
	_, err := s.token(ctx, general)
	return err
}

// Key is the DPoP key the Session's tokens are bound to: the key for [Server.Token] and [Server.Refresh]. It is nil where
// no proofs are made.
func (s *Session) Key() *ProofKey { return s.key }

// SignedIn reports whether the Session's newest token gives access to the account.
func (s *Session) SignedIn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens[general].grant.SignedIn
}

// Scope is what the newest token's sign-in covers; nil signed out.
func (s *Session) Scope() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tokens[general].grant.Scope)
}

// Use takes the token that a sign-in, a refresh or a renewal brought; from now on everybody uses it. A grant that was
// asked for before the newest one changes nothing, and neither does one from before a sign-out. It returns
// ErrOtherSession for another Session's, ErrOtherServer for one that the Session's Server did not bring, and
// ErrUnreadable for a Bearer token where the profile has proofs.
func (s *Session) Use(grant Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keep(general, grant, 0)
}

// keep is Use for any token, with mu held. began is when the Session began to ask for it, which orders what its Server
// did not bring; 0 where it did not ask.
func (s *Session) keep(api company.API, grant Grant, began uint64) error {
	if s.profile.TokenSession {
		if s.id == "" && !slices.Contains(s.ended, grant.SessionID) {
			s.id = grant.SessionID
		}
		if grant.SessionID != s.id {
			return ErrOtherSession
		}
	}
	if grant.from != s.server || grant.order == 0 {
		if began == 0 {
			return ErrOtherServer
		}
		grant.from, grant.order, grant.lived = s.server, began, grant.Expires.Sub(s.speaker.now())
	}
	if api == general && s.key != nil && grant.Type != typeDPoP {
		return fmt.Errorf("%w: its token is bound to no key", ErrUnreadable)
	}
	if api != general {
		if grant.order > s.tokens[api].grant.order && grant.order >= s.newest && grant.SignedIn == s.account {
			s.tokens[api] = held{grant: grant}
		}
		return nil
	}
	if grant.order < s.newest {
		return nil
	}
	if was := s.tokens[general].grant; was.SignedIn != grant.SignedIn || !slices.Equal(was.Scope, grant.Scope) {
		clear(s.tokens) // those for one API show the Session as it was
	}
	s.newest, s.account = grant.order, grant.SignedIn
	s.tokens[general] = held{grant: grant}
	return nil
}

// SignOut forgets every signed-in token: the Session continues signed out. What was asked for before does not sign it in again.
// Revoking the Account Token is the caller's.
func (s *Session) SignOut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signOut()
}

func (s *Session) signOut() {
	s.account, s.newest = false, s.next()
	maps.DeleteFunc(s.tokens, func(_ company.API, h held) bool { return h.grant.SignedIn })
}

// Restart gives up the Session, after ErrInvalidSession or ErrAccountMismatch, and makes a new one of it, signed in if
// it was and the account still gives access. id is the Session that ended: if it is not the present one somebody else
// was faster, and nothing changes. Its ID is never used again, and browsers have to join the new one.
func (s *Session) Restart(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != id || id == "" {
		return nil
	}
	fresh := ""
	if s.profile.Start == profile.StartNamed {
		var err error
		if fresh, err = randomid.Long(s.cfg.Rand, s.profile.SessionIDPrefix); err != nil {
			return err
		}
	}
	s.ended = append(s.ended, id)
	s.account = s.account && s.cfg.Refresh != nil
	s.id, s.newest = fresh, s.next()
	clear(s.tokens)
	return nil
}

// next orders what happens to the tokens, with mu held.
func (s *Session) next() uint64 {
	if s.server != nil {
		return s.server.next()
	}
	s.serial++
	return s.serial
}

// Assertion returns the browser assertion that joins a browser to this Session at endpoint and then sends it to
// returnTo, which is good for one join and a minute; and the access token that the join needs beside it, empty where it
// needs none (PROTOCOL 1.0, section 9, shape A; draft 0.1, section 5).
func (s *Session) Assertion(ctx context.Context, endpoint, returnTo string) (assertion, accessToken secret.Text, err error) {
	id, err := s.Start(ctx)
	if err != nil {
		return secret.Text{}, secret.Text{}, err
	}
	payload, err := s.speaker.claims(s.cfg.UserID, endpoint, s.profile.AssertionLife)
	if err != nil {
		return secret.Text{}, secret.Text{}, err
	}
	payload[s.profile.AssertionSession], payload["return_to"] = id, returnTo
	if s.profile.JoinTokenField != "" {
		h, err := s.token(ctx, general)
		if err != nil {
			return secret.Text{}, secret.Text{}, err
		}
		accessToken = h.grant.AccessToken
		if !accessToken.Empty() && s.profile.TokenHash != "" {
			payload[s.profile.TokenHash] = tokenHash(accessToken)
		}
	}
	if s.profile.Delegated {
		assertion, err = s.delegated.sign(s.speaker, s.profile, s.profile.AssertionTyp, payload)
	} else {
		assertion, err = s.speaker.signPublished(s.profile.AssertionTyp, payload)
	}
	return assertion, accessToken, err
}

// header is the value of Poppy-Session for one request: a JWT signed anew, bound to the access token beside it (PROTOCOL
// 1.0, section 5).
func (s *Session) header(accessToken secret.Text) (secret.Text, error) {
	payload, err := s.speaker.claims(s.cfg.UserID, s.cfg.Issuer, s.profile.SessionLife)
	if err != nil {
		return secret.Text{}, err
	}
	payload["sid"] = s.ID()
	if !accessToken.Empty() && s.profile.TokenHash != "" {
		payload[s.profile.TokenHash] = tokenHash(accessToken)
	}
	return s.delegated.sign(s.speaker, s.profile, s.profile.SessionTyp, payload)
}
