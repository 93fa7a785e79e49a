package plaintext_test

import (
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/internal/plaintext"
)

// BenchmarkBlock is a Company's text made safe: words, other scripts, and what tries to imitate or to turn around.
func BenchmarkBlock(b *testing.B) {
	for name, s := range map[string]string{
		"1000 of ASCII":         strings.Repeat("Trail Jacket ", 77)[:1000],
		"1000 of other scripts": strings.Repeat("価格は一万円です。", 112)[:999],
		"1000 of hostile":       strings.Repeat("a\u202e\x1b[2J\u200b", 91)[:1000],
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				plaintext.Block(s)
			}
		})
	}
}

// BenchmarkLine is one line of it, cut to a screen's width.
func BenchmarkLine(b *testing.B) {
	s := strings.Repeat("Trail Jacket, 価格 ", 20)
	b.ReportAllocs()
	for b.Loop() {
		plaintext.Line(s, 80)
	}
}
