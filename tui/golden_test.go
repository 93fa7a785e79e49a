package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/operation"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// golden compares a screen, without its trailing spaces, with a file a person can read.
func golden(t *testing.T, name, screen string) {
	t.Helper()
	lines := splitLines(screen)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// fitsScreen fails when a line is wider than the terminal, or when there are more lines than it has.
func fitsScreen(t *testing.T, screen string, w, h int) {
	t.Helper()
	lines := splitLines(screen)
	if len(lines) > h {
		t.Errorf("%d lines on a screen of %d", len(lines), h)
	}
	for _, l := range lines {
		if n := terminalWidth(l); n > w {
			t.Errorf("a line of %d cells on a screen of %d: %q", n, w, l)
		}
	}
}

var sizes = []struct{ w, h int }{{40, 20}, {80, 24}, {140, 40}}

// Clauses: OPS3-5.04, OPS3-5.05, OPS3-5.09, OPS3-5.22, OPS3-3.20, OPS3-3.22, OPS3-3.23, OPS3-3.24, OPS3-3.25
func TestQuestionScreens(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(t *testing.T) {
			b := newBench(t, size.w, size.h)
			b.show(exchange(t))
			fitsScreen(t, b.text(), size.w, size.h)
			golden(t, fmt.Sprintf("question-%dx%d", size.w, size.h), b.text())
			b.toEnd()
			b.pass(time.Second)
			fitsScreen(t, b.text(), size.w, size.h)
			golden(t, fmt.Sprintf("question-end-%dx%d", size.w, size.h), b.text())
		})
	}
}

func TestTaskScreens(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(t *testing.T) {
			b := newBench(t, size.w, size.h)
			b.show()
			fitsScreen(t, b.text(), size.w, size.h)
			golden(t, fmt.Sprintf("task-%dx%d", size.w, size.h), b.text())
		})
	}
}

// settledTask is the task after one round ended with outcome.
func settledTask(outcome string) attach.Task {
	task := jacketTask()
	task.Ended, task.Outcome, task.Now = noon(), outcome, ""
	task.Rounds[0].Outcome = outcome
	return task
}

// Clauses: OPS3-6.90, OPS3-6.91, OPS3-5.02
func TestADeclineSaysThatNothingWasPerformedAndWhatTheCompanySaid(t *testing.T) {
	for _, size := range sizes {
		b := newBench(t, size.w, size.h)
		task := settledTask("declined")
		task.Rounds[0].Said = "Size L is sold out.\nYou can have size XL."
		b.send(viewMsg{attach.View{Tasks: []attach.Task{task}}})
		golden(t, fmt.Sprintf("declined-%dx%d", size.w, size.h), b.text())
		b.wantText("not performed: the Company declined")
	}
}

// Clauses: OPS3-5.01, OPS3-5.02
func TestEveryOutcomeSaysWhetherTheActionWasPerformed(t *testing.T) {
	for outcome, says := range map[string]string{
		"performed": "✓ performed", "failed": "not performed: it failed", "refused": "not performed: you did not approve",
		"declined": "not performed: the Company declined", "expired": "not performed: it expired unanswered",
		"unknown": "outcome unknown: it may have been performed or not", "something new": "outcome unknown",
	} {
		b := newBench(t, 80, 24)
		b.send(viewMsg{attach.View{Tasks: []attach.Task{settledTask(outcome)}}})
		b.wantText(says)
		if outcome != "performed" {
			b.wantNoText("✓ performed")
		}
	}
}

func TestATaskWhoseProcessWasLostIsOver(t *testing.T) {
	b := newBench(t, 80, 24)
	lost := jacketTask()
	lost.Outcome, lost.Now = "interrupted", "its process has ended"
	b.send(viewMsg{attach.View{Tasks: []attach.Task{lost}}})
	b.wantText("Ended interrupted; an open question stays open")
	b.wantNoText("0:42")
	if !b.m.inbox.done() {
		t.Error("the UI waits for a task that no process runs")
	}
}

