package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// publisher is a web server at example.com, the name of httptest's certificate, to which an agent's documents are
// uploaded.
type publisher struct {
	address, cacert string

	mu    sync.Mutex
	files map[string][]byte // by path
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{}
	server := httptest.NewTLSServer(p)
	t.Cleanup(server.Close)
	p.address = server.Listener.Addr().String()
	p.cacert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return p
}

// ServeHTTP implements [http.Handler].
func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	data, ok := p.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	_, _ = w.Write(data)
}

// upload publishes the documents as they are in the home now.
func (p *publisher) upload(b *bench, edit ...func(name, content string) string) {
	b.t.Helper()
	files := make(map[string][]byte)
	for _, name := range []string{"agent.json", "jwks.json"} {
		data, err := os.ReadFile(filepath.Join(b.home, "identity", "public", name))
		if err != nil {
			b.t.Fatal(err)
		}
		for _, change := range edit {
			data = []byte(change(name, string(data)))
		}
		files["/"+name] = data
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files = files
}

// Clauses: S01-4.1.01, S01-4.1.02, S01-4.1.05, C10-4.01, C10-4.02
func TestIdentityCheckComparesWhatIsPublishedWithTheHome(t *testing.T) {
	t.Parallel()
	b := emptyBench(t)
	b.run(0, "identity", "init", "--client-id", "https://example.com/agent.json", "--name", "Test agent")
	p := newPublisher(t)
	check := []string{"identity", "check", "--connect-to", "example.com:443:" + p.address, "--cacert", b.file("ca.pem", p.cacert)}

	if out := b.run(1, check...); !strings.Contains(out, "FAIL the client metadata document can be read") || !strings.Contains(out, "status 404") {
		t.Errorf("before the upload it says\n%s", out)
	}
	p.upload(b)
	if out := b.run(0, check...); !strings.Contains(out, "what is published is what this home has") || strings.Contains(out, "warn") {
		t.Errorf("after the upload it says\n%s", out)
	}
	events := readEvents(t, b.run(0, append(check, "--json")...))
	if last := events[len(events)-1]; last["agrees"] != true || last["failed"] != 0.0 || last["warnings"] != 0.0 || last.text("client_id") != "https://example.com/agent.json" {
		t.Errorf("the last line is %v", last)
	}
	for _, e := range events[:len(events)-1] {
		if e["verdict"] != "ok" || e.text("rule") == "" || e.text("url") == "" || e.text("found") == "" {
			t.Errorf("line %v", e)
		}
	}

	b.run(0, "identity", "rotate")
	if out := b.run(0, check...); !strings.Contains(out, "warn a next key is published before it signs") || !strings.Contains(out, "it works now; warnings: 1") {
		t.Errorf("after a rotation it says\n%s", out)
	}
	p.upload(b)
	b.run(0, check...)

	// A key set with a private key, as a person who uploads the wrong file makes it.
	private := string(privateKeys(t, b)[0])
	p.upload(b, func(_, content string) string { return strings.Replace(content, `"x":`, `"d": "`+private+`", "x":`, 1) })
	out := b.run(1, check...) + b.run(1, append(check, "--json")...)
	if !strings.Contains(out, "PRIVATE KEYS CAN BE READ BY EVERYBODY") || !strings.Contains(out, "papaver identity revoke-key") {
		t.Errorf("of a private key it says\n%s", out)
	}
	if strings.Contains(out, private) {
		t.Error("it prints the private key")
	}
}

func TestDoctorTellsWhichKeySignsAndWhichWill(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.path = b.tmp // no Chromium can be found, so that it is quick
	b.run(0, "identity", "rotate")
	var found, cure string
	examine := func() {
		for _, e := range readEvents(t, b.run(1, "doctor", "--json")) {
			if e.text("check") == "keys" {
				found, cure = e.text("found"), e.text("cure")
			}
		}
	}
	examine()
	if !strings.Contains(found, "https://agent.test/agent.json, key ") || !strings.Contains(found, " (0 days old), followed by ") || cure != "" {
		t.Errorf("it says %q, cure %q", found, cure)
	}

	// A key that was made long ago.
	b = newBench(t)
	b.path = b.tmp
	path := filepath.Join(b.home, "identity", "identity.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{`"created":"`, `"activates":"`} {
		at := strings.Index(string(data), member) + len(member)
		copy(data[at:], "2001")
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	examine()
	if !strings.Contains(found, "more than a year ago") || !strings.Contains(cure, "papaver identity rotate") {
		t.Errorf("of an old key it says %q, cure %q", found, cure)
	}
	b.run(0, "identity", "rotate")
	examine()
	if cure != "" {
		t.Errorf("with a rotation under way it says %q, cure %q", found, cure)
	}
}
