package opsweb

import (
	"strings"
	"testing"
)

// BenchmarkReadHeader is what a held response's Poppy-Operation costs: as Companies send it, and the longest dictionary that a
// page can make of one line.
func BenchmarkReadHeader(b *testing.B) {
	for name, line := range map[string]string{
		"one reference": `sid="ses_Jq3nVb0eT1yWmKxR5uHdLs", ref="opr_8fK2nVb0eT1yWmKxR5uHdLsQ"`,
		"8000 members":  strings.TrimSuffix(strings.Repeat("a=1, ", 8000), ", "),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				readHeader([]string{line})
			}
		})
	}
}

// BenchmarkJudge is all conditions, each of which holds.
func BenchmarkJudge(b *testing.B) {
	c := goodCandidate(`sid="ses_1", ref="opr_8fK2nVb0eT1yWmKxR5uHdLsQ"`)
	b.ReportAllocs()
	for b.Loop() {
		if why := judge(c, judgement[:]); why != "" {
			b.Fatal(why)
		}
	}
}
