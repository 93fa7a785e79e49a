package plaintext

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxLabel is the length of a DNS label (RFC 1035, section 2.3.4), in characters. A longer one is no
// name, and isn't worth the square of its length in time.
const maxLabel = 63

// Domain returns a host name for showing, in ASCII and with nothing cut: letters in lower case, a label
// with other characters as its punycode (xn--…), as a browser's address bar shows a name it mistrusts.
// What can't be part of a host stands as an escape, "/" and "@" included. A port may follow.
//
// The result is for people to read. It is not for connecting: the mapping is that of UTS 46 for ordinary
// names only.
func Domain(host string) Text {
	var b strings.Builder
	for i, label := range strings.Split(dots.Replace(host), ".") {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(hostEscape(asciiLabel(label)))
	}
	return Text{b.String()}
}

// dots are the full stops that UTS 46 reads as one.
var dots = strings.NewReplacer("\u3002", ".", "\uFF0E", ".", "\uFF61", ".")

// asciiLabel returns label in lower case, as punycode when it has other characters. A label that has no
// such form comes back as it is.
func asciiLabel(label string) string {
	if !utf8.ValidString(label) {
		return label
	}
	mapped := norm.NFKC.String(strings.ToLower(label))
	if ascii(mapped) {
		return mapped
	}
	if runes := []rune(mapped); len(runes) <= maxLabel {
		return "xn--" + punycode(runes)
	}
	return label
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hostEscape escapes what no host name, address or port holds.
func hostEscape(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_:[]", r):
			b.WriteRune(r)
		case r == utf8.RuneError && n == 1:
			b.WriteString(escape(fmt.Sprintf("0x%02X", s[0])).text)
		default:
			b.WriteString(escapeRune(r).text)
		}
		s = s[n:]
	}
	return b.String()
}

// The parameters of punycode (RFC 3492, section 5).
const (
	base        = 36
	tMin        = 1
	tMax        = 26
	skew        = 38
	damp        = 700
	initialBias = 72
	initialN    = 0x80
)

// punycode encodes one label (RFC 3492, section 6.3). With at most maxLabel runes nothing overflows.
func punycode(label []rune) string {
	var out strings.Builder
	for _, r := range label {
		if r < initialN {
			out.WriteRune(r)
		}
	}
	basic := out.Len()
	if basic > 0 {
		out.WriteByte('-')
	}
	n, delta, bias := rune(initialN), 0, initialBias
	for handled := basic; handled < len(label); {
		smallest := rune(utf8.MaxRune)
		for _, r := range label {
			if r >= n {
				smallest = min(smallest, r)
			}
		}
		delta += int(smallest-n) * (handled + 1)
		n = smallest
		for _, r := range label {
			if r < n {
				delta++
			}
			if r != n {
				continue
			}
			writeDelta(&out, delta, bias)
			bias = adapt(delta, handled+1, handled == basic)
			delta = 0
			handled++
		}
		delta++
		n++
	}
	return out.String()
}

// writeDelta writes delta as a generalized variable-length integer.
func writeDelta(out *strings.Builder, delta, bias int) {
	const digits = "abcdefghijklmnopqrstuvwxyz0123456789"
	for k := base; ; k += base {
		t := min(max(k-bias, tMin), tMax)
		if delta < t {
			out.WriteByte(digits[delta])
			return
		}
		out.WriteByte(digits[t+(delta-t)%(base-t)])
		delta = (delta - t) / (base - t)
	}
}

// adapt is the bias after delta (RFC 3492, section 6.1).
func adapt(delta, points int, first bool) int {
	if first {
		delta /= damp
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for ; delta > (base-tMin)*tMax/2; k += base {
		delta /= base - tMin
	}
	return k + (base-tMin+1)*delta/(delta+skew)
}
