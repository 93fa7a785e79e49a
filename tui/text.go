package tui

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/mattn/go-runewidth"

	"github.com/papaver-agent/papaver/internal/plaintext"
)

// words are our own: text of this program. A string that came from elsewhere does not fit.
type words string

// count spells a number of ours.
func count(n int) words { return words(strconv.Itoa(n)) }

// cells is the width of w: each of our characters takes one cell.
func (w words) cells() int { return utf8.RuneCountInString(string(w)) }

// look is how a span is drawn. Without colour every look is plain text, so nothing may be told by look alone.
type look int

const (
	plain    look = iota
	strong        // what matters
	faint         // what helps
	alert         // what needs attention: a difference, a deadline that is near
	good          // it went well: a mark is green, words are strong
	bad           // it did not: a mark is red, words are strong
	emphasis      // the Company's emphasis, kept apart from our own looks
	bold          // the Company's strong emphasis
	inked         // black on white, whatever the terminal's colours are: a QR code
)

// span is a piece of a line in one look. Its text is private to this file: it can be made from words, from sanitised
// text, or by splitting another span.
type span struct {
	text string
	look look
	ours bool // ours is one cell a character; of theirs we can't know, so it is measured as the widest it may be
}

func ours(w words, l look) span            { return span{string(w), l, true} }
func theirs(t plaintext.Text, l look) span { return span{t.String(), l, false} }

func (s span) empty() bool { return s.text == "" }

func (s span) split(at int) (before, after span) {
	before, after = s, s
	before.text, after.text = s.text[:at], s.text[at:]
	return before, after
}

// cells is how many terminal cells s takes at most.
func (s span) cells() int {
	_, n := s.fits(math.MaxInt)
	return n
}

// fits returns how many bytes of s fit into room cells, and their width. A mark stays with what it stands on, and an
// escape of ours (‹U+202E›) is one piece as long as it can be.
func (s span) fits(room int) (at, width int) {
	wide := runewidth.Condition{EastAsianWidth: true}
	for i, r := range s.text {
		w := 1
		if !s.ours && r >= 0x7f {
			w = max(wide.RuneWidth(r), ansi.StringWidth(string(r)))
		}
		if width+w > room {
			return whole(s.text, i), width
		}
		width += w
	}
	return len(s.text), width
}

// whole moves a cut of s at byte i before the escape it would divide, unless the escape begins the text.
func whole(s string, i int) int {
	open := strings.LastIndex(s[:i], "‹")
	if open > 0 && !strings.Contains(s[open:i], "›") && strings.Contains(s[i:], "›") {
		return open
	}
	return i
}

// line is one line of the screen, or of what is scrolled.
type line []span

func say(w words) line { return line{ours(w, plain)} }

func (l line) cells() int {
	n := 0
	for _, s := range l {
		n += s.cells()
	}
	return n
}

func (l line) text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// flow lays l out in lines of at most width cells. The first begins with first, the others with next. Nothing is
// dropped: lines break after a space, or inside a word that is longer than a line.
func flow(l line, width int, first, next line) []line {
	room := max(width-max(first.cells(), next.cells()), 2)
	var out []line
	current, used := line{}, 0
	emit := func() {
		lead := next
		if len(out) == 0 {
			lead = first
		}
		out = append(out, append(append(line{}, lead...), current...))
		current, used = line{}, 0
	}
	for _, word := range breakable(l) {
		if w := word.cells(); used+w > room && used > 0 && w <= room {
			emit()
		}
		for _, piece := range word {
			for !piece.empty() {
				at, w := piece.fits(room - used)
				if at == 0 {
					emit()
					continue
				}
				var head span
				head, piece = piece.split(at)
				current, used = append(current, head), used+w
			}
		}
	}
	if used > 0 || len(out) == 0 {
		emit()
	}
	return out
}

// breakable splits l after each space; a word can hold spans of several looks.
func breakable(l line) []line {
	var out []line
	var word line
	for _, s := range l {
		for !s.empty() {
			at := strings.IndexByte(s.text, ' ') + 1
			if at == 0 {
				word = append(word, s)
				break
			}
			var head span
			head, s = s.split(at)
			out, word = append(out, append(word, head)), nil
		}
	}
	if len(word) > 0 {
		out = append(out, word)
	}
	return out
}

// clip cuts l at width cells. Only our own lines whose end says nothing new may be clipped.
func clip(l line, width int) line {
	var out line
	for _, s := range l {
		at, w := s.fits(width)
		head, _ := s.split(at)
		out = append(out, head)
		if width -= w; at < len(s.text) {
			break
		}
	}
	return out
}

// spread puts right at the end of a line of width cells that begins with left.
func spread(left, right line, width int) line {
	gap := width - left.cells() - right.cells()
	if gap < 1 {
		return clip(left, width)
	}
	return append(append(append(line{}, left...), ours(words(strings.Repeat(" ", gap)), plain)), right...)
}

// column pads l with spaces to width cells as they are drawn here, so that columns stand below each other.
func column(l line, width int) line {
	if gap := width - ansi.StringWidth(l.text()); gap > 0 {
		return append(append(line{}, l...), ours(words(strings.Repeat(" ", gap)), plain))
	}
	return l
}
