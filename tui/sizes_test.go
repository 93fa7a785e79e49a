package tui

import (
	"fmt"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/attach"
)

// From the smallest terminal to one of 300 columns and 100 rows each screen fits, and its keys are at its end.
func TestEveryScreenFitsEveryTerminal(t *testing.T) {
	for name, tc := range map[string]struct {
		screen func(*bench)
		keys   string
	}{
		"question":          {func(b *bench) { b.show(exchange(t)) }, "leave it unanswered"},
		"end of a question": {func(b *bench) { b.show(besideQuestion(t)); b.toEnd(); b.pass(time.Second) }, "a approve"},
		"list":              {func(b *bench) { b.show(several(t)...); b.press(runes("q"), runes("q"), runes("q"), runes("l")) }, "back"},
		"tasks":             {func(b *bench) { b.send(viewMsg{threeTasks()}) }, "help"},
		"nothing":           {func(b *bench) { b.send(viewMsg{attach.View{}}) }, "leave"},
		"help":              {func(b *bench) { b.show(); b.press(runes("?")) }, "back"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range []int{40, 41, 57, 80, 132, 200, 300} {
				for _, h := range []int{12, 13, 24, 50, 100} {
					b := newBench(t, w, h, func(c *Config) { c.UntilDone = false })
					tc.screen(b)
					fitsScreen(t, b.text(), w, h)
					b.wantText(tc.keys)
					b.send(tea.WindowSizeMsg{Width: 300 - w + 40, Height: h})
					fitsScreen(t, b.text(), 340-w, h)
					if t.Failed() {
						t.Fatal(fmt.Sprintf("at %d by %d\n", w, h) + b.text())
					}
				}
			}
		})
	}
}
