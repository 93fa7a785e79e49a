package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/pace"
	"github.com/papaver-agent/papaver/session"
)

// answering lets the token endpoint give one prepared answer to everything.
func answering(f *fake, status int, body string, fields ...string) {
	f.answers["auth.example.com/oauth/token"] = func(req *http.Request, _ url.Values) *http.Response {
		return reply(req, status, body, fields...)
	}
}

const goodAnswer = `"access_token":"t","token_type":"DPoP","expires_in":60,"scope":"","session_id":"ses_1","signed_in":false`

func TestAnAnswerThatIsNotWhatItShouldBeStartsNoSession(t *testing.T) {
	t.Parallel()
	with := func(old, new string) string { return "{" + strings.Replace(goodAnswer, old, new, 1) + "}" }
	for name, body := range map[string]string{
		"a duplicate member":         `{"access_token":"u",` + goodAnswer + `}`,
		"an escaped duplicate":       `{"access_toke\u006e":"u",` + goodAnswer + `}`,
		"something after it":         `{` + goodAnswer + `} {}`,
		"an array":                   `[]`,
		"null":                       `null`,
		"no JSON":                    `access_token=t`,
		"not UTF-8":                  with(`"t"`, "\"\xff\""),
		"too large":                  `{` + goodAnswer + `,"x":"` + strings.Repeat("x", 64<<10) + `"}`,
		"too deep":                   `{` + goodAnswer + `,"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`,
		"no token":                   with(`"access_token":"t",`, ``),
		"an empty token":             with(`"t"`, `""`),
		"a token that is a number":   with(`"t"`, `7`),
		"a token with a space":       with(`"t"`, `"a b"`),
		"a token with a comma":       with(`"t"`, `"a,b"`),
		"a token with a line break":  with(`"t"`, `"a\r\nX-Y: b"`),
		"a Bearer token":             with(`"DPoP"`, `"Bearer"`),
		"no type":                    with(`"token_type":"DPoP",`, ``),
		"no end":                     with(`"expires_in":60,`, ``),
		"an end at once":             with(`60`, `0`),
		"an end in the past":         with(`60`, `-1`),
		"an end as text":             with(`60`, `"60"`),
		"a fraction":                 with(`60`, `60.5`),
		"an end beyond all numbers":  with(`60`, `1e400`),
		"no scope":                   with(`"scope":"",`, ``),
		"scopes with two spaces":     with(`"scope":""`, `"scope":"a  b"`),
		"a scope with a quote":       with(`"scope":""`, `"scope":"a\"b"`),
		"no session":                 with(`"session_id":"ses_1",`, ``),
		"a session with a slash":     with(`ses_1`, `ses/1`),
		"an empty session":           with(`ses_1`, ``),
		"signed in is not said":      with(`,"signed_in":false`, ``),
		"signed in as text":          with(`false`, `"false"`),
		"signed in, without sign-in": with(`false`, `true`),
		"an empty Account Token":     `{` + goodAnswer + `,"refresh_token":""}`,
		"an Account Token's end":     `{` + goodAnswer + `,"refresh_token":"r","refresh_token_expires_in":0}`,
	} {
		f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
		answering(f, 200, body)
		if id, err := f.session("").Start(t.Context()); !errors.Is(err, session.ErrUnreadable) {
			t.Errorf("%s: Session %q, %v", name, id, err)
		}
	}
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	answering(f, 200, with(`"DPoP"`, `"dpop"`))
	if id, err := f.session("").Start(t.Context()); err != nil || id != "ses_1" {
		t.Errorf("the good one: Session %q, %v", id, err)
	}
}

func TestARenewalThatNamesAnotherSessionIsRefused(t *testing.T) {
	t.Parallel()
	c := &clock{now: noon}
	f := newFake(t, drafts["0.1"], c.Now)
	s := f.session("")
	id := f.must(s, ordersAPI)
	answering(f, 200, "{"+strings.Replace(goodAnswer, "ses_1", "ses_other", 1)+"}")
	c.advance(2 * time.Hour)
	if _, err := f.get(s, ordersAPI); !errors.Is(err, session.ErrUnreadable) || s.ID() != id {
		t.Errorf("Session %q, %v", s.ID(), err)
	}
}

