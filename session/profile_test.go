package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
)

// Clauses: C10-7.01, C10-7.03, C10-5.10, C10-5.11, C10-5.15, C10-4.08, C10-6.01
func TestInVersion1AnAccessTokenGoesBesideAHeaderThatIsBoundToIt(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	clock := &clock{now: noon}
	asked := 0
	refused := false
	server, err := session.NewServer(session.ServerConfig{Company: shop(), Identity: id, UserID: "usr_Q7c1vK", Client: http.DefaultClient, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	cfg := session.Config{Identity: id, Company: shop(), UserID: "usr_Q7c1vK", Server: server, Now: clock.Now,
		Refresh: func(_ context.Context, sid string) (session.Grant, error) {
			asked++
			if refused {
				return session.Grant{}, session.ErrSignInRequired
			}
			return session.Grant{AccessToken: secretOf(fmt.Sprint("at", asked)), Type: "Bearer", Expires: clock.Now().Add(time.Hour), Scope: []string{"orders"}, SignedIn: true}, nil
		}}
	s, err := session.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	sid := s.ID()
	check := func(wantToken string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, operations, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Authorize(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		token, _, err := verifyChain(req.Header.Get("Poppy-Session"), published(t, id), "poppy-session+jwt", clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		var wantAuth, wantHash any
		if wantToken != "" {
			wantAuth, wantHash = "Bearer "+wantToken, hash(wantToken)
		} else {
			wantAuth = ""
		}
		if got := req.Header.Get("Authorization"); got != wantAuth || len(req.Header.Values("Authorization")) > 1 || token.payload["ath"] != wantHash || token.payload["sid"] != sid {
			t.Errorf("Authorization %q beside %v", got, token.payload)
		}
		if req.Header.Get("Poppy-Version") != "1.0" || req.Header.Get("Poppy-Extensions") != `"operations";v="3"` || req.Header.Get("DPoP") != "" {
			t.Errorf("fields %v", req.Header)
		}
		assertion, beside, err := s.Assertion(t.Context(), endpoint, "https://example.com/")
		if err != nil {
			t.Fatal(err)
		}
		joining, _, err := verifyChain(assertion.Reveal(), published(t, id), "poppy-browser+jwt", clock.Now())
		if err != nil || beside.Reveal() != wantToken || joining.payload["ath"] != wantHash || joining.payload["sid"] != sid {
			t.Errorf("join with %q beside %v: %v", beside.Reveal(), joining.payload, err)
		}
	}
	check("at1")
	check("at1")
	if !s.SignedIn() || len(s.Scope()) != 1 {
		t.Errorf("signed in %t with %q", s.SignedIn(), s.Scope())
	}
	clock.advance(2 * time.Hour)
	check("at2")
	s.SignOut()
	check("")
	signedIn, err := server.ReadGrant([]byte(`{"access_token":"at9","token_type":"Bearer","expires_in":3600}`), "", nil, clock.Now())
	if err := errors.Join(err, s.Use(signedIn)); err != nil {
		t.Fatal(err)
	}
	check("at9")
	clock.advance(2 * time.Hour)
	refused = true
	check("")
	if s.SignedIn() || asked != 3 {
		t.Errorf("signed in %t, asked %d times", s.SignedIn(), asked)
	}
}

func TestInVersion1AChallengeWithoutACodeMeansSignInOrANewToken(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	for _, account := range []bool{false, true} {
		refreshed := 0
		cfg := session.Config{Identity: id, Company: shop(), UserID: "u"}
		if account {
			cfg.Refresh = func(context.Context, string) (session.Grant, error) {
				refreshed++
				return session.Grant{AccessToken: secretOf("at"), Expires: time.Now().Add(time.Hour), SignedIn: true}, nil
			}
		}
		s, err := session.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			calls++
			return reply(req, 401, "", `WWW-Authenticate: Bearer realm="shop"`), nil
		})}
		req, err := http.NewRequest(http.MethodGet, operations, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Do(t.Context(), client, req)
		if want := map[bool]error{false: session.ErrSignInRequired, true: session.ErrInvalidToken}[account]; !errors.Is(err, want) {
			t.Errorf("account %t: %v", account, err)
		}
		if want := map[bool]int{false: 1, true: 2}[account]; calls != want || account && refreshed != 2 {
			t.Errorf("account %t: %d calls, %d tokens", account, calls, refreshed)
		}
	}
}

// In 1.0 token requests name the Company's resource and no Session.
func TestInVersion1ATokenRequestNamesTheResourceAndNoSession(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	c := shop()
	c.Resource, c.Server.Token = "https://example.com", "https://auth.example.com/token"
	var form url.Values
	client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		if form, err = url.ParseQuery(string(data)); err != nil || req.Header.Get("DPoP") != "" {
			t.Errorf("form %v, proof %q", err, req.Header.Get("DPoP"))
		}
		return reply(req, 200, `{"access_token":"at","token_type":"bearer","expires_in":60,"refresh_token":"rt"}`), nil
	})}
	server, err := session.NewServer(session.ServerConfig{Company: c, Identity: id, UserID: "u", Client: client, Now: (&clock{now: noon}).Now})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := server.Token(t.Context(), url.Values{"grant_type": {session.GrantCode}, "code": {"c"}, "scope": {"orders"}, "session_id": {"ses_1"}}, nil)
	if err != nil || !grant.SignedIn || grant.SessionID != "" || len(grant.Scope) != 1 || grant.AccountToken.Reveal() != "rt" || !grant.Expires.Equal(noon.Add(time.Minute)) {
		t.Errorf("%+v, %v", grant, err)
	}
	if form.Get("resource") != "https://example.com" || form.Has("session_id") || form.Get("code") != "c" || form.Get("client_id") != clientID {
		t.Errorf("form %v", form)
	}
	assertion, err := parseJWT(form.Get("client_assertion"))
	if err != nil || assertion.payload["aud"] != issuer || assertion.payload["sub"] != clientID || assertion.header["kid"] != published(t, id)[0]["kid"] {
		t.Errorf("client assertion %v, %v", assertion.payload, err)
	}
	for _, field := range []string{"client_id", "client_assertion", "assertion"} {
		if _, err := server.Token(t.Context(), url.Values{field: {"x"}}, nil); err == nil {
			t.Errorf("a caller's %s was sent", field)
		}
	}
}

