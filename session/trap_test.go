package session_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/session"
)

// trap is a host that the Company would have credentials sent to. It is trusted and answers everything, so whatever is sent
// to it arrives.
type trap struct {
	mu   sync.Mutex
	came []string
}

func (h *trap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	h.came = append(h.came, fmt.Sprintf("%s %s %v %s", r.Method, r.URL, r.Header, body))
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"access_token":"at","token_type":"DPoP","expires_in":60,"session_id":"ses_1"}`)
}

// tempting is a Company that answers with whatever leads elsewhere.
type tempting struct {
	honest   http.RoundTripper // for the paths that do not tempt
	location string
	status   int

	mu    sync.Mutex
	at    string // the path that tempts; the others don't
	asked int
}

func (c *tempting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	tempts := c.at == r.URL.Path
	if tempts {
		c.asked++
	}
	c.mu.Unlock()
	w.Header().Set("Alt-Svc", `h2="trap.test:443"; ma=86400, h3="trap.test:443"; ma=86400`)
	if !tempts {
		r.URL.Scheme, r.URL.Host = "https", r.Host
		res, err := c.honest.RoundTrip(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		for name, values := range res.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
		return
	}
	w.Header().Set("Location", c.location)
	w.Header().Set("Content-Location", c.location)
	w.Header().Set("Refresh", "0; url="+c.location)
	w.Header().Set("Link", "<"+c.location+`>; rel="canonical"`)
	w.WriteHeader(c.status)
}

// begin has a path tempt.
func (c *tempting) begin(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.asked = path, 0
}

// Whatever a Company's server answers, to whichever request that carries the Session, a token, a proof or an assertion of ours:
// nothing arrives anywhere else. The client is the one that the agent has.
//
// Clauses: OPS3-4.42, OPS3-4.43
func TestCredentialsNeverArriveAtAnotherHost(t *testing.T) {
	names := []string{"example.com", "auth.example.com", "api.example.com", "mcp.example.com", "stock.example.com", "trap.test"}
	certificate, authority := trusted(t, names)
	tempter, caught := &tempting{}, &trap{}
	rules := []string(nil)
	for _, each := range []struct {
		handler http.Handler
		names   []string
	}{{tempter, names[:5]}, {caught, names[5:]}} {
		server := httptest.NewUnstartedServer(each.handler)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		server.EnableHTTP2 = true
		server.StartTLS()
		t.Cleanup(server.Close)
		for _, name := range each.names {
			rules = append(rules, name+":443:"+server.Listener.Addr().String())
		}
	}
	proxy := httptest.NewServer(caught)
	t.Cleanup(proxy.Close)
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	r, err := reach.New(reach.Config{ConnectTo: rules, CACerts: []string{authority}, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}})
	if err != nil {
		t.Fatal(err)
	}
	client := r.Client(10 * time.Second)
	client.CheckRedirect = nil // who makes the request sees to it
	if client.Transport.(*http.Transport).Proxy != nil {
		t.Error("the client asks the environment for a proxy")
	}
	defer client.CloseIdleConnections()

	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, location := range []string{"https://trap.test/", "//trap.test/", "https://example.com@trap.test/", "https://example.com%40trap.test/"} {
			f := newFake(t, drafts["0.2"], (&clock{now: noon}).Now)
			f.c.OperationsEndpoint, f.mcpProofs = "https://example.com/poppy/operations", true
			tempter.honest, tempter.status, tempter.location = f, status, location
			server, err := session.NewServer(session.ServerConfig{Company: f.c, Identity: f.id, UserID: draftUser, Client: client, Now: f.now})
			if err != nil {
				t.Fatal(err)
			}
			draft, err := session.New(session.Config{Identity: f.id, Company: f.c, UserID: draftUser, Server: server, Now: f.now})
			if err != nil {
				t.Fatal(err)
			}
			shop := shop()
			shop.OperationsEndpoint = f.c.OperationsEndpoint
			v1, err := session.New(session.Config{Identity: f.id, Company: shop, UserID: draftUser})
			if err != nil {
				t.Fatal(err)
			}
			do := func(s *session.Session, method, address string) func() error {
				return func() error {
					req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader("{}"))
					if err != nil {
						return err
					}
					res, err := s.Do(t.Context(), client, req)
					if err == nil {
						_ = res.Body.Close()
						if res.StatusCode != status {
							t.Errorf("%d to %s: the answer is %d", status, location, res.StatusCode)
						}
					}
					return nil
				}
			}
			fails := func(err error) error {
				if err == nil {
					t.Errorf("%d to %s: it succeeded", status, location)
				}
				return nil
			}
			mcp := company.API{Type: "mcp", URL: mcpServer}
			for _, ask := range []struct {
				path string
				does func() error
			}{
				{"/oauth/token", func() error { _, err := draft.Start(t.Context()); return fails(err) }},
				{"/oauth/token", func() error {
					_, err := server.Refresh(t.Context(), secretOf("account"), "ses_1", nil, draft.Key())
					return fails(err)
				}},
				{"/oauth/token", func() error {
					_, err := server.Token(t.Context(), url.Values{"grant_type": {session.GrantCode}, "code": {"c"}}, draft.Key())
					return fails(err)
				}},
				{"/oauth/revoke", func() error { return fails(server.Revoke(t.Context(), secretOf("account"))) }},
				{mcpMetadata, func() error {
					_, err := server.ForAPI(t.Context(), mcp, secretOf("account"), "ses_1", nil, draft.Key())
					return fails(err)
				}},
				{"/orders", do(draft, http.MethodGet, ordersAPI)},
				{"/orders", do(draft, http.MethodPost, ordersAPI)},
				{"/poppy/operations", do(v1, http.MethodPost, f.c.OperationsEndpoint)},
				{"/poppy/operations", do(v1, http.MethodGet, f.c.OperationsEndpoint)},
			} {
				tempter.begin(ask.path)
				if err := ask.does(); err != nil {
					t.Error(err)
				}
				if tempter.asked != 1 {
					t.Errorf("%d to %s: %s was asked %d times", status, location, ask.path, tempter.asked)
				}
			}
		}
	}
	caught.mu.Lock()
	defer caught.mu.Unlock()
	for _, what := range caught.came {
		t.Errorf("the trap got %s", what)
	}
}

// trusted makes a certificate for names, and a file with it as an authority.
func trusted(t *testing.T, names []string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}
