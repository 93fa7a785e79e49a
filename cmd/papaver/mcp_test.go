package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// model is a client of a papaver mcp.
type model struct {
	*process
	stdin   io.Closer
	session *mcp.ClientSession
	said    *output // what the server wrote, byte for byte
}

// model starts papaver mcp and connects a client to it.
func (b *bench) model(flags ...string) *model {
	b.t.Helper()
	args := append([]string{"mcp"}, flags...)
	if b.ready.CACert != "" {
		args = append(args, "--cacert", b.ready.CACert)
	}
	for _, rule := range b.ready.ConnectTo {
		args = append(args, "--connect-to", rule)
	}
	if noSandbox() {
		args = append(args, "--sandbox=false")
	}
	cmd := b.command(args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	fromServer, server := io.Pipe()
	m := &model{stdin: stdin, said: newOutput()}
	m.process = &process{t: b.t, cmd: cmd, stdout: m.said, stderr: newOutput(), ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(m.said, server), m.stderr
	m.begin(func() { _ = server.Close() })
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "model", Version: "1"}, nil)
	if m.session, err = client.Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: stdin}, nil); err != nil {
		b.t.Fatalf("connect: %v\n%s", err, m.told())
	}
	return m
}

// calls calls a tool and returns its texts and its data.
func (m *model) calls(name, args string) (string, map[string]any) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	res, err := m.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", name, err, m.told())
	}
	var text strings.Builder
	for _, c := range res.Content {
		if one, ok := c.(*mcp.TextContent); ok {
			text.WriteString(one.Text + "\n")
		}
	}
	data, _ := res.StructuredContent.(map[string]any)
	return text.String(), data
}

// leaves closes the client, and with it the server: nothing is left of it.
func (m *model) leaves(b *bench) {
	m.t.Helper()
	if err := m.stdin.Close(); err != nil {
		m.t.Error(err)
	}
	m.exits(0)
	for _, line := range bytes.Split(bytes.TrimSpace([]byte(m.said.String())), []byte("\n")) {
		if !json.Valid(line) {
			m.t.Errorf("standard output has a line that is no message: %.200q", line)
		}
	}
	for pid, command := range processes(b.tmp) {
		if strings.Contains(command, "--user-data-dir") {
			m.t.Errorf("a Chromium is left: %d %.200q", pid, command)
		}
	}
	if left := filesIn(filepath.Join(b.home, "run")); len(left) > 0 && !strings.Contains(left[0], "no such file") {
		m.t.Errorf("sockets are left: %q", left)
	}
}

