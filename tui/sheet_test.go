package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/attach"
)

// Whatever comes after what, the terminal shows the last page, and is sent no more than what changed.
func TestATurnOfTheSheetShowsThePage(t *testing.T) {
	var s sheet
	e := newEmulator(20, 5)
	e.write([]byte("what stood there before, and more of it"))
	for i, page := range []string{
		"one\ntwo\nthree", "one\n2\nthree", "one\n2\nthree", "a line of 20 columns", "", "ünï\n\n\n\n" + strings.Repeat("x", 20), "six\nlines\nare\ncut\nto\nfive",
	} {
		out := s.turn(page, 20, 5)
		e.write([]byte(out))
		want := splitLines(page)[:min(len(splitLines(page)), 5)]
		if diff := cmp.Diff(strings.Join(want, "\n"), strings.TrimRight(e.text(), "\n")); diff != "" {
			t.Errorf("page %d (-want +got)\n%s", i, diff)
		}
		if i == 1 && out != "\r\x1b[2;1H\x1b[K2" || i == 2 && out != "" {
			t.Errorf("page %d is sent as %q", i, out)
		}
	}
	e.resize(10, 3)
	e.write([]byte(s.turn("other\nsize", 10, 3)))
	if got := strings.TrimRight(e.text(), "\n"); got != "other\nsize" {
		t.Errorf("after a resize the screen is\n%s", got)
	}
}

// A UI that nobody needs to look at sleeps: it has something due only while something passes with the time.
func TestNothingIsDueWhereNothingPassesWithTheTime(t *testing.T) {
	running, over := attach.View{Tasks: []attach.Task{jacketTask()}}, attach.View{Tasks: []attach.Task{settledTask("performed")}}
	for name, tc := range map[string]struct {
		view attach.View
		due  bool
	}{
		"no task": {attach.View{}, false}, "a task that has ended": {over, false}, "a task under way": {running, true}, "a question": {viewOf(short(t)), true},
	} {
		t.Run(fmt.Sprint(name), func(t *testing.T) {
			b := newBench(t, 80, 24, func(c *Config) { c.UntilDone = false })
			b.send(viewMsg{tc.view})
			if b.m.ticking != tc.due {
				t.Errorf("a tick is due: %v", b.m.ticking)
			}
			b.pass(2 * time.Second)
			b.send(viewMsg{over})
			b.pass(time.Second)
			if b.m.ticking {
				t.Error("a tick is due after the end")
			}
		})
	}
	p := newPlainBench(t, 80, 24)
	p.send(viewMsg{running})
	if p.m.ticking {
		t.Error("the plain way has a tick due without a question")
	}
	p.send(viewMsg{viewOf(short(t))})
	if !p.m.ticking {
		t.Error("the plain way has none due with one")
	}
}

// While the terminal takes one frame nothing else is written; the next one shows what is true then.
func TestASlowTerminalIsSentNoFrameThatIsOver(t *testing.T) {
	b := newPlainBench(t, 80, 24) // for its file
	d := newDevice(t.Context(), b.file, b.m.cfg.Now)
	t.Cleanup(d.close)
	m := newModel(Config{Feed: b.feed, Now: b.m.cfg.Now, Unicode: true}, d)
	m.w, m.h = 80, 24
	p := &drawing{model: m}
	first := p.draw()
	for _, outcome := range []string{"failed", "expired", "performed"} {
		m.inbox.take(attach.View{Tasks: []attach.Task{settledTask(outcome)}})
		m.tasks.tasks = m.inbox.tasks
		if p.draw() != nil {
			t.Fatal("a second frame is written while the first one is")
		}
	}
	first()
	_, next := p.Update(drawnMsg{})
	if next == nil {
		t.Fatal("no frame is written after it")
	}
	next()
	e := newEmulator(80, 24)
	e.write([]byte(b.text()))
	if text := e.text(); !strings.Contains(text, "✓ performed") || strings.Contains(b.text(), "expired") {
		t.Errorf("the screen is\n%s", text)
	}
}
