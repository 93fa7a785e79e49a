package tui

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/papaver-agent/papaver/attach"
)

// TestMain is this test program or, with childMode set, a process of its own with a UI on its controlling terminal.
func TestMain(m *testing.M) {
	switch mode := os.Getenv(childMode); mode {
	case "":
		os.Exit(m.Run())
	case "1":
		os.Exit(child())
	case "shell":
		os.Exit(shell())
	default:
		os.Exit(askingChild(modes()[mode]))
	}
}

const childMode = "PAPAVER_TUI_TEST_CHILD"

func child() int {
	tty, err := OpenTerminal()
	if errors.Is(err, ErrNoTerminal) {
		return 42
	}
	feed := newFakeFeed()
	feed.views <- attach.View{Tasks: []attach.Task{jacketTask()}}
	err = Run(context.Background(), Config{Feed: feed, Terminal: tty, Unicode: true, UntilDone: true})
	switch {
	case errors.Is(err, ErrInterrupted):
		return 43
	case errors.Is(err, ErrHangUp):
		return 44
	case err != nil:
		return 1
	}
	return 0
}

func exitCode(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func childCommand(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"=1", "TERM=dumb")
	return cmd
}

func TestWithoutAControllingTerminalThereIsNoUI(t *testing.T) {
	cmd := childCommand(t.Context())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd); code != 42 {
		t.Fatalf("exit code %d, want ErrNoTerminal", code)
	}
}

func TestNothingIsAskedOfTheTerminal(t *testing.T) {
	s := newTerminal(t, 80, 24)
	cmd := childCommand(t.Context())
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "CI=") || strings.HasPrefix(v, "TERM=") })
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.slave, s.slave, s.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.waitFor("Exchange the jacket")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exitCode(t, cmd)
	s.wantRestored()
}

func TestSignalsEndTheUIAndRestoreTheTerminal(t *testing.T) {
	for name, tc := range map[string]struct {
		signal syscall.Signal
		code   int
	}{"SIGTERM": {syscall.SIGTERM, 43}, "SIGINT": {syscall.SIGINT, 43}, "SIGHUP": {syscall.SIGHUP, 44}} {
		t.Run(name, func(t *testing.T) {
			s := newTerminal(t, 80, 24)
			cmd := childCommand(t.Context())
			cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, nil // the terminal is reached as the controlling one alone
			cmd.ExtraFiles = []*os.File{s.slave}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			s.waitFor("Exchange the jacket")
			if err := cmd.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, cmd); code != tc.code {
				t.Fatalf("exit code %d, want %d", code, tc.code)
			}
			s.wantRestored()
		})
	}
}
