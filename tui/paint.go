package tui

import (
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// painter turns lines into terminal text. It is the only place that makes escape sequences. Words stand in the terminal's own
// colours alone, plain, bold, faint or the two swapped: of the sixteen colours there is none that can be read on every
// background (yellow on white, red on black). Marks that repeat what a word says are green or red.
type painter struct {
	styles map[look]lipgloss.Style // empty without colour
	marks  marks
	ascii  bool
	zone   *time.Location // the User's
}

func newPainter(color, unicode bool, zone *time.Location) painter {
	p := painter{marks: asciiMarks(), ascii: true, zone: zone}
	if unicode {
		p.marks, p.ascii = unicodeMarks(), false
	}
	if !color {
		return p
	}
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	r.SetHasDarkBackground(true) // never asked of the terminal: no style depends on it
	style := func() lipgloss.Style { return r.NewStyle().Inline(true) }
	p.styles = map[look]lipgloss.Style{
		strong:   style().Bold(true),
		faint:    style().Faint(true),
		alert:    style().Bold(true).Reverse(true),
		good:     style().Foreground(lipgloss.Color("2")),
		bad:      style().Foreground(lipgloss.Color("1")),
		emphasis: style().Italic(true),
		bold:     style().Bold(true),
		inked:    style().Foreground(lipgloss.Color("0")).Background(lipgloss.Color("15")),
	}
	return p
}

func (p painter) paint(l line) string {
	var b strings.Builder
	for _, s := range l {
		text := s.text
		if p.ascii {
			text = strings.ReplaceAll(text, "…", "~") // plaintext marks a cut with it
		}
		l := s.look
		if (l == good || l == bad) && strings.ContainsFunc(text, unicode.IsLetter) {
			l = strong
		}
		if style, styled := p.styles[l]; styled && (strings.TrimSpace(text) != "" || s.look == inked) {
			text = style.Render(text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// page joins lines to one screen.
func (p painter) page(lines []line) string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = p.paint(l)
	}
	return strings.Join(out, "\n")
}

// marks are the signs of our own lines. Every one is a single cell.
type marks struct {
	done, doing, toDo, failed words
	full, void                words // of a bar
	rule, bar                 words // a horizontal rule; the left edge of the Company's block
	top, middle, bottom       words // corners of that block
	more                      words // begins the continuation of a long value
	dot, up, down             words
}

func unicodeMarks() marks {
	return marks{
		done: "✓", doing: "▸", toDo: "·", failed: "✗", full: "█", void: "░", rule: "─", bar: "│",
		top: "┌", middle: "├", bottom: "└", more: "┊", dot: "·", up: "↑", down: "↓",
	}
}

func asciiMarks() marks {
	return marks{
		done: "x", doing: ">", toDo: ".", failed: "!", full: "#", void: "-", rule: "-", bar: "|",
		top: "+", middle: "+", bottom: "+", more: ":", dot: "-", up: "Up", down: "Down",
	}
}

func repeat(w words, n int) words { return words(strings.Repeat(string(w), max(n, 0))) }
