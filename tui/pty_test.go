package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
)

// ptyTimeout bounds every wait of these tests; a passing test waits far less.
const ptyTimeout = 20 * time.Second

// terminal is a real pseudo-terminal with a screen: what the UI writes is drawn by emulator, which waits and asserts
// look at.
type terminal struct {
	t      testing.TB
	master *os.File
	slave  *os.File
	done   chan struct{} // the reader ended

	mu      sync.Mutex
	screen  *emulator
	sent    *strings.Builder // all that it was sent, when that is recorded
	changed chan struct{}
}

func newTerminal(t testing.TB, w, h uint16) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatalf("open a pseudo-terminal: %v", err)
	}
	master = interruptible(t, master)
	setSize(t, master, w, h)
	term := &terminal{
		t: t, master: master, slave: slave, done: make(chan struct{}), screen: newEmulator(int(w), int(h)), changed: make(chan struct{}),
	}
	go term.read()
	t.Cleanup(func() {
		_ = slave.Close()
		_ = master.Close() // may be closed by the test
		<-term.done
	})
	return term
}

func (s *terminal) read() {
	defer close(s.done)
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.screen.write(buf[:n])
		if s.sent != nil {
			s.sent.Write(buf[:n])
		}
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// wait blocks until the screen satisfies ok, which runs while the screen stands still.
func (s *terminal) wait(what string, ok func(screen string) bool) {
	s.t.Helper()
	deadline := time.NewTimer(ptyTimeout)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		text, changed := s.screen.text(), s.changed
		seen := ok(text)
		s.mu.Unlock()
		if seen {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			s.t.Fatalf("%s: not seen; the screen is\n%s", what, text)
		}
	}
}

// said begins to listen, and returns what waits until text was on the screen since, however short.
func (s *terminal) said() func(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := &strings.Builder{}
	s.sent = sent
	return func(text string) {
		s.t.Helper()
		s.wait(text, func(string) bool { return strings.Contains(sent.String(), text) })
	}
}

func (s *terminal) waitFor(text string) {
	s.t.Helper()
	s.wait(text, func(screen string) bool { return strings.Contains(screen, text) })
}

// answer waits until an answer key counts and presses key until the UI ends, and returns its error.
func (r *running) answer(key string) error {
	r.t.Helper()
	r.pressUntil(key, "a approve", r.ended)
	return r.end()
}

// pressUntil presses key once the screen says when, and again after a while. One press is enough, unless this machine is so busy
// that the screen stood still: then the UI rightly takes the key back (arming.disturb).
func (s *terminal) pressUntil(key, when string, ended chan error) {
	s.t.Helper()
	again := time.NewTicker(3 * quietTime)
	defer again.Stop()
	deadline := time.NewTimer(2 * ptyTimeout)
	defer deadline.Stop()
	pressed := false
	for {
		s.mu.Lock()
		text, changed := s.screen.text(), s.changed
		s.mu.Unlock()
		if !pressed && strings.Contains(text, when) {
			pressed = true
			s.press(key)
		}
		select {
		case <-changed:
		case <-again.C:
			pressed = false
		case err := <-ended:
			ended <- err
			return
		case <-deadline.C:
			s.t.Fatalf("%q was not taken; the screen is\n%s", key, text)
		}
	}
}

func (s *terminal) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.master, keys); err != nil {
		s.t.Fatalf("press %q: %v", keys, err)
	}
}

func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.text()
}

// running is a UI on a pseudo-terminal.
type running struct {
	*terminal
	feed  *fakeFeed
	stop  context.CancelFunc
	ended chan error
}

type runFunc func(context.Context, Config) error

func start(t testing.TB, run runFunc, w, h uint16, untilDone bool) *running {
	t.Helper()
	return startWith(t, run, w, h, untilDone, func(*Config) {})
}

