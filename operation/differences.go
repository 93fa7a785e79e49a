package operation

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/papaver-agent/papaver/internal/plaintext"
)

// differs begins every line about a difference.
const differs = "Differs: "

// Differences says where an operation's terms, its summary and the act it should be for don't agree,
// one line each, beginning "Differs:" (Operations v3, sections 5 and 8.2, where the agent points them
// out to the User):
//
//   - no act of ours explains the operation, or it shares no word, ID or amount with the act;
//   - a form's field has a term's name and another value, or the pressed control's label an amount that
//     isn't in the terms;
//   - an amount, a number or a date of the summary isn't in the terms, or an amount of the terms isn't in
//     the summary.
//
// The lines hold Company text and page text, quoted and short, but not sanitised: whoever shows one
// passes it through plaintext. A line is a hint beside the terms and takes nothing from them. No lines
// doesn't mean that the operation is what the User wants: numbers inside IDs, times, words for
// numbers and months in rarer languages aren't compared, and neither is what goes beyond maxCompared,
// which a line says.
func Differences(op Operation, act ActFacts) []string {
	c := bounded(op)
	lines := c.againstAct(act)
	if op.HasSummary {
		lines = append(lines, c.againstSummary()...)
	}
	if c.summaryCut {
		lines = append(lines, "the summary is longer than what we compare, which is its beginning")
	}
	if c.termsCut {
		lines = append(lines, "the terms are longer than what we compare, which is their beginning")
	}
	return finish(lines, 0)
}

// maxCompared is how much of a summary, and of all the terms, is compared, in bytes: more than a person
// reads, and few enough that the question doesn't wait for us.
const maxCompared = 16 << 10

// compared is what is compared of an operation. What stands beyond a cut can't be missed in the other.
type compared struct {
	op                   Operation
	all                  Terms // not cut
	summaryCut, termsCut bool
}

// bounded cuts what is compared of op to maxCompared.
func bounded(op Operation) compared {
	c := compared{op: op, all: op.Terms}
	if len(op.Summary) > maxCompared {
		at := strings.LastIndexByte(op.Summary[:maxCompared], ' ') // no number and no word is cut in two
		c.op.Summary, c.summaryCut = op.Summary[:max(at, 0)], true
	}
	room := maxCompared
	for i, row := range op.Terms.rows {
		if room -= len(row.Label) + len(row.Value) + 1; room < 0 {
			c.op.Terms.rows, c.termsCut = op.Terms.rows[:i:i], true
			break
		}
	}
	return c
}

// Revised returns the lines for a new revision: each value of the terms that changed, old → new. What
// holds for the lines of Differences holds for these.
func Revised(old, new Terms) []string {
	changes := Changes(old, new)
	more := max(len(changes)-MaxDifferences, 0)
	var lines []string
	for _, c := range changes[:len(changes)-more] {
		name := quoted(strings.Join(c.Path, " "))
		switch {
		case c.OldKind == Absent:
			lines = append(lines, name+" is new: "+valueOf(c.New, c.NewKind))
		case c.NewKind == Absent:
			lines = append(lines, name+" is gone, it was "+valueOf(c.Old, c.OldKind))
		default:
			lines = append(lines, name+" changed: "+valueOf(c.Old, c.OldKind)+" → "+valueOf(c.New, c.NewKind))
		}
	}
	return finish(lines, more)
}

func valueOf(value string, kind Kind) string {
	if kind == String {
		return quoted(value)
	}
	return short(value, plaintext.QuoteCells)
}

// finish drops what is said twice, cuts the list, says how many more there are, and begins each line.
func finish(lines []string, more int) []string {
	seen := make(map[string]bool, len(lines))
	lines = slices.DeleteFunc(lines, func(line string) bool {
		twice := seen[line]
		seen[line] = true
		return twice
	})
	if over := len(lines) - MaxDifferences; over > 0 {
		lines, more = lines[:MaxDifferences], more+over
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("%d more that aren't listed", more))
	}
	for i, line := range lines {
		lines[i] = differs + line
	}
	return lines
}

// quoted puts a text of the Company or the page between “ and ”, as plaintext.Quote does but without
// sanitising: quotation marks inside stand by their number, so that the end is ours.
func quoted(s string) string {
	s = short(s, plaintext.QuoteCells-6)
	for _, mark := range "\u201C\u201D\u201E\u201F" {
		s = strings.ReplaceAll(s, string(mark), fmt.Sprintf("<U+%04X>", mark))
	}
	return "“" + s + "”"
}

// short cuts s so that it will take at most cells when it is shown.
func short(s string, cells int) string {
	if len(s) <= cells && plaintext.Width(plaintext.Whole(s)) <= cells {
		return s
	}
	width := plaintext.Width(plaintext.Whole("…"))
	for i, r := range s {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			size = 1
		}
		width += plaintext.Width(plaintext.Whole(s[i : i+size]))
		if width > cells {
			return s[:i] + "…"
		}
	}
	return s
}
