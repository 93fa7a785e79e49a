package plaintext_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/papaver-agent/papaver/internal/plaintext"
)

// hostile are texts that tried to do something to a terminal, each with a piece that must be gone from
// what is shown and one that must be there instead. Many were met by others: vercel/ai#20052,
// denoland/deno#36195, langchain-ai/deepagents#1662, marmot-protocol/mdk#586, gdamore/tcell#1072.
var hostile = []struct{ name, text, gone, there string }{
	{"link (OSC 8)", "\x1b]8;;https://evil.test\x1b\\press\x1b]8;;\x1b\\", "\x1b", "‹U+001B›]8;;https://evil.test‹U+001B›\\press"},
	{"clipboard (OSC 52)", "\x1b]52;c;ZXZpbA==\a", "\a", "‹U+001B›]52;c;ZXZpbA==‹U+0007›"},
	{"unterminated OSC", "\x1b]0;title", "\x1b", "‹U+001B›]0;title"},
	{"cursor and colour (CSI)", "\x1b[2J\x1b[1;1H\x1b[31mred", "\x1b", "‹U+001B›[2J"},
	{"C1 as code point", "\u009b2J", "\u009b", "‹U+009B›2J"},
	{"C1 as byte", "\x9b2J", "\x9b", "‹0x9B›2J"},
	{"device control string", "\x90$q\x9c", "\x90", "‹0x90›$q‹0x9C›"},
	{"carriage return", "70.00\r7.00", "\r", "70.00‹U+000D›7.00"},
	{"backspace", "70\b\b7", "\b", "70‹U+0008›‹U+0008›7"},
	{"NUL and DEL", "a\x00b\x7f", "\x00", "a‹U+0000›b‹U+007F›"},
	{"tab", "a\tb", "\t", "a‹U+0009›b"},
	{"right-to-left override", "\u202e00.07", "\u202e", "‹U+202E›00.07"},
	{"isolates", "\u2066a\u2069", "\u2066", "‹U+2066›a‹U+2069›"},
	{"zero width", "pay\u200bpal\u200d\ufeff\u2060", "\u200b", "pay‹U+200B›pal‹U+200D›‹U+FEFF›‹U+2060›"},
	{"soft hyphen", "a\u00adb", "\u00ad", "a‹U+00AD›b"},
	{"line and paragraph separator", "a\u2028b\u2029", "\u2028", "a‹U+2028›b‹U+2029›"},
	{"next line", "a\u0085b", "\u0085", "a‹U+0085›b"},
	{"tags", "ok\U000E0041\U000E007F", "\U000E0041", "ok‹U+E0041›‹U+E007F›"},
	{"variation selectors", "a\ufe0fb\U000E0100", "\ufe0f", "a‹U+FE0F›b‹U+E0100›"},
	{"other spaces", "a\u00a0b\u3000c\u2003", "\u00a0", "a‹U+00A0›b‹U+3000›c‹U+2003›"},
	{"private use", "\ue0b0\U00100000", "\ue0b0", "‹U+E0B0›‹U+100000›"},
	{"unassigned", "\u0378", "\u0378", "‹U+0378›"},
	{"noncharacter", "\uffff", "\uffff", "‹U+FFFF›"},
	{"Hangul fillers", "a\u3164\uffa0\u115f\u1160", "\u3164", "a‹U+3164›‹U+FFA0›‹U+115F›‹U+1160›"},
	{"Braille blank", "a\u2800", "\u2800", "a‹U+2800›"},
	{"grapheme joiner", "a\u034f", "\u034f", "a‹U+034F›"},
	{"zalgo", "a" + strings.Repeat("\u0301", 6), "\u0301\u0301\u0301\u0301\u0301", "a\u0301\u0301\u0301\u0301‹U+0301›‹U+0301›"},
	{"mark with no letter", "\u0301a", "\u0301", "‹U+0301›a"},
	{"number struck through", "7\u03360\u0336.00", "\u0336", "7‹U+0336›0‹U+0336›.00"},
	{"keycap", "1\u20e3", "\u20e3", "1‹U+20E3›"},
	{"our frame", "│ a approve", "│", "‹U+2502› a approve"},
	{"blocks", "█▌", "█", "‹U+2588›‹U+258C›"},
	{"imitated escape", "‹U+202E›", "‹U+202E›", "‹U+2039›U+202E‹U+203A›"},
	{"invalid UTF-8", "\xff\xc0\xaf\xed\xa0\x80", "\xff", "‹0xFF›‹0xC0›‹0xAF›‹0xED›‹0xA0›‹0x80›"},
	{"cut character", "a\xe2\x82", "\x82", "a‹0xE2›‹0x82›"},
}

