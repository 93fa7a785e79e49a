package session_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/session"
)

// What a join needs of a draft's Company is asked for once: with Prepare, and not again for the assertion.
func TestAPreparedDraftSessionAsksNobodyForItsAssertion(t *testing.T) {
	t.Parallel()
	eachDraft(t, func(t *testing.T, f *fake) {
		s := f.session("")
		if err := s.Prepare(t.Context()); err != nil || s.ID() == "" || len(f.seen) != 1 {
			t.Fatalf("%v, Session %q, %d requests", err, s.ID(), len(f.seen))
		}
		if _, _, err := s.Assertion(t.Context(), "https://example.com/join", "https://example.com/"); err != nil || len(f.seen) != 1 {
			t.Errorf("%v after %d requests", err, len(f.seen))
		}
		if err := s.Prepare(t.Context()); err != nil || len(f.seen) != 1 {
			t.Errorf("prepared again: %v, %d requests", err, len(f.seen))
		}
	})
}

// In 1.0 a Session is named without asking, and a token is had for a signed-in one alone.
func TestAPreparedSessionOfVersion1AsksForASignedInTokenAlone(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	now := (&clock{now: noon}).Now
	server, err := session.NewServer(session.ServerConfig{Company: shop(), Identity: id, UserID: "usr_Q7c1vK", Now: now,
		Client: &http.Client{Transport: nobody{t}}})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for name, refresh := range map[string]func(context.Context, string) (session.Grant, error){
		"signed out": nil,
		"signed in": func(context.Context, string) (session.Grant, error) {
			asked++
			return session.Grant{AccessToken: secretOf("at"), Type: "Bearer", Expires: now().Add(time.Hour), SignedIn: true}, nil
		},
	} {
		s, err := session.New(session.Config{Identity: id, Company: shop(), UserID: "usr_Q7c1vK", Server: server, Now: now, Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Prepare(t.Context()); err != nil || s.SignedIn() != (refresh != nil) {
			t.Errorf("%s: %v, signed in %t", name, err, s.SignedIn())
		}
		before := asked
		_, token, err := s.Assertion(t.Context(), "https://example.com/join", "https://example.com/")
		if err != nil || token.Empty() != (refresh == nil) || asked != before {
			t.Errorf("%s: %v, a token %t, asked %d times more", name, err, !token.Empty(), asked-before)
		}
	}
	if asked != 1 {
		t.Errorf("asked for a token %d times", asked)
	}
}

// nobody is a transport that nothing may reach.
type nobody struct{ t *testing.T }

func (n nobody) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("%s was asked", r.URL)
	return nil, context.Canceled
}
