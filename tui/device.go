package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"
)

const (
	// stopTimeout is how long a UI that ended waits for its last commands to notice.
	stopTimeout = time.Second
	// stallLimit is how long one write to the terminal may take before we say that the User saw an old screen.
	stallLimit = 50 * time.Millisecond

	pasteMarksOn, pasteMarksOff = "\x1b[?2004h", "\x1b[?2004l"
)

// OpenTerminal opens the process's controlling terminal for both directions. Without one the error is ErrNoTerminal.
func OpenTerminal() (*os.File, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	return f, nil
}

// Capabilities reads what the terminal can show from NO_COLOR, TERM and the locale, through getenv (os.Getenv, say).
func Capabilities(getenv func(string) string) (color, unicode, title bool) {
	terminal := getenv("TERM")
	color = getenv("NO_COLOR") == "" && terminal != "" && terminal != "dumb"
	title = terminal != "" && terminal != "dumb" && terminal != "linux"
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToUpper(v)
			return color, strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8"), title
		}
	}
	return color, false, title
}

// device is the terminal while a UI has it. It notices a hang-up and a stalled screen, turns signals into an end, and
// owns every goroutine of the UI's commands. Bubble Tea sees it as an ordinary terminal file.
type device struct {
	*os.File
	now func() time.Time
	// ctx ends with the UI. It is kept here because Bubble Tea's commands have no context of their own.
	ctx context.Context
	end context.CancelCauseFunc

	signals chan os.Signal
	watcher sync.WaitGroup

	on, off string      // what dress and undress send
	before  *term.State // the terminal's own

	pen     sync.Mutex // who writes; also held while another program has the terminal
	mu      sync.Mutex
	writing time.Time // when the write began that is under way; zero when none is
	stalled time.Time // when the last write ended that took longer than stallLimit
	stopped bool      // no command may begin any more
	work    sync.WaitGroup
}

func newDevice(ctx context.Context, terminal *os.File, now func() time.Time) *device {
	d := &device{File: terminal, now: now, signals: make(chan os.Signal, 1)}
	d.ctx, d.end = context.WithCancelCause(ctx)
	signal.Notify(d.signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	d.watcher.Go(func() {
		select {
		case s := <-d.signals:
			if s == syscall.SIGHUP {
				d.end(ErrHangUp)
			} else {
				d.end(ErrInterrupted)
			}
		case <-d.ctx.Done():
		}
	})
	return d
}

// close releases everything but the terminal itself.
func (d *device) close() {
	signal.Stop(d.signals)
	d.end(nil)
	d.watcher.Wait()
}

// Read implements io.Reader. Bubble Tea stops reading without a word when a terminal is closed; we end the UI.
func (d *device) Read(b []byte) (int, error) {
	n, err := d.File.Read(b)
	if n == 0 || err != nil {
		d.end(ErrHangUp)
	}
	return n, err
}

// Write implements io.Writer and keeps the time it took: a key pressed while the screen stood still was pressed on
// what was there before.
func (d *device) Write(b []byte) (int, error) {
	d.pen.Lock()
	defer d.pen.Unlock()
	d.mu.Lock()
	d.writing = d.now()
	d.mu.Unlock()
	n, err := d.File.Write(b)
	d.mu.Lock()
	if now := d.now(); now.Sub(d.writing) > stallLimit {
		d.stalled = now
	}
	d.writing = time.Time{}
	d.mu.Unlock()
	if errors.Is(err, syscall.EIO) {
		d.end(ErrHangUp)
	}
	return n, err
}

// WriteString implements io.StringWriter; without it io.WriteString would go past Write.
func (d *device) WriteString(s string) (int, error) { return d.Write([]byte(s)) }

// stood returns the last moment at which the screen is known to have stood still, zero if it never did.
func (d *device) stood(now time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.writing.IsZero() && now.Sub(d.writing) > stallLimit {
		return now
	}
	return d.stalled
}

// do makes f a command whose goroutine stopWork waits for. A panic in f ends the UI with an error.
func (d *device) do(f func(context.Context) tea.Msg) tea.Cmd {
	return func() (msg tea.Msg) {
		d.mu.Lock()
		if d.stopped {
			d.mu.Unlock()
			return nil
		}
		d.work.Add(1)
		d.mu.Unlock()
		defer d.work.Done()
		defer catch(d.end)
		return f(d.ctx)
	}
}

// after is a command that gives msg when wait has passed, or nothing when the UI ends before.
func (d *device) after(wait time.Duration, msg tea.Msg) tea.Cmd {
	return d.do(func(ctx context.Context) tea.Msg {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			return msg
		case <-ctx.Done():
			return nil
		}
	})
}

// stopWork lets no further command begin and waits for those under way, at most stopTimeout.
func (d *device) stopWork() {
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	d.end(nil)
	done := make(chan struct{})
	go func() { // ends with the last command; only a feed that ignores its context can hold it
		defer close(done)
		d.work.Wait()
	}()
	select {
	case <-done:
	case <-time.After(stopTimeout):
	}
}

// run runs a program until it ends by itself (nil) or d's context ends (its cause). The program is told to quit, not
// killed: a killed one closes what its reader still waits on.
func (d *device) run(m tea.Model) error {
	program := tea.NewProgram(m, tea.WithInput(d), tea.WithOutput(d), tea.WithoutSignalHandler(), tea.WithoutRenderer())
	d.hand(program)
	d.watcher.Go(func() {
		<-d.ctx.Done()
		kill := time.AfterFunc(stopTimeout, program.Kill)
		defer kill.Stop()
		program.Quit()
	})
	_, err := program.Run()
	cause := context.Cause(d.ctx)
	d.stopWork()
	switch {
	case cause != nil:
		return cause
	case err != nil:
		return fmt.Errorf("terminal: %w", err)
	default:
		return nil
	}
}

func (d *device) width() int {
	w, _, err := term.GetSize(d.Fd())
	if err != nil || w < minWidth {
		return 80
	}
	return w
}

// size is a command that tells how large the terminal is.
func (d *device) size() tea.Cmd {
	return d.do(func(context.Context) tea.Msg { return d.measure() })
}

func (d *device) measure() tea.WindowSizeMsg {
	w, h, err := term.GetSize(d.Fd())
	if err != nil || w == 0 || h == 0 {
		w, h = 80, 24 // a serial line tells no size
	}
	return tea.WindowSizeMsg{Width: w, Height: h}
}

// print writes s as it is.
func (d *device) print(s string) error {
	_, err := io.WriteString(d.File, s)
	return err
}

// guarded is a model whose panic ends the UI with an error and a restored terminal, in place of a stack trace on
// standard output.
type guarded struct {
	tea.Model
	end context.CancelCauseFunc
}

func (g guarded) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = g // also when the model panics: Bubble Tea asks for one more view
	defer catch(g.end)
	_, cmd = g.Model.Update(msg)
	return next, cmd
}

func (g guarded) View() string {
	defer catch(g.end)
	return g.Model.View()
}

func catch(end context.CancelCauseFunc) {
	if r := recover(); r != nil {
		end(fmt.Errorf("the terminal UI broke, nothing was answered by that: %v\n%s", r, debug.Stack()))
	}
}
