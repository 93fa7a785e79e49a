package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/quietstart"
	"github.com/papaver-agent/papaver/lock"
)

func init() { quietstart.Done() }

var (
	// ErrNoTerminal is returned when there is no controlling terminal: without one nobody is asked.
	ErrNoTerminal = errors.New("there is no controlling terminal")
	// ErrHangUp is returned when the terminal went away. Open questions stay open.
	ErrHangUp = errors.New("the terminal was closed")
	// ErrInterrupted is returned when the User pressed Ctrl+C, or the process got SIGINT or SIGTERM. Open questions
	// stay open.
	ErrInterrupted = errors.New("interrupted")
)

// Feed is where a terminal UI gets what it shows, and where its answers go. Both methods return soon after ctx ends.
type Feed interface {
	// Next blocks until the view changed since the last call and returns it; the first call returns at once.
	Next(ctx context.Context) (attach.View, error)
	// Answer gives an answer to the desk it belongs to, and returns the decision that stands.
	Answer(ctx context.Context, a approval.Answer) (approval.Decision, error)
}

// Config is what a terminal UI needs.
type Config struct {
	// Feed is required.
	Feed Feed
	// Terminal is the controlling terminal, from [OpenTerminal]. Required. The caller closes it after Run.
	Terminal *os.File
	// Lock reads the home's lock, whose key signs the User's answers; [lock.ErrNone] when the home has none. Without it
	// answers are signed with Key alone, if there is one.
	Lock func() (lock.Lock, error)
	// Key is that key, when the lock is open already. The UI forgets it like one that it opened itself.
	Key *lock.Key
	// ForgetAfter is how long the UI keeps the lock open while nothing is answered; [ForgetAfter] when zero.
	ForgetAfter time.Duration
	// Accounts is what the screen of Companies shows and does. Without it the screen is not offered.
	Accounts Accounts
	// History is what the screen of past operations shows. Without it the screen is not offered.
	History History
	// Browse opens a page in the User's own browser; nil where there is none at hand.
	Browse func(ctx context.Context, address string) error
	// Now is the wall clock; time.Now when nil.
	Now func() time.Time
	// Color, Unicode and Title say what the terminal can show; see [Capabilities]. The window's title says how many
	// questions wait.
	Color, Unicode, Title bool
	// Bell rings the terminal's bell when a question comes.
	Bell bool
	// UntilDone ends the UI by itself when all the tasks it shows have ended, and leaves the last screen standing in
	// the terminal: the way of `run` and `demo`. Without it the UI stays until the User leaves it.
	UntilDone bool
}

func (cfg *Config) check() error {
	switch {
	case cfg.Feed == nil:
		return errors.New("tui: a terminal UI needs a feed")
	case cfg.Terminal == nil:
		return ErrNoTerminal
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return nil
}

// Run shows the full-screen UI until the User leaves it, the tasks have ended (UntilDone), ctx ends, or the terminal
// goes away. However it ends the terminal is restored, and a question that was not answered stays open. It returns
// nil, ErrHangUp, ErrInterrupted, ctx's error or the feed's. Not for concurrent use on one terminal.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	d := newDevice(ctx, cfg.Terminal, cfg.Now)
	defer d.close()
	if err := d.full(cfg.Title); err != nil {
		return fmt.Errorf("set the terminal to a full screen: %w", err)
	}
	m := newModel(cfg, d)
	err := d.run(guarded{&drawing{model: m}, d.end})
	d.undress() // what is printed below stays
	if err != nil {
		return err
	}
	if m.ending != nil {
		return m.ending
	}
	if cfg.UntilDone {
		return d.print(m.lastScreen(d.width()))
	}
	return nil
}

// RunPlain asks line by line, without a full screen, under the same rules as [Run]: terms are shown whole first, page
// by page, and one key pressed after a quiet moment answers. Stages are printed as lines as they happen. It returns
// what [Run] returns.
func RunPlain(ctx context.Context, cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	d := newDevice(ctx, cfg.Terminal, cfg.Now)
	defer d.close()
	if err := d.lines(); err != nil {
		return fmt.Errorf("set the terminal to single keys: %w", err)
	}
	defer d.undress()
	m := newPlainModel(cfg, d)
	if err := d.run(guarded{m, d.end}); err != nil {
		return err
	}
	return m.ending
}