func TestHostileTextStandsAsVisibleEscapes(t *testing.T) {
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			got := plaintext.Whole(test.text).String()
			if strings.Contains(got, test.gone) || !strings.Contains(got, test.there) {
				t.Errorf("%q is shown as %q, want %q in it and %q not", test.text, got, test.there, test.gone)
			}
			if problem := unsafe(got); problem != "" {
				t.Errorf("%q is shown as %q: %s", test.text, got, problem)
			}
		})
	}
}

func TestOrdinaryTextStaysAsItIs(t *testing.T) {
	for _, text := range []string{
		"",
		"Exchange the Stormline Jacket (M) on order ord_7Hk2, for $70.00 more.",
		"Für 70,00 € – “heute”, 50 % … ±½×²",
		"交換する、はい。",
		"обмен ελληνικά",
		"e\u0301te\u0301",
		"हिन्दी ไทย",
		"שלום مرحبا",
		"😀 → ✓ ★",
		"\ufffd",
	} {
		if got := plaintext.Whole(text).String(); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func TestNewlinesAreRealOnlyInABlock(t *testing.T) {
	text := "one\r\n\ntwo\rthree\n│ a approve"
	want := []string{"one", "", "two‹U+000D›three", "‹U+2502› a approve"}
	var got []string
	for _, line := range plaintext.Block(text) {
		got = append(got, line.String())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("lines %q, want %q", got, want)
	}
	if got := plaintext.Line("one\ntwo", 40).String(); got != "one‹U+000A›two" {
		t.Errorf("line %q", got)
	}
}

func TestALineIsCutToItsCells(t *testing.T) {
	tests := []struct {
		text  string
		cells int
		want  string
	}{
		{"Example", 7, "Example"},
		{"Example", 6, "Exam…"}, // the mark counts as two cells
		{"交換する", 8, "交換する"},
		{"交換する", 7, "交換…"},
		{"a\u202eb", 9, "a…"}, // an escape is never cut in its middle
		{"a\u202eb", 10, "a‹U+202E›b"},
		{"Example", 2, "…"},
		{"Example", 1, ""},
		{"Example", -1, ""},
		{"", 0, ""},
	}
	for _, test := range tests {
		if got := plaintext.Line(test.text, test.cells).String(); got != test.want {
			t.Errorf("%q in %d cells is %q, want %q", test.text, test.cells, got, test.want)
		}
	}
}

func TestAQuotationEndsOnlyWhereWeEndIt(t *testing.T) {
	tests := []struct{ name, want string }{
		{"Example Shop", "“Example Shop”"},
		{"Shop” is verified “", "“Shop‹U+201D› is verified ‹U+201C›”"},
		{"Shop” is the verified one“", "“Shop‹U+201D› is the verified one…”"},
		{strings.Repeat("x", 1<<20), "“" + strings.Repeat("x", 34) + "…”"},
		{"", "“”"},
	}
	for _, test := range tests {
		got := plaintext.Quote(test.name)
		if got.String() != test.want {
			t.Errorf("%.40q is quoted as %q, want %q", test.name, got, test.want)
		}
		if w := plaintext.Width(got); w > plaintext.QuoteCells {
			t.Errorf("%.40q takes %d cells", test.name, w)
		}
	}
}

func TestAHostIsShownInASCII(t *testing.T) {
	tests := []struct{ host, want string }{
		{"shop.test", "shop.test"},
		{"Shop.TEST:8443", "shop.test:8443"},
		{"[2001:db8::1]:443", "[2001:db8::1]:443"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"bücher.example", "xn--bcher-kva.example"},
		{"BÜCHER.example", "xn--bcher-kva.example"},
		{"bu\u0308cher.example", "xn--bcher-kva.example"},
		{"аpple.com", "xn--pple-43d.com"}, // Cyrillic а
		{"münchen。de", "xn--mnchen-3ya.de"},
		{"他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"},                            // RFC 3492, section 7.1 (B)
		{"почемужеонинеговорятпорусски", "xn--b1abfaaepdrnnbgefbadotcwatmq2g4l"}, // (G)
		{"３年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"},                             // (L), its digit mapped to ASCII
		{"evil.test/shop.test", "evil.test‹U+002F›shop.test"},
		{"evil.test\uff0fshop.test", "evil.test‹U+002F›shop.test"},
		{"a@b test", "a‹U+0040›b‹U+0020›test"},
		{"shop\u202e.test", "xn--shop-yd7a.test"},
		{"a\x1b[31m.test", "a‹U+001B›[31m.test"},
		{"a\xff.test", "a‹0xFF›.test"},
		{strings.Repeat("ü", 64), strings.Repeat("‹U+00FC›", 64)},
	}
	for _, test := range tests {
		got := plaintext.Domain(test.host).String()
		if got != test.want {
			t.Errorf("%q is shown as %q, want %q", test.host, got, test.want)
		}
		if strings.IndexFunc(strings.NewReplacer("‹", "", "›", "").Replace(got), func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
			t.Errorf("%q is shown as %q, which isn't ASCII", test.host, got)
		}
	}
}

func TestWrapBreaksAtSpacesAndKeepsEscapesWhole(t *testing.T) {
	tests := []struct {
		text  string
		cells int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 8, []string{"one two ", "three"}},
		{"one two three", 100, []string{"one two three"}},
		{"stormline-insulated", 8, []string{"stormlin", "e-insula", "ted"}},
		{"交換する", 5, []string{"交換", "する"}},
		{"ab\u202ecd", 8, []string{"ab", "‹U+202E›", "cd"}},
		{"a\u202e", 4, []string{"a‹U+", "202E", "›"}},
		{"abcdef", 0, []string{"abcd", "ef"}},
	}
	for _, test := range tests {
		var got []string
		for _, line := range plaintext.Wrap(plaintext.Whole(test.text), test.cells) {
			got = append(got, line.String())
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", test.want) {
			t.Errorf("%q in %d cells: %q, want %q", test.text, test.cells, got, test.want)
		}
	}
}

func TestAMillionBytesAreShownWholeOrCutAtOnce(t *testing.T) {
	for _, piece := range []string{"word ", "x", "\u0301", "\x1b", "\n", "\xff"} {
		text := strings.Repeat(piece, 1<<20)
		if w := plaintext.Width(plaintext.Line(text, 40)); w > 40 {
			t.Errorf("%q repeated takes %d cells", piece, w)
		}
	}
	const long = 1 << 20
	if whole := plaintext.Whole(strings.Repeat("x", long)).String(); whole != strings.Repeat("x", long) {
		t.Error("a million letters aren't shown whole")
	}
	var wrapped strings.Builder
	text := plaintext.Whole(strings.Repeat("word\x1b ", 1<<14))
	for _, line := range plaintext.Wrap(text, 80) {
		wrapped.WriteString(line.String())
	}
	if wrapped.String() != text.String() {
		t.Error("something was lost in wrapping")
	}
}

// Two texts can be told apart by what is shown of them: the text itself can be had back from it.
func TestNothingIsLostAndNoTwoTextsLookTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := mixed(t)
		if got := undo(t, plaintext.Whole(text).String()); got != text {
			t.Fatalf("%q is shown as %q, which reads %q", text, plaintext.Whole(text), got)
		}
	})
}

