package tui

import (
	"slices"
	"strings"

	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/operation"
)

// Lines of ours that stand inside the Company's block begin with our mark where its lines have the bar, so that no text
// of a Company can pass for one (law 5). They say a value once more in another spelling; the value above stays as sent.

// beside is what we say below one value of the terms.
func (p painter) beside(r operation.Reading, value []plaintext.Text) []words {
	var out []words
	if r.Currency != "" {
		out = append(out, wThatIs+p.money(r.Amount, r.Currency))
	}
	if !r.Moment.IsZero() {
		out = append(out, wThatIs+whenWords(r.Moment.In(p.zone))+wInYourZone)
	}
	switch len(r.Days) {
	case 0:
	case 1:
		out = append(out, wThatIs+dayWords(r.Days[0]))
	default:
		out = append(out, wCanBe+dayWords(r.Days[0])+wOr+dayWords(r.Days[1]))
	}
	if slices.ContainsFunc(value, plaintext.RightToLeft) {
		out = append(out, wRightToLeftValue)
	}
	return out
}

// sign is the sign of a currency that is well known by it.
func sign(currency string) (s words, wide bool) {
	switch currency {
	case "USD":
		return "$", false
	case "EUR":
		return "€", true
	case "GBP":
		return "£", true
	case "INR":
		return "₹", true
	default:
		return "", false
	}
}

// money spells an amount as people do: $70.00, or 70.00 CHF. A character that is no part of a number is dropped, so that
// nothing but a number can come from outside.
func (p painter) money(amount, currency string) words {
	number := words(only(amount, "0123456789.-"))
	code := words(only(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	s, wide := sign(currency)
	if s == "" || wide && p.ascii {
		return number + " " + code
	}
	if rest, negative := strings.CutPrefix(string(number), "-"); negative {
		return "-" + s + words(rest)
	}
	return s + number
}

func only(s, allowed string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(allowed, r) {
			return r
		}
		return -1
	}, s)
}

// framed is a line of the Company's block without its left edge.
type framed struct {
	line   line
	beside bool // it is ours; its edge is our mark
}

func theirLines(lines []line) []framed {
	out := make([]framed, len(lines))
	for i, l := range lines {
		out[i] = framed{line: l}
	}
	return out
}

// besideLines lay out what is said below a value that begins at cell at.
func besideLines(said []words, at, w int) []framed {
	var out []framed
	lead := say(repeat(" ", min(at, w/2)))
	for _, s := range said {
		for _, l := range flow(line{ours(s, faint)}, w, lead, lead) {
			out = append(out, framed{l, true})
		}
	}
	return out
}

// edge is the left edge of a line of the Company's block.
func (f framed) edge(m marks) line {
	if f.beside {
		return append(line{ours(wBesideMark+" ", strong)}, f.line...)
	}
	return append(line{ours(m.bar+" ", faint)}, f.line...)
}

// turned is text of others for a line of ours, with a mark behind it where it is written from right to left.
func turned(t plaintext.Text, l look) line {
	out := line{theirs(t, l)}
	if plaintext.RightToLeft(t) {
		out = append(out, ours(wRightToLeft, faint))
	}
	return out
}