func TestARefreshMustSignInTheSessionThatWasNamed(t *testing.T) {
	t.Parallel()
	good := "{" + strings.Replace(goodAnswer, "false", "true", 1) + "}"
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	key := f.session("").Key()
	for name, c := range map[string]struct {
		body string
		bad  bool
	}{
		"good":            {good, false},
		"another Session": {strings.Replace(good, "ses_1", "ses_2", 1), true},
		"signed out":      {strings.Replace(good, "true", "false", 1), true},
		"no life":         {strings.Replace(good, "60", "0", 1), true},
		"a past":          {strings.Replace(good, "60", "-60", 1), true},
	} {
		answering(f, 200, c.body)
		if grant, err := f.server().Refresh(t.Context(), secretOf("a"), "ses_1", nil, key); errors.Is(err, session.ErrUnreadable) != c.bad || err == nil == c.bad {
			t.Errorf("%s: %+v, %v", name, grant, err)
		}
	}
}

// The Company may have exchanged the Account Token already, so what it gave instead must not get lost.
func TestANewAccountTokenIsKeptEvenFromAnAnswerThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	answering(f, 200, `{"access_token":"t","token_type":"DPoP","refresh_token":"acct_2","refresh_token_expires_in":60}`)
	key := f.session("").Key()
	grant, err := f.server().Refresh(t.Context(), secretOf("acct_1"), "ses_1", nil, key)
	if !errors.Is(err, session.ErrUnreadable) || grant.AccountToken.Reveal() != "acct_2" || !grant.AccountExpires.Equal(noon.Add(time.Minute)) || !grant.AccessToken.Empty() {
		t.Errorf("grant %+v, %v", grant, err)
	}
}

func TestARefusalOfTheTokenEndpointIsReadAndItsTextKeptApart(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		code, text string
		is         error
	}{
		`{"error":"invalid_client","error_description":"Not \u001b[2J registered"}`: {"invalid_client", "Not \x1b[2J registered", nil},
		`{"error":"invalid_grant"}`:    {"invalid_grant", "", session.ErrInvalidGrant},
		`{"error":"account_mismatch"}`: {"account_mismatch", "", session.ErrAccountMismatch},
		`{"error":"a\nb"}`:             {},
		`{"error":"a","error":"b"}`:    {},
		`{"error":7}`:                  {},
		`<html>`:                       {},
		``:                             {},
		`{"error":"x","error_description":"` + strings.Repeat("é", 2000) + `"}`: {"x", strings.Repeat("é", 512), nil},
	} {
		f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
		answering(f, 400, body)
		_, err := f.server().Token(t.Context(), url.Values{"grant_type": {session.GrantCode}, "session_id": {"ses_1"}}, nil)
		var refused *session.ServerError
		if !errors.As(err, &refused) || refused.Status != 400 || refused.Code != want.code || refused.Description != want.text {
			t.Errorf("%.40q: %+v, %v", body, refused, err)
		}
		if want.is != nil && !errors.Is(err, want.is) {
			t.Errorf("%.40q: err = %v", body, err)
		}
		if strings.ContainsAny(err.Error(), "\x1b\n") || strings.Contains(err.Error(), "registered") {
			t.Errorf("%.40q: the Company's text is in %q", body, err)
		}
	}
}

// pipe serves handler to the one client of a bubble, over net.Pipe.
func pipe(t *testing.T, handler http.Handler) *http.Client {
	t.Helper()
	listener := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	transport := &http.Transport{DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case listener.conns <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		<-done
	})
	return &http.Client{Transport: transport}
}

type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{} }

// DRAFTS A5: no exchange with the authorization server lasts longer than its time, whatever dribbles in.
func TestATokenEndpointThatSendsAByteNowAndThenIsGivenUp(t *testing.T) {
	for name, status := range map[string]int{"a token": 200, "an error": 400} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, drafts["0.1"], time.Now)
				client := pipe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					for r.Context().Err() == nil {
						_, _ = io.WriteString(w, " ")
						_ = http.NewResponseController(w).Flush()
						<-time.After(500 * time.Millisecond)
					}
				}))
				server, err := session.NewServer(session.ServerConfig{Company: f.c, Identity: f.id, UserID: draftUser, Client: client})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				_, err = server.Refresh(t.Context(), secretOf("a"), "ses_1", nil, nil)
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("it took %v", took)
				}
				// A status that says no is an answer, whatever its body.
				var refused *session.ServerError
				if ok := errors.As(err, &refused); !errors.Is(err, session.ErrNoAnswer) && !ok || ok != (status == 400) {
					t.Errorf("err = %v", err)
				}
			})
		})
	}
}

