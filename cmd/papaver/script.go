package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

const (
	scriptTimeout = 2 * time.Minute // the whole scripted round
	quietKeys     = time.Second     // longer than an answer's quiet time: a key pressed earlier does not count
	maxPresses    = 20
	maxScreenLine = 64 << 10 // bytes
)

// playScripted runs the agent in a pseudo-terminal of its own, prints what it shows as plain text, and presses the key
// that approves when the question was shown whole. Only runDemo calls it, with the Company of its own process.
func playScripted(ctx context.Context, e env, words io.Writer, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, scriptTimeout)
	defer cancel()
	cmd := agentCommand(ctx, e, args)
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1", "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
	keyboard, screen, err := pty.Open()
	if err != nil {
		return fmt.Errorf("a pseudo-terminal: %w", err)
	}
	defer func() { _ = keyboard.Close() }()
	if err := pty.Setsize(screen, &pty.Winsize{Rows: 100, Cols: 100}); err != nil {
		return errors.Join(fmt.Errorf("a pseudo-terminal: %w", err), screen.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true

	asked, answered := make(chan struct{}), make(chan struct{})
	shown := make(chan error, 1)
	go func() { shown <- showScreen(words, keyboard, asked, answered) }()
	pressing := make(chan struct{})
	go func() {
		defer close(pressing)
		press(ctx, keyboard, asked, answered)
	}()

	err = runChild(cmd)
	_ = screen.Close()
	showErr := <-shown // the last side of the terminal is closed, so its reading ends
	cancel()
	<-pressing
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit
	}
	return errors.Join(err, showErr)
}

// showScreen copies the terminal's text to w until the terminal is closed, and tells when the question was shown whole
// and when it was answered.
func showScreen(w io.Writer, terminal io.Reader, asked, answered chan<- struct{}) error {
	lines := bufio.NewScanner(terminal)
	lines.Buffer(nil, maxScreenLine)
	for lines.Scan() {
		line := strings.TrimRight(ansi.Strip(strings.ReplaceAll(lines.Text(), "\r", "")), " ")
		if _, err := fmt.Fprintln(w, line); err != nil {
			w = io.Discard // the round goes on when nobody reads any more
		}
		switch {
		case asked != nil && strings.Contains(line, "An answer counts after"):
			close(asked)
			asked = nil
		case answered != nil && strings.Contains(line, "You approved."):
			close(answered)
			answered = nil
		}
	}
	// A pseudo-terminal whose other side is closed reads as an I/O error.
	if err := lines.Err(); err != nil && !errors.Is(err, syscall.EIO) {
		return err
	}
	return nil
}

// press presses the key that approves as a person would: after the question was shown, and again when it did not count.
func press(ctx context.Context, keyboard io.Writer, asked, answered <-chan struct{}) {
	select {
	case <-asked:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(quietKeys)
	defer ticker.Stop()
	for range maxPresses {
		select {
		case <-ticker.C:
		case <-answered:
			return
		case <-ctx.Done():
			return
		}
		if _, err := keyboard.Write([]byte("a")); err != nil {
			return
		}
	}
}