// A model shops, a person in papaver tui of the same home answers, and what the person approved is performed once; what is
// refused, declined or expires is told so, and not performed. Nothing of the join and no secret is in what the model reads. The
// client goes while a question is open: nothing is left.
//
// Clauses: OPS3-5.05, OPS3-5.06
func TestAModelActsAndAPersonApproves(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	keys := privateKeys(t, b)
	u := b.sit(100, 60, nil, "tui")
	papers := uploadFolder(t, b)
	m := b.model(append(uploadSite(b), "--uploads", papers)...)
	if text, data := m.calls("poppy_join", `{"company":"`+b.ready.Company+`"}`); data["status"] != "joined" || data["sid"] == "" {
		t.Fatalf("join: %s", text)
	}
	m.calls("browser_navigate", `{"url":"`+b.ready.Company+`/orders/ord_7Hk2"}`)
	if text, _ := m.calls("browser_snapshot", `{}`); !strings.Contains(text, `button "Exchange" [ref=`) {
		t.Fatalf("snapshot: %s", text)
	}
	m.calls("browser_select_option", `{"target":"#size","values":["L"]}`)
	text, data := m.calls("browser_click", `{"element":"Exchange","target":"#exchange"}`)
	if data["status"] != "waiting_for_user" || !strings.Contains(text, "papaver tui") || !strings.Contains(text, "Exchange") {
		t.Fatalf("click: %v\n%s", data, text)
	}
	b.counted(0, 0)
	for u.sees("a approve|You approved|performed") == "a approve" {
		u.types("a")
	}
	text, data = m.calls("poppy_wait", `{"timeout":40}`)
	if data["status"] != "performed" || !strings.Contains(text, "Insulated") {
		t.Errorf("wait: %v\n%s", data, text)
	}
	b.counted(1, 1)
	requests, _ := m.calls("browser_network_requests", `{"static":true}`)
	if !strings.Contains(requests, "/exchange") || strings.Contains(requests, "browser-session") || strings.Contains(requests, "/poppy/") {
		t.Errorf("requests: %s", requests)
	}
	if _, data := m.calls("poppy_round", `{}`); data["status"] != "performed" {
		t.Errorf("the round: %v", data)
	}

	m.endings(b, u, papers)
	b.counted(1, 1)

	m.calls("poppy_join", `{"company":"`+b.ready.Company+`"}`)
	m.calls("browser_navigate", `{"url":"`+b.ready.Company+`/membership"}`)
	if _, data = m.calls("browser_click", `{"target":"#cancel-membership"}`); data["status"] != "waiting_for_user" {
		t.Fatalf("cancel: %v", data)
	}
	if text, _ := m.calls("browser_navigate", `{"url":"https://example.com/"}`); !strings.Contains(text, "nothing was done now") {
		t.Errorf("a page that waits is left: %s", text)
	}
	m.calls("poppy_join", `{"company":"https://example.com"}`) // another site is free
	if text, data := m.calls("browser_navigate", `{"url":"https://example.com/"}`); data["status"] != "done" {
		t.Errorf("an act at another site: %s", text)
	}
	b.killChromium() // while the question is open
	if text, _ := m.calls("poppy_wait", `{"timeout":40}`); !strings.Contains(text, "The browser has ended") {
		t.Errorf("a wait whose browser is gone: %s", text)
	}
	m.leaves(b)
	b.counted(1, 1)
	for name, text := range map[string]string{"what the model read": m.said.String(), "standard error": m.stderr.String()} {
		if found := secretIn([]byte(text), keys); found != "" {
			t.Errorf("%s holds %s", name, found)
		}
	}
	u.types("q")
	u.types("q")
}

// In a home that nobody has used yet the tools are listed, and a call says what is missing. The end of
// the input ends the server.
func TestMCPListsItsToolsInAnEmptyHome(t *testing.T) {
	t.Parallel()
	b := emptyBench(t)
	m := b.model()
	list, err := m.session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 28 {
		t.Errorf("%d tools, %v", len(list.Tools), err)
	}
	if left := filesIn(b.home); len(left) > 0 && !strings.Contains(left[0], "no such file") {
		t.Errorf("the list made %q", left)
	}
	if text, _ := m.calls("poppy_join", `{"company":"https://nowhere.test"}`); !strings.Contains(text, "Not done: no page was opened") {
		t.Errorf("a call says %q", text)
	}
	m.leaves(b)
	wrong := b.start("mcp", "--connect-to", "shop.test:443:127.0.0.1:1", "--cacert", filepath.Join(b.dir, "none.pem"))
	wrong.exits(1)
	wrong.says("none.pem", "papaver mcp was not started")
	b.start("mcp").exits(0) // at the end of its input
	ended := b.model()
	ended.signal(syscall.SIGTERM) // while it waits for its input
	ended.exits(130)
}

// No folder of --uploads leads to the home, by whatever path.
func TestUploadFoldersNeverHoldTheHome(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, papers := filepath.Join(dir, "home"), filepath.Join(dir, "papers")
	for _, folder := range []string{filepath.Join(home, "identity"), papers} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(home, "identity"), link); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{home, filepath.Join(home, "identity"), dir, "/", link, filepath.Join(papers, "..", "home"), filepath.Join(dir, "gone")} {
		if got, err := uploadFolders([]string{folder}, home); err == nil {
			t.Errorf("%s is allowed as %q", folder, got)
		}
	}
	if got, err := uploadFolders([]string{papers}, home); err != nil || len(got) != 1 || got[0] != papers {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := uploadFolders([]string{papers}, filepath.Join(papers, "not", "yet")); err == nil {
		t.Error("a folder around a home that is not made yet is allowed")
	}
}
