package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/ledger"
)

// The promise is: ten thousand records open in well under a second.
func BenchmarkOpenTenThousandRecords(b *testing.B) {
	dir := folder(b)
	l := open(b, dir, "o", func(c *ledger.Config) {
		c.OpenFile = func(path string) (ledger.File, error) {
			f, err := ledger.OpenFile(path)
			return &faultFile{File: f, sync: func(ledger.File) error { return nil }}, err // only to be ready sooner
		}
	})
	data := map[string]string{"text": strings.Repeat("x", 700)}
	for i := range 10_000 {
		add(b, l, ledger.Entry{Kind: "k", Round: fmt.Sprintf("r-%d", i/10), Data: data})
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
}

// An append with its sync, as the disk of TMPDIR makes it.
func BenchmarkAppend(b *testing.B) {
	l := open(b, folder(b), "o")
	data := map[string]string{"text": strings.Repeat("x", 200)}
	for b.Loop() {
		add(b, l, ledger.Entry{Kind: "k", Round: "r", Data: data})
	}
}
