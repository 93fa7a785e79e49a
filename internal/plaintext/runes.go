package plaintext

import "unicode"

// plain says whether r may stand as itself: the allow-list of the package, by general category, less
// what is invisible and what we draw our own frames and escapes with.
func plain(r rune) bool {
	switch {
	case r >= ' ' && r <= '~':
		return true
	case r < 0xA0:
		return false
	case r == '‹' || r == '›': // ours: they enclose escapes
		return false
	case r >= 0x2500 && r <= 0x259F: // box drawing and block elements: they could continue our frames
		return false
	case r == 0x2800 || r == 0x1D159: // symbols without ink: Braille blank, null notehead
		return false
	case r == 0xFFFC: // stands for an object that isn't there
		return false
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !ignorable(r)
}

// letter says whether r may carry marks. Digits and signs may not: a stroke through "70.00" or a line
// over a minus says something else than the digits do.
func letter(r rune) bool { return unicode.Is(unicode.L, r) }

// mark says whether r may follow a letter. Enclosing marks (Me) draw around their neighbours and
// change widths; variation selectors are invisible and do the same.
func mark(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Mc) && !ignorable(r)
}

// ignorable says whether r is a Default_Ignorable_Code_Point with a visible general category: Hangul
// fillers, the grapheme joiner, variation selectors. The format characters aren't in any category
// that plain allows.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