func startWith(t testing.TB, run runFunc, w, h uint16, untilDone bool, configure func(*Config)) *running {
	t.Helper()
	r := &running{terminal: newTerminal(t, w, h), feed: newFakeFeed(), ended: make(chan error, 1)}
	r.feed.onAnswer = func(a approval.Answer) {
		outcome := "refused"
		if a.Approved() {
			outcome = "performed"
		}
		r.feed.views <- attach.View{Tasks: []attach.Task{settledTask(outcome)}}
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	cfg := Config{Feed: r.feed, Terminal: r.slave, Unicode: true, Now: time.Now, UntilDone: untilDone}
	configure(&cfg)
	go func() { r.ended <- run(ctx, cfg) }()
	t.Cleanup(func() { // before the terminal is closed
		stop()
		r.end()
	})
	return r
}

func (r *running) end() error {
	r.t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err
		return err
	case <-time.After(ptyTimeout):
		r.t.Fatalf("the UI did not end; the screen is\n%s", r.text())
		return nil
	}
}

// live gives q a deadline by the real clock.
func live(q attach.Question) attach.Question {
	q.Request.Question.Deadline = time.Now().Add(5 * time.Minute)
	return q
}

func modes() map[string]runFunc { return map[string]runFunc{"full screen": Run, "plain": RunPlain} }

// Clauses: OPS3-5.04, OPS3-5.05, OPS3-5.06
func TestAKeyOnARealTerminalApproves(t *testing.T) {
	for name, run := range modes() {
		t.Run(name, func(t *testing.T) {
			r := start(t, run, 80, 24, true)
			r.press("aaaa\ra") // typed before there was anything to answer
			r.feed.views <- viewOf(live(exchange(t)))
			r.waitFor("stormline.test, calls itself “Stormline Outdoor”")
			r.press("a")
			r.pressSeen(" ", "Papaver asks", `note    ""`) // the line-by-line way drops one that comes before the page was taken
			if err := r.answer("a"); err != nil {
				t.Fatalf("Run: %v", err)
			}
			r.waitFor("✓ performed")
			given := r.feed.given()
			if len(given) != 1 || !given[0].Approved() {
				t.Fatalf("answers: %+v", given)
			}
			r.wantRestored()
		})
	}
}

// Clauses: OPS3-5.06
func TestDOnARealTerminalDoesNotApprove(t *testing.T) {
	r := start(t, Run, 80, 24, true)
	r.feed.views <- viewOf(live(short(t)))
	if err := r.answer("d"); err != nil {
		t.Fatalf("Run: %v", err)
	}
	r.waitFor("not performed: you did not approve")
	if given := r.feed.given(); len(given) != 1 || given[0].Approved() {
		t.Fatalf("answers: %+v", given)
	}
}

// Each of these is followed by `d` once the question counts keys again: only that is the answer.
//
// Clauses: OPS3-5.06
func TestNoOtherBytesOfAKeyboardApprove(t *testing.T) {
	t.Parallel()
	for name, bytes := range map[string]string{
		"Enter": "\r", "line feed": "\n", "Esc": "\x1b", "Alt+a": "\x1ba", "keypad Enter": "\x1bOM", "kitty a": "\x1b[97;1u",
		"kitty a, released": "\x1b[97;1:3u", "modifyOtherKeys a": "\x1b[27;1;97~", "paste": "\x1b[200~a\x1b[201~", "unmarked paste": "a\n", "aa": "aa", "a then space": "a ",
		"mouse": "\x1b[<0;3;3M", "old mouse": "\x1b[M !!", "y": "y", "Ctrl+A": "\x01", "C1 and a": "\xc2\x9ba", "half a character": "\xc3",
		"a with a mark": "a\u0301",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, Run, 80, 24, true)
			r.feed.views <- viewOf(live(short(t)))
			r.waitFor("a approve")
			said := r.said()
			r.press(bytes)
			said("wait a moment")
			if err := r.answer("d"); err != nil {
				t.Fatalf("Run: %v", err)
			}
			if given := r.feed.given(); len(given) != 1 || given[0].Approved() {
				t.Fatalf("answers: %+v", given)
			}
		})
	}
}

