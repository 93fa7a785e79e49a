package testsite

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

// es256 is the only algorithm this Company accepts.
const es256 = "ES256"

// Errors of a JWS that callers tell apart.
var (
	errAlgorithm = errors.New("the algorithm isn't ES256")
	errSignature = errors.New("the signature doesn't verify")
)

// jws is a compact JWS that was taken apart and not yet verified (RFC 7515, section 7.1).
type jws struct {
	header  map[string]json.RawMessage
	payload map[string]json.RawMessage // claims: a JSON object

	signed    string // what the signature covers
	signature []byte
}

// parseJWS takes a compact JWS apart. It verifies nothing. Header and payload are strict JSON objects, the
// encoding is base64url without padding, and a header with crit is refused, since we know no extension of it.
func parseJWS(compact string) (jws, error) {
	if len(compact) > maxJWS {
		return jws{}, fmt.Errorf("JWS: more than %d bytes", maxJWS)
	}
	parts := strings.Split(compact, ".")
	if len(parts) != 3 {
		return jws{}, errors.New("JWS: not three parts")
	}
	var raw [3][]byte
	for i, part := range parts {
		decoded, err := base64url(part)
		if err != nil {
			return jws{}, fmt.Errorf("JWS: part %d: %w", i+1, err)
		}
		raw[i] = decoded
	}
	header, err := members(raw[0])
	if err != nil {
		return jws{}, fmt.Errorf("JWS: header: %w", err)
	}
	if _, found := header["crit"]; found {
		return jws{}, errors.New("JWS: header: crit is not supported")
	}
	payload, err := members(raw[1])
	if err != nil {
		return jws{}, fmt.Errorf("JWS: payload: %w", err)
	}
	return jws{header: header, payload: payload, signed: parts[0] + "." + parts[1], signature: raw[2]}, nil
}

// verify checks the signature with the key. It returns errAlgorithm or errSignature.
func (j jws) verify(key *ecdsa.PublicKey) error {
	if alg, _ := text(j.header, "alg"); alg != es256 {
		return errAlgorithm
	}
	if len(j.signature) != 64 {
		return errSignature
	}
	digest := sha256.Sum256([]byte(j.signed))
	r := new(big.Int).SetBytes(j.signature[:32])
	s := new(big.Int).SetBytes(j.signature[32:])
	if !ecdsa.Verify(key, digest[:], r, s) {
		return errSignature
	}
	return nil
}

// jwk is a public key of a key set, or of a delegation.
type jwk struct {
	kid, use, alg string
	private       bool // it holds the private part too, which nobody should publish
	key           *ecdsa.PublicKey
}

// parseJWK reads one key. Keys of another type than EC P-256 are an error.
func parseJWK(data []byte) (jwk, error) {
	m, err := members(data)
	if err != nil {
		return jwk{}, fmt.Errorf("JWK: %w", err)
	}
	kty, _ := text(m, "kty")
	crv, _ := text(m, "crv")
	if kty != "EC" || crv != "P-256" {
		return jwk{}, errors.New("JWK: not an EC key on P-256")
	}
	point := []byte{4} // uncompressed, SEC 1, section 2.3.3
	for _, name := range []string{"x", "y"} {
		value, _ := text(m, name)
		coordinate, err := base64url(value)
		if err != nil || len(coordinate) != 32 {
			return jwk{}, fmt.Errorf("JWK: %s isn't 32 bytes", name)
		}
		point = append(point, coordinate...)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return jwk{}, fmt.Errorf("JWK: %w", err)
	}
	k := jwk{key: key}
	k.kid, _ = text(m, "kid")
	k.use, _ = text(m, "use")
	k.alg, _ = text(m, "alg")
	_, k.private = m["d"]
	return k, nil
}

// base64url decodes without padding and refuses what Go's decoder alone lets pass: line ends and stray bits.
func base64url(s string) ([]byte, error) {
	if !onlyOf(s, "-_") {
		return nil, errors.New("not base64url")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, errors.New("not base64url")
	}
	return b, nil
}
