package tui

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

func TestCapabilitiesAreReadFromTheEnvironment(t *testing.T) {
	for _, tc := range []struct {
		env            map[string]string
		color, unicode bool
	}{
		{map[string]string{"TERM": "xterm", "LANG": "en_US.UTF-8"}, true, true},
		{map[string]string{"TERM": "xterm", "LANG": "en_US.UTF-8", "NO_COLOR": "1"}, false, true},
		{map[string]string{"TERM": "dumb", "LANG": "C.utf8"}, false, true},
		{map[string]string{"TERM": "xterm", "LANG": "C"}, true, false},
		{map[string]string{"TERM": "xterm", "LANG": "en_US.UTF-8", "LC_ALL": "C"}, true, false},
		{map[string]string{"TERM": "xterm", "LANG": "C", "LC_CTYPE": "C.UTF-8"}, true, true},
		{map[string]string{}, false, false},
	} {
		color, unicode, title := Capabilities(func(name string) string { return tc.env[name] })
		if color != tc.color || unicode != tc.unicode {
			t.Errorf("%v: colour %v and Unicode %v, want %v and %v", tc.env, color, unicode, tc.color, tc.unicode)
		}
		if title != (tc.env["TERM"] == "xterm") {
			t.Errorf("%v: a title %v", tc.env, title)
		}
	}
}

func TestWithoutFeedOrTerminalThereIsNoUI(t *testing.T) {
	if err := Run(t.Context(), Config{Feed: newFakeFeed()}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("Run without a terminal: %v", err)
	}
	if err := RunPlain(t.Context(), Config{}); err == nil {
		t.Error("RunPlain without a feed: no error")
	}
}

type panicking struct{ tea.Model }

func (panicking) Update(tea.Msg) (tea.Model, tea.Cmd) { panic("a fault of ours") }
func (panicking) View() string                        { panic("a fault of ours") }

func TestAPanicOfTheModelIsAnError(t *testing.T) {
	var got error
	g := guarded{panicking{}, func(err error) { got = err }}
	if next, cmd := g.Update(nil); next == nil || cmd != nil || got == nil {
		t.Errorf("Update: %v, %v, error %v", next, cmd, got)
	}
	got = nil
	if view := g.View(); view != "" || got == nil {
		t.Errorf("View: %q, error %v", view, got)
	}
}

func TestNothingRunsOnAfterTheUI(t *testing.T) {
	for name, run := range modes() {
		t.Run(name, func(t *testing.T) {
			r := start(t, run, 80, 24, true)
			r.feed.views <- viewOf(live(short(t)))
			r.waitFor("Trail Jacket")
			r.stop()
			_ = r.end()
			stacks := make([]byte, 1<<20)
			for deadline := time.Now().Add(ptyTimeout); ; runtime.Gosched() {
				text := string(stacks[:runtime.Stack(stacks, true)])
				if !strings.Contains(text, "bubbletea.(*Program)") && !strings.Contains(text, "tui.(*device)") && !strings.Contains(text, "tui.newDevice") {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("still running:\n%s", text)
				}
			}
		})
	}
}
