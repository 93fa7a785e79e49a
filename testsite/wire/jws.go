// Package wire takes apart what agents send and publish: JSON objects, compact JWS and public keys. It is strict where
// encoding/json is lenient, verifies nothing by itself and knows no rule of the protocol.
//
// Callers bound the size of what they hand over, except for a JWS, which is bounded here. Everything here is safe for
// concurrent use.
package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// maxJWS bounds a compact JWS, in bytes. A Session JWT with its delegation has about 1 KiB.
const maxJWS = 16 << 10

// ES256 is the only algorithm this Company accepts (RFC 7518, section 3.4).
const ES256 = "ES256"

// Errors of a JWS that callers tell apart.
var (
	ErrAlgorithm = errors.New("the algorithm isn't ES256")
	ErrSignature = errors.New("the signature doesn't verify")
)

// JWS is a compact JWS that was taken apart and not yet verified (RFC 7515, section 7.1).
type JWS struct {
	Header  map[string]json.RawMessage
	Payload map[string]json.RawMessage // claims: a JSON object

	signed    string // what the signature covers
	signature []byte
}

// ParseJWS takes a compact JWS apart. It verifies nothing. Header and payload are strict JSON objects, the
// encoding is Base64URL without padding, and a header with crit is refused, since we know no extension of it.
func ParseJWS(compact string) (JWS, error) {
	if len(compact) > maxJWS {
		return JWS{}, fmt.Errorf("JWS: more than %d bytes", maxJWS)
	}
	parts := strings.Split(compact, ".")
	if len(parts) != 3 {
		return JWS{}, errors.New("JWS: not three parts")
	}
	var raw [3][]byte
	for i, part := range parts {
		decoded, err := Base64URL(part)
		if err != nil {
			return JWS{}, fmt.Errorf("JWS: part %d: %w", i+1, err)
		}
		raw[i] = decoded
	}
	header, err := Members(raw[0])
	if err != nil {
		return JWS{}, fmt.Errorf("JWS: header: %w", err)
	}
	if _, found := header["crit"]; found {
		return JWS{}, errors.New("JWS: header: crit is not supported")
	}
	payload, err := Members(raw[1])
	if err != nil {
		return JWS{}, fmt.Errorf("JWS: payload: %w", err)
	}
	return JWS{Header: header, Payload: payload, signed: parts[0] + "." + parts[1], signature: raw[2]}, nil
}

// Verify checks the signature with the key. It returns ErrAlgorithm or ErrSignature.
func (j JWS) Verify(key *ecdsa.PublicKey) error {
	if alg, _ := Text(j.Header, "alg"); alg != ES256 {
		return ErrAlgorithm
	}
	if len(j.signature) != 64 {
		return ErrSignature
	}
	digest := sha256.Sum256([]byte(j.signed))
	r := new(big.Int).SetBytes(j.signature[:32])
	s := new(big.Int).SetBytes(j.signature[32:])
	if !ecdsa.Verify(key, digest[:], r, s) {
		return ErrSignature
	}
	return nil
}

// Key is a public key of a key set, of a delegation or of a proof (RFC 7517).
type Key struct {
	ID, Use, Alg string
	Private      bool // it holds the private part too, which nobody should publish
	Public       *ecdsa.PublicKey
	// Thumbprint is the SHA-256 of the key's required members, in base64url (RFC 7638).
	Thumbprint string
}

// Signs says whether the key may verify signatures with ES256.
func (k Key) Signs() bool {
	return (k.Alg == "" || k.Alg == ES256) && (k.Use == "" || k.Use == "sig")
}

// ParseKey reads one key. Keys of another type than EC P-256 are an error.
func ParseKey(data []byte) (Key, error) {
	m, err := Members(data)
	if err != nil {
		return Key{}, fmt.Errorf("JWK: %w", err)
	}
	kty, _ := Text(m, "kty")
	crv, _ := Text(m, "crv")
	if kty != "EC" || crv != "P-256" {
		return Key{}, errors.New("JWK: not an EC key on P-256")
	}
	point := []byte{4} // uncompressed, SEC 1, section 2.3.3
	for _, name := range []string{"x", "y"} {
		value, _ := Text(m, name)
		coordinate, err := Base64URL(value)
		if err != nil || len(coordinate) != 32 {
			return Key{}, fmt.Errorf("JWK: %s isn't 32 bytes", name)
		}
		point = append(point, coordinate...)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return Key{}, fmt.Errorf("JWK: %w", err)
	}
	k := Key{Public: key}
	k.ID, _ = Text(m, "kid")
	k.Use, _ = Text(m, "use")
	k.Alg, _ = Text(m, "alg")
	_, k.Private = m["d"]
	x, _ := Text(m, "x")
	y, _ := Text(m, "y")
	sum := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + x + `","y":"` + y + `"}`))
	k.Thumbprint = base64.RawURLEncoding.EncodeToString(sum[:])
	return k, nil
}

// Base64URL decodes without padding and refuses what Go's decoder alone lets pass: line ends and stray bits.
func Base64URL(s string) ([]byte, error) {
	if !OnlyOf(s, "-_") {
		return nil, errors.New("not Base64URL")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, errors.New("not Base64URL")
	}
	return b, nil
}
