package main

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A secret is asked for on the terminal, without echo, and entered. Neither the screen, the events, the words for people nor
// the home holds it afterwards, also where the page puts it into an address that an error tells of.
func TestASecretIsAskedForWithoutEchoAndIsOnlyInThePage(t *testing.T) {
	t.Parallel()
	const entered = "swordfish-7"
	var mu sync.Mutex
	var sent []string
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/", "/in":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, `<!doctype html><title>In</title><form action="/in"><input id="who" name="who"><input id="pin" name="pin"><button id="go">In</button></form>`)
		default:
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if r.URL.RawQuery != "" {
			sent = append(sent, r.URL.RawQuery)
		}
	}))
	t.Cleanup(site.Close)
	b := emptyBench(t)
	b.ready.Company, b.ready.ConnectTo = "https://example.com", []string{"example.com:443:" + site.Listener.Addr().String()}
	b.ready.CACert = b.file("in.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})))
	flow := b.file("in.json", `{"title":"In","steps":[
		{"type":"customStep","name":"note","parameters":{}},
		{"type":"navigate","url":"https://example.com/"},
		{"type":"change","selectors":[["#who"]],"value":"${who}"},
		{"type":"change","selectors":[["#pin"]],"value":"${pin}"},
		{"type":"click","selectors":[["#go"]],"timeout":1000,"assertedEvents":[{"type":"navigation","url":"https://example.com/elsewhere"}]}]}`)
	file, err := os.Create(filepath.Join(b.dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	timeline := filepath.Join(b.dir, "trace.json")
	u := b.sit(100, 40, file, b.task(flow, "--json", "--trace", timeline, "--set", "who=Dana", "--secret", "pin")...)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	u.sees("pin.*: ")
	u.types(entered + "\r")
	u.exits(1)

	mu.Lock()
	if len(sent) != 1 || sent[0] != "who=Dana&pin="+entered {
		t.Errorf("the page sent %q", sent)
	}
	mu.Unlock()
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	said := make(map[string]event)
	for _, e := range readEvents(t, string(data)) {
		said[e.name()] = e
	}
	if n := said["notice"]; n.text("place") != "steps[0]" || !strings.Contains(n.text("what"), "is skipped") {
		t.Errorf("the custom step is not noticed: %v", n)
	}
	if e := said["error"]; !strings.Contains(e.text("what"), "the click was made, and the navigation to") {
		t.Errorf("the error is another one: %v", e)
	}
	for name, text := range map[string]string{"the events": string(data), "the screen": u.screen.String(), "ledger export": b.run(0, "ledger", "export")} {
		if strings.Contains(text, "swordfish") {
			t.Errorf("%s holds the secret:\n%s", name, plainText(text))
		}
	}
	saysOnlyWords(t, timeline)
	if n := b.search([][]byte{[]byte(entered)}, b.home); n == 0 {
		t.Error("the home holds no file: the search looked in the wrong place")
	}
}

// Where nobody can be asked for a secret, nothing begins.
func TestASecretThatNobodyCanBeAskedForStopsTheRunBeforeItBegins(t *testing.T) {
	t.Parallel()
	b := emptyBench(t)
	b.ready.Company, b.ready.CACert = "https://example.com", b.file("none.pem", "")
	flow := b.file("in.json", `{"title":"In","steps":[{"type":"change","selectors":[["#pin"]],"value":"${pin}"}]}`)
	for _, flags := range [][]string{{"--secret", "pin"}, {"--secret", "pin", "--no-input"}} {
		p := b.start(b.task(flow, flags...)...) // without a terminal
		p.exits(2)
		p.says("--secret asks for a value")
	}
}
