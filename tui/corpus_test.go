package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// Each hostile text goes through the whole way, to the bytes that a terminal gets, wherever a Company or a page can put
// one. Our own lines are there once, and whole.
//
// Clauses: OPS3-3.23, OPS3-3.24, OPS3-3.25
func TestHostileTextOnARealTerminalLeavesOurLinesAsTheyAre(t *testing.T) {
	t.Parallel()
	for i, text := range hostile() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			r := start(t, Run, 100, 60, false)
			r.feed.views <- viewOf(live(hostileQuestion(t, text)))
			r.waitFor("Papaver asks for your answer")
			r.wait("our lines", func(screen string) bool {
				lines := splitLines(screen)
				for label, at := range map[string]int{"Papaver asks for your answer": 0, "Company  stormline.test, ": 1} {
					if !strings.HasPrefix(lines[at], label) {
						return false
					}
				}
				return strings.Contains(screen, "leave it unanswered") && strings.Contains(screen, "Deadline ")
			})
			screen := r.text()
			for _, label := range []string{"Papaver asks", "Company  ", "Session  ", "Act      ", "Deadline ", "┌─ the Company's", "├─ the terms"} {
				n := 0
				for _, l := range splitLines(screen) {
					if strings.HasPrefix(l, label) {
						n++
					}
				}
				if n > 1 || n == 0 && label != "├─ the terms" && label != "┌─ the Company's" {
					t.Errorf("%d lines begin %q:\n%s", n, label, screen)
				}
			}
			r.stop()
			_ = r.end()
			r.wantRestored() // and nothing else was sent that a terminal obeys
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.screen.bells > 0 || r.screen.title != "" {
				t.Errorf("the bell rang %d times, the title is %q", r.screen.bells, r.screen.title)
			}
		})
	}
}

func manyTerms(t testing.TB) string {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `,"term_%03d":"%s"`, i, strings.Repeat("lorem ipsum ", 83)+"1234")
	}
	return "{" + b.String()[1:] + "}"
}

// Clauses: OPS3-5.04, OPS3-5.05
func TestAVeryLongQuestionIsNotAnsweredBeforeItsEndWasShown(t *testing.T) {
	b := newBench(t, 80, 24)
	q := exchange(t)
	q.Request.Question.Operation.Terms = terms(t, manyTerms(t))
	q.Request.Question.Deadline = noon().Add(2 * time.Hour)
	b.show(q)
	pages := 0
	for ; !b.m.shown.end(); pages++ {
		b.pass(time.Second)
		b.wantNoText("a approve")
		b.press(runes("a"))
		b.pass(time.Second)
		b.wantAnswers()
		b.press(special(tea.KeyPgDown))
		b.pass(50 * time.Millisecond)
	}
	if pages < 100 {
		t.Errorf("the end was there after %d pages", pages)
	}
	b.wantText("ipsum 1234")
	b.pass(time.Second)
	b.press(runes("a"))
	b.pass(100 * time.Millisecond)
	b.wantAnswers(true)
}

// The cost of a frame while 200 terms of 1,000 characters are scrolled, and of a frame with no terms to speak of.
func BenchmarkFrame(b *testing.B) {
	for name, raw := range map[string]string{"200 terms of 1000 characters": manyTerms(b), "one term": `{"item":"Trail Jacket"}`} {
		b.Run(name, func(b *testing.B) {
			bench := newBench(b, 120, 40, func(c *Config) { c.Color = true })
			q := exchange(b)
			q.Request.Question.Operation.Terms = terms(b, raw)
			bench.show(q)
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				key := special(tea.KeyPgDown)
				if i%100 == 99 {
					bench.show(q)
				}
				bench.press(key)
				_ = bench.m.View()
				bench.at = bench.at.Add(50 * time.Millisecond)
			}
		})
	}
	b.Run("laid out anew", func(b *testing.B) {
		bench := newBench(b, 120, 40)
		q := exchange(b)
		q.Request.Question.Operation.Terms = terms(b, manyTerms(b))
		bench.show(q)
		for b.Loop() {
			bench.m.show(bench.at)
		}
	})
}
