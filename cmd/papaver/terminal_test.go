package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// A run asks on its own terminal, line by line or in a full screen.
//
// Clauses: OPS3-5.06
func TestARunAsksOnItsOwnTerminal(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"full screen": nil, "line by line": {"--plain"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := atCompany(t)
			u := b.sit(100, 60, nil, b.task(b.flow("exchange.json"), flags...)...)
			for u.sees("a approve|You approved") == "a approve" {
				u.types("a")
			}
			u.sees("✓ performed")
			u.exits(0)
			b.counted(1, 1)
		})
	}
}

// With --json in a file the question is still drawn on the terminal and answered there.
//
// Clauses: OPS3-5.06
func TestQuestionsNeedATerminalAndNotStandardOutput(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	file, err := os.Create(filepath.Join(b.dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	u := b.sit(100, 40, file, b.task(b.flow("exchange.json"), "--json")...)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	u.sees("a approve")
	u.types("d")
	u.exits(3)
	b.counted(0, 0)
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	events := readEvents(t, string(data))
	wantMembers(t, events)
	if got := names(events); len(got) < 2 || got[0] != "joined" || got[len(got)-1] != "finished" {
		t.Errorf("events: %q", got)
	}
}

// Nothing is asked, and no key counts, where a question could not be shown whole.
//
// Clauses: OPS3-5.05
func TestATerminalThatIsTooSmallAsksNothing(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	u := b.sit(39, 11, nil, "tui")
	p := b.start(b.task(b.flow("exchange.json"), "--json")...)
	p.event("question", 1)
	u.sees(`too small`)
	u.types("a")
	if err := pty.Setsize(u.keyboard, &pty.Winsize{Rows: 40, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	u.answers(p, "d")
	p.exits(3)
	b.counted(0, 0)
	if answers := p.events("answer"); len(answers) != 1 || answers[0]["approved"] != false {
		t.Errorf("answers: %v", answers)
	}
	u.types("q")
	u.exits(0)
}

// A question that was left with q, and a terminal that is closed, answer nothing.
func TestALeftQuestionAndAClosedTerminalAnswerNothing(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	u := b.sit(100, 40, nil, "tui")
	p := b.start(b.task(b.flow("exchange.json"), "--json")...)
	u.sees("a approve")
	u.types("q")
	u.sees("It stays open")
	if err := u.keyboard.Close(); err != nil {
		t.Fatal(err)
	}
	u.exits(130)
	if answers := p.events("answer"); len(answers) != 0 {
		t.Errorf("answers: %v", answers)
	}
	again := b.sit(100, 40, nil, "tui", "--plain")
	again.answers(p, "a")
	p.exits(0)
	b.counted(1, 1)
	again.types("q")
	again.exits(0)
}

// The round goes on when nobody reads the events any more; the run says that they were lost.
func TestEventsThatCanNotBeWrittenDoNotStopTheRound(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *os.File{
		"full": func(t *testing.T) *os.File {
			f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		"closed": func(t *testing.T) *os.File {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := atCompany(t)
			file := open(t)
			u := b.sit(100, 40, file, b.task(b.flow("exchange.json"), "--json")...)
			_ = file.Close()
			for u.sees("a approve|You approved") == "a approve" {
				u.types("a")
			}
			u.exits(1)
			u.sees("the events could not be written")
			b.counted(1, 1)
		})
	}
}

// The demo without a terminal: its scripted User presses keys in a pseudo-terminal.
func TestTheDemoPerformsOnceWithoutATerminal(t *testing.T) {
	t.Parallel()
	b := emptyBench(t)
	args := []string{"demo"}
	if noSandbox() {
		args = append(args, "--sandbox=false")
	}
	out := b.run(0, args...)
	for _, want := range []string{"scripted User", "An answer counts after", "performed once."} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not print %q\n%s", want, out)
		}
	}
	if left := filesIn(b.home); !slices.Contains(left, "open "+b.home+": no such file or directory") {
		t.Errorf("the demo used the User's own home: %q", left)
	}
}

// On a terminal the person there answers the demo.
func TestTheDemoAsksThePersonAtItsTerminal(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]struct {
		status int
		says   string
	}{"a": {0, "performed once"}, "d": {3, "nothing was performed, and 0 approvals were recorded"}} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			b := emptyBench(t)
			args := []string{"demo"}
			if noSandbox() {
				args = append(args, "--sandbox=false")
			}
			u := b.sit(100, 30, nil, args...)
			for u.sees("scroll to the end|a approve|own count") != "own count" {
				u.types(key)
			}
			u.exits(want.status)
			if text := ansi.Strip(u.screen.String()); !regexp.MustCompile(want.says).MatchString(text) {
				t.Errorf("the last screen does not say %q\n%s", want.says, text)
			}
		})
	}
}
