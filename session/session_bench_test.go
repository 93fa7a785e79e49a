package session_test

import (
	"net/http"
	"testing"
)

// BenchmarkAuthorize is the Session header of one request: a JWT signed anew, under a delegation that is there.
func BenchmarkAuthorize(b *testing.B) {
	id, _ := newIdentity(b)
	s := newSession(b, id, (&clock{now: noon}).Now)
	b.ReportAllocs()
	for b.Loop() {
		req, err := http.NewRequest(http.MethodPost, operations, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Authorize(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAssertion is what joins a browser.
func BenchmarkAssertion(b *testing.B) {
	id, _ := newIdentity(b)
	s := newSession(b, id, (&clock{now: noon}).Now)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Assertion(b.Context(), endpoint, "https://example.com/"); err != nil {
			b.Fatal(err)
		}
	}
}
