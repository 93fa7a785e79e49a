package agent_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/opsweb"
)

// spoiler stands between everybody and the Company's website, and spoils requests that a browser makes for an action.
type spoiler struct {
	site http.Handler

	mu     sync.Mutex
	armed  bool // the approval is recorded
	spoils int  // so many requests
	how    func(s *spoiler, w http.ResponseWriter, r *http.Request)
}

// arm has the next n requests for an action spoiled, once an approval was recorded.
func (s *spoiler) arm(n int, how func(*spoiler, http.ResponseWriter, *http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.spoils, s.how = false, n, how
}

func (s *spoiler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	action := r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/orders/")
	s.mu.Lock()
	how := s.how
	spoiled := action && s.armed && s.spoils > 0
	if spoiled {
		s.spoils--
	}
	s.mu.Unlock()
	if spoiled {
		how(s, w, r)
		return
	}
	if r.Header.Get("Poppy-Approval") == "" {
		s.site.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	s.site.ServeHTTP(answer, r)
	s.mu.Lock()
	s.armed = s.armed || answer.Code == http.StatusNoContent
	s.mu.Unlock()
	pass(w, answer, answer.Body.Len())
}

// pass sends an answer, and n bytes of its body.
func pass(w http.ResponseWriter, answer *httptest.ResponseRecorder, n int) {
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:n])
}

// reset breaks the connection off.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // part of the answer has gone: the connection is closed in the middle of it
	}
	if raw, ok := conn.(*tls.Conn); ok {
		if tcp, ok := raw.NetConn().(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
			_ = tcp.Close()
			return
		}
	}
	_ = conn.Close()
}

// spoiledWorld is a world whose website is behind a spoiler.
func spoiledWorld(t *testing.T) (*world, *spoiler, []string) {
	t.Helper()
	w := newWorld(t)
	rules := w.site.ConnectTo()
	at := slices.IndexFunc(rules, func(r string) bool { return strings.HasPrefix(r, "stormline.test:443:") })
	address := strings.TrimPrefix(rules[at], "stormline.test:443:")
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(w.site.Authority())
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
		TLSClientConfig: &tls.Config{RootCAs: authorities, ServerName: "stormline.test"}, DisableCompression: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	s := &spoiler{site: &httputil.ReverseProxy{
		Transport: transport, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "https", Host: "stormline.test"})
			r.Out.Host = r.In.Host
		},
	}}
	front := httptest.NewUnstartedServer(s)
	front.TLS = &tls.Config{Certificates: []tls.Certificate{selfSigned(t, w.cacert, "stormline.test")}}
	front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	front.StartTLS()
	t.Cleanup(front.Close)
	rules[at] = "stormline.test:443:" + front.Listener.Addr().String()
	return w, s, rules
}

// selfSigned makes a certificate, and adds it to the authorities of a file.
func selfSigned(t *testing.T, file, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(before, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// The browser's request is lost on its way, or its answer is, after the approval was recorded. Chromium makes a lost POST again
// by itself, and we make the act again while the approval is not used up; what the Company counts is one performance at most,
// and what we say is what it counts.
//
// Clauses: OPS3-7.16, OPS3-7.17, OPS3-7.06
func TestALostReplayIsPerformedOnceAtMost(t *testing.T) {
	w, s, rules := spoiledWorld(t)
	a, err := agent.Start(t.Context(), agent.Config{
		Home: w.home, Driver: chromedpdriver.Driver{}, ConnectTo: rules, CACerts: []string{w.cacert},
		NoSandbox: os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0, Title: "test", Events: (&log{}).add,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close(a)
	defer w.user(a, func(approval.Question) bool { return true })()
	performed := 0
	for _, c := range []struct {
		name    string
		spoils  int
		how     func(*spoiler, http.ResponseWriter, *http.Request)
		outcome opsweb.Outcome
	}{
		{"reset before it arrives", 1, func(_ *spoiler, w http.ResponseWriter, _ *http.Request) { reset(w) }, opsweb.Performed},
		{"reset while it arrives", 1, func(_ *spoiler, w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 1))
			reset(w)
		}, opsweb.Performed},
		{"reset before its answer", 1, func(s *spoiler, w http.ResponseWriter, r *http.Request) {
			s.site.ServeHTTP(httptest.NewRecorder(), r)
			reset(w)
		}, opsweb.Performed},
		{"reset in its answer", 1, func(s *spoiler, w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			s.site.ServeHTTP(answer, r)
			answer.Header().Set("Content-Length", "100000")
			pass(w, answer, answer.Body.Len()/2)
			_ = http.NewResponseController(w).Flush()
			reset(w)
		}, opsweb.Performed},
		{"every answer is lost", 100, func(s *spoiler, w http.ResponseWriter, r *http.Request) {
			s.site.ServeHTTP(httptest.NewRecorder(), r)
			reset(w)
		}, opsweb.Performed},
		// The last one: its approval stays recorded, and would be used by the next exchange.
		{"every one is reset before it arrives", 100, func(_ *spoiler, w http.ResponseWriter, _ *http.Request) { reset(w) }, opsweb.Unknown},
	} {
		s.arm(c.spoils, c.how)
		v, err := a.Visit(t.Context(), w.site.Company())
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := w.do(v, exchange()...)
		if !slices.Equal(got, []opsweb.Outcome{c.outcome}) {
			t.Errorf("%s: it ended as %q", c.name, got)
		}
		if c.outcome == opsweb.Performed {
			performed++
		}
		r := w.site.Report()
		if len(r.Performances) != performed {
			t.Errorf("%s: the Company counts %d performances, want %d", c.name, len(r.Performances), performed)
		}
		for _, b := range r.Broken {
			t.Errorf("%s: the Company saw a broken rule: %s (%s): %s", c.name, b.Rule, b.Clause, b.Seen)
		}
		if err := v.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
