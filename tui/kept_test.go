package tui

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/attach"
)

// However far a question is scrolled, and however small the screen is, it says whose it is, and whether something differs,
// where the answer keys count.
//
// Clauses: OPS3-3.23
func TestWhoseQuestionItIsStaysOnTheScreen(t *testing.T) {
	for _, size := range []struct{ w, h int }{{40, 12}, {40, 20}, {80, 24}, {300, 100}} {
		b := newBench(t, size.w, size.h)
		b.show(exchange(t))
		b.toEnd()
		b.pass(time.Second)
		b.wantText("a approve")
		b.wantText("Company  stormline.test")
		if !strings.Contains(b.text(), "Differs: ") {
			b.wantText("1 difference was found: read it")
		}
	}
}

func TestAnotherQuestionAboutAnOperationSaysThatItIsAnotherOne(t *testing.T) {
	b := newBench(t, 80, 24)
	b.show(short(t))
	b.wantNoText(string(wAskedBefore[:40]))
	again := revised(t)
	again.Request.ID = "q2"
	b.show(again)
	b.wantText(string(wAskedBefore[:40]))
	b.show(again) // it is told of again
	b.wantText(string(wAskedBefore[:40]))
}

// The line-by-line way says which keys there are, and its help has no others.
func TestThePlainWaySaysItsKeys(t *testing.T) {
	b := newPlainBench(t, 80, 24, func(c *Config) { c.UntilDone = false })
	b.send(viewMsg{attach.View{}})
	for _, part := range []string{"No task runs here now.", "? help · q leave"} {
		if !strings.Contains(b.text(), part) {
			t.Errorf("it does not say %q:\n%s", part, b.text())
		}
	}
	b.send(viewMsg{viewOf(short(t))})
	b.pass(time.Second)
	before := len(b.text())
	b.press(runes("?"))
	b.press(runes("a")) // the terms are being shown anew
	b.pass(time.Second)
	said := b.text()[before:]
	if strings.Contains(said, "PgUp") || !strings.Contains(said, "space go on reading") || !strings.Contains(said, "Papaver asks for your answer") {
		t.Errorf("the help says\n%s", said)
	}
	if len(b.feed.given()) != 0 {
		t.Error("a key for the help's screen answered")
	}
	before = len(b.text())
	b.press(runes("q"))
	if said := b.text()[before:]; !strings.Contains(said, "l waiting questions · ? help · q leave") {
		t.Errorf("after a question was left it says\n%s", said)
	}
}

// Of several tasks each line is known by its task: the title stands before what is told of another one.
func TestThePlainWaySaysOfWhichTaskItTells(t *testing.T) {
	b := newPlainBench(t, 80, 24)
	view := threeTasks()
	b.send(viewMsg{view})
	before := len(b.text())
	next := threeTasks()
	next.Tasks[1].Steps[1].State, next.Tasks[1].Steps[2].State = attach.StepDone, attach.StepDone
	b.send(viewMsg{next})
	want := "Task  Book the train to Bergen\nStep 2 of 3 done: press \"Exchange\"\nStep 3 of 3 done: choose size L\n"
	if said := strings.ReplaceAll(b.text()[before:], "\r\n", "\n"); said != want {
		t.Errorf("it says\n%s\nwant\n%s", said, want)
	}
}

func TestALongListIsPassedInStepsOfTen(t *testing.T) {
	b := newBench(t, 80, 24, func(c *Config) { c.UntilDone = false })
	b.send(viewMsg{manyWaiting(t, 25)})
	for b.m.place == atQuestion {
		b.press(runes("q"))
	}
	for _, tc := range []struct {
		key  tea.KeyType
		want int
	}{{tea.KeyPgDown, 10}, {tea.KeyDown, 11}, {tea.KeyPgDown, 21}, {tea.KeyPgDown, 24}, {tea.KeyPgUp, 14}, {tea.KeyPgUp, 4}, {tea.KeyPgUp, 0}} {
		if b.press(special(tc.key)); b.m.chosen != tc.want {
			t.Errorf("chosen is %d, want %d", b.m.chosen, tc.want)
		}
		b.wantText("▸")
	}
}

func TestTheHelpOfAQuestionCountsDownToo(t *testing.T) {
	b := newBench(t, 80, 24)
	b.show(short(t))
	b.press(runes("?"))
	b.pass(2 * time.Second)
	if first, want := splitLines(b.text())[0], "4:58 left"; !strings.HasPrefix(first, "Papaver: help") || !strings.HasSuffix(first, want) {
		t.Errorf("the title is %q", first)
	}
}
