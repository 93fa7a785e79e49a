package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/operation"
)

const (
	labelCells = 200 // a step's label or a task's title, which stand on lines of their own
)

// charset says which characters reach the screen. Without Unicode every other character is shown by its number.
type charset struct{ unicode bool }

// line is text for one of our lines, cut at most cells.
func (c charset) line(s string, cells int) plaintext.Text {
	return plaintext.Line(c.spell(s), cells)
}

// label is what a task says in our words of a step: of their typography ASCII has its own.
func (c charset) label(s string) plaintext.Text {
	if !c.unicode {
		s = strings.NewReplacer("“", `"`, "”", `"`, "×", "x", "…", "...").Replace(s)
	}
	return c.line(s, labelCells)
}

// whole is text for one of our lines that may not be cut.
func (c charset) whole(s string) plaintext.Text { return plaintext.Whole(c.spell(s)) }

// block is text of several lines, nothing cut.
func (c charset) block(s string) []plaintext.Text {
	return plaintext.Block(c.spell(strings.ReplaceAll(s, "\r\n", "\n")))
}

// quote is a name between quotation marks, all of it at most plaintext.QuoteCells.
func (c charset) quote(s string) plaintext.Text {
	if c.unicode {
		return plaintext.Quote(s)
	}
	const mark = `"`
	inside := plaintext.Line(strings.ReplaceAll(c.spell(s), mark, "<U+0022>"), plaintext.QuoteCells-2)
	return plaintext.Join(plaintext.Whole(mark), inside, plaintext.Whole(mark))
}

// difference is a line of operation.Differences. Its quotation marks and arrows are ours: inside a quotation those are
// spelled by their number (operation.Differences).
func (c charset) difference(s string) plaintext.Text {
	if c.unicode {
		return plaintext.Whole(s)
	}
	var parts []plaintext.Text
	for before := range strings.SplitAfterSeq(s, "“") {
		inside, after, quoted := strings.Cut(before, "”")
		if !quoted {
			inside, after = "", before
		} else {
			parts = append(parts, c.whole(strings.ReplaceAll(inside, `"`, "<U+0022>")), plaintext.Whole(`"`))
		}
		own := strings.NewReplacer("→", "->", "“", `"`).Replace(after)
		parts = append(parts, c.whole(own))
	}
	return plaintext.Join(parts...)
}

// domain is a host name; one that isn't ASCII comes as punycode.
func (c charset) domain(host string) plaintext.Text {
	if d := plaintext.Domain(host); c.unicode {
		return d
	}
	return c.whole(plaintext.Domain(host).String())
}

// spell replaces what a terminal without Unicode can't show. `<U+` that came from outside is spelled too, so that a
// spelling can't be imitated.
func (c charset) spell(s string) string {
	if c.unicode {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if r == '\n' || r >= ' ' && r <= '~' && !strings.HasPrefix(s[i:], "<U+") {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "<U+%04X>", r)
	}
	return b.String()
}

// companyText is who a Company is: the domain, and the name it gives itself.
type companyText struct {
	domain plaintext.Text
	name   plaintext.Text // quoted; empty when it gives none
	puny   bool           // the domain has letters beyond a to z, written as punycode
}

func (c charset) company(from approval.Company) companyText {
	out := companyText{domain: c.domain(from.Domain)}
	out.puny = slices.ContainsFunc(strings.Split(out.domain.String(), "."), func(label string) bool { return strings.HasPrefix(label, "xn--") })
	if strings.TrimSpace(from.Name) != "" {
		out.name = c.quote(from.Name)
	}
	return out
}

// introduce says who it is in a line of ours: the domain first.
func (c companyText) introduce() line {
	l := c.address()
	if c.name == (plaintext.Text{}) {
		return append(l, ours(wNameless, plain))
	}
	return append(append(l, ours(wCalls, plain)), turned(c.name, plain)...)
}

// address is its domain alone.
func (c companyText) address() line {
	l := line{theirs(c.domain, strong)}
	if c.puny {
		l = append(l, ours(wPunycode, alert))
	}
	return l
}

// termRow is one row of the terms.
type termRow struct {
	depth int
	label plaintext.Text
	value []plaintext.Text // its lines; none for an object or a list that holds something

	reading operation.Reading // what we say beside it
}

