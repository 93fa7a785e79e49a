package ledger_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/ledger"
)

// shortFile is a size of which a few records are more.
const shortFile = 900

func short(c *ledger.Config) { c.MaxFile = shortFile }

// continued is the format line of a file that goes on from another one, made without the package.
func continued(file, records int, prev string) string {
	return fmt.Sprintf(`{"format":"papaver ledger","version":2,"file":%d,"records":%d,"prev":"%s"}`, file, records, prev) + "\n"
}

func older(dir string, n int) string { return filepath.Join(dir, ledger.ArchiveName(n)) }

// many appends n records.
func many(t testing.TB, l *ledger.Ledger, n int) []ledger.Record {
	t.Helper()
	var list []ledger.Record
	for i := range n {
		list = append(list, add(t, l, ledger.Entry{Kind: "k", Round: fmt.Sprintf("r%d", i/3), Data: map[string]int{"n": i}}))
	}
	return list
}

func TestALedgerGoesOnInANewFileAndIsReadAsOne(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, "run-1", short)
	want := many(t, l, 30)
	wantRecords(t, dir, want)
	_, report, err := ledger.Read(file(dir))
	if err != nil || report.Files < 5 || report.Records != 30 || report.Head != want[29].Hash {
		t.Fatalf("%+v, %v", report, err)
	}
	// Each file is a chain of its own that names the head of the one before.
	last, head := uint64(0), ""
	for n := 1; n <= report.Files; n++ {
		path := older(dir, n)
		if n == report.Files {
			path = file(dir)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(b), "\n")
		if n > 1 && first+"\n" != continued(n, int(last), head) {
			t.Errorf("file %d begins with %s", n, first)
		}
		r, err := ledger.Verify(strings.NewReader(string(b)))
		if err != nil || r.Files != n || r.Records <= last {
			t.Errorf("file %d: %+v, %v", n, r, err)
		}
		last, head = r.Records, r.Head
	}
	again := open(t, dir, "run-2", short)
	if got, err := again.Records(t.Context()); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("Records after reopening: %v\n%s", err, cmp.Diff(want, got))
	}
	if _, err := again.Append(t.Context(), ledger.Entry{Kind: "k", Round: "r0"}); !errors.Is(err, ledger.ErrNotOwner) {
		t.Errorf("a round that stands in an older file has no owner: %v", err)
	}
}

func TestAReaderFollowsTheLedgerThroughItsFiles(t *testing.T) {
	dir := folder(t)
	a, b := open(t, dir, "run-a", short), open(t, dir, "run-b", short)
	want := many(t, a, 3)
	if got, err := b.Records(t.Context()); err != nil || cmp.Diff(want, got) != "" {
		t.Fatalf("Records: %v\n%s", err, cmp.Diff(want, got))
	}
	for range 3 {
		want = append(want, many(t, a, 12)...) // three files or more
		if got, err := b.Records(t.Context()); err != nil || cmp.Diff(want, got) != "" {
			t.Fatalf("Records: %v\n%s", err, cmp.Diff(want, got))
		}
	}
	want = append(want, add(t, b, ledger.Entry{Kind: "k"}), add(t, a, ledger.Entry{Kind: "k"}))
	wantRecords(t, dir, want)
}

