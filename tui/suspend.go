package tui

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

const (
	// In explicit order a terminal reorders no text that is written from right to left (ECMA-48, BDSM).
	explicitOrder, implicitOrder = "\x1b[8l", "\x1b[8h"
	pushTitle, popTitle          = "\x1b[22;2t", "\x1b]2;\x07\x1b[23;2t"
	// stopTime is how long the process may take to be stopped by its own signal.
	stopTime = 200 * time.Millisecond
)

// The messages of suspending: a signal asks for it, the process was continued, the terminal is ours again.
type (
	suspendMsg   struct{}
	continuedMsg struct{}
	resumedMsg   struct{}
)

// suspension is what happens while Bubble Tea has given the terminal back. It implements tea.ExecCommand.
type suspension struct {
	d    *device
	stop bool // the process stops; else it was stopped already, and the terminal is set anew
}

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand: no other program gets the terminal.
func (suspension) SetStdin(io.Reader)  {}
func (suspension) SetStdout(io.Writer) {}
func (suspension) SetStderr(io.Writer) {}

// Run implements tea.ExecCommand.
func (s suspension) Run() error {
	s.d.pen.Lock() // no frame comes between
	defer s.d.pen.Unlock()
	if s.stop {
		s.d.undress()
		stopGroup()
	}
	return s.d.dress()
}

// suspend gives the terminal back, stops our process group as Ctrl+Z does everywhere, and takes the terminal again when
// the shell continues it.
func (d *device) suspend() tea.Cmd {
	return tea.Exec(suspension{d, true}, func(error) tea.Msg { return resumedMsg{} })
}

// again sets the terminal anew after the process was stopped by somebody else.
func (d *device) again() tea.Cmd {
	return tea.Exec(suspension{d, false}, func(error) tea.Msg { return resumedMsg{} })
}

// stopGroup stops the process group until it is continued.
func stopGroup() {
	if !underShell() {
		return // nobody would continue it
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	// Not SIGTSTP: a Go program that has caught it once can't be stopped by it any more.
	if syscall.Kill(0, syscall.SIGSTOP) != nil {
		return
	}
	timer := time.NewTimer(stopTime) // the other threads are stopped a moment later
	defer timer.Stop()
	select {
	case <-continued:
	case <-timer.C:
	}
}

// underShell says whether a process of our session, outside our group, started this group: a shell with job control,
// which gets the terminal when we stop.
func underShell() bool {
	group, session := syscall.Getpgrp(), sessionOf(0)
	for pid := os.Getppid(); pid > 1 && sessionOf(pid) == session; pid = parentOf(pid) {
		if g, err := syscall.Getpgid(pid); err != nil || g != group {
			return err == nil
		}
	}
	return false
}

// sessionOf and parentOf return 0 for a process that is gone.
func sessionOf(pid int) int {
	session, err := unix.Getsid(pid)
	if err != nil {
		return 0
	}
	return session
}

func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name of the program stands in parentheses and can hold any character; state and parent follow it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}

// hand hands the signals of job control, and that the terminal has another size, to the program until d's context ends.
func (d *device) hand(program *tea.Program) {
	signals, sizes := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTSTP, syscall.SIGCONT)
	signal.Notify(sizes, syscall.SIGWINCH)
	d.watcher.Go(func() {
		defer signal.Stop(signals)
		defer signal.Stop(sizes)
		for {
			select {
			case <-sizes:
				program.Send(d.measure())
			case s := <-signals:
				if s == syscall.SIGTSTP {
					program.Send(suspendMsg{})
				} else {
					program.Send(continuedMsg{})
				}
			case <-d.ctx.Done():
				return
			}
		}
	})
}

// dress sets the terminal as our screens need it; undress takes that back.
func (d *device) dress() error {
	if _, err := term.MakeRaw(d.Fd()); err != nil {
		return err
	}
	return d.print(d.on)
}

func (d *device) undress() {
	_ = d.print(d.off) // the terminal may be gone; there is nobody left to tell
	_ = term.Restore(d.Fd(), d.before)
}

// full begins a full screen; undress ends it.
func (d *device) full(title bool) error {
	on, off := explicitOrder, implicitOrder
	if title {
		on, off = on+pushTitle, off+popTitle
	}
	return d.begin(on+fullScreenOn+pasteMarksOn, pasteMarksOff+fullScreenOff+off)
}

// lines begins the line-by-line way; undress ends it.
func (d *device) lines() error { return d.begin(pasteMarksOn, pasteMarksOff) }

// begin sets the terminal to single keys without echo, drops what was typed before, and sends on. undress takes it back and
// sends off.
func (d *device) begin(on, off string) (err error) {
	if d.before, err = term.GetState(d.Fd()); err != nil {
		return err
	}
	d.on, d.off = on, off
	if err := d.dress(); err != nil {
		d.undress()
		return err
	}
	return nil
}
