package session_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/session"
)

// signIn exchanges a code, as a sign-in does.
func signIn(t testing.TB, server *session.Server, s *session.Session) session.Grant {
	t.Helper()
	grant, err := server.Token(t.Context(), url.Values{"grant_type": {session.GrantCode}, "code": {"c"}, "session_id": {s.ID()}}, s.Key())
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// Clauses: S01-4.3.23, S01-4.04
func TestASignInIsUsedAtOnceAndAnOlderTokenNeverComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, drafts["0.1"], time.Now)
		server := f.server()
		s, err := session.New(session.Config{Identity: f.id, Company: f.c, UserID: draftUser, Server: server})
		if err != nil {
			t.Fatal(err)
		}
		f.must(s, ordersAPI)
		<-time.After(59*time.Minute + 30*time.Second)
		// A renewal is on its way while the User signs in: its token is older, and comes later.
		let := make(chan struct{})
		f.answers["auth.example.com/oauth/token"] = func(_ *http.Request, form url.Values) *http.Response {
			if form.Get("grant_type") != session.GrantCode {
				f.mu.Unlock()
				<-let
				f.mu.Lock()
			}
			return nil
		}
		done := make(chan struct{})
		go func() { defer close(done); f.must(s, "https://api.example.com/account") }()
		synctest.Wait()
		grant := signIn(t, server, s)
		if err := s.Use(grant); err != nil {
			t.Fatal(err)
		}
		f.must(s, "https://api.example.com/account") // another caller
		close(let)
		<-done
		calls := f.requests("/account")
		for _, call := range calls {
			if call.header.Get("Authorization") != "DPoP "+grant.AccessToken.Reveal() {
				t.Error("an older token was used after the sign-in")
			}
		}
		if len(calls) != 2 || !s.SignedIn() {
			t.Errorf("%d calls, signed in %t", len(calls), s.SignedIn())
		}
		// Nor does the sign-in's own token, once a newer one is there.
		newer := signIn(t, server, s)
		if err := errors.Join(s.Use(newer), s.Use(grant)); err != nil {
			t.Fatal(err)
		}
		f.must(s, "https://api.example.com/account")
		if call := f.requests("/account")[2]; call.header.Get("Authorization") != "DPoP "+newer.AccessToken.Reveal() {
			t.Error("an older sign-in replaced a newer one")
		}
		if err := s.Use(session.Grant{AccessToken: secretOf("t"), SessionID: "ses_other"}); !errors.Is(err, session.ErrOtherSession) {
			t.Errorf("another Session's token: %v", err)
		}
	})
}

// A token for one API shows the Session as it was, as every token does.
func TestATokenForOneAPIIsHadAnewWhenTheSessionsScopesChange(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	server := f.server()
	s := f.sessionOf(server, "acct_1")
	f.must(s, ordersAPI)
	f.must(s, mcpServer)
	f.must(s, mcpServer)
	before := len(f.requests("/oauth/token"))
	grant := signIn(t, server, s)
	grant.Scope = []string{"addresses"}
	if err := s.Use(grant); err != nil {
		t.Fatal(err)
	}
	f.must(s, mcpServer)
	if n := len(f.requests("/oauth/token")) - before; n != 2 {
		t.Errorf("%d token requests, the sign-in's among them", n)
	}
}

// A signed-out token may still be in use where another task has signed in.
func TestATaskWhoseTokenIsOlderThanASignInIsRepeatedWithTheNewOne(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	server := f.server()
	s, err := session.New(session.Config{Identity: f.id, Company: f.c, UserID: draftUser, Server: server, Now: f.now})
	if err != nil {
		t.Fatal(err)
	}
	f.must(s, ordersAPI)
	f.answers["api.example.com/account"] = func(*http.Request, url.Values) *http.Response {
		if !s.SignedIn() {
			f.mu.Unlock()
			if err := s.Use(signIn(t, server, s)); err != nil {
				t.Error(err)
			}
			f.mu.Lock()
		}
		return nil
	}
	f.must(s, "https://api.example.com/account")
	if n := len(f.requests("/account")); n != 2 {
		t.Errorf("%d calls", n)
	}
}

// Clauses: S01-4.9.01, S01-4.9.03
func TestASignOutRevokesAndTheSessionGoesOnSignedOut(t *testing.T) {
	t.Parallel()
	eachDraft(t, func(t *testing.T, f *fake) {
		s := f.session("acct_1")
		id := f.must(s, "https://api.example.com/account")
		f.must(s, mcpServer)
		if err := f.server().Revoke(t.Context(), secretOf("acct_1")); err != nil {
			t.Fatal(err)
		}
		s.SignOut()
		if again := f.must(s, ordersAPI); again != id || s.SignedIn() || len(s.Scope()) != 0 {
			t.Errorf("Session %q, signed in %t with %q", again, s.SignedIn(), s.Scope())
		}
		f.must(s, mcpServer) // a signed-in token for it is forgotten, too
		revoked := f.requests("/oauth/revoke")
		if len(revoked) != 1 || revoked[0].form.Get("token") != "acct_1" || revoked[0].header.Get("DPoP") != "" {
			t.Errorf("revoked with %v", revoked)
		}
		tokens := f.requests("/oauth/token")
		for _, request := range tokens[3:] {
			if request.form.Get("grant_type") == "refresh_token" || request.form.Get("session_id") != id {
				t.Errorf("after the sign-out: %s for %q", request.form.Get("grant_type"), request.form.Get("session_id"))
			}
		}
	})
}

