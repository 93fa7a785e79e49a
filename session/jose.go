package session

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/lestrrat-go/jwx/v2/jws"

	"github.com/papaver-agent/papaver/internal/secret"
)

// This file is the only one that knows jwx: keys to and from JWK, and signing. Nothing else of it is used, so a move
// to its next major version, or away from it, changes this file.

// algorithm is ES256, the only one we sign with.
const algorithm = "ES256"

// claims is a JWT payload, or a JOSE header's own members.
type claims map[string]any

// sign returns a compact JWT over payload. header holds the JOSE members beside alg.
func sign(key *ecdsa.PrivateKey, header, payload claims) (secret.Text, error) {
	body, err := json.Marshal(payload)
	if err != nil {
		return secret.Text{}, fmt.Errorf("jwt payload: %w", err)
	}
	protected := jws.NewHeaders()
	for name, value := range header {
		if name == "jwk" {
			key, err := publicKey(value)
			if err != nil {
				return secret.Text{}, err
			}
			value = key
		}
		if err := protected.Set(name, value); err != nil {
			return secret.Text{}, fmt.Errorf("jose header %s: %w", name, err)
		}
	}
	token, err := jws.Sign(body, jws.WithKey(jwa.ES256, key, jws.WithProtectedHeaders(protected)))
	if err != nil {
		return secret.Text{}, fmt.Errorf("sign: %w", err)
	}
	return secret.New(string(token)), nil
}

// publicKey is a JWK object as the library wants it in a header. One with a private part is refused.
func publicKey(object any) (jwk.Key, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, errors.New("jose header jwk: not a JWK")
	}
	key, err := jwk.ParseKey(raw)
	if err != nil {
		return nil, errors.New("jose header jwk: not a JWK")
	}
	if private, err := jwk.IsPrivateKey(key); err != nil || private {
		return nil, errors.New("jose header jwk: not a public key")
	}
	return key, nil
}

// publicJWK returns the public key as a JWK object, with its thumbprint as kid.
func publicJWK(key *ecdsa.PublicKey) (claims, error) {
	k, err := jwk.FromRaw(key)
	if err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	kid, err := thumbprint(k)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(k)
	if err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	var object claims
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	object["kid"], object["alg"], object["use"] = kid, algorithm, "sig"
	return object, nil
}

// publicMembers is a public key that publicJWK made, read again: its members, with the kid that the key itself has.
func publicMembers(object claims) (claims, error) {
	k, err := publicKey(map[string]any(object))
	if err != nil {
		return nil, err
	}
	var key ecdsa.PublicKey
	if err := k.Raw(&key); err != nil {
		return nil, errors.New("not an EC key")
	}
	return publicJWK(&key)
}

// marshalPrivate returns the private key as JWK text.
func marshalPrivate(key *ecdsa.PrivateKey) (secret.Text, error) {
	k, err := jwk.FromRaw(key)
	if err != nil {
		return secret.Text{}, errors.New("a private key could not be encoded")
	}
	raw, err := json.Marshal(k)
	if err != nil {
		return secret.Text{}, errors.New("a private key could not be encoded")
	}
	return secret.New(string(raw)), nil
}

// parsePrivate reads what marshalPrivate wrote. Its errors never quote the input.
func parsePrivate(text secret.Text) (*ecdsa.PrivateKey, error) {
	k, err := jwk.ParseKey([]byte(text.Reveal()))
	if err != nil {
		return nil, errors.New("not a JWK")
	}
	var key ecdsa.PrivateKey
	if err := k.Raw(&key); err != nil {
		return nil, errors.New("not a private EC key")
	}
	if key.Curve != elliptic.P256() {
		return nil, errors.New("not a key for " + algorithm)
	}
	// A private key that is not that of its public one would sign what nobody can verify.
	if raw, err := key.Bytes(); err != nil {
		return nil, errors.New("not a private EC key")
	} else if pair, err := ecdsa.ParseRawPrivateKey(key.Curve, raw); err != nil || !pair.PublicKey.Equal(&key.PublicKey) {
		return nil, errors.New("its private and its public part do not belong together")
	}
	return &key, nil
}

// thumbprint is the RFC 7638 thumbprint with SHA-256, base64url.
func thumbprint(k jwk.Key) (string, error) {
	sum, err := k.Thumbprint(crypto.SHA256)
	if err != nil {
		return "", fmt.Errorf("key thumbprint: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(sum), nil
}
