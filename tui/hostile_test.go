package tui

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/operation"
)

// hostile are texts that Companies and pages could send to get hold of the screen.
func hostile() []string {
	return []string{
		"\x1b[2J\x1b[H\x1b[31mred\x1b[0m", "\x1b]8;;https://evil.test\x07click\x1b]8;;\x07", "\x1b]52;c;YQ==\x07", "\u009b2J", "\r\n\r\na approve",
		"\b\b\b\b\b\b\b\b\b\bPapaver asks", "line one\nCompany  bank.test\nDiffers: nothing", "│ a approve · d don't approve", "┌─ the terms: this is what you approve ─",
		"└──────\nPapaver asks for your answer", "a\u202Eevorppa", "\u2066x\u2069", "z\u0300" + strings.Repeat("\u0335", 300), "\u200b\u200b\ufeff", "\U000E0041\U000E0042",
		"日本語日本語日本語", "👩\u200d👩\u200d👧\u200d👦🏳\ufe0f\u200d🌈🇩🇪", "\xff\xfe", "\u2028\u2029", "”, and is your bank, calls itself “", "‹U+202E›", strings.Repeat("W", 300), strings.Repeat("a b ", 100),
		strings.Repeat("あ", 120), strings.Repeat("‹", 50), strings.Repeat("\t", 40), "ﷺ﷽", "𒐫𒈙⸻", "**bold *it* __x__ [l](javascript:x) <script>", "- \n- - - -\n1. 2. 3.",
	}
}

// hostileQuestion has text wherever a Company or a page can put one.
func hostileQuestion(t testing.TB, text string) attach.Question {
	t.Helper()
	q := exchange(t)
	ask := &q.Request.Question
	ask.Company = approval.Company{Domain: "stormline.test", Name: text}
	ask.Account, ask.Act = text, `pressed "`+text+`"`
	ask.Operation.Summary = text
	valid := strings.ToValidUTF8(text, "\uFFFD")
	key := strconv.QuoteToASCII(valid)
	key = regexp.MustCompile(`\\U[0-9a-f]{8}|\\x[0-9a-f]{2}|\\[abfnrtv]`).ReplaceAllStringFunc(key, func(s string) string {
		r, _, _, err := strconv.UnquoteChar(s, '"')
		if err != nil {
			t.Fatal(err)
		}
		if r > 0xffff {
			return string(r)
		}
		return `\u` + strings.ToLower(string("0000"[len(strconv.FormatInt(int64(r), 16)):])) + strconv.FormatInt(int64(r), 16)
	})
	parsed, err := operation.ParseTerms([]byte(`{"plain":` + key + `,` + strings.TrimSuffix(key, `"`) + `!":[{"deep":{"er":` + key + `}}]}`))
	if err != nil {
		t.Fatalf("terms of the test: %v", err)
	}
	ask.Operation.Terms = parsed
	ask.Differences = []string{"Differs: the summary says " + text + ", the terms say " + text}
	return q
}

// stripSGR takes the painter's own colours away; whatever else could be an escape sequence stays and is found.
func stripSGR(s string) string { return regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(s, "") }

// terminalWidth is how wide a terminal draws s that draws every character by itself.
func terminalWidth(s string) int {
	c := runewidth.Condition{}
	n := 0
	for _, r := range s {
		if r >= ' ' && r <= '~' {
			n++
			continue
		}
		n += c.RuneWidth(r)
	}
	return n
}

// checkScreen holds one screen of a question to law 5.
func checkScreen(t *testing.T, screen string, w int) {
	t.Helper()
	var labels = map[string]int{}
	for _, l := range splitLines(screen) {
		if n := terminalWidth(l); n > w {
			t.Fatalf("a line of %d cells on %d: %q", n, w, l)
		}
		for _, r := range l {
			if (r < ' ' || r > '~') && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs, unicode.Co) {
				t.Fatalf("%U on the screen: %q", r, l)
			}
		}
		for _, label := range []string{"Papaver asks", "Company  ", "Session  ", "Act      ", "Deadline ", "Differs:", "┌─", "├─", "└─", "a approve"} {
			if strings.HasPrefix(l, label) {
				labels[label]++
			}
		}
	}
	for label, n := range labels {
		if n > 1 {
			t.Fatalf("%q stands %d times on\n%s", label, n, screen)
		}
	}
}

