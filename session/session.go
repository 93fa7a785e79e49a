package session

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/internal/randomid"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/profile"
)

// renewBefore is how long before its end a delegation is replaced, so that none ends on its way.
const renewBefore = 5 * time.Minute

// Config is what a [Session] is made of. Identity, Issuer and UserID are required.
type Config struct {
	Profile  profile.Profile
	Identity *Identity
	Issuer   string // the Company's issuer, character for character as published
	UserID   string // the User's ID at this Company
	Now      func() time.Time
	Rand     io.Reader
}

// Session is one Session at one Company, named by us, signed out (PROTOCOL 1.0: "the personal agent names a new
// Session itself"). It signs; it sends nothing. Safe for concurrent use.
type Session struct {
	cfg Config
	id  string

	mu        sync.Mutex
	key       *Signer     // the delegated key; never leaves this process
	delegated secret.Text // the delegation that vouches for it
	ends      time.Time
}

// New names a Session. It asks nobody: the Company learns of it with the first request.
func New(cfg Config) (*Session, error) {
	if cfg.Identity == nil || cfg.Issuer == "" || cfg.UserID == "" {
		return nil, errors.New("session: identity, issuer and user id are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	id, err := randomid.Long(cfg.Rand, cfg.Profile.SessionIDPrefix)
	if err != nil {
		return nil, err
	}
	return &Session{cfg: cfg, id: id}, nil
}

// ID is the Session ID, `sid`. It is not a credential.
func (s *Session) ID() string { return s.id }

// Header returns the value of Poppy-Session for one request: a JWT signed anew, with an identity of its own
// (PROTOCOL 1.0, section 5). It must go to this Session's Company and nowhere else.
func (s *Session) Header() (secret.Text, error) {
	payload, err := s.claims(s.cfg.Issuer, s.cfg.Profile.SessionLife)
	if err != nil {
		return secret.Text{}, err
	}
	payload["sid"] = s.id
	return s.sign(s.cfg.Profile.SessionTyp, payload)
}

// Assertion returns the browser assertion that joins a browser to this Session at endpoint and then sends it to
// returnTo (PROTOCOL 1.0, section 9, shape A).
func (s *Session) Assertion(endpoint, returnTo string) (secret.Text, error) {
	payload, err := s.claims(endpoint, s.cfg.Profile.AssertionLife)
	if err != nil {
		return secret.Text{}, err
	}
	payload["sid"], payload["return_to"] = s.id, returnTo
	return s.sign(s.cfg.Profile.AssertionTyp, payload)
}

func (s *Session) claims(audience string, life time.Duration) (claims, error) {
	jti, err := randomid.Long(s.cfg.Rand, "")
	if err != nil {
		return nil, err
	}
	now := s.cfg.Now()
	return claims{
		"iss": s.cfg.Identity.clientID,
		"sub": s.cfg.UserID,
		"aud": audience,
		"iat": now.Unix(),
		"exp": now.Add(life).Unix(),
		"jti": jti,
	}, nil
}

func (s *Session) sign(typ string, payload claims) (secret.Text, error) {
	key, delegation, err := s.delegation()
	if err != nil {
		return secret.Text{}, err
	}
	return key.Sign(claims{"typ": typ, "poppy_dlg": delegation.Reveal()}, payload)
}

// delegation returns the delegated key and the statement that vouches for it, made anew before the old one ends.
func (s *Session) delegation() (*Signer, secret.Text, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	if s.key != nil && now.Before(s.ends.Add(-renewBefore)) {
		return s.key, s.delegated, nil
	}
	long, err := s.cfg.Identity.signer(now)
	if err != nil {
		return nil, secret.Text{}, err
	}
	key, err := NewSigner(s.cfg.Rand)
	if err != nil {
		return nil, secret.Text{}, fmt.Errorf("delegated key: %w", err)
	}
	ends := now.Add(s.cfg.Profile.DelegationLife)
	delegated, err := long.Sign(
		claims{"typ": s.cfg.Profile.DelegationTyp, "kid": long.KeyID()},
		claims{
			"iss": s.cfg.Identity.clientID,
			"iat": now.Unix(),
			"exp": ends.Unix(),
			"cnf": claims{"jwk": key.PublicJWK()},
		})
	if err != nil {
		return nil, secret.Text{}, fmt.Errorf("delegation: %w", err)
	}
	s.key, s.delegated, s.ends = key, delegated, ends
	return key, delegated, nil
}
