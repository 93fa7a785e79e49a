package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// patience bounds every wait of these tests. A passing test waits far less.
const patience = 45 * time.Second

// output is what a process wrote so far, for those who wait for something in it. Safe for concurrent use.
type output struct {
	mu      sync.Mutex
	data    []byte
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.data = append(o.data, p...)
	close(o.changed)
	o.changed = make(chan struct{})
	return len(p), nil
}

func (o *output) now() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.data), o.changed
}

// String is all of it.
func (o *output) String() string {
	text, _ := o.now()
	return text
}

// await blocks until ok is satisfied with what was written, and reports whether it was. After the process has ended
// nothing more comes.
func (o *output) await(ended <-chan struct{}, ok func(text string) bool) bool {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		text, changed := o.now()
		if ok(text) {
			return true
		}
		select {
		case <-changed:
		case <-ended:
			return ok(o.String())
		case <-deadline.C:
			return false
		}
	}
}

// process is a running papaver.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *output
	stderr *output
	ended  chan struct{}
}

// command is papaver with args, in an environment of its own.
func (b *bench) command(args ...string) *exec.Cmd {
	b.t.Helper()
	bin, err := exec.LookPath("papaver")
	if err != nil {
		b.t.Fatal(err)
	}
	path := os.Getenv("PATH")
	if b.path != "" {
		path = b.path
	}
	cmd := exec.Command(bin, args...)
	cmd.Env = []string{
		"PATH=" + path, "HOME=" + b.dir, "PAPAVER_HOME=" + b.home, "TMPDIR=" + b.tmp, "TERM=xterm", "LANG=C.UTF-8",
	}
	if b.dies != "" {
		cmd.Env = append(cmd.Env, dieEnv+"="+b.dies)
	}
	cmd.WaitDelay = patience
	return cmd
}

// start runs papaver without a terminal.
func (b *bench) start(args ...string) *process {
	b.t.Helper()
	cmd := b.command(args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no controlling terminal, wherever the tests run
	p := &process{t: b.t, cmd: cmd, stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	p.begin(func() {})
	return p
}

// begin starts the process and makes sure that it ends with the test.
func (p *process) begin(after func()) {
	p.t.Helper()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { // ends with the process, which the clean-up ends
		defer close(p.ended)
		_ = p.cmd.Wait() // the status is in ProcessState
		after()
	}()
	p.t.Cleanup(func() {
		select {
		case <-p.ended:
			return
		default:
		}
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.ended:
		case <-time.After(patience):
			p.t.Errorf("papaver %v did not end on SIGTERM", p.cmd.Args[1:])
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
	})
}

// signal sends a signal.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// exits waits for the end and checks the exit status.
func (p *process) exits(want int) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("papaver %v did not end\n%s", p.cmd.Args[1:], p.told())
	}
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		p.t.Errorf("exit status %d, want %d\n%s", got, want, p.told())
	}
}

func (p *process) told() string {
	return "stdout:\n" + ansi.Strip(p.stdout.String()) + "\nstderr:\n" + ansi.Strip(p.stderr.String())
}

// says checks what stands on standard error.
func (p *process) says(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.stderr.String(), text) {
			p.t.Errorf("standard error does not say %q\n%s", text, p.told())
		}
	}
}

// event is a line of --json.
type event map[string]any

func (e event) name() string { s, _ := e["event"].(string); return s }

// text is a member that is a string.
func (e event) text(member string) string { s, _ := e[member].(string); return s }

// readEvents decodes the whole lines of --json.
func readEvents(t *testing.T, text string) []event {
	t.Helper()
	var events []event
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("a line of --json is no JSON object: %v: %q", err, line)
		}
		events = append(events, e)
	}
	return events
}

// event waits for the nth event (from 1) of that name.
func (p *process) event(name string, nth int) event {
	p.t.Helper()
	var found event
	if !p.stdout.await(p.ended, func(text string) bool {
		n := 0
		for _, e := range readEvents(p.t, text) {
			if e.name() == name {
				if n++; n == nth {
					found = e
					return true
				}
			}
		}
		return false
	}) {
		p.t.Fatalf("no event %q number %d came\n%s", name, nth, p.told())
	}
	return found
}