// A crash can leave the folder as it is between any two steps of going on in a new file.
func TestACrashAsTheLedgerGoesOnInANewFileLosesNothing(t *testing.T) {
	for name, crash := range map[string]func(t *testing.T, dir string, last ledger.Record){
		"the old file has its second name": func(t *testing.T, dir string, _ ledger.Record) {
			must(t, os.Link(file(dir), older(dir, 1)))
		},
		"the new file has no name yet": func(t *testing.T, dir string, last ledger.Record) {
			must(t, os.Link(file(dir), older(dir, 1)))
			must(t, os.WriteFile(filepath.Join(dir, "."+ledger.FileName+".tmp-123"), []byte(continued(2, int(last.Seq), last.Hash)[:20]), 0o600))
		},
		"the new file has no record yet": func(t *testing.T, dir string, last ledger.Record) {
			must(t, os.Link(file(dir), older(dir, 1)))
			must(t, replace(file(dir), continued(2, int(last.Seq), last.Hash)))
		},
		"the new file's first record is torn": func(t *testing.T, dir string, last ledger.Record) {
			must(t, os.Link(file(dir), older(dir, 1)))
			must(t, replace(file(dir), continued(2, int(last.Seq), last.Hash)+`{"seq":4,"ti`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			living := open(t, dir, "living", short)
			want := many(t, living, 3)
			crash(t, dir, want[2])
			if got, _, err := ledger.Read(file(dir)); err != nil || cmp.Diff(want, got) != "" {
				t.Fatalf("Read: %v\n%s", err, cmp.Diff(want, got))
			}
			if got, err := living.Records(t.Context()); err != nil || cmp.Diff(want, got) != "" {
				t.Fatalf("Records of one that was open: %v\n%s", err, cmp.Diff(want, got))
			}
			later := open(t, dir, "later", short)
			for range 4 {
				want = append(want, add(t, later, ledger.Entry{Kind: "k"}), add(t, living, ledger.Entry{Kind: "k"}))
			}
			wantRecords(t, dir, want)
			if _, report, _ := ledger.Read(file(dir)); report.Files < 3 {
				t.Errorf("%+v", report)
			}
			left, err := filepath.Glob(filepath.Join(dir, ".*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

func TestDamageOfAnOlderFileIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		damage func(t *testing.T, dir string)
		says   string
	}{
		"missing":       {func(t *testing.T, dir string) { must(t, os.Remove(older(dir, 2))) }, "ledger-000002.jsonl, an older file of the ledger, is missing"},
		"a byte":        {func(t *testing.T, dir string) { must(t, rewrite(older(dir, 2), `"kind":"k"`, `"kind":"j"`)) }, "ledger-000002.jsonl: line 2 of the ledger: its hash"},
		"its last line": {func(t *testing.T, dir string) { cut(t, older(dir, 2), 1) }, "ledger-000003.jsonl: line 1 of the ledger: does not go on"},
		"torn":          {func(t *testing.T, dir string) { cutBytes(t, older(dir, 2), 5) }, "ledger-000002.jsonl: line"},
		"two exchanged": {func(t *testing.T, dir string) {
			must(t, os.Rename(older(dir, 2), older(dir, 9)))
			must(t, os.Rename(older(dir, 3), older(dir, 2)))
			must(t, os.Rename(older(dir, 9), older(dir, 3)))
		}, "line 1 of the ledger: does not go on"},
		"another ledger's": {func(t *testing.T, dir string) { must(t, replace(older(dir, 1), strings.Join(sample(3), ""))) }, "line 1 of the ledger: does not go on"},
		"begun anew":       {func(t *testing.T, dir string) { must(t, replace(older(dir, 2), format+"\n")) }, "begins a ledger"},
		"the newest gone":  {func(t *testing.T, dir string) { must(t, os.Remove(file(dir))) }, "is missing, and older files of the ledger are there"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			many(t, open(t, dir, "o", short), 14)
			tc.damage(t, dir)
			if _, _, err := ledger.Read(file(dir)); !errors.Is(err, ledger.ErrDamaged) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("Read: %v, want %s", err, tc.says)
			}
			if _, err := ledger.Open(t.Context(), ledger.Config{Dir: dir, Owner: "p"}); !errors.Is(err, ledger.ErrDamaged) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("Open: %v, want %s", err, tc.says)
			}
		})
	}
}

func cut(t *testing.T, path string, lines int) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	all := strings.SplitAfter(string(b), "\n")
	must(t, os.WriteFile(path, []byte(strings.Join(all[:len(all)-1-lines], "")), 0o600))
}

func cutBytes(t *testing.T, path string, n int64) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	must(t, os.Truncate(path, info.Size()-n))
}

// A ledger that can't go on in a new file loses nothing and refuses nothing.
func TestALedgerThatCannotGoOnInANewFileGoesOnInTheOldOne(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, "o", short)
	must(t, os.Mkdir(older(dir, 1), 0o700)) // its second name is taken
	want := many(t, l, 8)
	must(t, os.Remove(older(dir, 1)))
	if n := l.Notices(); len(n) != 1 || !strings.Contains(n[0], "could not go on in a new file") {
		t.Errorf("notices: %q", n)
	}
	want = append(want, many(t, l, 8)...)
	wantRecords(t, dir, want)
	if _, report, _ := ledger.Read(file(dir)); report.Files < 2 {
		t.Errorf("%+v", report)
	}
}

func TestAFileOfANewerFormatIsRefused(t *testing.T) {
	for _, first := range []string{
		`{"format":"papaver ledger","version":3}`,
		strings.Replace(strings.TrimSpace(continued(2, 3, sum("x"))), `"version":2`, `"version":3`, 1),
		strings.Replace(strings.TrimSpace(continued(2, 3, sum("x"))), `"file":2`, `"file":02`, 1),
		strings.Replace(strings.TrimSpace(continued(2, 3, sum("x"))), `"file":2`, `"file":1`, 1),
		strings.TrimSpace(continued(2, 3, sum("x"))) + " ",
	} {
		dir := put(t, first+"\n")
		_, err := ledger.Open(t.Context(), ledger.Config{Dir: dir, Owner: "o"})
		if !errors.Is(err, ledger.ErrDamaged) || !errors.Is(err, ledger.ErrVersion) || !strings.Contains(err.Error(), "line 1 of the ledger: names a version of the format that this program doesn't know") {
			t.Errorf("%s: %v", first, err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
