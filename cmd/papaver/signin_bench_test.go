package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The bundled Company's first account.
const (
	email    = "dana@example.org"
	password = "alpine start 4am"
	oneTime  = "314159"
)

// atCompanyOf is atCompany in a version of the protocol.
func atCompanyOf(t *testing.T, version string) *bench {
	t.Helper()
	b := newBench(t)
	b.company = b.start("site", "--agent-dir", filepath.Join(b.home, "identity", "public"), "--profile", version, "--control", "127.0.0.1:0")
	if !b.company.stdout.await(b.company.ended, func(text string) bool { return strings.HasSuffix(text, "\n") }) {
		t.Fatalf("papaver site is not ready\n%s", b.company.told())
	}
	if err := json.Unmarshal([]byte(b.company.stdout.String()), &b.ready); err != nil {
		t.Fatal(err)
	}
	return b
}

// does has the User, or the Company's operator, do something at the control port.
func (b *bench) does(name string, members map[string]any) map[string]any {
	b.t.Helper()
	data, err := json.Marshal(members)
	if err != nil {
		b.t.Fatal(err)
	}
	res, err := http.Post(b.ready.Control+"/"+name, "application/json", bytes.NewReader(data))
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); res.StatusCode != http.StatusOK || err != nil {
		b.t.Fatalf("%s answered %s: %s", name, res.Status, body)
	}
	return answer
}

// there is a command line about the Company.
func (b *bench) there(command string, flags ...string) []string {
	args := []string{command, b.ready.Company, "--cacert", b.ready.CACert}
	for _, rule := range b.ready.ConnectTo {
		args = append(args, "--connect-to", rule)
	}
	return append(args, flags...)
}

// piped runs papaver without a terminal, with a pipe as its standard input.
func (b *bench) piped(args ...string) (*process, io.WriteCloser) {
	b.t.Helper()
	cmd := b.command(args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	p := &process{t: b.t, cmd: cmd, stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	p.begin(func() {})
	b.t.Cleanup(func() { _ = in.Close() })
	return p, in
}

// signedInBy signs in by one type, with the User at the other end, and returns the last event.
func (b *bench) signedInBy(kind string, flags ...string) event {
	b.t.Helper()
	p, in := b.piped(b.there("signin", append([]string{"--json", "--type", kind}, flags...)...)...)
	switch kind {
	case "device":
		b.does("approve-device", map[string]any{"user_code": p.event("code", 1).text("code")})
	case "direct":
		back := b.does("approve-authorization", map[string]any{"authorization_url": p.event("address", 1).text("url")})
		_, _ = fmt.Fprintln(in, back["callback_url"])
	case "mediated":
		p.event("credentials", 1)
		_, _ = fmt.Fprintf(in, `{"email":%q,"password":%q}`, email, password)
		p.event("one_time_code", 1)
		_, _ = fmt.Fprintf(in, `{"code":%q}`, oneTime)
	}
	p.exits(0)
	return p.event("signed_in", 1)
}

// kept is what `companies` tells of the one Company's sign-ins.
func (b *bench) kept() []event {
	b.t.Helper()
	var k struct {
		SignedIn bool    `json:"signed_in"`
		Accounts []event `json:"accounts"`
	}
	out := b.run(0, "companies", "--json")
	if err := json.Unmarshal([]byte(out), &k); err != nil {
		b.t.Fatalf("companies --json: %v: %q", err, out)
	}
	if k.SignedIn != (len(k.Accounts) > 0) {
		b.t.Errorf("companies says %s", out)
	}
	return k.Accounts
}

func (e event) list(member string) []string {
	var list []string
	values, _ := e[member].([]any)
	for _, v := range values {
		list = append(list, fmt.Sprint(v))
	}
	return list
}

// appears waits until a file is there, and checks what it holds.
func (b *bench) appears(path, want string) {
	b.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		data, err := os.ReadFile(path)
		switch {
		case err == nil && string(data) == want:
			return
		case err == nil:
			b.t.Fatalf("%s holds %q, want %q", path, data, want)
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			b.t.Fatalf("%s does not appear", path)
		}
	}
}