// mixed draws text of fragments that meet in bad ways.
func mixed(t *rapid.T) string {
	fragment := rapid.OneOf(
		rapid.SampledFrom([]string{"a", " ", "\u0301", "\x1b", "‹", "›", "\xff", "\u1100", "\u1161", "🇩", "🏽", "👍", "\u200d", "\ufe0f",
			"न", "\u093f", "\u094d", "\u0e33", "“", "…", "│", "交", "\n", "\u20e3", "7"}),
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
	return strings.Join(rapid.SliceOf(fragment).Draw(t, "text"), "")
}

func TestWidthIsNeverLessThanWhatTheScreenLibraryCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := plaintext.Whole(mixed(t))
		if got, drawn := plaintext.Width(text), ansi.StringWidth(text.String()); got < drawn {
			t.Fatalf("%q counts %d cells, drawn %d", text, got, drawn)
		}
	})
}

func TestARuneAloneIsPlainOrEscaped(t *testing.T) {
	check := func(r rune) {
		if !utf8.ValidRune(r) {
			return
		}
		text := plaintext.Whole(string(r))
		got := text.String()
		if got != string(r) && got != fmt.Sprintf("‹U+%04X›", r) {
			t.Fatalf("%U is shown as %q", r, got)
		}
		if problem := unsafe(got); problem != "" {
			t.Fatalf("%U is shown as %q: %s", r, got, problem)
		}
		if got, drawn := plaintext.Width(text), ansi.StringWidth(got); got == 0 || got < drawn {
			t.Fatalf("%U counts %d cells, drawn %d", r, got, drawn)
		}
	}
	for r := range rune(0x3400) { // the scripts with marks and oddities, one by one
		check(r)
	}
	for _, table := range unicode.Categories { // beyond them the borders of every range
		for _, in := range table.R16 {
			check(rune(in.Lo))
			check(rune(in.Hi))
			check(rune(in.Hi) + 1)
		}
		for _, in := range table.R32 {
			check(rune(in.Lo))
			check(rune(in.Hi))
			check(rune(in.Hi) + 1)
		}
	}
}