// Do reads the body of an error within a time of its own, and gives back what it read.
func TestAnAPIsErrorThatDribblesInDoesNotHoldTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := pipe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				<-time.After(500 * time.Millisecond)
			}
		}))
		id, _ := newIdentity(t)
		s := newSession(t, id, time.Now)
		req, err := http.NewRequest(http.MethodGet, operations, nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		res, err := s.Do(t.Context(), client, req)
		if took := time.Since(began); err != nil || took > 10*time.Second {
			t.Fatalf("it took %v: %v", took, err)
		}
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("status %d", res.StatusCode)
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
	})
}

// oneCookie is a jar that has a cookie for everybody.
type oneCookie struct{}

func (oneCookie) SetCookies(*url.URL, []*http.Cookie) {}
func (oneCookie) Cookies(*url.URL) []*http.Cookie     { return []*http.Cookie{{Name: "a", Value: "b"}} }

// Clauses: S01-4.3.24
func TestNoRedirectIsFollowedWithCredentials(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var asked, trapped atomic.Int32
		trap := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { trapped.Add(1) }))
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if len(r.Cookies()) > 0 {
				t.Error("a cookie was sent")
			}
			w.Header().Set("Location", trap.URL)
			w.WriteHeader(status)
		}))
		client := server.Client()
		client.Transport.(*http.Transport).TLSClientConfig.RootCAs.AddCert(trap.Certificate())
		client.Jar = oneCookie{}
		id, _ := newIdentity(t)
		c := shop()
		c.Server.Token, c.Server.Revocation, c.OperationsEndpoint = server.URL+"/token", server.URL+"/revoke", server.URL+"/operations"
		s, err := session.NewServer(session.ServerConfig{Company: c, Identity: id, UserID: "u", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		var refused *session.ServerError
		if _, err := s.Refresh(t.Context(), secretOf("a"), "", nil, nil); !errors.As(err, &refused) || refused.Status != status || !strings.Contains(err.Error(), "redirect") {
			t.Errorf("%d: refresh: %v", status, err)
		}
		if err := s.Revoke(t.Context(), secretOf("a")); !errors.As(err, &refused) || refused.Status != status {
			t.Errorf("%d: revoke: %v", status, err)
		}
		joined, err := session.New(session.Config{Identity: id, Company: c, UserID: "u", Server: s})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequest(http.MethodGet, c.OperationsEndpoint, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := joined.Do(t.Context(), client, req)
		if err != nil || res.StatusCode != status || res.Body.Close() != nil {
			t.Errorf("%d: %v", status, err)
		}
		if asked.Load() != 3 || trapped.Load() != 0 {
			t.Errorf("%d: asked %d times, the trap %d times", status, asked.Load(), trapped.Load())
		}
		server.Close()
		trap.Close()
	}
}

func TestAnAuthorizationServerThatIsNotThereIsSaidWithoutWhatWasSent(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	broken := errors.New("no route to host")
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, broken })}
	server, err := session.NewServer(session.ServerConfig{Company: f.c, Identity: f.id, UserID: draftUser, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	_, err = server.Refresh(t.Context(), secretOf("acct_secret"), "ses_1", nil, nil)
	if !errors.Is(err, session.ErrNoAnswer) || !errors.Is(err, broken) || strings.Contains(err.Error(), "acct_secret") {
		t.Errorf("err = %v", err)
	}
	held, err := session.NewServer(session.ServerConfig{Company: f.c, Identity: f.id, UserID: draftUser,
		Client: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("example.com: %w", pace.ErrHeld)
		})}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Refresh(t.Context(), secretOf("a"), "ses_1", nil, nil); !errors.Is(err, pace.ErrHeld) || errors.Is(err, session.ErrNoAnswer) {
		t.Errorf("a request that was not sent: %v", err)
	}
	f.c.Server = company.Server{}
	for name, err := range map[string]error{
		"revoke": f.server().Revoke(t.Context(), secretOf("a")),
		"device": func() error { _, err := f.server().Device(t.Context(), nil); return err }(),
		"token":  func() error { _, err := f.server().Token(t.Context(), nil, nil); return err }(),
	} {
		if !errors.Is(err, session.ErrNotOffered) {
			t.Errorf("%s: err = %v", name, err)
		}
	}
	if len(f.seen) != 0 {
		t.Errorf("%d requests", len(f.seen))
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }
