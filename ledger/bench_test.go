package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/ledger"
)

// rounds are the kinds of the lines of one round, with the sizes that their data have.
var rounds = []struct {
	kind string
	size int
}{{"sighting", 450}, {"operation", 900}, {"question", 150}, {"answer", 350}, {"sending", 450}, {"recorded", 30}, {"replaying", 20}, {"replayed", 20}, {"settled", 30}}

// The promise is: ten thousand rounds open in under a second.
func BenchmarkOpenTenThousandRounds(b *testing.B) {
	dir := folder(b)
	l := open(b, dir, "o", func(c *ledger.Config) {
		c.OpenFile = func(path string) (ledger.File, error) {
			f, err := ledger.OpenFile(path)
			return &faultFile{File: f, sync: func(ledger.File) error { return nil }}, err // only to be ready sooner
		}
	})
	for i := range 10_000 {
		for _, line := range rounds {
			data := map[string]string{"reference": fmt.Sprint(i), "more": strings.Repeat("x", line.size/2), "text": strings.Repeat("y", line.size/2)}
			add(b, l, ledger.Entry{Kind: line.kind, Round: fmt.Sprint("r-", i), Data: data})
		}
	}
	_, report, err := ledger.Read(file(dir))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		l, err := ledger.Open(b.Context(), ledger.Config{Dir: dir, Owner: "o"})
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
	l := open(b, folder(b), "o")
	data := map[string]string{"text": strings.Repeat("x", 200)}
	for b.Loop() {
		add(b, l, ledger.Entry{Kind: "k", Round: "r", Data: data})
	}
}
