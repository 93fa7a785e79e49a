package session_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/session"
)

type ctx = context.Context

func secretOf(text string) secret.Text { return secret.New(text) }

// Clauses: S01-4.04, S01-4.1.07, S01-4.2.05, S01-4.2.06, S01-4.2.07, S01-4.2.08, S01-4.2.09, S01-4.2.23, S01-4.3.01, S01-4.3.03, S01-4.3.04, S01-4.3.05, S01-4.3.06, S01-4.3.21, S01-4.1.06, C10-4.03
func TestADraftsSessionStartsWithItsFirstUseAndSignsEveryRequest(t *testing.T) {
	t.Parallel()
	eachDraft(t, func(t *testing.T, f *fake) {
		s := f.session("")
		if s.ID() != "" || len(f.seen) != 0 {
			t.Fatalf("before its first use it is %q and made %d requests", s.ID(), len(f.seen))
		}
		id := f.must(s, ordersAPI+"?page=2&q=%2F#top")
		f.must(s, "https://api.example.com/orders%2Ford_1")
		if id == "" || s.ID() != id || s.SignedIn() || len(s.Scope()) != 0 {
			t.Errorf("Session %q at the Company, %q here, signed in %t with %q", id, s.ID(), s.SignedIn(), s.Scope())
		}
		tokens := f.requests("/oauth/token")
		if len(tokens) != 1 || tokens[0].form.Has("session_id") || tokens[0].form.Has("resource") {
			t.Errorf("%d token requests, the first with %v", len(tokens), tokens[0].form)
		}
		for _, key := range f.keys {
			if jwk := tokens[0].proof.header["jwk"].(map[string]any); jwk["x"] == key["x"] {
				t.Error("the DPoP key is a published one")
			}
		}
	})
}

// Clauses: S01-4.2.18, S01-4.3.23
func TestASignedOutSessionIsRenewedBeforeItsTokenEnds(t *testing.T) {
	t.Parallel()
	for name, d := range drafts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{now: noon}
			f := newFake(t, d, c.Now)
			s := f.session("")
			id := f.must(s, ordersAPI)
			c.advance(59*time.Minute - time.Second)
			f.must(s, ordersAPI)
			if n := len(f.requests("/oauth/token")); n != 1 {
				t.Errorf("%d token requests after 59 of 60 minutes", n)
			}
			c.advance(2 * time.Second)
			if again := f.must(s, ordersAPI); again != id {
				t.Errorf("Session %q became %q", id, again)
			}
			tokens, calls := f.requests("/oauth/token"), f.requests("/orders")
			if len(tokens) != 2 || tokens[1].form.Get("session_id") != id || tokens[0].form.Get("assertion") == tokens[1].form.Get("assertion") {
				t.Fatalf("%d token requests", len(tokens))
			}
			if calls[1].header.Get("Authorization") == calls[2].header.Get("Authorization") {
				t.Error("the old token is still in use")
			}
		})
	}
}

func TestATokenOfAFewSecondsIsUsedAndRenewed(t *testing.T) {
	t.Parallel()
	c := &clock{now: noon}
	f := newFake(t, drafts["0.1"], c.Now)
	f.life = 4
	s := f.session("")
	for range 5 {
		f.must(s, ordersAPI)
		c.advance(2 * time.Second)
		f.must(s, ordersAPI)
		c.advance(2 * time.Second)
	}
	if n := len(f.requests("/oauth/token")); n != 5 {
		t.Errorf("%d token requests for 5 lives", n)
	}
}

// Clauses: S01-4.3.23, S01-4.02
func TestOneOfManyCallersRenewsAndTheOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, drafts["0.1"], time.Now)
		s := f.session("")
		let := make(chan struct{})
		f.answers["auth.example.com/oauth/token"] = func(*http.Request, url.Values) *http.Response {
			f.mu.Unlock()
			<-let
			f.mu.Lock()
			return nil
		}
		var wait sync.WaitGroup
		for round := range 2 {
			for range 20 {
				wait.Go(func() {
					if _, err := f.get(s, ordersAPI); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			if tokens, calls := len(f.requests("/oauth/token")), len(f.requests("/orders")); tokens != round+1 || calls != 20*round {
				t.Errorf("round %d: %d token requests and %d calls before an answer", round, tokens, calls)
			}
			let <- struct{}{}
			wait.Wait()
			<-time.After(time.Hour)
		}
		if n := len(f.requests("/oauth/token")); n != 2 {
			t.Errorf("%d token requests", n)
		}
	})
}

