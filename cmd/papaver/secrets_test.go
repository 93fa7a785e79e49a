package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A compact JWT: three parts of base64url, the first of which begins a JSON object.
var jwt = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)

// Tokens, keys and assertions stay where they belong: while a question is open, when everything is alive, and after the
// round neither Chromium's profile, the home beside the key file, the events, the words for people, the screen nor the
// Company's report holds one. That the Session header went to the endpoint alone is among the Company's rules.
//
// Clauses: OPS3-4.43, OPS3-6.32
func TestNoSecretIsWrittenAnywhere(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	keys := privateKeys(t, b)
	u := b.sit(100, 40, nil, "tui")
	timeline := filepath.Join(b.dir, "trace.json")
	p := b.start(b.task(b.flow("exchange.json"), "--json", "--trace", timeline)...)
	p.event("question", 1)
	if n := b.search(keys, b.tmp); n == 0 {
		t.Error("Chromium's profile holds no file: the search looked in the wrong place")
	}
	b.environmentIsClean(keys)
	u.answers(p, "a")
	p.exits(0)
	u.types("q")
	u.exits(0)
	b.counted(1, 1)

	// Of the round the timeline has every stage; what it says of them are words of ours.
	stages := saysOnlyWords(t, timeline)
	for _, stage := range []string{"open", "discovery", "chromium", "check", "tab", "join", "page", "hold", "ledger", "endpoint", "request", "connect", "question", "approval", "replay", "look-up", "settle", "close"} {
		if !stages[stage] {
			t.Errorf("the timeline has no %s", stage)
		}
	}
	if n := b.search(keys, b.home); n < 4 {
		t.Errorf("only %d files were found in the home", n)
	}
	for name, text := range map[string]string{
		"the events": p.stdout.String(), "standard error": p.stderr.String(), "the screen": u.screen.String(),
		"the Company's output": b.company.told(), "ledger export": b.run(0, "ledger", "export"),
		"ledger show": b.run(0, "ledger", "show", p.event("sighting", 1).text("round")), "identity show": b.run(0, "identity", "show", "--json"),
		"the Company's report": b.rawReport(),
	} {
		if found := secretIn([]byte(text), keys); found != "" {
			t.Errorf("%s holds %s", name, found)
		}
	}
}

// privateKeys are the private numbers of the home's identity, in the ways they could be written.
func privateKeys(t *testing.T, b *bench) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.home, "identity", "identity.json"))
	if err != nil {
		t.Fatal(err)
	}
	var found [][]byte
	for _, m := range regexp.MustCompile(`"d": ?"([A-Za-z0-9_-]{40,})"`).FindAllSubmatch(data, -1) {
		raw, err := base64.RawURLEncoding.DecodeString(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, m[1], raw, []byte(base64.StdEncoding.EncodeToString(raw)), fmt.Appendf(nil, "%x", raw))
	}
	if len(found) == 0 {
		t.Fatal("identity.json has no private key where this test looks for it")
	}
	return found
}

// secretIn says what secret the bytes hold, in UTF-8 or in the UTF-16 that Chromium writes some text in; empty when none.
func secretIn(data []byte, keys [][]byte) string {
	if found := secretInText(data, keys); found != "" {
		return found
	}
	return secretInText(bytes.ReplaceAll(data, []byte{0}, nil), keys)
}

func secretInText(data []byte, keys [][]byte) string {
	for _, k := range keys {
		if bytes.Contains(data, k) {
			return "a private key"
		}
	}
	for _, token := range jwt.FindAll(data, -1) {
		head, _, _ := bytes.Cut(token, []byte("."))
		text, err := base64.RawURLEncoding.DecodeString(string(head))
		var header struct {
			Type string `json:"typ"`
		}
		if err == nil && json.Unmarshal(text, &header) == nil && strings.HasPrefix(header.Type, "poppy-") {
			return "a " + header.Type
		}
	}
	return ""
}

// search looks for secrets in every file under dir but the key file, and returns how many it looked at.
func (b *bench) search(keys [][]byte, dir string) int {
	b.t.Helper()
	n := 0
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || path == filepath.Join(b.home, "identity", "identity.json") {
			return nil // Chromium makes and removes files while we look
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		n++
		if found := secretIn(data, keys); found != "" {
			b.t.Errorf("%s holds %s", path, found)
		}
		return nil
	})
	return n
}

// environmentIsClean looks at the command lines and environments of the test's processes, which others can list.
func (b *bench) environmentIsClean(keys [][]byte) {
	b.t.Helper()
	for pid, command := range processes(b.tmp) {
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // a process may end at any moment
		if found := secretIn(append([]byte(command), environment...), keys); found != "" {
			b.t.Errorf("process %d shows %s", pid, found)
		}
		if strings.Contains(command, "--user-data-dir=") && (strings.Contains(string(environment), "PAPAVER_HOME") || strings.Contains(command, b.home)) {
			b.t.Errorf("Chromium (process %d) is told where the home is", pid)
		}
	}
}

func (b *bench) rawReport() string {
	b.t.Helper()
	res, err := http.Get(b.ready.Control + "/report")
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// The search finds what it looks for.
func TestTheSearchForSecretsFindsThem(t *testing.T) {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	wide := func(s string) string { return strings.Join(strings.Split(s, ""), "\x00") + "\x00" } // UTF-16
	session := part(`{"alg":"ES256","typ":"poppy-session+jwt"}`) + "." + part(`{"iss":"https://agent.test"}`) + "." + part("signature")
	for text, want := range map[string]string{
		"a " + session + " z":         "a poppy-session+jwt",
		wide(session):                 "a poppy-session+jwt",
		"kid of a key 0123456789abcd": "a private key",
		part(`{"alg":"ES256","typ":"JWT"}`) + "." + part("payload--") + "." + part("signature"): "",
		"nothing": "",
	} {
		if got := secretIn([]byte(text), [][]byte{[]byte("0123456789abcd")}); got != want {
			t.Errorf("in %q %q was found, want %q", text, got, want)
		}
	}
}
