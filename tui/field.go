package tui

import (
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// maxField is how many bytes a field takes. A callback address is the longest that is typed or pasted.
const maxField = 16 << 10

// field is one line that the User types or pastes. What is in a secret one never reaches the screen.
type field struct {
	text    []byte
	secret  bool
	address bool // white space in what is pasted is the terminal's, and no part of it
}

// take adds what was typed or pasted, and reports whether the key was text. The end of a line in a paste is no key.
func (f *field) take(k tea.KeyMsg) bool {
	if k.Type != tea.KeyRunes && k.Type != tea.KeySpace || k.Alt {
		return false
	}
	for _, r := range k.Runes {
		if f.address && strings.ContainsRune(" \t\r\n", r) || r == '\r' || r == '\n' {
			continue
		}
		if len(f.text)+utf8.UTFMax > maxField {
			break
		}
		f.text = f.appended(r)
	}
	return true
}

// appended is the text with r behind it. A secret leaves no copy where it stood before.
func (f *field) appended(r rune) []byte {
	if cap(f.text)-len(f.text) >= utf8.UTFMax {
		return utf8.AppendRune(f.text, r)
	}
	grown := make([]byte, len(f.text), 2*len(f.text)+64)
	copy(grown, f.text)
	f.wipe()
	return utf8.AppendRune(grown, r)
}

// back takes the last character away.
func (f *field) back() {
	_, n := utf8.DecodeLastRune(f.text)
	rest := len(f.text) - n
	clear(f.text[rest:])
	f.text = f.text[:rest]
}

// wipe overwrites what is there.
func (f *field) wipe() {
	clear(f.text[:cap(f.text)])
	f.text = f.text[:0]
}

// give hands the text over, to its taker to overwrite.
func (f *field) give() []byte {
	given := f.text
	f.text = nil
	return given
}

// lines draw the field below its label, at most room of them: the end, where the User types.
func (f *field) lines(c charset, w, room int) []line {
	lead := line{ours("> ", strong)}
	var text line
	switch {
	case f.secret && len(f.text) == 0:
		text = line{ours(wSecretEmpty, faint)}
	case f.secret:
		text = line{ours(wSecretTyped, plain)}
	default:
		text = line{theirs(c.whole(string(f.text)), plain), ours("_", strong)}
	}
	out := flow(text, w, lead, say("  "))
	if len(out) > room {
		out = out[len(out)-room:]
	}
	return out
}
