package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/tui"
)

// A terminal UI that can't draw any more is said, and the run goes on: its questions are left to papaver tui.
func TestATerminalUIThatBreaksIsSaidAndEndsNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err            error
		says           string
		ends, drawsYet bool
	}{
		"its end":             {nil, "", false, true},
		"ended by the run":    {fmt.Errorf("drawing: %w", context.Canceled), "", false, true},
		"an interrupt":        {tui.ErrInterrupted, "", true, true},
		"a hang-up":           {tui.ErrHangUp, "", true, true},
		"an error of its own": {errors.New("write /dev/tty: input/output error\x1b[2J"), "questions wait for papaver tui", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			ui := &runUI{e: env{stderr: &said}, o: &runOptions{flags: newFlags("run")}, full: true}
			ended := false
			ui.drew(tc.err, func(error) { ended = true })
			if ended != tc.ends || ui.screen() != tc.drawsYet {
				t.Errorf("the run is ended: %v; the screen says what happens: %v", ended, ui.screen())
			}
			if !strings.Contains(said.String(), tc.says) || (tc.says == "") != (said.Len() == 0) || strings.Contains(said.String(), "\x1b") {
				t.Errorf("it was said: %q", said.String())
			}
		})
	}
}

// What goes wrong in a run and does not end it is said when it happens, line by line too; what ends it is said once.
func TestErrorsOfARunAreEachSaidOnceLineByLine(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	ui := newRunUI(env{stderr: &said, stdout: os.Stdout}, &runOptions{flags: newFlags("run"), noInput: true})
	ended := &trouble.Error{What: "the sign-in at shop.example has ended", Done: "a", Undone: "b", Next: "run papaver signin shop.example"}
	ofRound := &trouble.Error{What: "the Company did not answer", Done: "a", Undone: "b", Next: "c"}
	own := &trouble.Error{What: "the step failed", Err: errors.New("no such button"), Done: "a", Undone: "b", Next: "c"}
	ui.event(agent.Event{Name: "error", Body: *ended.Said()})
	ui.event(agent.Event{Name: "error", Round: "rnd_1", Body: *ofRound.Said()})
	ui.ends(own)
	ui.event(agent.Event{Name: "error", Body: *own.Said()})
	if err := ui.result(ending{exitError, "error"}, own, ""); err != exitCode(exitError) {
		t.Errorf("the result is %v", err)
	}
	for _, e := range []*trouble.Error{ended, ofRound, own} {
		if got := strings.Count(said.String(), e.Said().What); got != 1 {
			t.Errorf("%q is said %d times:\n%s", e.Said().What, got, said.String())
		}
	}
}

// A run that leaves its questions to other terminals says until when it waits.
func TestARunWithoutATerminalUISaysUntilWhenItWaits(t *testing.T) {
	ends := time.Date(2026, 3, 14, 12, 5, 0, 0, time.Local)
	got := inWords(agent.Event{Body: opsweb.Operation{ExpiresAt: ends.Format(time.RFC3339)}})
	if got != "what it asks can be approved until 12:05:00" {
		t.Errorf("it says %q", got)
	}
	if got := inWords(agent.Event{Body: opsweb.Operation{ExpiresAt: "\x1b[2J"}}); got != "" {
		t.Errorf("of an end that is none it says %q", got)
	}
}
