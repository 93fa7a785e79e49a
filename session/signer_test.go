package session_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/session"
)

func newSigner(t testing.TB) *session.Signer {
	t.Helper()
	s, err := session.NewSigner(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASignerSignsWhatItsPublicKeyVerifies(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	public := s.PublicJWK()
	if public["kid"] != s.KeyID() || public["alg"] != "ES256" || public["use"] != "sig" || len(public) != 7 {
		t.Errorf("public = %v", public)
	}
	text, err := s.Sign(map[string]any{"typ": "dpop+jwt", "jwk": public}, map[string]any{"jti": "1"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := parseJWT(text.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if err := token.verify(public); err != nil {
		t.Error(err)
	}
	if embedded, _ := token.header["jwk"].(map[string]any); embedded["x"] != public["x"] || embedded["d"] != nil || token.header["typ"] != "dpop+jwt" || len(token.header) != 3 {
		t.Errorf("header %v", token.header)
	}
	if err := token.verify(newSigner(t).PublicJWK()); err == nil {
		t.Error("another key verifies it")
	}
	public["x"] = "changed"
	if s.PublicJWK()["x"] == "changed" {
		t.Error("a caller can change the signer's public key")
	}
}

func TestASignerRefusesAHeaderThatIsNotItsToSend(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	for name, header := range map[string]map[string]any{
		"an algorithm":    {"alg": "none"},
		"a private key":   {"jwk": json.RawMessage(`{"kty":"EC","crv":"P-256","x":"WKn-ZIGevcwGIyyrzFoZNBdaq9_TsqzGl96oc0CWuis","y":"y77t-RvAHRKTsSGdIYUfweuOvwrvDD-Q3Hv5J0fSKbE","d":"Hndv7ZZjs_ke8o9zXYo3iq-Yr8SewI5vrqd0pAvEPqg"}`)},
		"a shared secret": {"jwk": map[string]any{"kty": "oct", "k": "c2VjcmV0"}},
		"no key":          {"jwk": map[string]any{"kty": "EC"}},
		"a text as key":   {"jwk": "key"},
	} {
		if _, err := s.Sign(header, map[string]any{}); err == nil {
			t.Errorf("%s: signed", name)
		} else if strings.Contains(err.Error(), "Hndv7ZZjs") {
			t.Errorf("%s: the error quotes the key", name)
		}
	}
}

func TestASignerNeverPrintsItsPrivateKey(t *testing.T) {
	t.Parallel()
	_, dir := newIdentity(t)
	id, err := session.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.SignerAt(id, noon)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, v := range []any{s, *s, id, []any{s}, struct{ S *session.Signer }{s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		data, err := json.Marshal(v)
		fmt.Fprintf(&out, "%s %v\n", data, err)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("key", "key", v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("key", "key", v)
	}
	number := newNumber(t, privateParts(t, dir)[0])
	for _, form := range append(number, "{D:", " D:", "PRIVATE") {
		if strings.Contains(out.String(), form) {
			t.Errorf("%q is printed", form)
		}
	}
	if !strings.Contains(out.String(), "redacted") {
		t.Errorf("printed %s", out.String())
	}
}

// newNumber spells a private number, given as base64url, in the ways in which it could be printed.
func newNumber(t testing.TB, text string) []string {
	t.Helper()
	raw, err := part(text)
	if err != nil {
		t.Fatal(err)
	}
	return []string{text, fmt.Sprintf("%x", raw), fmt.Sprintf("%X", raw), fmt.Sprintf("%d", raw), new(big.Int).SetBytes(raw).String()}
}