// The drafts' join names the Session by session_id, and a published key signs it.
func TestADraftsBrowserAssertionIsSignedByAPublishedKey(t *testing.T) {
	t.Parallel()
	eachDraft(t, func(t *testing.T, f *fake) {
		s := f.session("acct_1")
		assertion, beside, err := s.Assertion(t.Context(), endpoint, "https://example.com/")
		if err != nil || !beside.Empty() {
			t.Fatalf("a token beside it: %t, %v", !beside.Empty(), err)
		}
		token, err := parseJWT(assertion.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		if err := token.verify(f.keys[0]); err != nil || token.header["kid"] != f.keys[0]["kid"] || token.header["typ"] != "poppy-browser+jwt" || token.header["poppy_dlg"] != nil {
			t.Errorf("header %v: %v", token.header, err)
		}
		for name, want := range map[string]any{"iss": clientID, "sub": draftUser, "aud": endpoint, "session_id": s.ID(), "return_to": "https://example.com/", "sid": nil, "ath": nil, "iat": number(noon), "exp": number(noon.Add(time.Minute))} {
			if token.payload[name] != want {
				t.Errorf("%s = %v, want %v", name, token.payload[name], want)
			}
		}
	})
}

func TestASessionSpeaksTheProfileOfItsCompany(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	if _, err := session.New(session.Config{Identity: id, Company: &company.Company{Profile: profile.V02(), Issuer: issuer}, UserID: "u"}); err == nil {
		t.Error("a draft's Session without a way to start it")
	}
	if s := newSession(t, id, nil); s.Key() != nil {
		t.Error("1.0 has a DPoP key")
	}
}
