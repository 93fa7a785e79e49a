package authserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const testClient = "https://agent.example/agent.json"

// published answers for an agent's website.
type published struct {
	documents map[string]any
	loads     map[string]int
}

// RoundTrip implements http.RoundTripper.
func (p *published) RoundTrip(r *http.Request) (*http.Response, error) {
	p.loads[r.URL.String()]++
	document, found := p.documents[r.URL.String()]
	if !found {
		return &http.Response{StatusCode: http.StatusNotFound, Body: io.NopCloser(strings.NewReader(""))}, nil
	}
	data, err := json.Marshal(document)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(data)))}, err
}

// keySet is a key set with a key of that kid.
func keySet(t *testing.T, kid string) map[string]any {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	return map[string]any{"keys": []any{map[string]any{"kty": "EC", "crv": "P-256", "kid": kid, "x": text(point[1:33]), "y": text(point[33:])}}}
}

func metadata(changes ...string) map[string]any {
	m := map[string]any{
		"client_id": testClient, "client_name": "Agent", "jwks_uri": "https://agent.example/jwks.json",
		"redirect_uris": []string{"https://agent.example/back"}, "token_endpoint_auth_method": "private_key_jwt",
		"extensions": map[string]any{"operations": map[string]any{"version": "1"}}, "something": []int{1},
	}
	for i := 0; i+1 < len(changes); i += 2 {
		m[changes[i]] = changes[i+1]
	}
	return m
}

// Clauses: C10-5.07, C10-5.08, S01-4.2.10
func TestAKeySetIsLoadedAgainForAnUnknownKeyAtMostEvery30Seconds(t *testing.T) {
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	site := &published{loads: map[string]int{}, documents: map[string]any{testClient: metadata(), "https://agent.example/jwks.json": keySet(t, "first")}}
	clients := NewClients(nil, &http.Client{Transport: site}, func() time.Time { return now })
	find := func(kid string, want bool, loads int) {
		t.Helper()
		_, _, err := clients.FindKey(t.Context(), testClient, kid, "ES256")
		if (err == nil) != want || site.loads["https://agent.example/jwks.json"] != loads {
			t.Errorf("%s: %v after %d loads, want %d", kid, err, site.loads["https://agent.example/jwks.json"], loads)
		}
	}
	find("first", true, 1)
	find("first", true, 1)
	find("second", false, 1) // it was loaded just now
	site.documents["https://agent.example/jwks.json"] = keySet(t, "second")
	now = now.Add(30 * time.Second)
	find("second", true, 2)
	find("first", false, 2)
	delete(site.documents, "https://agent.example/jwks.json")
	now = now.Add(30 * time.Second)
	find("first", false, 3)
	find("second", true, 3) // a load that failed leaves the set as it was
	now = now.Add(keepDocument)
	find("second", false, 4)
}

// Clauses: S01-4.1.02, S01-3.3.04, S01-3.3.05
func TestAMetadataDocumentHasToBeInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		document map[string]any
		ok       bool
	}{
		"in order":                      {metadata(), true},
		"another client_id":             {metadata("client_id", "https://agent.example/other.json"), false},
		"another authentication":        {metadata("token_endpoint_auth_method", "none"), false},
		"keys on another domain":        {metadata("jwks_uri", "https://other.example/jwks.json"), false},
		"keys without TLS":              {metadata("jwks_uri", "http://agent.example/jwks.json"), false},
		"redirects that are no list":    {metadata("redirect_uris", "https://agent.example/back"), false},
		"extensions that are no object": {metadata("extensions", "operations"), true},
	} {
		site := &published{loads: map[string]int{}, documents: map[string]any{
			testClient: c.document, "https://agent.example/jwks.json": keySet(t, "k"), "https://other.example/jwks.json": keySet(t, "k"),
		}}
		_, err := NewClients(nil, &http.Client{Transport: site}, time.Now).Find(t.Context(), testClient)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	elsewhere := metadata()
	elsewhere["redirect_uris"] = []string{"https://evil.example/back"}
	site := &published{loads: map[string]int{}, documents: map[string]any{testClient: elsewhere, "https://agent.example/jwks.json": keySet(t, "k")}}
	if _, err := NewClients(nil, &http.Client{Transport: site}, time.Now).Find(t.Context(), testClient); err == nil {
		t.Error("a redirect URI on another domain was taken")
	}
}

// Clauses: S01-4.1.08, S01-4.1.09
func TestAnAgentThatIsNotKnownOrWasRevokedIsUnknown(t *testing.T) {
	site := &published{loads: map[string]int{}, documents: map[string]any{testClient: metadata(), "https://agent.example/jwks.json": keySet(t, "k")}}
	clients := NewClients(nil, &http.Client{Transport: site}, time.Now)
	for _, id := range []string{"https://other.example/agent.json", "http://agent.example/agent.json", "agent", ""} {
		if _, err := clients.Find(t.Context(), id); !errors.Is(err, ErrUnknownClient) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := clients.Find(t.Context(), testClient); err != nil {
		t.Error(err)
	}
	clients.Revoke(testClient, true)
	if _, err := clients.Find(t.Context(), testClient); !errors.Is(err, ErrUnknownClient) {
		t.Errorf("revoked: %v", err)
	}
	if _, err := NewClients(nil, nil, time.Now).Find(t.Context(), testClient); !errors.Is(err, ErrUnknownClient) {
		t.Errorf("without a client: %v", err)
	}
}