func TestARefreshThatWasUnderWayDoesNotUndoASignOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, drafts["0.1"], time.Now)
		s := f.session("acct_1")
		f.must(s, ordersAPI)
		<-time.After(2 * time.Hour)
		let := make(chan struct{})
		f.answers["auth.example.com/oauth/token"] = func(_ *http.Request, form url.Values) *http.Response {
			if form.Get("grant_type") == "refresh_token" {
				f.mu.Unlock()
				<-let
				f.mu.Lock()
			}
			return nil
		}
		done := make(chan struct{})
		go func() { defer close(done); f.must(s, ordersAPI) }()
		synctest.Wait()
		s.SignOut()
		close(let)
		<-done
		if token := f.tokens[strings.TrimPrefix(f.requests("/orders")[1].header.Get("Authorization"), "DPoP ")]; s.SignedIn() || token.account {
			t.Errorf("signed in %t, with a token of the account %t", s.SignedIn(), token.account)
		}
	})
}

// A sign-in that began before a sign-out does not undo it, through whichever Server it went.
//
// Clauses: S01-4.9.03
func TestASignInFromBeforeASignOutSignsNobodyIn(t *testing.T) {
	t.Parallel()
	eachDraft(t, func(t *testing.T, f *fake) {
		server := f.server()
		s := f.sessionOf(server, "acct_1")
		f.must(s, ordersAPI)
		own, foreign := signIn(t, server, s), signIn(t, f.server(), s)
		s.SignOut()
		if err := s.Use(own); err != nil || s.SignedIn() {
			t.Errorf("through its own Server: signed in %t, %v", s.SignedIn(), err)
		}
		for name, grant := range map[string]session.Grant{
			"another Server": foreign,
			"no Server":      {AccessToken: secretOf("t"), Type: "DPoP", SessionID: s.ID(), Expires: noon.Add(time.Hour), SignedIn: true},
		} {
			if err := s.Use(grant); !errors.Is(err, session.ErrOtherServer) || s.SignedIn() {
				t.Errorf("through %s: signed in %t, %v", name, s.SignedIn(), err)
			}
		}
	})
}

// A refresh that is not the Session's own Server's is ordered by when the Session asked for it.
func TestARefreshOfAnybodysDoesNotUndoASignOut(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	var s *session.Session
	s, err := session.New(session.Config{Identity: id, Company: shop(), UserID: "u", Refresh: func(ctx, string) (session.Grant, error) {
		s.SignOut()
		return session.Grant{AccessToken: secretOf("at"), Type: "Bearer", Expires: time.Now().Add(time.Hour), SignedIn: true}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := headerOf(s); err != nil || s.SignedIn() {
		t.Errorf("signed in %t, %v", s.SignedIn(), err)
	}
}

// Clauses: S01-4.9.07, S01-4.06
func TestASessionThatIsNoLongerUsedRevokesNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	s := f.session("acct_1")
	id := f.must(s, "https://api.example.com/account")
	if err := s.Restart(id); err != nil {
		t.Fatal(err)
	}
	if again := f.must(s, "https://api.example.com/account"); again == id {
		t.Error("the Session is the old one")
	}
	if n := len(f.requests("/oauth/revoke")); n != 0 || !f.accounts["acct_1"] {
		t.Errorf("%d revocations", n)
	}
}

// Clauses: S01-4.02, S01-4.3.02
func TestSessionsOfOneUserShareNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	a, b := f.session(""), f.session("acct_1")
	first, second := f.must(a, ordersAPI), f.must(b, ordersAPI)
	if first == second || a.SignedIn() || !b.SignedIn() || a.Key().Thumbprint() == b.Key().Thumbprint() {
		t.Errorf("Sessions %q and %q, signed in %t and %t", first, second, a.SignedIn(), b.SignedIn())
	}
	if err := a.Use(signIn(t, f.server(), b)); !errors.Is(err, session.ErrOtherSession) {
		t.Errorf("one took the other's token: %v", err)
	}
	calls := f.requests("/orders")
	if calls[0].proof.header["jwk"].(map[string]any)["x"] == calls[1].proof.header["jwk"].(map[string]any)["x"] {
		t.Error("they share a DPoP key")
	}
}

// Clauses: S01-4.3.24, S01-4.8.10
func TestNoTokenIsInAURLAnErrorOrAPrint(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	f.nonce = "n"
	server := f.server()
	s := f.session("acct_marker_1")
	f.must(s, "https://api.example.com/account")
	f.must(s, mcpServer)
	grant := signIn(t, server, s)
	var errs []error
	for _, body := range []string{`{`, `{"access_token":"marker_2"}`, `{"access_token":"marker_2","access_token":"marker_2"}`, `{"refresh_token":7}`} {
		answering(f, 200, body)
		_, err := server.Refresh(t.Context(), secretOf("acct_marker_1"), "ses_1", nil, s.Key())
		errs = append(errs, err)
	}
	secrets := []string{"marker", "acct_new"}
	for value := range f.tokens {
		secrets = append(secrets, value)
	}
	for _, seen := range f.seen {
		for _, hidden := range append(secrets, "eyJ") {
			if strings.Contains(seen.url, hidden) {
				t.Errorf("%s has %q", seen.url, hidden)
			}
		}
	}
	for name, value := range map[string]any{"Session": s, "Server": server, "ProofKey": s.Key(), "*ProofKey": []any{s.Key()}, "Grant": grant, "*Grant": &grant, "errors": errs} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			leaks(t, name+" "+verb, fmt.Sprintf(verb, value), secrets)
		}
		text, _ := json.Marshal(value)
		leaks(t, name+" as JSON", string(text), secrets)
		var logged bytes.Buffer
		slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "value", value)
		leaks(t, name+" in slog", logged.String(), secrets)
	}
	for _, err := range errs {
		if err == nil {
			t.Error("an answer that is none was taken")
		}
	}
}