// Who began a renewal may give up: another goes on with it.
func TestARenewalOutlivesTheCallerThatBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, drafts["0.1"], time.Now)
		s := f.session("")
		impatient, cancel := context.WithCancel(t.Context())
		tries := 0
		f.answers["auth.example.com/oauth/token"] = func(req *http.Request, _ url.Values) *http.Response {
			if tries++; tries == 1 {
				f.mu.Unlock()
				<-req.Context().Done()
				f.mu.Lock()
				return reply(req, 503, `{}`)
			}
			return nil
		}
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, err := s.Start(impatient); err == nil {
				t.Error("the one who gave up has a Session")
			}
		})
		synctest.Wait()
		wait.Go(func() { f.must(s, ordersAPI) })
		synctest.Wait()
		cancel()
		wait.Wait()
	})
}

// Clauses: S01-4.2.22, S01-4.9.04
func TestAnEndedSessionIsReplacedByANewOne(t *testing.T) {
	t.Parallel()
	for _, account := range []string{"", "acct_1"} {
		c := &clock{now: noon}
		f := newFake(t, drafts["0.1"], c.Now)
		s := f.session(account)
		first := f.must(s, ordersAPI)
		f.sessions[first].ended = true
		c.advance(2 * time.Hour)
		second := f.must(s, ordersAPI)
		if second == first || s.ID() != second || s.SignedIn() != (account != "") {
			t.Errorf("Session %q after %q, here %q, signed in %t", second, first, s.ID(), s.SignedIn())
		}
		// A Company that names an ended Session again is not believed.
		f.sessions[second].ended = true
		f.answers["auth.example.com/oauth/token"] = func(req *http.Request, form url.Values) *http.Response {
			if form.Has("session_id") {
				return nil
			}
			return reply(req, 200, `{"access_token":"t","token_type":"DPoP","expires_in":60,"scope":"","session_id":"`+first+`","signed_in":false}`)
		}
		c.advance(2 * time.Hour)
		if _, err := f.get(s, ordersAPI); !errors.Is(err, session.ErrUnreadable) {
			t.Errorf("an ended Session's name: err = %v", err)
		}
	}
}

// Clauses: S01-4.2.20, S01-4.8.01
func TestASignedInSessionIsRenewedWithItsAccountTokenAndAlwaysNamesTheSession(t *testing.T) {
	t.Parallel()
	c := &clock{now: noon}
	f := newFake(t, drafts["0.1"], c.Now)
	s := f.session("acct_1")
	id := f.must(s, "https://api.example.com/account")
	if !s.SignedIn() || len(s.Scope()) != 2 {
		t.Errorf("signed in %t with %q", s.SignedIn(), s.Scope())
	}
	c.advance(2 * time.Hour)
	f.must(s, "https://api.example.com/account")
	tokens := f.requests("/oauth/token")
	if len(tokens) != 3 {
		t.Fatalf("%d token requests", len(tokens))
	}
	for i, request := range tokens[1:] {
		if request.form.Get("grant_type") != "refresh_token" || request.form.Get("session_id") != id || request.form.Get("refresh_token") != "acct_1" {
			t.Errorf("token request %d: %s for %q", i+1, request.form.Get("grant_type"), request.form.Get("session_id"))
		}
	}
	if _, err := f.server().Refresh(t.Context(), secretOf("acct_1"), "", nil, s.Key()); err == nil {
		t.Error("an Account Token was sent without a Session")
	}
}

// Clauses: S01-4.8.08, S01-4.9.09
func TestASessionWhoseAccountIsGoneGoesOnSignedOut(t *testing.T) {
	t.Parallel()
	eachDraft(t, func(t *testing.T, f *fake) {
		s := f.session("acct_1")
		id := f.must(s, "https://api.example.com/account")
		// The User disconnects the agent at the Company: its tokens are dead.
		delete(f.accounts, "acct_1")
		for _, token := range f.tokens {
			token.dead = token.account
		}
		if again := f.must(s, ordersAPI); again != id || s.SignedIn() {
			t.Errorf("Session %q became %q, signed in %t", id, again, s.SignedIn())
		}
		var refused *session.ServerError
		if _, err := f.get(s, "https://api.example.com/account"); !errors.Is(err, session.ErrSignInRequired) || !errors.As(err, &refused) || len(refused.Scope) != 1 {
			t.Errorf("err = %v", err)
		}
		refreshes := 0
		for _, request := range f.requests("/oauth/token") {
			if request.form.Get("grant_type") == "refresh_token" {
				refreshes++
			}
		}
		if refreshes != 2 {
			t.Errorf("the Account Token was used %d times", refreshes)
		}
	})
}

