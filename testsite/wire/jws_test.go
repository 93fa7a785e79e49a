package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

// What parses was taken apart without loss, and a signature of another key never verifies.
func FuzzJWS(f *testing.F) {
	key, other := testKey(f), testKey(f)
	f.Add(signed(f, key, `{"alg":"ES256","typ":"poppy-session+jwt","poppy_dlg":"a.b.c"}`, `{"iss":"https://agent.example/agent.json","exp":1}`))
	f.Add(encode(`{"alg":"none"}`) + "." + encode(`{}`) + ".")
	f.Add(encode(`{"alg":"ES256","crit":["x"]}`) + "." + encode(`{"cnf":{"jwk":{}}}`) + "." + encode("s"))
	f.Add("..")
	f.Add("")
	f.Fuzz(func(t *testing.T, compact string) {
		token, err := ParseJWS(compact)
		if err != nil {
			return
		}
		if got := token.signed + "." + encode(string(token.signature)); got != compact {
			t.Errorf("%q came back as %q", compact, got)
		}
		if token.Verify(&other.PublicKey) == nil {
			t.Error("verified with another key")
		}
		if _, err := ParseKey(token.Payload["jwk"]); err == nil && len(token.Payload["jwk"]) == 0 {
			t.Error("a key from nothing")
		}
	})
}

func TestAJWSIsReadStrictly(t *testing.T) {
	good := encode(`{"alg":"ES256"}`) + "." + encode(`{"iss":"a"}`) + "." + encode("s")
	if _, err := ParseJWS(good); err != nil {
		t.Fatal(err)
	}
	for name, compact := range map[string]string{
		"two parts":       encode(`{}`) + "." + encode(`{}`),
		"four parts":      good + ".a",
		"padding":         encode(`{}`) + "=." + encode(`{}`) + "." + encode("s"),
		"a line end":      good + "\n",
		"stray bits":      encode(`{}`) + "." + encode(`{}`) + ".AB",
		"a header twice":  encode(`{"alg":"ES256","alg":"none"}`) + "." + encode(`{}`) + "." + encode("s"),
		"critical":        encode(`{"crit":["b64"],"b64":false}`) + "." + encode(`{}`) + "." + encode("s"),
		"an array":        encode(`{}`) + "." + encode(`[]`) + "." + encode("s"),
		"too large":       encode(`{"a":"`+strings.Repeat("a", maxJWS)+`"}`) + "." + encode(`{}`) + "." + encode("s"),
		"a JSON tail":     encode(`{}{}`) + "." + encode(`{}`) + "." + encode("s"),
		"the empty token": "",
	} {
		if _, err := ParseJWS(compact); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestASignatureVerifiesForItsOwnTextAndKeyAlone(t *testing.T) {
	key, other := testKey(t), testKey(t)
	compact := signed(t, key, `{"alg":"ES256"}`, `{"iss":"a"}`)
	token, err := ParseJWS(compact)
	if err != nil {
		t.Fatal(err)
	}
	if err := token.Verify(&key.PublicKey); err != nil {
		t.Fatal(err)
	}
	if err := token.Verify(&other.PublicKey); !errors.Is(err, ErrSignature) {
		t.Errorf("another key: %v", err)
	}
	for i := range compact {
		changed := compact[:i] + flipped(compact[i]) + compact[i+1:]
		token, err := ParseJWS(changed)
		if err == nil && token.Verify(&key.PublicKey) == nil {
			t.Errorf("changed at %d: %s", i, changed)
		}
	}
	none, err := ParseJWS(signed(t, key, `{"alg":"none"}`, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := none.Verify(&key.PublicKey); !errors.Is(err, ErrAlgorithm) {
		t.Errorf("alg none: %v", err)
	}
}

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func testKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func signed(t testing.TB, key *ecdsa.PrivateKey, header, payload string) string {
	t.Helper()
	text := encode(header) + "." + encode(payload)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(string(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)))
}

// flipped is another character of base64url.
func flipped(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}
