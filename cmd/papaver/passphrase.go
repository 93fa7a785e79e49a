package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/tui"
)

// passphraseTries is how often a passphrase is asked for, when it was wrong.
const passphraseTries = 3

// hiddenPrompt asks on the controlling terminal, without echo: for the home's passphrase, and for the secrets of a flow. There is
// no other way to give them: what stands in a file, a variable or a pipe, a program that runs as the User could read.
type hiddenPrompt struct {
	terminal *os.File
	answers  *answers
}

func newHiddenPrompt() (*hiddenPrompt, error) {
	terminal, err := tui.OpenTerminal()
	if err != nil {
		return nil, &trouble.Error{What: "the passphrase is asked for on a terminal, and there is none", Done: "nothing", Undone: "the home's lock was not opened", Next: "run it on a terminal"}
	}
	return &hiddenPrompt{terminal: terminal, answers: newAnswers(terminal)}, nil
}

func (p *hiddenPrompt) close() {
	p.answers.close()
	_ = p.terminal.Close()
}

// once reads one line.
func (p *hiddenPrompt) once(ctx context.Context, prompt string) (secret.Text, error) {
	restore, err := withoutEcho(p.terminal)
	if err != nil {
		return secret.Text{}, err
	}
	defer restore()
	fmt.Fprint(p.terminal, prompt)
	line, err := p.answers.line(ctx)
	defer clear(line)
	return secret.New(string(line)), err
}

// twice reads a new passphrase, which must be typed twice alike.
func (p *hiddenPrompt) twice(ctx context.Context, prompt string) (secret.Text, error) {
	for range passphraseTries {
		first, err := p.once(ctx, prompt)
		if err != nil {
			return secret.Text{}, err
		}
		if len(first.Reveal()) < lock.MinPassphrase {
			fmt.Fprintln(p.terminal, "It is too short.")
			continue
		}
		again, err := p.once(ctx, "The same once more: ")
		if err != nil {
			return secret.Text{}, err
		}
		if first.Reveal() == again.Reveal() {
			return first, nil
		}
		fmt.Fprintln(p.terminal, "The two differ.")
	}
	return secret.Text{}, &trouble.Error{What: "no passphrase was set", Done: "nothing", Undone: "the lock is as it was", Next: "try again"}
}

// open opens the home's lock; nil when it has none.
func (p *hiddenPrompt) open(ctx context.Context, h home.Home) (*lock.Key, error) {
	l, err := lock.Load(h.Answers())
	if errors.Is(err, lock.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for range passphraseTries {
		passphrase, err := p.once(ctx, "The passphrase of this home: ")
		if err != nil {
			return nil, err
		}
		key, err := l.Open(passphrase)
		switch {
		case err == nil:
			return key, nil
		case errors.Is(err, lock.ErrChanged):
			return nil, &trouble.Error{What: "somebody who doesn't know your passphrase changed this home's lock", Done: "nothing", Undone: "the lock was not opened",
				Next: "trust nothing of this home before you know who; put the file answers/lock.json back from a copy of yours"}
		case !errors.Is(err, lock.ErrPassphrase):
			return nil, err
		}
		fmt.Fprintln(p.terminal, "This passphrase does not open it.")
	}
	return nil, &trouble.Error{What: "this home's lock was not opened", Done: "nothing", Undone: "nothing was begun", Next: "try again with the passphrase that papaver lock set was given"}
}

// homesLock reads the lock of the home dir whenever it is asked.
func homesLock(dir string) func() (lock.Lock, error) {
	return func() (lock.Lock, error) {
		h, err := home.Open(dir)
		if err != nil {
			return lock.Lock{}, err
		}
		return lock.Load(h.Answers())
	}
}

// addForgetAfter adds how long a terminal UI keeps the home's lock open.
func (f *flags) addForgetAfter() *time.Duration {
	return f.Duration("forget-after", tui.ForgetAfter, "at a home with a lock: ask for the passphrase again after this long (`DURATION`) without an answer")
}

// openLock opens the lock of the home dir, asking for the passphrase when it has one. With noInput nothing is asked, and
// the key is nil: who needs it says that the home is locked.
func openLock(ctx context.Context, dir string, noInput bool) (*lock.Key, error) {
	h, err := home.Open(dir)
	if err != nil {
		return nil, err
	}
	if _, err := lock.Load(h.Answers()); errors.Is(err, lock.ErrNone) || noInput {
		return nil, nil
	}
	p, err := newHiddenPrompt()
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.open(ctx, h)
}
