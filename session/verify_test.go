package session_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/session"
)

// This file is a Company's reading of our statements, with the standard library alone: it shares nothing with the
// signer, so a mistake there shows here.

// jwt is a decoded compact JWT, its signature not yet verified.
type jwt struct {
	header, payload map[string]any
	signed          string
	signature       []byte
}

// part decodes one part of a compact JWT strictly.
func part(s string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(s) }

func parseJWT(compact string) (jwt, error) {
	parts := strings.Split(compact, ".")
	if len(parts) != 3 {
		return jwt{}, fmt.Errorf("%d parts", len(parts))
	}
	if len(parts[2]) != 86 {
		return jwt{}, fmt.Errorf("the signature has %d characters", len(parts[2]))
	}
	t := jwt{signed: parts[0] + "." + parts[1]}
	for i, into := range []*map[string]any{&t.header, &t.payload} {
		raw, err := part(parts[i])
		if err != nil {
			return jwt{}, err
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if err := decoder.Decode(into); err != nil {
			return jwt{}, err
		}
	}
	var err error
	t.signature, err = part(parts[2])
	return t, err
}

// verify checks an ES256 signature with a public JWK.
func (t jwt) verify(key map[string]any) error {
	if t.header["alg"] != "ES256" || key["kty"] != "EC" || key["crv"] != "P-256" || key["d"] != nil {
		return fmt.Errorf("alg %v with a key of kty %v, crv %v", t.header["alg"], key["kty"], key["crv"])
	}
	point := []byte{4}
	for _, name := range []string{"x", "y"} {
		text, _ := key[name].(string)
		coordinate, err := part(text)
		if err != nil || len(text) != 43 || len(coordinate) != 32 {
			return fmt.Errorf("%s has %d characters: %v", name, len(text), err)
		}
		point = append(point, coordinate...)
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(t.signed))
	r, s := new(big.Int).SetBytes(t.signature[:32]), new(big.Int).SetBytes(t.signature[32:])
	if !ecdsa.Verify(public, digest[:], r, s) {
		return fmt.Errorf("the signature is not of this key")
	}
	return nil
}

func (t jwt) seconds(claim string) time.Time {
	n, _ := t.payload[claim].(json.Number)
	unix, err := n.Int64()
	if err != nil {
		return time.Time{}
	}
	return time.Unix(unix, 0)
}

// published is the key set a Company fetches from jwks_uri.
func published(t testing.TB, id *session.Identity) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(id.PublicDir(), "jwks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var set struct{ Keys []map[string]any }
	if err := json.Unmarshal(data, &set); err != nil {
		t.Fatal(err)
	}
	return set.Keys
}

// verifyChain verifies a Session JWT or an assertion at a time, down from the published keys, and returns it with its
// delegation.
func verifyChain(compact string, keys []map[string]any, typ string, at time.Time) (token, delegation jwt, err error) {
	if token, err = parseJWT(compact); err != nil {
		return token, delegation, err
	}
	if token.header["typ"] != typ || token.header["jwk"] != nil || token.header["crit"] != nil {
		return token, delegation, fmt.Errorf("header %v", token.header)
	}
	statement, ok := token.header["poppy_dlg"].(string)
	if !ok {
		return token, delegation, fmt.Errorf("poppy_dlg is %T", token.header["poppy_dlg"])
	}
	if delegation, err = parseJWT(statement); err != nil {
		return token, delegation, fmt.Errorf("delegation: %w", err)
	}
	found := false
	for _, key := range keys {
		if key["kid"] == delegation.header["kid"] && key["alg"] == delegation.header["alg"] && key["use"] == "sig" {
			found = true
			if err := delegation.verify(key); err != nil {
				return token, delegation, fmt.Errorf("delegation: %w", err)
			}
		}
		if token.verify(key) == nil {
			return token, delegation, fmt.Errorf("a long-term key has signed it")
		}
	}
	if !found {
		return token, delegation, fmt.Errorf("no key %v of %v is published", delegation.header["kid"], delegation.header["alg"])
	}
	cnf, _ := delegation.payload["cnf"].(map[string]any)
	delegated, ok := cnf["jwk"].(map[string]any)
	if !ok {
		return token, delegation, fmt.Errorf("cnf.jwk is %T", cnf["jwk"])
	}
	if err := token.verify(delegated); err != nil {
		return token, delegation, err
	}
	if delegation.payload["iss"] != token.payload["iss"] {
		return token, delegation, fmt.Errorf("delegated by %v to %v", delegation.payload["iss"], token.payload["iss"])
	}
	for name, t := range map[string]jwt{"token": token, "delegation": delegation} {
		if issued, ends := t.seconds("iat"), t.seconds("exp"); issued.After(at) || !ends.After(at) {
			return token, delegation, fmt.Errorf("%s from %v to %v, and it is %v", name, issued, ends, at)
		}
	}
	if delegation.seconds("exp").Before(token.seconds("exp")) {
		return token, delegation, fmt.Errorf("the delegation ends before what it vouches for")
	}
	return token, delegation, nil
}
