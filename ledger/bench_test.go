package ledger_test

import (
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
)

// The promise is: ten thousand rounds open in under a second, and an opening costs the newest file alone.
func BenchmarkOpenTenThousandRounds(b *testing.B) {
	dir := filled(b, 10_000)
	report, err := ledger.Scan(file(dir), func(ledger.Record) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		l, err := ledger.Open(b.Context(), config(dir))
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(report.Records), "records")
	b.ReportMetric(float64(report.Files), "files")
}

// An append with its sync, as the disk of TMPDIR makes it.
func BenchmarkAppend(b *testing.B) {
	l := open(b, folder(b), "o", func(c *ledger.Config) { c.Index = opsweb.Index() })
	data := map[string]string{"text": strings.Repeat("x", 200)}
	b.ReportAllocs()
	for b.Loop() {
		add(b, l, ledger.Entry{Kind: "k", Round: "r", Data: data})
	}
}
