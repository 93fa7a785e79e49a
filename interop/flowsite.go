package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// flowHosts are the hosts that the recordings' pages are at.
var flowHosts = []string{"shop.example.test", "pay.other.test"}

// What a flow's site reads and repeats of a request.
const (
	maxFlowBody  = 1 << 20
	maxFlowShown = 2000 // bytes of a body in the log
)

// seenRequest is one request of a flow's run, and what its beat was when it is one of the pages' reports.
type seenRequest struct {
	Method string         `json:"method"`
	URL    string         `json:"url"` // host, path and query
	Status int            `json:"status"`
	Body   string         `json:"body,omitempty"`
	beat   map[string]any // what beat.js reports of a page
	path   string
}

// flowSite serves the pages of interop/flows/site over TLS, as ordinary sites that publish nothing, and logs every request.
type flowSite struct {
	pages    string
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup

	mu  sync.Mutex
	log []seenRequest
}

// serveFlows starts a site with a log of its own.
func serveFlows(ctx context.Context, pages string, leaf tls.Certificate) (*flowSite, error) {
	s := &flowSite{pages: pages}
	var listen net.ListenConfig
	var err error
	if s.listener, err = listen.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	s.server = &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, TLSConfig: &tls.Config{Certificates: []tls.Certificate{leaf}, MinVersion: tls.VersionTLS12},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	s.serving.Go(func() { _ = s.server.ServeTLS(s.listener, "", "") })
	return s, nil
}

func (s *flowSite) close() {
	_ = s.server.Close() // nobody is answered any more
	s.serving.Wait()
}

func (s *flowSite) address() string { return s.listener.Addr().String() }

// seen is the log so far.
func (s *flowSite) seen() []seenRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seenRequest(nil), s.log...)
}

// settled waits until no request came for a moment: what a page reports as it closes may be on its way still.
func (s *flowSite) settled(ctx context.Context) {
	const calm = 150 * time.Millisecond
	ticker := time.NewTicker(calm)
	defer ticker.Stop()
	for before := -1; ; {
		now := len(s.seen())
		if now == before {
			return
		}
		before = now
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// ServeHTTP implements [http.Handler].
func (s *flowSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFlowBody))
	if err != nil {
		return // the connection ended
	}
	host, _, _ := strings.Cut(r.Host, ":")
	line := seenRequest{Method: r.Method, URL: host + r.URL.RequestURI(), path: r.URL.Path}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	var answer []byte
	switch post := r.Method == http.MethodPost; {
	case r.URL.Path == "/beat":
		line.Status = http.StatusNoContent
	case post && r.URL.Path == "/api/orders":
		line.Status, answer = http.StatusCreated, []byte(`{"order":"ord_1"}`)
		header.Set("Content-Type", "application/json")
	case post && r.URL.Path == "/api/login":
		line.Status = http.StatusSeeOther
		header.Set("Location", "/?signed=in")
		header.Set("Set-Cookie", "kiosk=1; Secure; HttpOnly; SameSite=Lax; Path=/")
	case post && r.URL.Path == "/api/pay":
		line.Status = http.StatusSeeOther
		header.Set("Location", "/about.html?paid=1")
	default:
		line.Status, answer = http.StatusNotFound, []byte("<!doctype html><title>Not found</title><p>Not found")
		header.Set("Content-Type", "text/html; charset=utf-8")
		if page, err := os.ReadFile(s.page(r.URL.Path)); err == nil && !post {
			line.Status, answer = http.StatusOK, page
			if path.Ext(r.URL.Path) == ".js" {
				header.Set("Content-Type", "text/javascript; charset=utf-8")
			}
		}
	}
	if r.URL.Path == "/beat" {
		_ = json.Unmarshal(body, &line.beat) // one that is none is a request without a beat
	} else {
		line.Body = string(body[:min(len(body), maxFlowShown)])
	}
	s.mu.Lock()
	s.log = append(s.log, line)
	s.mu.Unlock()
	w.WriteHeader(line.Status)
	_, _ = w.Write(answer)
}

// page is the file of a path.
func (s *flowSite) page(name string) string {
	switch name = path.Clean("/" + name); {
	case name == "/cart":
		name = "/cart.html"
	case path.Ext(name) == "":
		name = path.Join(name, "index.html")
	}
	return filepath.Join(s.pages, filepath.FromSlash(name))
}
