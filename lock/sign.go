package lock

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"filippo.io/age"

	"github.com/papaver-agent/papaver/internal/secret"
)

// domain begins what is signed, so that no signature of this key can be taken for one over something else.
const domain = "papaver answer 1\n"

// Statement is what a signature of an answer is over: which question of whose, the terms that were shown, and whether
// they were approved.
type Statement struct {
	Request   string `json:"request"`
	Kind      string `json:"kind"`
	Company   string `json:"company"` // its domain
	Operation string `json:"operation"`
	Revision  string `json:"revision"`
	TermsHash string `json:"terms_hash"`
	Approved  bool   `json:"approved"`
}

// Signature is the lock's, over one Statement: Ed25519 (RFC 8032), base64url without padding. It is no secret: it is
// good for its own question alone. Empty is none.
type Signature string

// Sign signs an answer.
func (k *Key) Sign(s Statement) (Signature, error) {
	data, err := s.bytes()
	if err != nil {
		return "", err
	}
	key := ed25519.NewKeyFromSeed([]byte(k.answers.Reveal()))
	return Signature(base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, data))), nil
}

// Verify checks a signature; ErrSignature when it is not this lock's over s.
func (l Lock) Verify(s Statement, sig Signature) error {
	data, err := s.bytes()
	if err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(string(sig))
	if err != nil || len(l.public) != ed25519.PublicKeySize || !ed25519.Verify(l.public, data, raw) {
		return ErrSignature
	}
	return nil
}

// bytes is what is signed: a JSON object with every member, so that none can be moved into another.
func (s Statement) bytes() ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	return append([]byte(domain), data...), nil
}

// Seal closes plain so that only the open lock opens it (age's X25519 recipient). It needs no passphrase.
func (l Lock) Seal(plain []byte) ([]byte, error) {
	if len(plain) > maxBox {
		return nil, errors.New("what is to be sealed is too large")
	}
	box, err := encrypt(plain, l.recipient)
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	return box, nil
}

// Unseal opens what Seal closed. ErrSealed when it was closed for another lock, or changed.
func (k *Key) Unseal(box []byte) (secret.Text, error) {
	identity, err := age.ParseX25519Identity(k.identity.Reveal())
	if err != nil {
		return secret.Text{}, ErrSealed
	}
	plain, err := decrypt(box, identity)
	if err != nil {
		return secret.Text{}, ErrSealed
	}
	return secret.New(string(plain)), nil
}
