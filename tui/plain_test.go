package tui

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
)

// plainBench drives the line-by-line UI without a terminal: messages in, lines out, time by hand.
type plainBench struct {
	t    testing.TB
	feed *fakeFeed
	m    *plainModel
	file *os.File // what stands in for the terminal
	at   time.Time
}

func newPlainBench(t testing.TB, w, h int, configure ...func(*Config)) *plainBench {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "terminal")
	if err != nil {
		t.Fatal(err)
	}
	b := &plainBench{t: t, feed: newFakeFeed(), file: file, at: noon()}
	cfg := Config{Feed: b.feed, Now: func() time.Time { return b.at }, Unicode: true, UntilDone: true}
	for _, c := range configure {
		c(&cfg)
	}
	d := newDevice(context.Background(), file, cfg.Now)
	d.end(nil)
	t.Cleanup(func() { d.close(); _ = file.Close() })
	b.m = newPlainModel(cfg, d)
	b.send(tea.WindowSizeMsg{Width: w, Height: h})
	return b
}

func (b *plainBench) send(msg tea.Msg) {
	_, cmd := b.m.Update(msg)
	b.do(cmd)
}

func (b *plainBench) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil, tea.QuitMsg, tea.WindowSizeMsg:
	case tea.BatchMsg:
		for _, c := range msg {
			b.do(c)
		}
	default:
		b.send(msg)
	}
}

func (b *plainBench) pass(d time.Duration) {
	b.at = b.at.Add(d)
	b.send(tickMsg{})
	b.send(wakeMsg{})
}

func (b *plainBench) press(k tea.KeyMsg) { b.send(k); b.pass(100 * time.Millisecond) }

func (b *plainBench) text() string {
	b.t.Helper()
	size, err := b.file.Seek(0, io.SeekCurrent)
	if err != nil {
		b.t.Fatal(err)
	}
	text := make([]byte, size)
	if _, err := b.file.ReadAt(text, 0); err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// Clauses: OPS3-5.04, OPS3-5.05, OPS3-5.06, OPS3-5.22, OPS3-3.20
func TestThePlainQuestionIsAnsweredUnderTheSameRules(t *testing.T) {
	q := func(t testing.TB) attach.View { return viewOf(exchange(t)) }
	for name, tc := range map[string]struct {
		do   func(*plainBench)
		want []bool
	}{
		"a before the end": {func(b *plainBench) { b.pass(time.Second); b.press(runes("a")) }, nil},
		"a after the end":  {func(b *plainBench) { b.press(runes(" ")); b.pass(time.Second); b.press(runes("a")) }, []bool{true}},
		"d after the end":  {func(b *plainBench) { b.press(runes(" ")); b.pass(time.Second); b.press(runes("d")) }, []bool{false}},
		"a too early":      {func(b *plainBench) { b.press(runes(" ")); b.press(runes("a")) }, nil},
		"Alt+a":            {func(b *plainBench) { b.press(runes(" ")); b.pass(time.Second); b.press(withAlt("a")) }, nil},
		"paste":            {func(b *plainBench) { b.press(runes(" ")); b.pass(time.Second); b.press(pasted("a")) }, nil},
		"Enter":            {func(b *plainBench) { b.press(runes(" ")); b.pass(time.Second); b.press(special(tea.KeyEnter)) }, nil},
		"left": {func(b *plainBench) {
			b.press(runes(" "))
			b.press(runes("q"))
			b.pass(time.Second)
			b.press(runes("a"))
		}, nil},
		"expired": {func(b *plainBench) { b.press(runes(" ")); b.pass(time.Hour); b.pass(time.Second); b.press(runes("a")) }, nil},
		"a after a resize": {func(b *plainBench) {
			b.press(runes(" "))
			b.pass(time.Second)
			b.send(tea.WindowSizeMsg{Width: 81, Height: 24})
			b.pass(time.Second)
			b.press(runes("a"))
		}, nil},
		"a in a terminal that is too small": {func(b *plainBench) {
			b.send(tea.WindowSizeMsg{Width: 30, Height: 24})
			b.pass(time.Second)
			b.press(runes("a"))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newPlainBench(t, 80, 24)
			b.send(viewMsg{q(t)})
			tc.do(b)
			given := b.feed.given()
			if len(given) != len(tc.want) || len(given) == 1 && given[0].Approved() != tc.want[0] {
				t.Fatalf("answers %+v, want %v\n%s", given, tc.want, b.text())
			}
		})
	}
}

func TestThePlainWayShowsEveryTermAndStage(t *testing.T) {
	b := newPlainBench(t, 80, 24)
	b.send(viewMsg{viewOf(exchange(t))})
	b.press(runes(" "))
	b.pass(time.Second)
	b.press(runes("a"))
	b.send(viewMsg{attach.View{Tasks: []attach.Task{settledTask("performed")}}})
	text := strings.ReplaceAll(b.text(), "\r\n", "\n")
	golden(t, "plain-80x24", text)
	fitsScreen(t, text, 80, 1000)
	if strings.Count(text, "you are asked") != 1 {
		t.Errorf("a stage was told more than once:\n%s", text)
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("an escape sequence in\n%q", text)
	}
}

func TestAPlainQuestionThatClosedSaysHow(t *testing.T) {
	b := newPlainBench(t, 80, 24)
	b.send(viewMsg{viewOf(short(t))})
	view := viewOf()
	view.Closed = []attach.Closed{{Request: "q1", Decision: approval.Decision{State: approval.Expired}}}
	b.send(viewMsg{view})
	b.pass(time.Second)
	b.press(runes("a"))
	if text := b.text(); !strings.Contains(text, "That question expired unanswered. Nothing was approved.") || len(b.feed.given()) != 0 {
		t.Errorf("answers %v after\n%s", b.feed.given(), text)
	}
}