func TestOtherScreens(t *testing.T) {
	second := short(t)
	second.Request.ID, second.Front = "q2", false
	second.Request.Question.Act = ""
	second.Request.Question.Deadline = noon().Add(42 * time.Second)
	rerun := short(t)
	rerun.Request.Question.Kind = approval.KindRerun
	again, none := short(t), short(t)
	again.Request.Question.After, none.Request.Question.After = approval.AfterFlow, approval.AfterNothing
	failed := jacketTask()
	failed.Steps[1].State = attach.StepFailed
	failed.Outcome, failed.Ended, failed.Rounds = "error", noon(), nil
	failed.Trouble = &trouble.Error{
		What: "the Company's endpoint did not answer", Done: "the operation was seen and written down",
		Undone: "nothing was asked, approved or performed", Next: "run it again when stormline.test can be reached",
	}
	for name, screen := range map[string]func(*bench){
		"list":     func(b *bench) { b.show(second, short(t)); b.press(runes("q"), runes("l"), special(tea.KeyDown)) },
		"help":     func(b *bench) { b.show(); b.press(runes("?")) },
		"trouble":  func(b *bench) { b.send(viewMsg{attach.View{Tasks: []attach.Task{failed}}}) },
		"rerun":    func(b *bench) { b.show(rerun) },
		"again":    func(b *bench) { b.show(again) },
		"no-page":  func(b *bench) { b.show(none) },
		"several":  func(b *bench) { b.show(several(b.t)...); b.press(runes("l")) },
		"beside":   func(b *bench) { b.show(besideQuestion(b.t)); b.toEnd(); b.pass(time.Second) },
		"changed":  func(b *bench) { b.show(revised(b.t)) },
		"tasks":    func(b *bench) { b.send(viewMsg{threeTasks()}) },
		"nothing":  func(b *bench) { b.send(viewMsg{attach.View{}}) },
		"last-min": func(b *bench) { b.show(short(t)); b.pass(4*time.Minute + 18*time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range sizes {
				b := newBench(t, size.w, size.h)
				screen(b)
				fitsScreen(t, b.text(), size.w, size.h)
				golden(t, fmt.Sprintf("%s-%dx%d", name, size.w, size.h), b.text())
			}
		})
	}
}

func TestATerminalWithoutUnicodeGetsASCIIAlone(t *testing.T) {
	b := newBench(t, 80, 24, func(c *Config) { c.Unicode = false })
	q := exchange(t)
	q.Request.Question.Company.Name = `Café "Ünïcode" 日本` + strings.Repeat("x", 60)
	q.Request.Question.Operation.Terms = terms(t, `{"größe":"L – groß","fake":"<U+00E9>","esc":"\u001b[31m"}`)
	b.show(q)
	b.toEnd()
	for _, screen := range []string{b.text(), b.m.painter.page(b.m.tasksNow().body(b.m.painter, 80, b.m.now))} {
		for _, r := range screen {
			if r != '\n' && (r < ' ' || r > '~') {
				t.Fatalf("%U in\n%s", r, screen)
			}
		}
	}
	b.wantText("<U+003C>U+00E9>")
	b.wantText("<U+001B>[31m")
	golden(t, "ascii-80x24", b.text())
}

func TestATerminalThatIsTooSmallSaysHowLargeItMustBe(t *testing.T) {
	for _, size := range []struct{ w, h int }{{39, 24}, {80, 11}, {1, 1}, {20, 5}, {10, 10}} {
		b := newBench(t, size.w, size.h)
		b.show(exchange(t))
		fitsScreen(t, b.text(), max(size.w, 2), size.h)
		if size.w >= 39 {
			b.wantText("40 columns")
		}
		b.pass(time.Second)
		b.press(runes("a"))
		b.pass(time.Second)
		b.wantAnswers()
	}
}

// Clauses: OPS3-3.22
func TestColourIsOnlyADress(t *testing.T) {
	plain := newBench(t, 80, 24)
	dressed := newBench(t, 80, 24, func(c *Config) { c.Color = true })
	for _, b := range []*bench{plain, dressed} {
		b.show(exchange(t))
	}
	if got := dressed.m.View(); !strings.Contains(got, "\x1b[") || stripSGR(got) != plain.m.View() {
		t.Errorf("without its colours the screen is\n%s\nwant\n%s", stripSGR(got), plain.m.View())
	}
}

