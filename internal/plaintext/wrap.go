package plaintext

import (
	"strings"
	"unicode/utf8"
)

// Wrap divides t into lines of at most cells terminal cells, after spaces where there are some and
// between characters where not. Put one after the other the lines are t again: no character is
// dropped, not even the space at a line's end. A width below MinWrap counts as MinWrap. An empty Text
// is one empty line.
func Wrap(t Text, cells int) []Text {
	cells = max(cells, MinWrap)
	var lines []Text
	rest := t.s
	for {
		n := fit(rest, cells)
		lines = append(lines, Text{rest[:n]})
		rest = rest[n:]
		if rest == "" {
			return lines
		}
	}
}

// fit returns how many bytes of s make the next line.
func fit(s string, cells int) int {
	width, n := 0, 0
	space := 0 // bytes up to and with the last space
	for n < len(s) {
		size, w := cluster(s[n:], cells)
		if width+w > cells {
			if space > 0 {
				return space
			}
			return n
		}
		width += w
		n += size
		if s[n-1] == ' ' {
			space = n
		}
	}
	return n
}

// cluster returns the bytes and cells of the first thing of s that stays together: an escape where the
// line has room for it, else one character with its marks. s is safe text, so its marks are few.
func cluster(s string, cells int) (size, width int) {
	if strings.HasPrefix(s, "‹") {
		size = strings.Index(s, "›") + len("›")
		if width = stringWidth(s[:size]); width <= cells {
			return size, width
		}
	}
	r, size := utf8.DecodeRuneInString(s)
	width = runeWidth(r)
	for size < len(s) {
		m, n := utf8.DecodeRuneInString(s[size:])
		if !mark(m) {
			break
		}
		width += runeWidth(m)
		size += n
	}
	return size, width
}
