package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

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
