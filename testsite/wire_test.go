package testsite_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// What goes over the wire: answers, keys and JSON.

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	json   map[string]any
	url    string
	err    error // the connection was lost
}

func (a *testAgent) request(method, target, body string) *http.Request {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	return r
}

func (a *testAgent) send(c *http.Client, r *http.Request) reply {
	a.t.Helper()
	response, err := c.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{err: err}
	}
	got := reply{status: response.StatusCode, header: response.Header, body: string(data), url: response.Request.URL.String()}
	_ = json.Unmarshal(bytes.TrimSpace(data), &got.json)
	return got
}

// operation is an operation as the endpoint sent it.
type operation struct {
	ID        string         `json:"operation_id"`
	Revision  string         `json:"revision"`
	Summary   string         `json:"summary"`
	Terms     map[string]any `json:"terms"`
	ExpiresAt string         `json:"expires_at"`
}

func operationIn(t *testing.T, r reply) operation {
	t.Helper()
	var body struct{ Operation operation }
	if err := json.Unmarshal([]byte(r.body), &body); err != nil {
		t.Fatal(err)
	}
	return body.Operation
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func jwkOf(key *ecdsa.PrivateKey, kid string) map[string]any {
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return nil
	}
	k := map[string]any{
		"kty": "EC", "crv": "P-256",
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
	}
	if kid != "" {
		k["kid"], k["use"], k["alg"] = kid, "sig", "ES256"
	}
	return k
}

func part(t *testing.T, value map[string]any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func random(characters int) string {
	b := make([]byte, characters)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)[:characters]
}

func write(t *testing.T, path string, value any) {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
