package session_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/session"
)

// serverAt is a Server whose Company's token endpoint is at a base URL.
func serverAt(t *testing.T, base string, client *http.Client) (*session.Server, *company.Company) {
	t.Helper()
	id, _ := newIdentity(t)
	c := shop()
	c.Server.Token, c.Server.Revocation, c.OperationsEndpoint = base+"/token", base+"/revoke", base+"/operations"
	s, err := session.NewServer(session.ServerConfig{Company: c, Identity: id, UserID: "u", Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// Whether the Company acted is open only once something was written.
func TestARequestThatNeverLeftIsToldFromOneWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	answering := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer answering.Close()
	refused := errors.New("connection refused")
	for name, c := range map[string]struct {
		client *http.Client
		want   error
	}{
		"refused": {&http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}}, session.ErrNotSent},
		"TLS":     {&http.Client{Transport: &http.Transport{}}, session.ErrNotSent}, // its certificate is nobody's
		"broken":  {answering.Client(), session.ErrNoAnswer},
	} {
		server, _ := serverAt(t, answering.URL, c.client)
		_, err := server.Refresh(t.Context(), secretOf("a"), "", nil, nil)
		if !errors.Is(err, c.want) || errors.Is(err, session.ErrNoAnswer) == errors.Is(err, session.ErrNotSent) {
			t.Errorf("%s: %v", name, err)
		}
		c.client.CloseIdleConnections()
	}
}

// A caller who gives up after a refresh was sent still gets its answer: the old Account Token is spent.
func TestARefreshThatWasSentIsHeardToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived, let := make(chan struct{}), make(chan struct{})
		client := pipe(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			arrived <- struct{}{}
			<-let
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"at","token_type":"Bearer","expires_in":60,"refresh_token":"rotated"}`))
		}))
		server, _ := serverAt(t, "https://auth.example.com", client)
		impatient, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			grant, err := server.Refresh(impatient, secretOf("old"), "", nil, nil)
			if err != nil || grant.AccountToken.Reveal() != "rotated" {
				t.Errorf("the Account Token is lost: %v", err)
			}
		}()
		<-arrived
		cancel()
		synctest.Wait()
		close(let)
		<-done
		if _, err := server.Refresh(impatient, secretOf("rotated"), "", nil, nil); !errors.Is(err, session.ErrNotSent) || !errors.Is(err, context.Canceled) {
			t.Errorf("begun after the end: %v", err)
		}
	})
}

// However the caller ends, an answer that does not come is waited for no longer than an exchange lasts, and a
// revocation, which may be repeated, not at all.
func TestWhatWasSentEndsInBoundedTimeAfterItsCaller(t *testing.T) {
	for name, c := range map[string]struct {
		ask func(ctx, *session.Server) error
		max time.Duration
	}{
		"refresh": {func(ctx ctx, s *session.Server) error {
			_, err := s.Refresh(ctx, secretOf("a"), "", nil, nil)
			return err
		}, 20 * time.Second},
		"revoke": {func(ctx ctx, s *session.Server) error { return s.Revoke(ctx, secretOf("a")) }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := pipe(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
				}))
				server, _ := serverAt(t, "https://auth.example.com", client)
				impatient, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				err := c.ask(impatient, server)
				if took := time.Since(began); took != c.max || !errors.Is(err, session.ErrNoAnswer) || strings.Contains(err.Error(), "https:") {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

// While a place asks to be left alone nothing is sent, which is told from the answer that asked for it.
func TestARequestToAPausedPlaceIsToldAsUnsent(t *testing.T) {
	t.Parallel()
	busy := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer busy.Close()
	server, _ := serverAt(t, busy.URL, busy.Client())
	for _, unsent := range []bool{false, true} {
		_, err := server.Refresh(t.Context(), secretOf("a"), "", nil, nil)
		if _, limited := errors.AsType[*session.RateLimited](err); !limited || errors.Is(err, session.ErrNotSent) != unsent {
			t.Errorf("unsent %t: %v", unsent, err)
		}
	}
}
