package agenttest

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/tui"
)

// Question is what a User is asked.
type Question struct {
	Company string // its domain
	Act     string // what the agent did, in words; empty when no act explains the question
	Summary string // the Company's own
	Terms   json.RawMessage
	// Differences are what the UI shows of act, summary and terms that do not fit each other.
	Differences []string
}

// Key is what a User presses at a question.
type Key string

// The keys. Leave is none: the question stays open.
const (
	KeyApprove Key = "a"
	KeyRefuse  Key = "d"
	Leave      Key = ""
)

// Approve is a User who approves everything.
func Approve(Question) Key { return KeyApprove }

// Refuse is a User who approves nothing.
func Refuse(Question) Key { return KeyRefuse }

const (
	again      = time.Second // until a key that did not count is pressed again
	maxScreen  = 1 << 20     // bytes of the terminal's text that are kept
	offersKeys = "a approve" // what the UI prints when a key counts
)

// User sits at the terminal UI of a site's home.
type User struct {
	keyboard *os.File

	mu      sync.Mutex
	screen  strings.Builder // since the last question
	changed chan struct{}
}

// User has a scripted User answer the questions of the home, those of agents that start later included: decide says which key
// they press. The keys are pressed in a pseudo-terminal, in the terminal UI that prints line by line. A question about an
// operation that is not the site's is not shown to them, and is an error of t. The User leaves when the test ends.
func (s *Site) User(t testing.TB, decide func(Question) Key) *User {
	t.Helper()
	keyboard, terminal, err := pty.Open()
	if err != nil {
		t.Fatalf("agenttest: a pseudo-terminal: %v", err)
	}
	// So many lines hold every question whole.
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 5000, Cols: 100}); err != nil {
		t.Fatalf("agenttest: a pseudo-terminal: %v", err)
	}
	client, err := attach.Watch(t.Context(), s.home.Run(), "")
	if err != nil {
		t.Fatalf("agenttest: %v", err)
	}
	u := &User{keyboard: keyboard, changed: make(chan struct{})}
	asks := make(chan pressed)
	f := &feed{Client: client, asked: s.Asked, decide: decide, errorf: t.Errorf, shown: u.ask, asks: asks, left: make(map[approval.RequestID]bool)}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var reading, sitting sync.WaitGroup
	reading.Go(u.read)
	sitting.Go(func() { u.press(ctx, asks) })
	sitting.Go(func() {
		err := tui.RunPlain(ctx, tui.Config{Feed: f, Terminal: terminal, Unicode: true})
		if err != nil && ctx.Err() == nil {
			t.Errorf("agenttest: the terminal UI ended: %v; it showed\n%s", err, u.Screen())
		}
	})
	t.Cleanup(func() {
		stop()
		sitting.Wait()
		_ = terminal.Close()
		reading.Wait() // the last side of the terminal is closed, so its reading has ended
		_ = keyboard.Close()
		client.Close()
	})
	return u
}

// Screen is what the terminal has shown since the last question came, without control sequences.
func (u *User) Screen() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return ansi.Strip(strings.ReplaceAll(u.screen.String(), "\r", ""))
}

// ask begins a new question: what was on the screen before says nothing of it.
func (u *User) ask() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.screen.Reset()
}

func (u *User) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := u.keyboard.Read(buffer)
		u.mu.Lock()
		if u.screen.Len() < maxScreen {
			u.screen.Write(buffer[:n])
		}
		close(u.changed)
		u.changed = make(chan struct{})
		u.mu.Unlock()
		if err != nil {
			return // a pseudo-terminal whose other side is closed reads as an I/O error
		}
	}
}

// press presses the key of each question, until ctx ends.
func (u *User) press(ctx context.Context, asks <-chan pressed) {
	for {
		select {
		case p := <-asks:
			u.pressUntil(ctx, p)
		case <-ctx.Done():
			return
		}
	}
}

// pressUntil presses a key as a person would: when the UI says that keys count, and again when it did not count.
func (u *User) pressUntil(ctx context.Context, p pressed) {
	ticker := time.NewTicker(again)
	defer ticker.Stop()
	for done := false; ; {
		u.mu.Lock()
		changed := u.changed
		u.mu.Unlock()
		if !done && strings.Contains(u.Screen(), offersKeys) {
			done = true
			_, _ = io.WriteString(u.keyboard, string(p.key)) // a terminal that is gone ends the UI, which says so
		}
		select {
		case <-changed:
		case <-ticker.C:
			done = false
		case <-p.over:
			return
		case <-ctx.Done():
			return
		}
	}
}
