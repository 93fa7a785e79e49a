package main

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// ordinary is a website at example.com, the name of httptest's certificate, that knows nothing of the protocol.
type ordinary struct {
	address string // of its listener
	cacert  string // PEM

	mu       sync.Mutex
	requests []string // method, path and the names of the headers
}

func (o *ordinary) seen() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.requests...)
}

// ServeHTTP implements [http.Handler].
func (o *ordinary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := r.Method + " " + r.URL.Path
	for name := range r.Header {
		what += " " + strings.ToLower(name)
	}
	o.mu.Lock()
	o.requests = append(o.requests, what)
	o.mu.Unlock()
	if r.URL.Path != "/" && r.URL.Path != "/more" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, `<!doctype html><title>Plain</title><h1>Plain</h1><p><a id="more" href="/more">More</a></p>`)
}

func ordinarySite(t *testing.T) *ordinary {
	t.Helper()
	o := &ordinary{}
	server := httptest.NewTLSServer(o)
	t.Cleanup(server.Close)
	o.address = server.Listener.Addr().String()
	o.cacert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return o
}