// The first use of a Session may be an API that needs a token of its own, before it is known that nothing is kept of an
// account: the API is then asked signed out.
func TestWithoutASignInTheFirstUseMayBeAnAPIWithATokenOfItsOwn(t *testing.T) {
	t.Parallel()
	eachDraft(t, func(t *testing.T, f *fake) {
		for name, of := range map[string]func(context.Context, string, company.API) (session.Grant, error){
			"no supplier": nil,
			"one that has no sign-in": func(context.Context, string, company.API) (session.Grant, error) {
				return session.Grant{}, session.ErrSignInRequired
			},
		} {
			asked := 0
			s, err := session.New(session.Config{Identity: f.id, Company: f.c, UserID: draftUser, Server: f.server(), Now: f.now,
				Refresh: func(context.Context, string) (session.Grant, error) {
					asked++
					return session.Grant{}, session.ErrSignInRequired
				}, RefreshFor: of})
			if err != nil {
				t.Fatal(err)
			}
			f.must(s, mcpServer)
			if asked != 1 || s.SignedIn() {
				t.Errorf("%s: asked %d times, signed in %t", name, asked, s.SignedIn())
			}
		}
	})
}

// Signed in, an API whose token takes a sign-in of its own is not asked signed out instead.
func TestSignedInAnAPIThatNeedsItsOwnSignInSaysSo(t *testing.T) {
	t.Parallel()
	eachDraft(t, func(t *testing.T, f *fake) {
		server := f.server()
		f.accounts["acct_1"] = true
		var s *session.Session
		refresh, _ := refreshing(server, "acct_1", func() *session.ProofKey { return s.Key() })
		s, err := session.New(session.Config{Identity: f.id, Company: f.c, UserID: draftUser, Server: server, Now: f.now, Refresh: refresh})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.get(s, mcpServer); !errors.Is(err, session.ErrSignInRequired) || !s.SignedIn() {
			t.Errorf("%v, signed in %t", err, s.SignedIn())
		}
		if n := len(f.requests("/mcp")); n != 0 {
			t.Errorf("it was asked %d times", n)
		}
	})
}

func TestASessionWithoutASignInCostsOneTokenRequestEvenWhereOneIsAskedFor(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	asked := 0
	s, err := session.New(session.Config{Identity: f.id, Company: f.c, UserID: draftUser, Server: f.server(), Now: f.now,
		Refresh: func(context.Context, string) (session.Grant, error) {
			asked++
			return session.Grant{}, session.ErrSignInRequired
		}})
	if err != nil {
		t.Fatal(err)
	}
	f.must(s, ordersAPI)
	f.must(s, mcpServer)
	f.must(s, ordersAPI)
	if n := len(f.requests("/oauth/token")); n != 2 || asked != 1 || s.SignedIn() {
		t.Errorf("%d token requests, asked %d times, signed in %t", n, asked, s.SignedIn())
	}
}

// Where the Session came to belong to another account a new one is opened for ours, in the middle of a run too; if that
// is refused as well, the caller hears of it.
//
// Clauses: S01-4.4.17
func TestAnAccountMismatchOpensANewSession(t *testing.T) {
	t.Parallel()
	clock := &clock{now: noon}
	f := newFake(t, drafts["0.1"], clock.Now)
	s := f.session("acct_1")
	if id := f.must(s, "https://api.example.com/account"); id != "ses_1" {
		t.Fatalf("Session %q", id)
	}
	everywhere := false
	f.answers["auth.example.com/oauth/token"] = func(req *http.Request, form url.Values) *http.Response {
		if form.Get("grant_type") == "refresh_token" && (everywhere || form.Get("session_id") == "ses_1") {
			return reply(req, 400, `{"error":"account_mismatch"}`)
		}
		return nil
	}
	clock.advance(2 * time.Hour)
	id := f.must(s, "https://api.example.com/account")
	if id == "ses_1" || id != s.ID() || !s.SignedIn() {
		t.Errorf("Session %q, signed in %t", id, s.SignedIn())
	}
	everywhere = true
	clock.advance(2 * time.Hour)
	if _, err := f.get(s, ordersAPI); !errors.Is(err, session.ErrAccountMismatch) {
		t.Errorf("err = %v", err)
	}
}

