package opsweb

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/internal/reach"
)

// wire is the Company's endpoint behind real TLS and HTTP, for the client that the agent really has. Its network is pipes,
// so that it runs in a bubble of its own time.
type wire struct {
	t      *testing.T
	world  *world
	client *http.Client
	cert   atomic.Pointer[tls.Certificate]
	own    authority

	// h2 speaks HTTP/2 on the connection of a number, from 1 on; nil: HTTP/1.1 on all, and for each request one where it is set.
	h2   func(*tls.Conn)
	h2At int

	mu      sync.Mutex
	script  []step
	dialled []string
	served  *sync.WaitGroup
	ended   chan struct{}
}

const endpointAddress = "192.0.2.1:443"

// step is how one request to the endpoint goes: as answer says, or by a fault.
type step struct {
	answer
	fault *fault
}

// fault is what a network, or a server that is broken, does to one exchange.
type fault struct {
	name string
	// when in the exchange it happens. What comes before happens as it should.
	when moment
	// does it; the connection is closed afterwards.
	does func(*wire, *cut)
	// again is how a try that met it is taken: as one without an answer, or else as an answer that says nothing.
	again bool
	why   string // part of the reason of an answer that says nothing
}

type moment int

const (
	before moment = iota // nothing is read
	during               // the head is read, and not the body
	after                // the whole request is read
)

// cut is a server's connection that can be reset.
type cut struct {
	net.Conn // TLS
	raw      *end
}

func (c *cut) reset() { c.raw.reset() }

func (c *cut) write(s string) { _, _ = io.WriteString(c, s) }

// end is one end of a pipe that can be reset, as a TCP connection can.
type end struct {
	net.Conn
	broken *atomic.Bool // for both
}

func (e *end) reset() {
	e.broken.Store(true)
	_ = e.Conn.Close()
}

func (e *end) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	if err != nil && e.broken.Load() {
		err = syscall.ECONNRESET
	}
	return n, err
}

func (e *end) Write(p []byte) (int, error) {
	n, err := e.Conn.Write(p)
	if err != nil && e.broken.Load() {
		err = syscall.ECONNRESET
	}
	return n, err
}

// newWire makes the client. own issues the Company's certificate, and is all that the client trusts.
func newWire(t *testing.T, own authority) *wire {
	t.Helper()
	w := &wire{t: t, own: own}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.own.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := reach.New(reach.Config{ConnectTo: []string{"shop.test:443:" + endpointAddress}, CACerts: []string{file}, Dial: w.dial, Lookup: w.lookup})
	if err != nil {
		t.Fatal(err)
	}
	w.client = r.Client(endpointTimeout)
	return w
}

// begin is called in the bubble.
func (w *wire) begin(world *world, script []step) {
	w.world, w.script = world, script
	w.served, w.ended = new(sync.WaitGroup), make(chan struct{})
	w.cert.Store(w.own.issue(w.t))
}

// stop has nothing of it run any more.
func (w *wire) stop() {
	w.client.CloseIdleConnections()
	close(w.ended)
	w.served.Wait()
}

// lookup knows every name, so that a request that goes astray would be seen to.
func (w *wire) lookup(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("203.0.114.1")}, nil
}

func (w *wire) dial(_ context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	number := len(w.dialled)
	w.mu.Unlock()
	if address != endpointAddress {
		w.t.Errorf("%s is dialled", address)
	}
	ours, theirs := net.Pipe()
	broken := new(atomic.Bool)
	w.served.Go(func() { w.serve(&end{theirs, broken}, number) })
	return &end{ours, broken}, nil
}

func (w *wire) next() (step, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.script) == 0 {
		return step{}, false
	}
	s := w.script[0]
	w.script = w.script[1:]
	return s, true
}

// serve is the connection of a number.
func (w *wire) serve(raw *end, number int) {
	defer func() { _ = raw.Close() }()
	stop := make(chan struct{})
	defer close(stop)
	w.served.Go(func() {
		select {
		case <-w.ended:
			_ = raw.Close()
		case <-stop:
		}
	})
	protocols := []string{"http/1.1"}
	if w.h2 != nil && number == w.h2At {
		protocols = []string{"h2"}
	}
	conn := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{*w.cert.Load()}, NextProtos: protocols})
	if conn.Handshake() != nil {
		return
	}
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		w.h2(conn)
		return
	}
	c := &cut{conn, raw}
	in := bufio.NewReader(conn)
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		s, ok := w.next()
		if !ok {
			w.t.Error("the endpoint was asked once too often")
			return
		}
		if s.fault != nil && s.fault.when == before {
			s.fault.does(w, c)
			return
		}
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if s.fault != nil && s.fault.when == during {
			s.fault.does(w, c)
			return
		}
		req.URL.Scheme, req.URL.Host = "https", req.Host
		w.world.company.note(req)
		if s.fault != nil {
			s.fault.does(w, c)
			return
		}
		if w.respond(s.answer).Write(conn) != nil {
			return
		}
	}
}

// note takes note of a request that came whole.
func (e *endpoint) note(r *http.Request) {
	p := e.read(r)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.posts = append(e.posts, p)
}

func (w *wire) respond(a answer) *http.Response {
	if a.offer != nil {
		a.body = a.offer.json(w.world.began)
	}
	return &http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: int64(len(a.body)), Close: w.h2 != nil,
	}
}

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// The bubble's time begins in 2000.
var (
	notBefore = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	notAfter  = time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
)

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, cert := certificate(t, nil, &x509.Certificate{
		Subject: pkix.Name{CommonName: "An authority"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return authority{cert, key}
}

// issue makes a certificate for the shop, with a key of its own.
func (a authority) issue(t *testing.T) *tls.Certificate {
	t.Helper()
	key, cert := certificate(t, &a, &x509.Certificate{
		Subject: pkix.Name{CommonName: "shop.test"}, DNSNames: []string{"shop.test"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func certificate(t *testing.T, issuer *authority, template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter, template.BasicConstraintsValid = big.NewInt(1), notBefore, notAfter, true
	parent, signer := template, key
	if issuer != nil {
		parent, signer = issuer.cert, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}