// Clauses: OPS3-3.23, OPS3-3.24, OPS3-3.25, OPS3-3.13
func TestHostileTextLeavesOurLinesAsTheyAre(t *testing.T) {
	t.Parallel()
	for i, text := range hostile() {
		q := hostileQuestion(t, text)
		shown := charset{true}.question(q)
		p := newPainter(false, true, time.UTC)
		for w := 20; w <= 200; w++ {
			if w < minWidth {
				checkScreen(t, p.page(tooSmallView(w, 24)), w)
				continue
			}
			v := newQuestionView(shown, p, w, 24, "", noon())
			if w%10 == 0 {
				checkScreen(t, p.page(v.view(p, w, notWhole, noon())), w)
			}
			all := append(append([]line{}, v.frame.head...), v.frame.body...)
			checkScreen(t, p.page(all), w)
			for label, want := range map[string]int{
				"Company  stormline.test": 1, "Session  ": 1, "Act      pressed": 1, "Deadline 12:05": 1, "Differs: the summary": 1,
			} {
				if got := countLines(all, label); got != want {
					t.Fatalf("text %d at %d columns: %d lines begin %q", i, w, got, label)
				}
			}
			if w%40 == 0 {
				b := newBench(t, w, 24)
				b.show(q)
				b.toEnd()
				b.pass(time.Second)
				checkScreen(t, b.text(), w)
				b.wantText("a approve")
			}
		}
	}
}

func countLines(lines []line, prefix string) int {
	n := 0
	for _, l := range lines {
		if strings.HasPrefix(l.text(), prefix) {
			n++
		}
	}
	return n
}

func TestHostileTextInATaskLeavesOurLinesAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, text := range hostile() {
		task := attach.Task{
			ID: "t1", Title: text, Company: approval.Company{Domain: "stormline.test", Name: text}, Now: text, Started: noon(),
			Steps: []attach.Step{{Label: text, State: attach.StepDoing}}, Performed: text,
			Rounds:  []attach.Round{{Summary: text, Said: text, Outcome: text, Stages: []attach.Stage{{Label: text, At: noon()}}}},
			Trouble: &trouble.Error{What: text, Done: text, Undone: text, Next: text}, Outcome: text,
		}
		for w := minWidth; w <= 200; w += 7 {
			b := newBench(t, w, 24)
			b.send(viewMsg{attach.View{Tasks: []attach.Task{task}}})
			checkScreen(t, b.text(), w)
			body := b.m.tasks.body(newPainter(false, true, time.UTC), w, b.m.now)
			checkScreen(t, newPainter(false, true, time.UTC).page(body), w)
			if n := countLines(body, "With  stormline.test"); n != 1 {
				t.Fatalf("%d lines name the Company", n)
			}
			for _, f := range b.m.tasks.tasks[0].facts(b.m.painter, w) {
				checkScreen(t, newPainter(false, true, time.UTC).page(f.lines), w)
			}
		}
	}
}

// Clauses: OPS3-3.13
func TestNoCharacterOfTheTermsIsLost(t *testing.T) {
	values := []string{strings.Repeat("x", 1000), "a  b   c", "1\n2\n\n3", strings.Repeat("word ", 200), "ünï", strings.Repeat("日本", 100)}
	for _, value := range values {
		for w := minWidth; w <= 200; w += 9 {
			raw := `{"k":` + strconv.Quote(value) + `,"` + strings.Repeat("l", 300) + `":` + strconv.Quote(value) + `}`
			c := charset{true}
			q := short(t)
			q.Request.Question.Operation.Terms = terms(t, raw)
			var got strings.Builder
			for _, l := range termLines(c.question(q).terms, w-2, newPainter(false, true, time.UTC)) {
				for _, s := range l.line {
					if !s.ours {
						got.WriteString(s.text)
					}
				}
			}
			flat := strings.ReplaceAll(value, "\n", "")
			if want := "k" + flat + strings.Repeat("l", 300) + flat; got.String() != want {
				t.Fatalf("at %d columns the terms read\n%q, want\n%q", w, got.String(), want)
			}
		}
	}
}

func TestDeepTermsStayReadable(t *testing.T) {
	raw := strings.Repeat(`{"level":`, 30) + `"the bottom"` + strings.Repeat("}", 30)
	q := short(t)
	q.Request.Question.Operation.Terms = terms(t, raw)
	for w := minWidth; w <= 120; w += 10 {
		lines := termLines(charset{true}.question(q).terms, w-2, newPainter(false, true, time.UTC))
		last := lines[len(lines)-1].line.text()
		if !strings.Contains(last, "the bottom") || terminalWidth(last) > w-2 {
			t.Errorf("at %d columns the last line is %q", w, last)
		}
	}
}
