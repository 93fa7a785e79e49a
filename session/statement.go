package session

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/internal/randomid"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/profile"
)

// speaker makes the agent's signed statements about one User.
type speaker struct {
	identity *Identity
	user     string
	now      func() time.Time
	random   io.Reader
}

// claims are those that every statement has, each time anew. iat is cut to the second and never in the future: a Company
// may allow no clock ahead of its own.
func (s speaker) claims(subject, audience string, life time.Duration) (claims, error) {
	jti, err := randomid.Long(s.random, "")
	if err != nil {
		return nil, err
	}
	now := s.now()
	return claims{
		"iss": s.identity.clientID,
		"sub": subject,
		"aud": audience,
		"iat": now.Unix(),
		"exp": now.Add(life).Unix(),
		"jti": jti,
	}, nil
}

// signPublished signs with a key of jwks_uri.
func (s speaker) signPublished(typ string, payload claims) (secret.Text, error) {
	signer, err := s.identity.signer(s.now())
	if err != nil {
		return secret.Text{}, err
	}
	return signer.Sign(claims{"typ": typ, "kid": signer.KeyID()}, payload)
}

// delegation is a key that lives in this process alone, with the statement that vouches for it (PROTOCOL 1.0, section
// 5). It is made anew before its end. Safe for concurrent use.
type delegation struct {
	mu        sync.Mutex
	key       *Signer
	statement secret.Text
	ends      time.Time
}

// sign signs with the delegated key.
func (d *delegation) sign(s speaker, p profile.Profile, typ string, payload claims) (secret.Text, error) {
	key, statement, err := d.current(s, p)
	if err != nil {
		return secret.Text{}, err
	}
	return key.Sign(claims{"typ": typ, "poppy_dlg": statement.Reveal()}, payload)
}

func (d *delegation) current(s speaker, p profile.Profile) (*Signer, secret.Text, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := s.now()
	if d.key != nil && now.Before(d.ends.Add(-renewBefore)) {
		return d.key, d.statement, nil
	}
	key, err := NewSigner(s.random)
	if err != nil {
		return nil, secret.Text{}, fmt.Errorf("delegated key: %w", err)
	}
	ends := now.Add(p.DelegationLife)
	statement, err := s.signPublished(p.DelegationTyp, claims{
		"iss": s.identity.clientID,
		"iat": now.Unix(),
		"exp": ends.Unix(),
		"cnf": claims{"jwk": key.PublicJWK()},
	})
	if err != nil {
		return nil, secret.Text{}, fmt.Errorf("delegation: %w", err)
	}
	d.key, d.statement, d.ends = key, statement, ends
	return key, statement, nil
}
