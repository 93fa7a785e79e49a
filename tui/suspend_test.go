package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
)

// quiet stands in for a test where there is none: in a child.
type quiet struct{ testing.TB }

func (quiet) Helper() {}

// askingChild is a UI of its own process that asks one question. Its exit code says what was answered.
func askingChild(run runFunc) int {
	tty, err := OpenTerminal()
	if err != nil {
		return 42
	}
	feed := newFakeFeed()
	feed.onAnswer = func(approval.Answer) { feed.views <- attach.View{Tasks: []attach.Task{settledTask("refused")}} }
	q := short(quiet{})
	q.Request.Question.Deadline = time.Now().Add(5 * time.Minute)
	feed.views <- viewOf(q)
	err = run(context.Background(), Config{Feed: feed, Terminal: tty, Unicode: true, Title: true, UntilDone: true})
	switch given := feed.given(); {
	case err != nil:
		return 1
	case len(given) == 1 && !given[0].Approved():
		return 50
	default:
		return 2
	}
}

// shell is as much of one as job control needs: it runs the UI in the foreground, says when it was stopped, and brings
// it back after a line.
func shell() int {
	signal.Ignore(syscall.SIGTTOU)
	tty, err := OpenTerminal()
	if err != nil {
		return 42
	}
	foreground := func(group int) error { return unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPGRP, group) }
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+os.Getenv(shellRuns))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: int(tty.Fd())}
	if err := cmd.Start(); err != nil {
		return 1
	}
	line := make([]byte, 100)
	for stops := 1; ; stops++ {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil {
			return 1
		}
		if !status.Stopped() {
			return status.ExitStatus()
		}
		if err := foreground(syscall.Getpgrp()); err != nil {
			return 3
		}
		fmt.Fprintf(tty, "stopped %d %d\r\n", cmd.Process.Pid, stops)
		if _, err := tty.Read(line); err != nil {
			return 4
		}
		if err := errors.Join(foreground(cmd.Process.Pid), syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT)); err != nil {
			return 5
		}
	}
}

const shellRuns = "PAPAVER_TUI_TEST_SHELL_RUNS"

// Clauses: OPS3-5.05
func TestASuspendRestoresTheTerminalAndTheQuestionStartsAgain(t *testing.T) {
	for mode := range modes() {
		t.Run(mode, func(t *testing.T) {
			s := newTerminal(t, 80, 24)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childMode+"=shell", shellRuns+"="+mode, "TERM=xterm")
			cmd.ExtraFiles = []*os.File{s.slave}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := 0
			stops := func(n int) {
				t.Helper()
				s.wait("the shell", func(screen string) bool {
					found := regexp.MustCompile(`stopped (\d+) ` + strconv.Itoa(n)).FindStringSubmatch(screen)
					if found != nil {
						pid, _ = strconv.Atoi(found[1])
					}
					return found != nil
				})
				s.wantRestored()
			}
			backs := func() {
				t.Helper()
				s.press("fg\n")
				s.waitFor(string(noteResumed[:40]))
				s.wait("the keys count again", func(screen string) bool {
					lines := splitLines(strings.TrimRight(screen, "\n"))
					return strings.Contains(strings.Join(lines[max(len(lines)-2, 0):], "\n"), "a approve")
				})
			}
			s.waitFor("a approve")
			s.press("\x1a")
			stops(1)
			backs()
			if err := syscall.Kill(pid, syscall.SIGTSTP); err != nil {
				t.Fatal(err)
			}
			stops(2)
			backs()
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			s.pressUntil("d", "a approve", ended)
			if code := cmd.ProcessState.ExitCode(); code != 50 {
				t.Fatalf("exit code %d, want that of one refusal", code)
			}
			s.wantRestored()
		})
	}
}

func TestAKeyBeforeASuspendIsNoAnswerAfterIt(t *testing.T) {
	b := newBench(t, 80, 24)
	b.show(exchange(t))
	b.toEnd()
	b.pass(time.Second)
	b.wantText("a approve")
	b.press(runes("a"))
	b.send(resumedMsg{})
	b.pass(100 * time.Millisecond)
	b.wantText(string(noteResumed[:40]))
	b.pass(time.Second)
	b.press(runes("a")) // the end is not on the screen any more
	b.pass(time.Second)
	b.wantAnswers()
	b.wantText("scroll to the end to answer")
}
