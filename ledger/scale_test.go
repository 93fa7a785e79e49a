package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
)

var (
	measure = flag.Bool("measure", false, "measure how a ledger grows with its rounds")
	write   = flag.Bool("write", false, "with -measure: draw the table of docs/scale-ledger.md")
)

// wholeRound are the lines of one round that ended well, with the sizes that their data have.
func wholeRound(i int) []ledger.Entry {
	id, op := fmt.Sprint("r-", i), fmt.Sprint("op-", i)
	terms := json.RawMessage(`{"text":"` + strings.Repeat("y", 500) + `"}`)
	sent := opsweb.Sent{
		Issuer: "https://shop.test", Endpoint: "https://shop.test/operations", Sid: "session-1", Ref: fmt.Sprint("reference-", i), OperationID: op,
		Revision: "v1", Approver: "user", ApprovedAt: start, Reference: fmt.Sprint("reference-", i), Attempt: 1,
	}
	return []ledger.Entry{
		{Kind: "sighting", Round: id, Data: opsweb.Sighting{Sid: "session-1", Ref: fmt.Sprint("reference-", i), URL: "https://shop.test/orders/" + strings.Repeat("x", 150), Accepted: true, Company: "shop.test", Method: "POST", Status: 403, Resource: "Document"}},
		{Kind: "operation", Round: id, Data: opsweb.Operation{Company: "shop.test", ID: op, Revision: "v1", Summary: "An order of one thing", Terms: terms, TermsHash: strings.Repeat("h", 64), ExpiresAt: "2026-01-02T15:04:05Z"}},
		{Kind: "question", Round: id, Data: opsweb.Question{Request: "q", Differences: []string{"one line that differs"}}},
		{Kind: "answer", Round: id, Data: opsweb.Answer{Request: "q", Approver: "user", Approved: true, DecidedAt: start}},
		{Kind: "sending", Round: id, Data: sent},
		{Kind: "recorded", Round: id, Data: opsweb.Approval{Outcome: "recorded"}},
		{Kind: "replaying", Round: id, Data: opsweb.Replay{How: "continue"}},
		{Kind: "replayed", Round: id},
		{Kind: "settled", Round: id, Data: opsweb.SettledAs{Outcome: opsweb.Performed}},
	}
}

// unsynced opens a ledger whose lines are not put on disk: what is measured is our own work.
func unsynced(c *ledger.Config) {
	c.Index = opsweb.Index()
	c.OpenFile = func(path string) (ledger.File, error) {
		f, err := ledger.OpenFile(path)
		return &faultFile{File: f, sync: func(ledger.File) error { return nil }}, err
	}
}