// Of sixteen colours there is none that can be read on every background: no word has one.
func TestNoWordHasAColour(t *testing.T) {
	last := exchange(t)
	last.Request.Question.Deadline = noon().Add(30 * time.Second)
	failed := jacketTask()
	failed.Steps[1].State = attach.StepFailed
	failed.Trouble = &trouble.Error{What: "what", Done: "done", Undone: "undone", Next: "next"}
	coloured := regexp.MustCompile(`\x1b\[[0-9;]*\b(?:3[0-7]|4[0-7]|9[0-7]|10[0-7])[0-9;]*m([^\x1b]*)`)
	marks := 0
	for name, view := range map[string]attach.View{
		"question": viewOf(exchange(t)), "last minute": viewOf(last), "no act": viewOf(besideQuestion(t)), "tasks": threeTasks(), "failed": {Tasks: []attach.Task{failed}},
		"performed": {Tasks: []attach.Task{settledTask("performed")}}, "declined": {Tasks: []attach.Task{settledTask("declined")}},
	} {
		b := newBench(t, 80, 40, func(c *Config) { c.Color = true })
		b.send(viewMsg{view})
		for _, found := range coloured.FindAllStringSubmatch(b.m.View(), -1) {
			marks++
			if strings.ContainsFunc(found[1], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				t.Errorf("%s: %q has a colour", name, found[1])
			}
		}
	}
	if marks == 0 {
		t.Error("no mark has one either")
	}
}

// besideQuestion has something of ours to say beside its terms, and a Company whose address looks like another's.
func besideQuestion(t testing.TB) attach.Question {
	q := short(t)
	q.Request.Question.Company = approval.Company{Domain: "stоrmline.test", Name: "חנות"}
	q.Request.Question.Operation.Terms = terms(t, `{"price":{"amount":"70.00","currency":"USD"},"fee":{"amount":"= that is $0.00","currency":"EUR"},`+
		`"pickup":"2026-12-01T09:00:00+01:00","last_day":"4/5/2026","note":"שלום 123"}`)
	return q
}

// revised is a question about new terms.
func revised(t testing.TB) attach.Question {
	q := short(t)
	old := q.Request.Question.Operation.Terms
	q.Request.Question.Operation.Terms = terms(t, `{"item":"Trail Jacket","amount":"9.00","fee":"1.00"}`)
	q.Request.Question.Differences = operation.Revised(old, q.Request.Question.Operation.Terms)
	return q
}

// threeTasks are one that waits, one under way and one that has ended.
func threeTasks() attach.View {
	view := viewOf()
	second, third := jacketTask(), settledTask("performed")
	second.ID, second.Title, second.Rounds, second.Now = "t2", "Book the train to Bergen", nil, "open rail.test/search"
	second.Company = approval.Company{Domain: "rail.test", Name: "Rail"}
	second.Started = noon().Add(-5 * time.Second)
	third.ID, third.Title = "t3", "Renew the season ticket"
	view.Tasks = append(view.Tasks, second, third)
	return view
}

// No Company's text can pass for what we say beside it: ours stands where its lines have the bar.
//
// Clauses: OPS3-3.13
func TestWhatIsOursBesideTheTermsCanNotBeImitated(t *testing.T) {
	for _, unicode := range []bool{true, false} {
		b := newBench(t, 80, 40, func(c *Config) { c.Unicode = unicode })
		b.show(besideQuestion(t))
		var ours []string
		for _, l := range splitLines(b.text()) {
			if strings.HasPrefix(l, "=") {
				ours = append(ours, strings.Join(strings.Fields(l), " "))
			}
		}
		want := []string{
			"= that is $70.00", "= that is Tue 1 Dec 2026, 08:00 UTC where you are", "= that can be read as Sun 5 Apr 2026 or Mon 4 May 2026",
		}
		if unicode {
			want = append(want, "= written from right to left; it stands here in the order it was sent")
		}
		if diff := cmp.Diff(want, ours); diff != "" {
			t.Errorf("(-want +got)\n%s\n%s", diff, b.text())
		}
		b.wantText("xn--strmline-obh.test (its letters go beyond a to z")
	}
}