// Clauses: S01-4.3.14, S01-4.3.15, S01-4.3.16, S01-4.3.19
func TestAnAPIWithATokenOfItsOwnGetsItAndTheSessionKeepsItsOwn(t *testing.T) {
	t.Parallel()
	for _, account := range []string{"", "acct_1"} {
		f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
		s := f.session(account)
		id := f.must(s, ordersAPI)
		for range 2 {
			for _, address := range []string{mcpServer, mcpServer + "/messages", "https://stock.example.com/items"} {
				if at := f.must(s, address); at != id {
					t.Errorf("%s: Session %q, want %q", address, at, id)
				}
			}
			f.must(s, ordersAPI)
		}
		calls := f.requests("/orders")
		for _, call := range calls {
			if call.header.Get("Authorization") != calls[0].header.Get("Authorization") {
				t.Error("the Session's own token was replaced")
			}
		}
		var resources []string
		for _, request := range f.requests("/oauth/token") {
			if r := request.form.Get("resource"); r != "" {
				resources = append(resources, r)
				if (request.form.Get("grant_type") == "refresh_token") != (account != "") || request.form.Get("session_id") != id {
					t.Errorf("%s: asked with %s for %q", r, request.form.Get("grant_type"), request.form.Get("session_id"))
				}
				if (request.header.Get("DPoP") == "") != (r == mcpServer) {
					t.Errorf("%s: a proof: %t", r, request.header.Get("DPoP") != "")
				}
			}
		}
		if strings.Join(resources, " ") != mcpServer+" https://stock.example.com/" {
			t.Errorf("tokens were asked for %q", resources)
		}
	}
}

func TestATokenForAnAPIThatTheCompanyDoesNotListIsNotAskedFor(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	for _, api := range []company.API{{Type: "mcp", URL: "https://other.example/mcp"}, f.c.APIs[0]} {
		if _, err := f.server().ForAPI(t.Context(), api, secretOf("a"), "ses_1", nil, nil); !errors.Is(err, session.ErrNotOffered) {
			t.Errorf("%s: err = %v", api.URL, err)
		}
	}
	if len(f.seen) != 0 {
		t.Errorf("%d requests", len(f.seen))
	}
}

// Draft 0.2's MCP servers say in their own metadata whether they take proofs.
//
// Clauses: S01-4.3.16
func TestInDraft02AnMCPServerThatListsAlgorithmsIsAskedWithProofs(t *testing.T) {
	t.Parallel()
	const listed = `{"resource":"` + mcpServer + `","authorization_servers":["` + draftIssuer + `"],"dpop_signing_alg_values_supported":["RS256","ES256"]}`
	for name, c := range map[string]struct {
		draft, document string
		status          int
		proofs          bool
		err             error
	}{
		"listed":             {"0.2", listed, 200, true, nil},
		"others listed":      {"0.2", strings.Replace(listed, "ES256", "PS256", 1), 200, false, nil},
		"none listed":        {"0.2", strings.Replace(listed, "dpop_", "x_", 1), 200, false, nil},
		"no document":        {"0.2", "", 404, false, nil},
		"another resource":   {"0.2", strings.Replace(listed, "/mcp", "/mcp/", 1), 200, false, session.ErrUnreadable},
		"another issuer":     {"0.2", strings.Replace(listed, draftIssuer, "https://other.example", 1), 200, false, session.ErrUnreadable},
		"a duplicate member": {"0.2", strings.Replace(listed, "{", `{"resource":"x",`, 1), 200, false, session.ErrUnreadable},
		"draft 0.1":          {"0.1", listed, 200, false, nil},
	} {
		for _, account := range []string{"", "acct_1"} {
			f := newFake(t, drafts[c.draft], (&clock{now: noon}).Now)
			f.mcpProofs = c.proofs
			f.answers["mcp.example.com/.well-known/oauth-protected-resource/mcp"] = func(req *http.Request, _ url.Values) *http.Response {
				return reply(req, c.status, c.document)
			}
			s := f.session(account)
			if _, err := f.get(s, mcpServer); !errors.Is(err, c.err) {
				t.Errorf("%s: %v", name, err)
			}
			if c.err != nil {
				continue
			}
			for _, token := range f.tokens {
				token.dead = true
			}
			f.must(s, mcpServer) // with a new token
			f.must(s, ordersAPI)
			if n := len(f.requests("/.well-known/oauth-protected-resource/mcp")); n > 1 || (n == 1) != (c.draft == "0.2") {
				t.Errorf("%s: the metadata were read %d times", name, n)
			}
		}
	}
}

func TestASessionTakesNoTokenWithoutItsKey(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	server := f.server()
	s := f.sessionOf(server, "")
	id := f.must(s, ordersAPI)
	grant, err := server.Token(t.Context(), url.Values{"grant_type": {session.GrantCode}, "session_id": {id}}, nil)
	if err != nil || grant.Type != "Bearer" {
		t.Fatalf("%+v, %v", grant, err)
	}
	if err := s.Use(grant); !errors.Is(err, session.ErrUnreadable) || s.SignedIn() {
		t.Errorf("signed in %t, %v", s.SignedIn(), err)
	}
}
