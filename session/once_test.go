package session_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/session"
)

// A server that closes a connection after it has read a request on it saw that request: what comes again on another
// connection is another request to it, and has a statement of its own.
//
// Clauses: OPS3-4.44
func TestNoStatementIsSeenTwiceWhenAUsedConnectionBreaks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, body string
		breaks       int // connections that are broken after a good one
		arrives      int // requests that the server sees after the good one
		answered     bool
	}{
		"a GET is made again":            {http.MethodGet, "", 1, 2, true},
		"a GET is made again once":       {http.MethodGet, "", 2, 2, false},
		"a HEAD is made again":           {http.MethodHead, "", 1, 2, true},
		"a POST is not":                  {http.MethodPost, "{}", 1, 1, false},
		"a POST without a body is not":   {http.MethodPost, "", 1, 1, false},
		"a DELETE without a body is not": {http.MethodDelete, "", 1, 1, false},
		"a GET with a body is not":       {http.MethodGet, "{}", 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			seen := make(map[string]int)
			requests := 0
			api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				requests++
				statement, err := parseJWT(r.Header.Get("Poppy-Session"))
				if err != nil {
					t.Errorf("request %d: %v", requests, err)
				}
				jti, _ := statement.payload["jti"].(string)
				seen[jti]++
				if data, err := io.ReadAll(r.Body); err != nil || string(data) != c.body && requests > 1 {
					t.Errorf("request %d has the body %q, %v", requests, data, err)
				}
				if c.body == "" && c.method != http.MethodPost && (len(r.TransferEncoding) > 0 || r.ContentLength > 0) {
					t.Errorf("request %d is sent with a body: %v", requests, r.TransferEncoding)
				}
				if requests > 1 && requests <= 1+c.breaks {
					panic(http.ErrAbortHandler)
				}
			}))
			api.StartTLS()
			defer api.Close()
			client := api.Client()
			_, company := serverAt(t, api.URL, client)
			id, _ := newIdentity(t)
			s, err := session.New(session.Config{Identity: id, Company: company, UserID: "u"})
			if err != nil {
				t.Fatal(err)
			}
			ask := func(method, body string) error {
				var content io.Reader
				if body != "" {
					content = strings.NewReader(body)
				}
				req, err := http.NewRequestWithContext(t.Context(), method, company.OperationsEndpoint, content)
				if err != nil {
					t.Fatal(err)
				}
				res, err := s.Do(t.Context(), client, req)
				if err != nil {
					return err
				}
				if _, err := io.Copy(io.Discard, res.Body); err != nil {
					t.Error(err)
				}
				return res.Body.Close()
			}
			if err := ask(http.MethodGet, ""); err != nil {
				t.Fatal(err)
			}
			// The second break must meet a used connection too.
			if err := ask(c.method, c.body); (err == nil) != c.answered {
				t.Errorf("the answer: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if requests != 1+c.arrives {
				t.Errorf("the server saw %d requests, want %d", requests, 1+c.arrives)
			}
			for jti, times := range seen {
				if jti == "" || times > 1 {
					t.Errorf("the statement %q came %d times", jti, times)
				}
			}
		})
	}
}

// A client without any time limit is not waited for without an end.
func TestAnAnswerThatDoesNotBeginIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := pipe(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		_, company := serverAt(t, "https://api.example.com", client)
		id, _ := newIdentity(t)
		s, err := session.New(session.Config{Identity: id, Company: company, UserID: "u"})
		if err != nil {
			t.Fatal(err)
		}
		for name, within := range map[string]time.Duration{"ours": 0, "the caller's": 5 * time.Second} {
			ctx, cancel := context.WithCancel(t.Context())
			want := 30 * time.Second
			if within > 0 {
				ctx, cancel = context.WithTimeout(ctx, within)
				want = within
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, company.OperationsEndpoint, nil)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = s.Do(ctx, client, req)
			if waited := time.Since(began); errors.Is(err, session.ErrNoAnswer) != (within == 0) || err == nil || waited != want {
				t.Errorf("%s: %v after %v", name, err, waited)
			}
			cancel()
		}
	})
}
