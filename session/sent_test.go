package session_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

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
