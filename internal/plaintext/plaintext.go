// Package plaintext turns text that a Company, a page or a file wrote into text that is safe to show
// in a terminal, to log and to give to a model.
//
// The result is a Text, which only this package makes. A Text is one line. It can't move a cursor,
// change a colour, draw a link, ring a bell, hide or reorder its neighbours by invisible characters, or
// draw a frame like ours. What isn't allowed isn't dropped: it stands as a visible escape, ‹U+202E› for
// a code point and ‹0xFF› for a byte that isn't UTF-8. The characters ‹ and › of the text itself are
// escaped too, so an escape can't be imitated, and two different texts never look the same by escaping.
//
// Allowed are letters, numbers, punctuation, symbols and the space U+0020, except the invisible ones
// among them and the box and block drawing characters; and after a letter at most four combining marks.
//
// Sanitising twice is therefore not the same as once: the second time escapes the first time's
// brackets. The type takes the place of that property. Code that holds a Text has no reason to sanitise
// it again, and code that holds a string can't pass it for a Text.
//
// What this does not promise: letters that look like other letters stay as they are, and so do letters
// of scripts written from right to left, which some terminals reorder within their line. Where a
// name matters, the domain stands before it (Domain), and the rest is quoted (Quote).
//
// Everything here is pure and may be called concurrently.
package plaintext

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/mattn/go-runewidth"
)

// QuoteCells is the width of a quoted name in our own lines, in terminal cells, its quotation marks
// included.
const QuoteCells = 40

// MinWrap is the smallest width Wrap works with, in terminal cells: the widest character with its marks
// fits.
const MinWrap = 4

// maxMarks is how many combining marks a letter keeps. Living scripts need up to three or four; more
// pile up over the lines above.
const maxMarks = 4

// Text is one line of safe text. The zero value is empty. It is comparable.
type Text struct {
	s string // holds nothing but what plain allows, and our escapes
}

// String returns the text.
func (t Text) String() string { return t.s }

// Whole returns s as one line with nothing cut; a newline is escaped like every control character.
func Whole(s string) Text {
	var b strings.Builder
	for len(s) > 0 {
		u, n := next(s)
		b.WriteString(u.text)
		s = s[n:]
	}
	return Text{b.String()}
}

// Line returns s as one line of at most cells terminal cells. What doesn't fit is replaced by "…", so
// this is for labels and names, never for terms.
func Line(s string, cells int) Text {
	return Text{line(s, cells, next)}
}

// Block returns s line by line, with nothing cut: "\n" and "\r\n" end a line. The caller puts each line
// behind a prefix or frame of its own and wraps it (Wrap).
func Block(s string) []Text {
	var lines []Text
	for l := range strings.SplitSeq(s, "\n") {
		lines = append(lines, Whole(strings.TrimSuffix(l, "\r")))
	}
	return lines
}

// Quote returns s between “ and ”, all of it at most QuoteCells wide: for a name inside a line of ours.
// Quotation marks of that kind inside s are escaped, so the end of the quotation is always ours.
func Quote(s string) Text {
	const open, end = "“", "”"
	room := QuoteCells - stringWidth(open) - stringWidth(end)
	return Text{open + line(s, room, nextQuoted) + end}
}

// Join puts texts one after the other with nothing between them.
func Join(parts ...Text) Text {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(part.s)
	}
	return Text{b.String()}
}

// Width is the number of terminal cells t takes, never less than it really takes: characters whose
// width depends on the terminal count as two. A caller that pads t to a column of its own measures with
// the library that draws it.
func Width(t Text) int { return stringWidth(t.s) }

// unit is one piece of safe text that isn't divided: a character with its marks, or one escape.
type unit struct {
	text  string
	cells int
}

// next reads one unit from the start of s, which isn't empty, and the number of bytes it was made of.
func next(s string) (unit, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return escape(fmt.Sprintf("0x%02X", s[0])), 1
	}
	if !plain(r) {
		return escapeRune(r), n
	}
	cells := runeWidth(r)
	// A base without a width of its own would be drawn over its neighbour, and any number of them would
	// count nothing.
	if cells == 0 {
		return escapeRune(r), n
	}
	if !letter(r) {
		return unit{s[:n], cells}, n
	}
	for marks := 0; marks < maxMarks && n < len(s); marks++ {
		m, size := utf8.DecodeRuneInString(s[n:])
		if !mark(m) {
			break
		}
		cells += runeWidth(m)
		n += size
	}
	return unit{s[:n], cells}, n
}

// nextQuoted is next inside “ and ”.
func nextQuoted(s string) (unit, int) {
	if r, n := utf8.DecodeRuneInString(s); r >= '\u201C' && r <= '\u201F' {
		return escapeRune(r), n
	}
	return next(s)
}

func escapeRune(r rune) unit { return escape(fmt.Sprintf("U+%04X", r)) }

// escape encloses name, which is ASCII. The brackets take one cell each, everywhere.
func escape(name string) unit { return unit{"‹" + name + "›", len(name) + 2} }

// line reads units of s as long as they fit in cells; it never reads much more of s than it shows.
func line(s string, cells int, next func(string) (unit, int)) string {
	const cut = "…"
	cutCells := stringWidth(cut)
	var b strings.Builder
	width, fits := 0, 0 // fits: bytes of b that leave room for the mark of the cut
	for len(s) > 0 {
		u, n := next(s)
		if width+u.cells > cells {
			if cutCells > cells {
				return ""
			}
			return b.String()[:fits] + cut
		}
		b.WriteString(u.text)
		width += u.cells
		if width+cutCells <= cells {
			fits = b.Len()
		}
		s = s[n:]
	}
	return b.String()
}

// runeWidth is the larger of what the two libraries say that our TUI draws with, ambiguous characters
// as in an East Asian terminal.
func runeWidth(r rune) int {
	if r >= ' ' && r <= '~' {
		return 1
	}
	wide := runewidth.Condition{EastAsianWidth: true}
	return max(wide.RuneWidth(r), ansi.StringWidth(string(r)))
}

func stringWidth(s string) int {
	cells := 0
	for _, r := range s {
		cells += runeWidth(r)
	}
	return cells
}
