package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/papaver-agent/papaver/examples"
	"github.com/papaver-agent/papaver/testsite"
)

// bench is a home and, with atCompany, the bundled Company as a process of its own, for one test.
type bench struct {
	t    *testing.T
	dir  string // of this test alone
	home string
	tmp  string // TMPDIR of its processes; empty again at the end
	dies string // where its processes die, see deaths
	path string // PATH of its processes, when it is another one than ours

	company *process
	ready   siteReady
}

// newBench makes a home with an identity in it.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := emptyBench(t)
	b.run(0, "identity", "init", "--client-id", "https://agent.test/agent.json", "--name", "Test agent")
	return b
}

// emptyBench has a home that nobody has used yet.
func emptyBench(t *testing.T) *bench {
	t.Helper()
	dir := shortDir(t)
	b := &bench{t: t, dir: dir, home: filepath.Join(dir, "home"), tmp: filepath.Join(dir, "t")}
	if err := os.Mkdir(b.tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left := leftIn(b.tmp); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
		if left := filesIn(filepath.Join(b.home, "run")); len(left) > 0 && !strings.Contains(left[0], "no such file") {
			t.Errorf("left in the home's run folder: %q", left)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return b
}

// shortDir makes a folder with a shorter name than those of t.TempDir and os.MkdirTemp, for Chromium's sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	for n := 0; ; n++ {
		dir := filepath.Join(os.TempDir(), "b"+strconv.Itoa(n))
		if err := os.Mkdir(dir, 0o700); err == nil {
			return dir
		} else if !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
}

// atCompany is a bench with a Company that knows the home's agent.
func atCompany(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.company = b.start("site", "--control", "127.0.0.1:0", "--agent-dir", filepath.Join(b.home, "identity", "public"))
	if !b.company.stdout.await(b.company.ended, func(text string) bool { return strings.HasSuffix(text, "\n") }) {
		t.Fatalf("papaver site is not ready\n%s", b.company.told())
	}
	if err := json.Unmarshal([]byte(b.company.stdout.String()), &b.ready); err != nil {
		t.Fatal(err)
	}
	return b
}

// flow is a file of an example.
func (b *bench) flow(name string) string {
	b.t.Helper()
	data, err := examples.Flows.ReadFile(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.file(name, string(data))
}

// file writes a file of the test.
func (b *bench) file(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// task is the command line of a run at the Company.
func (b *bench) task(flow string, flags ...string) []string {
	args := []string{"run", flow, "--company", b.ready.Company, "--cacert", b.ready.CACert}
	for _, rule := range b.ready.ConnectTo {
		args = append(args, "--connect-to", rule)
	}
	if noSandbox() {
		args = append(args, "--sandbox=false")
	}
	return append(args, flags...)
}

// tell sets a switch of the Company, written NAME?FORM.
func (b *bench) tell(call string) {
	b.t.Helper()
	name, form, _ := strings.Cut(call, "?")
	values, err := url.ParseQuery(form)
	if err != nil {
		b.t.Fatal(err)
	}
	res, err := http.PostForm(b.ready.Control+"/"+name, values)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		b.t.Fatalf("the switch %s answered %s", call, res.Status)
	}
}

// report is what the Company has seen.
func (b *bench) report() testsite.Report {
	b.t.Helper()
	res, err := http.Get(b.ready.Control + "/report")
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var r testsite.Report
	if err := json.NewDecoder(res.Body).Decode(&r); err != nil {
		b.t.Fatal(err)
	}
	return r
}

// counted checks what the Company counted, and that it saw no broken rule.
func (b *bench) counted(performances, approvals int) {
	b.t.Helper()
	r := b.report()
	if len(r.Performances) != performances || r.Recorded != approvals {
		b.t.Errorf("the Company counts %d performances and %d approvals, want %d and %d", len(r.Performances), r.Recorded, performances, approvals)
	}
	for _, v := range append(r.Broken, r.Notes...) {
		b.t.Errorf("the Company saw a broken rule: %s %s (%s): %s", v.Severity, v.Rule, v.Clause, v.Seen)
	}
}

// rounds is what `ledger list` tells, after `ledger verify` found the ledger intact.
func (b *bench) rounds() []event {
	b.t.Helper()
	if out := b.run(0, "ledger", "verify"); !strings.HasPrefix(out, "intact: ") {
		b.t.Errorf("ledger verify says %q", out)
	}
	return readEvents(b.t, b.run(0, "ledger", "list", "--json"))
}

// killChromium ends the Chromium of this test's papaver, as a crash would.
func (b *bench) killChromium() {
	b.t.Helper()
	n := 0
	for pid, command := range processes(b.tmp) {
		if strings.Contains(command, "--user-data-dir="+b.tmp+"/") && syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	if n == 0 {
		b.t.Fatal("no Chromium of this test runs")
	}
}

// noSandbox says whether Chromium's sandbox can't be had here, as for root.
func noSandbox() bool { return os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0 }
