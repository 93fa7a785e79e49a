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
//   - a form's field has a term's name and another value;
//   - an amount, a number or a date of the summary isn't in the terms, or an amount of the terms isn't in
//     the summary.
//
// The lines hold Company text and page text, quoted and short, but not sanitised: whoever shows one
// passes it through plaintext. A line is a hint beside the terms and takes nothing from them. No lines
// doesn't mean that the operation is what the User wants: numbers inside IDs, times, words for
// numbers and dates in other languages than English aren't compared.
func Differences(op Operation, act ActFacts) []string {
	lines := againstAct(op, act)
	if op.HasSummary {
		lines = append(lines, againstSummary(op)...)
	}
	return finish(lines, 0)
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
			lines = append(lines, name+" was "+valueOf(c.Old, c.OldKind)+", is now "+valueOf(c.New, c.NewKind))
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
