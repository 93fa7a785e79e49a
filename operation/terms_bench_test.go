package operation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/operation"
)

// BenchmarkParseTerms is the reading of terms, and their canonical hash.
func BenchmarkParseTerms(b *testing.B) {
	var many strings.Builder
	for i := range 200 {
		fmt.Fprintf(&many, `%q:%q,`, fmt.Sprintf("term_%03d", i), strings.Repeat("x", 100))
	}
	for name, raw := range map[string]string{
		"four terms": `{"item":"Trail Jacket","amount":"79.00","currency":"USD","ships":"2026-12-01"}`,
		"200 terms":  `{` + strings.TrimSuffix(many.String(), ",") + `}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				terms, err := operation.ParseTerms([]byte(raw))
				if err != nil || terms.Hash() == "" {
					b.Fatal(err)
				}
			}
		})
	}
}
