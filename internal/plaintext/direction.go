package plaintext

import "golang.org/x/text/unicode/bidi"

// RightToLeft says whether t holds letters or numbers of a script that is written from right to left. Some terminals
// reorder them within their line, so whoever shows t says that it has them.
func RightToLeft(t Text) bool {
	for _, r := range t.s {
		if r < 0x0590 { // the first such script
			continue
		}
		p, _ := bidi.LookupRune(r)
		switch p.Class() {
		case bidi.R, bidi.AL, bidi.AN:
			return true
		}
	}
	return false
}