// filled is the folder of a ledger of n rounds.
func filled(t testing.TB, n int) string {
	t.Helper()
	dir := folder(t)
	l, err := ledger.Open(context.Background(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for _, e := range wholeRound(i) {
			add(t, l, e)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func config(dir string) ledger.Config {
	c := ledger.Config{Dir: dir, Owner: "o", Coarse: time.Nanosecond}
	unsynced(&c)
	return c
}

// least is how long f takes, the least of a few tries.
func least(tries int, f func()) time.Duration {
	out := time.Duration(math.MaxInt64)
	for range tries {
		begun := time.Now()
		f()
		out = min(out, time.Since(begun))
	}
	return out
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// approvedIn returns a condition that asks, as an approval's line does, for the rounds of an operation.
func approvedIn(t testing.TB, op string, rounds int) func(ledger.View) error {
	return func(v ledger.View) error {
		records, err := v.Rounds("approval " + op)
		if err == nil && len(opsweb.History(records)) != rounds {
			t.Errorf("the index finds %d lines of %s", len(records), op)
		}
		return err
	}
}

// costOf is a row of the table: what a ledger of n rounds costs.
func costOf(t testing.TB, n int) string {
	dir := filled(t, n)
	opened := func() *ledger.Ledger {
		l, err := ledger.Open(context.Background(), config(dir))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	closed := func(l *ledger.Ledger) {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.index"))
	if err != nil {
		t.Fatal(err)
	}
	anew := least(1, func() {
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		closed(opened())
	})
	open := least(5, func() { closed(opened()) })
	before := heap()
	l := opened()
	held := heap() - before
	scan := func(each func(ledger.Record)) func() {
		return func() {
			if _, err := ledger.Scan(file(dir), func(r ledger.Record) error { each(r); return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := least(1, func() { var d opsweb.Digest; scan(func(r ledger.Record) { d.Sees(r) })() })
	verify := least(1, func() { var a opsweb.Audit; scan(a.Sees)() })
	const lines = 200
	one := 0
	mean := func(unless func(ledger.View) error) time.Duration {
		return least(5, func() {
			for range lines {
				one++
				add(t, l, ledger.Entry{Kind: "sighting", Round: fmt.Sprint("new-", one), Data: opsweb.Sighting{}, Unless: unless})
			}
		}) / lines
	}
	line, never, first := mean(nil), mean(approvedIn(t, "op-never", 0)), mean(approvedIn(t, "op-0", 1))
	grown := heap() - before
	size, files := int64(0), 0
	all, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size, files = size+info.Size(), files+1
	}
	closed(l)
	return fmt.Sprintf("| %d | %d, %.0f MiB | %s | %s | %s | %s | %s | %s | %s | %.2f MiB, %.2f MiB |\n", n, files, float64(size)/(1<<20),
		ms(anew), ms(open), ms(list), ms(verify), us(line), us(never), us(first), float64(held)/(1<<20), float64(grown)/(1<<20))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }

func us(d time.Duration) string { return fmt.Sprintf("%.0f µs", float64(d)/float64(time.Microsecond)) }

const scaleWords = `# How the ledger grows

Made by ` + "`make scale-ledger SCALE=-write`" + `. Each round has the nine lines of an operation that was performed, 4 KiB in all. No line is
synced: what is measured is our own work beside the disk's.

| rounds | files | open, all of it anew | open | list | verify | append | append unless an operation is approved: never was | was, in the first round | memory after open, after 3,000 appends |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
%s
Growth law. List and verify read every line: they grow as the work does, and hold no line in memory. An opening reads the newest file,
4 MiB at most, and of each older one 4 KiB of what was kept when it was verified: it grows by one look a file, of a thousand rounds. An
append reads what others wrote since. Its condition asks the index of the newest file in memory, and of each older one a filter
of some KiB; one line in a hundred that is not there, and each that is, costs a read of 4 KiB. Memory: the postings of the newest files,
which is bounded, and some KiB for each older one.
`

// The figures of docs/scale-ledger.md; without -measure only that they can be taken.
func TestHowItGrowsWithItsRounds(t *testing.T) {
	sizes := []int{10}
	if *measure {
		sizes = []int{10, 1000, 100_000}
	}
	var rows strings.Builder
	for _, n := range sizes {
		rows.WriteString(costOf(t, n))
	}
	text := fmt.Sprintf(scaleWords, rows.String())
	if *measure {
		t.Log("\n" + text)
	}
	if *write {
		if err := os.WriteFile("../docs/scale-ledger.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var errNo = errors.New("no")

// An append as the disk of TMPDIR makes it, with the condition of an approval's line, in a ledger of a thousand rounds.
func BenchmarkConditionalAppend(b *testing.B) {
	l, err := ledger.Open(b.Context(), ledger.Config{Dir: filled(b, 1000), Owner: "o", Index: opsweb.Index()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	e := wholeRound(1000)[4]
	e.Unless = approvedIn(b, "op-5", 1)
	b.ReportAllocs()
	for b.Loop() {
		add(b, l, e)
	}
}

// What the condition alone costs.
func BenchmarkCondition(b *testing.B) {
	l, err := ledger.Open(b.Context(), ledger.Config{Dir: filled(b, 1000), Owner: "o", Index: opsweb.Index()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	asked := approvedIn(b, "op-5", 1)
	e := wholeRound(1000)[4]
	e.Unless = func(v ledger.View) error { return errors.Join(asked(v), errNo) }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Append(b.Context(), e); !errors.Is(err, errNo) {
			b.Fatal(err)
		}
	}
}