func TestAResizeLeavesOneCopyAndStartsTheWaitAgain(t *testing.T) {
	r := start(t, Run, 100, 30, true)
	r.feed.views <- viewOf(live(short(t)))
	r.waitFor("a approve")
	for _, size := range [][2]uint16{{60, 20}, {1, 1}, {120, 40}, {45, 13}, {39, 9}, {80, 24}} {
		r.resize(size[0], size[1])
	}
	r.waitFor("wait a moment")
	r.waitFor("a approve")
	r.wait("one copy of the question", func(screen string) bool {
		return strings.Count(screen, "Papaver asks") == 1 && strings.Count(screen, "Company  ") == 1 && strings.Count(screen, "a approve") == 1
	})
	if given := r.feed.given(); len(given) != 0 {
		t.Fatalf("answers: %+v", given)
	}
	r.stop()
	if err := r.end(); !errors.Is(err, context.Canceled) {
		t.Fatalf("Run: %v, want context.Canceled", err)
	}
}

func TestAClosedTerminalEndsTheUIAndAnswersNothing(t *testing.T) {
	for name, run := range modes() {
		t.Run(name, func(t *testing.T) {
			r := start(t, run, 80, 24, true)
			r.feed.views <- viewOf(live(short(t)))
			r.waitFor("Trail Jacket")
			if err := r.master.Close(); err != nil {
				t.Fatal(err)
			}
			if err := r.end(); !errors.Is(err, ErrHangUp) {
				t.Fatalf("Run: %v, want ErrHangUp", err)
			}
			if given := r.feed.given(); len(given) != 0 {
				t.Fatalf("answers: %+v", given)
			}
		})
	}
}

func TestTheEndOfTheContextRestoresTheTerminal(t *testing.T) {
	for name, run := range modes() {
		t.Run(name, func(t *testing.T) {
			r := start(t, run, 80, 24, false)
			r.feed.views <- viewOf(live(short(t)))
			r.waitFor("Trail Jacket")
			r.stop()
			if err := r.end(); !errors.Is(err, context.Canceled) {
				t.Fatalf("Run: %v, want context.Canceled", err)
			}
			r.wantRestored()
		})
	}
}

func TestControlCStopsTheRunAndAnswersNothing(t *testing.T) {
	for name, run := range modes() {
		t.Run(name, func(t *testing.T) {
			r := start(t, run, 80, 24, true)
			r.feed.views <- viewOf(live(short(t)))
			r.waitFor("Trail Jacket")
			r.press("\x03")
			if err := r.end(); !errors.Is(err, ErrInterrupted) {
				t.Fatalf("Run: %v, want ErrInterrupted", err)
			}
			if given := r.feed.given(); len(given) != 0 {
				t.Fatalf("answers: %+v", given)
			}
			r.wantRestored()
		})
	}
}

func TestAPanicRestoresTheTerminalAndAnswersNothing(t *testing.T) {
	r := start(t, func(ctx context.Context, cfg Config) error {
		cfg.Feed = brokenFeed{cfg.Feed}
		return Run(ctx, cfg)
	}, 80, 24, true)
	err := r.end()
	if err == nil || !strings.Contains(err.Error(), "nothing was answered by that") {
		t.Fatalf("Run: %v", err)
	}
	r.wantRestored()
}

type brokenFeed struct{ Feed }

func (brokenFeed) Next(context.Context) (attach.View, error) { panic("a fault of ours") }

func TestAFeedThatEndsEndsTheUI(t *testing.T) {
	gone := errors.New("the process went away")
	r := start(t, func(ctx context.Context, cfg Config) error {
		cfg.Feed = endedFeed{cfg.Feed, gone}
		return Run(ctx, cfg)
	}, 80, 24, false)
	if err := r.end(); !errors.Is(err, gone) {
		t.Fatalf("Run: %v, want the feed's error", err)
	}
	r.wantRestored()
}

type endedFeed struct {
	Feed
	err error
}

func (f endedFeed) Next(context.Context) (attach.View, error) { return attach.View{}, f.err }