// question is everything one question shows. Two questions that show the same are equal by same.
type question struct {
	id          approval.RequestID
	statement   lock.Statement // what a no to it would be signed as
	shows       approval.Shown
	kind        approval.Kind
	after       approval.After
	front       bool
	before      bool // another question of its round was asked before
	company     companyText
	account     plaintext.Text // quoted; empty for a guest
	act         plaintext.Text
	differences []plaintext.Text // each begins "Differs:"
	summary     []plaintext.Text
	terms       []termRow
	deadline    time.Time
}

func (c charset) question(from attach.Question) question {
	q := from.Request.Question
	out := question{
		id: from.Request.ID, statement: from.Request.Statement(false), shows: from.Request.Shows(), kind: q.Kind, after: q.After, front: from.Front, company: c.company(q.Company),
		act: c.whole(q.Act), deadline: q.Deadline,
	}
	if q.Account != "" {
		out.account = c.quote(q.Account)
	}
	for _, d := range q.Differences {
		out.differences = append(out.differences, c.difference(strings.TrimPrefix(d, differs)))
	}
	if strings.TrimSpace(q.Operation.Summary) != "" {
		out.summary = c.block(q.Operation.Summary)
	}
	out.terms = c.terms(q.Operation.Terms)
	return out
}

func (c charset) terms(from operation.Terms) []termRow {
	var out []termRow
	readings := from.Readings()
	for i, row := range from.Rows() {
		r := c.termRow(row)
		r.reading = readings[i]
		out = append(out, r)
	}
	return out
}

func (c charset) termRow(row operation.Row) termRow {
	out := termRow{depth: row.Depth, label: c.whole(row.Label)}
	switch {
	case row.Kind == operation.String && strings.TrimSpace(row.Value) == "":
		out.value = c.block(`"` + row.Value + `"`) // an empty value would look like a row without one
	case row.Value != "":
		out.value = c.block(row.Value)
	}
	return out
}

// same reports whether a screen that shows q shows other as well.
func (q question) same(other question) bool {
	return q.id == other.id && q.statement == other.statement && q.shows == other.shows && q.kind == other.kind && q.after == other.after && q.company == other.company &&
		q.account == other.account && q.act == other.act && q.deadline.Equal(other.deadline) &&
		slices.Equal(q.differences, other.differences) && slices.Equal(q.summary, other.summary)
}

// stageText is one stage of a round.
type stageText struct {
	label plaintext.Text
	at    time.Time
}

type roundText struct {
	summary plaintext.Text // quoted; empty when there is none
	stages  []stageText
	outcome string // compared, never shown
	said    []plaintext.Text
}

type stepText struct {
	label plaintext.Text
	state attach.StepState
}

type troubleText struct{ what, done, undone, next plaintext.Text }

// task is everything the task view shows of one task.
type task struct {
	id             string // compared, never shown
	title          plaintext.Text
	company        companyText
	steps          []stepText
	now            plaintext.Text
	started, ended time.Time
	rounds         []roundText
	outcome        string // compared, never shown
	trouble        *troubleText
	performed      plaintext.Text
	unexplained    int
	earlier        int
}

// over says that the task has ended. One whose process was lost has an outcome, and nobody knows when.
func (t task) over() bool { return !t.ended.IsZero() || t.outcome != "" }

func (c charset) task(from attach.Task) task {
	out := task{
		id: from.ID, title: c.line(from.Title, labelCells), company: c.company(from.Company), now: c.label(from.Now),
		started: from.Started, ended: from.Ended, outcome: from.Outcome, trouble: c.trouble(from.Trouble),
		performed: c.line(from.Performed, labelCells), unexplained: from.Unexplained, earlier: from.Earlier,
	}
	for _, s := range from.Steps {
		out.steps = append(out.steps, stepText{c.label(s.Label), s.State})
	}
	for _, r := range from.Rounds {
		round := roundText{outcome: r.Outcome}
		if first, _, _ := strings.Cut(strings.TrimSpace(r.Summary), "\n"); first != "" {
			round.summary = c.quote(first)
		}
		for _, s := range r.Stages {
			round.stages = append(round.stages, stageText{c.label(s.Label), s.At})
		}
		if r.Said != "" {
			round.said = c.block(r.Said)
		}
		out.rounds = append(out.rounds, round)
	}
	return out
}

func (c charset) trouble(from *trouble.Error) *troubleText {
	if from == nil {
		return nil
	}
	what := from.What
	if from.Err != nil {
		what = from.Error()
	}
	return &troubleText{c.whole(what), c.whole(from.Done), c.whole(from.Undone), c.whole(from.Next)}
}