func TestJoinedTextsKeepTheirMarksApart(t *testing.T) {
	got := plaintext.Join(plaintext.Whole("a"), plaintext.Whole("\u0301b")).String()
	if got != "a‹U+0301›b" {
		t.Errorf("joined: %q", got)
	}
}

// unsafe says what is wrong with shown text, "" for nothing.
func unsafe(shown string) string {
	if !utf8.ValidString(shown) {
		return "not UTF-8"
	}
	marks := 0
	for _, r := range shown {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs, unicode.Co, unicode.Me) {
			return fmt.Sprintf("holds %U", r)
		}
		if !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) && r != ' ' {
			return fmt.Sprintf("holds %U, which is no visible character", r)
		}
		if unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r >= 0x2500 && r <= 0x259F {
			return fmt.Sprintf("holds %U", r)
		}
		if !unicode.Is(unicode.M, r) {
			marks = 0
		} else if marks++; marks > 4 {
			return "piles up marks"
		}
	}
	return ""
}

// undo reads shown text back, as a careful person would.
func undo(t interface{ Fatalf(string, ...any) }, shown string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(shown, "‹")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, found := strings.Cut(rest, "›")
		if !found {
			t.Fatalf("escape without an end")
		}
		shown = after
		number, isByte := strings.CutPrefix(name, "0x")
		if !isByte {
			number = strings.TrimPrefix(name, "U+")
		}
		n, err := strconv.ParseUint(number, 16, 32)
		if err != nil {
			t.Fatalf("escape %q", name)
		}
		if isByte {
			b.WriteByte(byte(n))
		} else {
			b.WriteRune(rune(n))
		}
	}
}

func FuzzSanitise(f *testing.F) {
	for _, test := range hostile {
		f.Add(test.text, 12)
	}
	f.Add("Exchange the Jacket for $70.00 more", 4)
	f.Add("👩\u200d👩\u200d👧\u200d👦🇩🇪👍🏽한국어", 5)
	f.Fuzz(func(t *testing.T, text string, cells int) {
		whole := plaintext.Whole(text)
		domain := plaintext.Domain(text)
		line := plaintext.Line(text, cells)
		quote := plaintext.Quote(text)
		for _, shown := range []plaintext.Text{whole, domain, line, quote} {
			if problem := unsafe(shown.String()); problem != "" {
				t.Fatalf("%q is shown as %q: %s", text, shown, problem)
			}
			if got, drawn := plaintext.Width(shown), ansi.StringWidth(shown.String()); got < drawn {
				t.Fatalf("%q counts %d cells, drawn %d", shown, got, drawn)
			}
		}
		if got := undo(t, whole.String()); got != text {
			t.Fatalf("%q reads back as %q", text, got)
		}
		if w := plaintext.Width(line); w > max(cells, 0) {
			t.Fatalf("%q takes %d cells of %d", line, w, cells)
		}
		if w := plaintext.Width(quote); w > plaintext.QuoteCells {
			t.Fatalf("%q takes %d cells", quote, w)
		}
		cells = max(cells%200, plaintext.MinWrap)
		var joined strings.Builder
		for _, l := range plaintext.Wrap(whole, cells) {
			if w := plaintext.Width(l); w > cells {
				t.Fatalf("%q takes %d cells of %d", l, w, cells)
			}
			joined.WriteString(l.String())
		}
		if joined.String() != whole.String() {
			t.Fatalf("wrapping made %q of %q", joined.String(), whole)
		}
		if got := len(plaintext.Block(text)); got != strings.Count(text, "\n")+1 {
			t.Fatalf("%d lines of %q", got, text)
		}
	})
}
