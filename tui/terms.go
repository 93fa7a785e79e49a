package tui

import (
	"strings"

	"github.com/papaver-agent/papaver/internal/plaintext"
)

// labelColumn is the width of the widest label that stands beside its value, in cells.
const labelColumn = 24

// termLines lays out every row of the terms in w cells: nested rows indented, labels beside their values where they
// are short, long values wrapped behind a mark, nothing cut. Below a value stands what we say beside it.
func termLines(rows []termRow, w int, p painter) []framed {
	var out []framed
	columns := labelColumns(rows)
	for i, row := range rows {
		lines, at := row.lines(w, columns[i], p.marks)
		out = append(append(out, theirLines(lines)...), besideLines(p.beside(row.reading, row.value), at, w)...)
	}
	return out
}

// lines are one row, and the cell at which its value begins.
func (row termRow) lines(w, labels int, m marks) (out []line, at int) {
	indent := termIndent(row.depth, w)
	if len(row.value) == 0 {
		return flow(turned(row.label, strong), w, indent, continued(indent, m)), indent.cells()
	}
	column0 := indent.cells() + labels + 2
	if row.label.String() != "" && theirs(row.label, plain).cells() <= labels && column0 <= w/2 {
		label := append(append(line{}, indent...), theirs(row.label, strong))
		next := continued(column(indent, column0-2), m)
		return valueLines(row.value, w, column(label, column0), next), column0
	}
	out = flow(turned(row.label, strong), w, indent, continued(indent, m))
	deeper := continued(indent, m)
	return append(out, valueLines(row.value, w, deeper, deeper)...), deeper.cells()
}

func continued(indent line, m marks) line {
	return append(append(line{}, indent...), ours(m.more+" ", faint))
}

func valueLines(value []plaintext.Text, w int, first, next line) []line {
	var out []line
	for _, v := range value {
		out = append(out, flow(line{theirs(v, plain)}, w, first, next)...)
		first = next
	}
	return out
}

// termIndent is two cells a level, at most a third of the width; what is deeper says its level.
func termIndent(depth, w int) line {
	if 2*depth <= w/3 {
		return line{ours(repeat(" ", 2*depth), plain)}
	}
	return line{ours(repeat(" ", w/3-5)+"("+count(depth)+") ", faint)}
}

// labelColumns gives each row the width of the labels it stands with: its neighbours of the same depth, up to
// labelColumn cells.
func labelColumns(rows []termRow) []int {
	widest := map[int]int{}
	for _, row := range rows {
		if n := theirs(row.label, plain).cells(); len(row.value) > 0 && n <= labelColumn {
			widest[row.depth] = max(widest[row.depth], n)
		}
	}
	out := make([]int, len(rows))
	for i, row := range rows {
		out[i] = widest[row.depth]
	}
	return out
}

// summaryLines lays out a summary in w cells. Emphasis and strong emphasis are drawn in their look with their marks
// left standing, lists hang under their mark, and everything else (links, images, HTML) is text as sent
// (Operations v3, section 3).
func summaryLines(summary []plaintext.Text, w int) []line {
	var out []line
	for _, t := range summary {
		out = append(out, flow(emphasised(t), w, nil, say(repeat(" ", min(listHang(t.String()), w/3))))...)
	}
	return out
}

// listHang is how far the continuation of a list item is indented, zero for other lines.
func listHang(s string) int {
	text := strings.TrimLeft(s, " ")
	indent := len(s) - len(text)
	if indent > 8 {
		return 0
	}
	if len(text) > 1 && strings.ContainsRune("-*+", rune(text[0])) && text[1] == ' ' {
		return indent + 2
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits > 0 && digits < 10 && len(text) > digits+1 && strings.ContainsRune(".)", rune(text[digits])) && text[digits+1] == ' ' {
		return indent + digits + 2
	}
	return 0
}

// emphasised gives the pieces of one line between pairs of * or ** (or _ and __ at the edge of words) their look.
func emphasised(t plaintext.Text) line {
	rest := theirs(t, plain)
	var out line
	for !rest.empty() {
		start, end, l := nextEmphasis(rest.text)
		if l == plain {
			break
		}
		var before, marked span
		before, rest = rest.split(start)
		marked, rest = rest.split(end - start)
		marked.look = l
		out = append(out, before, marked)
	}
	return append(out, rest)
}

// nextEmphasis finds the first emphasised piece of s, its marks included; plain when there is none.
func nextEmphasis(s string) (start, end int, l look) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '*' && c != '_' || c == '_' && i > 0 && s[i-1] != ' ' {
			continue
		}
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], string(c)))
		mark := strings.Repeat(string(c), run)
		inner := s[i+run:]
		n := strings.Index(inner, mark)
		if run > 2 || n < 1 || inner[0] == ' ' || inner[n-1] == ' ' {
			i += run - 1
			continue
		}
		l = emphasis
		if run == 2 {
			l = bold
		}
		return i, i + 2*run + n, l
	}
	return 0, 0, plain
}