// events are all events of that name, or all when it is empty.
func (p *process) events(name string) []event {
	p.t.Helper()
	var list []event
	for _, e := range readEvents(p.t, p.stdout.String()) {
		if name == "" || e.name() == name {
			list = append(list, e)
		}
	}
	return list
}

// plainText is what a terminal got, without control sequences.
func plainText(screen string) string { return ansi.Strip(screen) }

// user is a person at a pseudo-terminal in which papaver runs.
type user struct {
	*process
	keyboard *os.File
	screen   *output // what was drawn, control sequences and all
	seen     int     // how much of the screen's text was looked at
}

// sit runs papaver in a terminal of that size. With a file, standard output goes there and not to the terminal.
func (b *bench) sit(columns, rows uint16, file *os.File, args ...string) *user {
	b.t.Helper()
	keyboard, terminal, err := pty.Open()
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = terminal.Close() }()
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		b.t.Fatal(err)
	}
	cmd := b.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	u := &user{keyboard: keyboard, screen: newOutput()}
	u.process = &process{t: b.t, cmd: cmd, stdout: newOutput(), stderr: u.screen, ended: make(chan struct{})}
	if file != nil {
		cmd.Stdout = file
	}
	reading := make(chan struct{})
	go func() { // ends when the last side of the terminal is closed: ours below, the process's with it
		defer close(reading)
		buf := make([]byte, 8192)
		for {
			n, err := keyboard.Read(buf)
			_, _ = u.screen.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	u.begin(func() { <-reading })
	b.t.Cleanup(func() { _ = keyboard.Close() })
	return u
}

// sees waits until the pattern is drawn after what was looked at before, and returns what matched.
func (u *user) sees(pattern string) string {
	u.t.Helper()
	re := regexp.MustCompile(pattern)
	match := ""
	if !u.screen.await(u.ended, func(text string) bool {
		text = ansi.Strip(text)
		at := re.FindStringIndex(text[min(u.seen, len(text)):])
		if at == nil {
			return false
		}
		match = text[u.seen+at[0] : u.seen+at[1]]
		u.seen += at[1]
		return true
	}) {
		u.t.Fatalf("%q was not shown; the terminal got\n%s", pattern, ansi.Strip(u.screen.String()))
	}
	return match
}

// types presses keys at once.
func (u *user) types(keys string) {
	u.t.Helper()
	if _, err := u.keyboard.WriteString(keys); err != nil {
		u.t.Fatal(err)
	}
}

// answers presses a or d when the screen says that it counts, until p, a run with --json, has the answer. A screen that
// was late makes the key not count, and says so again.
func (u *user) answers(p *process, key string) {
	u.t.Helper()
	before := len(p.events("answer"))
	for range 20 {
		u.sees("a approve")
		u.types(key)
		if u.sooner(p, before) {
			return
		}
	}
	u.t.Fatalf("the key %q was never taken as an answer", key)
}

// sooner waits for the next answer of p, or for a screen on which a key counts again, and reports whether the answer
// came first.
func (u *user) sooner(p *process, before int) bool {
	u.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		_, events := p.stdout.now()
		if len(p.events("answer")) > before {
			return true
		}
		text, drawn := u.screen.now()
		text = ansi.Strip(text)
		if strings.Contains(text[min(u.seen, len(text)):], "a approve") {
			return false
		}
		select {
		case <-events:
		case <-drawn:
		case <-deadline.C:
			u.t.Fatalf("no answer came\n%s\nthe terminal got\n%s", p.told(), text)
		}
	}
}

// run runs papaver to its end without a terminal and returns its standard output.
func (b *bench) run(status int, args ...string) string {
	b.t.Helper()
	p := b.start(args...)
	p.exits(status)
	return p.stdout.String()
}
