package session

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"

	"github.com/papaver-agent/papaver/internal/secret"
)

// errAlgorithm is what Sign says of a header that names an algorithm.
var errAlgorithm = errors.New("the signer says by which algorithm it signs")

// Signer is a private key that signs and never comes out: long-term keys, delegated keys and DPoP keys are each one.
// It prints as redacted. It is immutable and safe for concurrent use.
type Signer struct {
	private *ecdsa.PrivateKey
	public  claims
	kid     string
}

// NewSigner makes a key for ES256, the only algorithm we sign with.
func NewSigner(random io.Reader) (*Signer, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return nil, fmt.Errorf("new key: %w", err)
	}
	return newSigner(private)
}

func newSigner(private *ecdsa.PrivateKey) (*Signer, error) {
	public, err := publicJWK(&private.PublicKey)
	if err != nil {
		return nil, err
	}
	kid, _ := public["kid"].(string)
	return &Signer{private: private, public: public, kid: kid}, nil
}

// KeyID is the key's RFC 7638 thumbprint with SHA-256, base64url: its `kid`, and what a `jkt` names it by.
func (s *Signer) KeyID() string { return s.kid }

// PublicJWK returns the public key as a new JWK object with kid, use and alg. No private member is in it.
func (s *Signer) PublicJWK() map[string]any { return maps.Clone(s.public) }

// Sign returns a compact JWS over the JSON of payload, with the JOSE header members beside `alg`, which is the signer's
// own. A header `jwk` is a JWK object.
func (s *Signer) Sign(header, payload map[string]any) (secret.Text, error) {
	if _, named := header["alg"]; named {
		return secret.Text{}, errAlgorithm
	}
	return sign(s.private, header, payload)
}

// Format implements [fmt.Formatter]: whatever the verb, the key stays inside.
func (Signer) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "redacted") }

// LogValue implements [slog.LogValuer].
func (Signer) LogValue() slog.Value { return slog.StringValue("redacted") }
