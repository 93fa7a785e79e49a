package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/ledger"
)

var start = time.Date(2026, 1, 2, 15, 4, 5, 678, time.FixedZone("", 3600))

// clock returns a clock that advances by a second a call.
func clock() func() time.Time {
	var mu sync.Mutex
	now := start
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

func open(t testing.TB, dir, owner string, change ...func(*ledger.Config)) *ledger.Ledger {
	t.Helper()
	cfg := ledger.Config{Dir: dir, Owner: owner, Now: clock()}
	for _, c := range change {
		c(&cfg)
	}
	l, err := ledger.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func add(t testing.TB, l *ledger.Ledger, e ledger.Entry) ledger.Record {
	t.Helper()
	r, err := l.Append(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func folder(t testing.TB) string { return filepath.Join(t.TempDir(), "ledger") }

func file(dir string) string { return filepath.Join(dir, ledger.FileName) }

func content(t testing.TB, dir string) string {
	t.Helper()
	b, err := os.ReadFile(file(dir))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantRecords checks that the file is clean and holds exactly these records.
func wantRecords(t testing.TB, dir string, want []ledger.Record) {
	t.Helper()
	got, report, err := ledger.Read(file(dir))
	if err != nil || report.Torn {
		t.Fatalf("Read: %v, torn: %v", err, report.Torn)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("records in the file (-want +got):\n%s", diff)
	}
}

func TestWhatWasAppendedIsReadBackTheSame(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, "run-1")
	terms := json.RawMessage("{ \"amount\" : 70.00,\n \"text\":\"<a&b> \u202e \\u0000 \\ud83d\\ude00\" }")
	want := []ledger.Record{
		add(t, l, ledger.Entry{Kind: "sighting", Round: "r/1:2", Data: map[string]any{"url": "https://a.test/?a=1&b=2"}}),
		add(t, l, ledger.Entry{Kind: "operation", Round: "r/1:2", Data: map[string]any{"terms": terms}}),
		add(t, l, ledger.Entry{Kind: "started"}),
	}
	if got, want := string(want[1].Data), "{\"terms\":{\"amount\":70.00,\"text\":\"<a&b> \u202e \\u0000 \\ud83d\\ude00\"}}"; got != want {
		t.Errorf("data = %s, want the literals as given: %s", got, want)
	}
	if got := string(want[2].Data); got != "{}" {
		t.Errorf("no data is written as %s", got)
	}
	if w := start.Add(time.Second).UTC(); !want[0].Time.Equal(w) || want[0].Time.Location() != time.UTC {
		t.Errorf("time = %v, want %v", want[0].Time, w)
	}
	for i, r := range want {
		if r.Seq != uint64(i+1) || r.Owner != "run-1" {
			t.Errorf("record %d: seq %d, owner %q", i, r.Seq, r.Owner)
		}
		if i > 0 && r.Prev != want[i-1].Hash {
			t.Errorf("record %d isn't chained to the one before", i)
		}
	}
	wantRecords(t, dir, want)
	if got, err := l.Records(t.Context()); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("Records: %v\n%s", err, cmp.Diff(want, got))
	}
	again := open(t, dir, "run-2")
	if got, err := again.Records(t.Context()); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("Records after reopening: %v\n%s", err, cmp.Diff(want, got))
	}
	if seq, hash := again.Head(); seq != 3 || hash != want[2].Hash {
		t.Errorf("Head = %d %s", seq, hash)
	}
	if n := again.Notices(); len(n) > 0 {
		t.Errorf("a clean ledger has notices: %q", n)
	}
}

func TestAnExportedRecordIsTheLine(t *testing.T) {
	dir := folder(t)
	r := add(t, open(t, dir, "run-1"), ledger.Entry{Kind: "asked", Round: "r", Data: map[string]int{"n": 1}})
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if line := strings.Split(content(t, dir), "\n")[1]; string(got) != line {
		t.Errorf("marshalled: %s\nline:       %s", got, line)
	}
}

// The package's comment tells how to check a line by hand: that must work.
func TestAHashIsCheckedWithStandardTools(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, "run-1")
	first := add(t, l, ledger.Entry{Kind: "a", Data: map[string]string{"hash": `,"hash":"00"}`}})
	second := add(t, l, ledger.Entry{Kind: "b", Round: "r", Data: map[string]string{"text": "ä"}})
	for _, c := range []struct{ script, want string }{
		{`sed -n 1p ledger.jsonl | tr -d '\n' | sha256sum`, first.Prev},
		{`sed -n 2p ledger.jsonl | sed 's/,"hash":"[0-9a-f]*"}$//' | tr -d '\n' | sha256sum`, first.Hash},
		{`sed -n 3p ledger.jsonl | sed 's/,"hash":"[0-9a-f]*"}$//' | tr -d '\n' | sha256sum`, second.Hash},
	} {
		cmd := exec.Command("sh", "-c", c.script)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(string(out), " "); got != c.want {
			t.Errorf("%s\ngives %s, the ledger says %s", c.script, got, c.want)
		}
	}
}

func TestARoundOfAnotherOwnerTakesNoLineWithoutAClaim(t *testing.T) {
	dir := folder(t)
	a, b := open(t, dir, "run-a"), open(t, dir, "run-b")
	want := []ledger.Record{add(t, a, ledger.Entry{Kind: "sighting", Round: "r1"})}
	before := content(t, dir)
	// b hasn't read a's line yet: Append must.
	if _, err := b.Append(t.Context(), ledger.Entry{Kind: "sending", Round: "r1"}); !errors.Is(err, ledger.ErrNotOwner) {
		t.Fatalf("another's round: %v", err)
	}
	if content(t, dir) != before {
		t.Error("a refused line was written")
	}
	want = append(want,
		add(t, b, ledger.Entry{Kind: "sighting", Round: "r2"}),
		add(t, b, ledger.Entry{Kind: "started"}), // no round, no owner
		add(t, a, ledger.Entry{Kind: "started"}),
		add(t, b, ledger.Entry{Kind: "claimed", Round: "r1", Claim: "run-a"}),
		add(t, b, ledger.Entry{Kind: "sending", Round: "r1"}))
	if _, err := a.Append(t.Context(), ledger.Entry{Kind: "sending", Round: "r1"}); !errors.Is(err, ledger.ErrNotOwner) {
		t.Fatalf("the owner that lost its round: %v", err)
	}
	wantRecords(t, dir, want)
}

// Two processes that found the same dead owner don't take its round from each other.
func TestAClaimNamesTheOwnerThatIsGone(t *testing.T) {
	dir := folder(t)
	a, b, c := open(t, dir, "run-a"), open(t, dir, "run-b"), open(t, dir, "run-c")
	want := []ledger.Record{
		add(t, a, ledger.Entry{Kind: "sighting", Round: "r1"}),
		add(t, b, ledger.Entry{Kind: "resumed", Round: "r1", Claim: "run-a"}),
	}
	if _, err := c.Append(t.Context(), ledger.Entry{Kind: "resumed", Round: "r1", Claim: "run-a"}); !errors.Is(err, ledger.ErrNotOwner) {
		t.Errorf("a claim of what another one claimed: %v", err)
	}
	wantRecords(t, dir, want)
}

// byKind finds lines by their kinds. A round ends with a line "settled", and goes on after it with "resumed".
var byKind = ledger.Index{
	Name: "by kind",
	Keys: func(r ledger.Record) []string { return []string{r.Kind} },
	Stand: func(before string, r ledger.Record) (string, bool) {
		if r.Kind == "settled" || before == "settled" && r.Kind != "resumed" {
			return "settled", true
		}
		return "open", false
	},
}

func indexed(c *ledger.Config) { c.Index = byKind }

func TestALineIsWrittenUnlessWhatOthersWroteForbidsIt(t *testing.T) {
	dir := folder(t)
	a, b := open(t, dir, "run-a", indexed), open(t, dir, "run-b", indexed)
	want := []ledger.Record{add(t, a, ledger.Entry{Kind: "sending", Round: "r1"})}
	forbids := errors.New("somebody sends")
	unless := func(v ledger.View) error {
		records, err := v.Lines("sending")
		if err != nil || len(records) == 0 {
			return err
		}
		return forbids
	}
	// b hasn't read a's line yet: Append must, before it asks.
	if _, err := b.Append(t.Context(), ledger.Entry{Kind: "sending", Round: "r2", Unless: unless}); !errors.Is(err, forbids) {
		t.Errorf("a forbidden line: %v", err)
	}
	wantRecords(t, dir, want)
	want = append(want, add(t, b, ledger.Entry{Kind: "sending", Round: "r2", Unless: func(v ledger.View) error {
		if records, err := v.Round("r1"); err != nil || len(records) != 1 {
			t.Errorf("%d records are shown: %v", len(records), err)
		}
		return nil
	}}))
	wantRecords(t, dir, want)
}

func TestTheOwnerRuleHoldsAfterReopening(t *testing.T) {
	dir := folder(t)
	add(t, open(t, dir, "run-a"), ledger.Entry{Kind: "sighting", Round: "r1"})
	if _, err := open(t, dir, "run-b").Append(t.Context(), ledger.Entry{Kind: "x", Round: "r1"}); !errors.Is(err, ledger.ErrNotOwner) {
		t.Error(err)
	}
}

func TestAnEntryThatCannotBeReadBackIsNeverWritten(t *testing.T) {
	dir := folder(t)
	now := start
	l := open(t, dir, "run-1", func(c *ledger.Config) { c.Now = func() time.Time { return now } })
	before := content(t, dir)
	for name, e := range map[string]ledger.Entry{
		"secret":               {Kind: "k", Data: map[string]any{"token": secret.New("s3cr3t")}},
		"secret deep inside":   {Kind: "k", Data: struct{ A []any }{[]any{secret.New("s3cr3t")}}},
		"no kind":              {},
		"kind with space":      {Kind: "a b"},
		"kind with quote":      {Kind: `a"b`},
		"kind with line feed":  {Kind: "a\nb"},
		"kind with umlaut":     {Kind: "ä"},
		"kind too long":        {Kind: strings.Repeat("k", 257)},
		"round with backslash": {Kind: "k", Round: `a\b`},
		"round too long":       {Kind: "k", Round: strings.Repeat("r", 257)},
		"array":                {Kind: "k", Data: []int{1}},
		"string":               {Kind: "k", Data: "text"},
		"null":                 {Kind: "k", Data: json.RawMessage("null")},
		"channel":              {Kind: "k", Data: make(chan int)},
		"duplicate members":    {Kind: "k", Data: json.RawMessage(`{"a":1,"a":2}`)},
		"invalid UTF-8":        {Kind: "k", Data: json.RawMessage("{\"a\":\"\xff\"}")},
		"too long":             {Kind: "k", Data: map[string]string{"a": strings.Repeat("x", 4<<20)}},
	} {
		_, err := l.Append(t.Context(), e)
		if !errors.Is(err, ledger.ErrEntry) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: the error tells the secret: %v", name, err)
		}
	}
	now = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := l.Append(t.Context(), ledger.Entry{Kind: "k"}); !errors.Is(err, ledger.ErrEntry) {
		t.Errorf("a year with five digits: %v", err)
	}
	if content(t, dir) != before {
		t.Fatal("something was written")
	}
	now = start
	wantRecords(t, dir, []ledger.Record{add(t, l, ledger.Entry{Kind: strings.Repeat("k", 256)})})
	if _, err := ledger.Open(t.Context(), ledger.Config{Dir: dir, Owner: "two words"}); !errors.Is(err, ledger.ErrEntry) {
		t.Errorf("owner: %v", err)
	}
}

func TestTheLongestLineIsReadBack(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, "o", func(c *ledger.Config) { c.Now = func() time.Time { return start } })
	add(t, l, ledger.Entry{Kind: "k", Data: map[string]string{"a": ""}})
	overhead := len(strings.Split(content(t, dir), "\n")[1]) + 1
	fits := strings.Repeat("x", 4<<20-overhead)
	if _, err := l.Append(t.Context(), ledger.Entry{Kind: "k", Data: map[string]string{"a": fits + "x"}}); !errors.Is(err, ledger.ErrEntry) {
		t.Errorf("one byte too long: %v", err)
	}
	add(t, l, ledger.Entry{Kind: "k", Data: map[string]string{"a": fits}})
	add(t, l, ledger.Entry{Kind: "k"})
	if records, report, err := ledger.Read(file(dir)); err != nil || report.Torn || len(records) != 3 {
		t.Errorf("%d records, %+v, %v", len(records), report, err)
	}
}

func TestManyGoroutinesAndLedgersMakeOneChain(t *testing.T) {
	dir := folder(t)
	ledgers := []*ledger.Ledger{open(t, dir, "run-a"), open(t, dir, "run-b")}
	const goroutines, each = 4, 10
	var wg sync.WaitGroup
	for i, l := range ledgers {
		for g := range goroutines {
			wg.Go(func() {
				for n := range each {
					_, err := l.Append(context.Background(), ledger.Entry{Kind: "k", Round: fmt.Sprintf("r-%d-%d", i, g), Data: map[string]int{"n": n}})
					if err != nil {
						t.Error(err)
					}
					if _, err := l.Records(context.Background()); err != nil {
						t.Error(err)
					}
					if _, _, err := ledger.Read(file(dir)); err != nil {
						t.Error(err)
					}
					l.Head()
				}
			})
		}
	}
	wg.Wait()
	records, report, err := ledger.Read(file(dir))
	if err != nil || report.Torn || len(records) != len(ledgers)*goroutines*each {
		t.Fatalf("%d records, %+v, %v", len(records), report, err)
	}
	next := map[string]int{}
	for _, r := range records {
		var data struct{ N int }
		if err := json.Unmarshal(r.Data, &data); err != nil {
			t.Fatal(err)
		}
		if data.N != next[r.Round] {
			t.Fatalf("round %s: %d where %d belongs", r.Round, data.N, next[r.Round])
		}
		next[r.Round]++
	}
}

func TestAppendGivesUpWhenTheLockStaysHeld(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, "run-1", func(c *ledger.Config) { c.LockWait = time.Millisecond })
	held, err := os.Open(filepath.Join(dir, ledger.LockName))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	before := content(t, dir)
	if _, err := l.Append(t.Context(), ledger.Entry{Kind: "k"}); !errors.Is(err, ledger.ErrLocked) {
		t.Errorf("Append: %v", err)
	}
	if _, err := ledger.Open(t.Context(), ledger.Config{Dir: dir, Owner: "o", LockWait: time.Millisecond}); !errors.Is(err, ledger.ErrLocked) {
		t.Errorf("Open: %v", err)
	}
	// Reading needs no lock.
	if _, err := l.Records(t.Context()); err != nil {
		t.Errorf("Records: %v", err)
	}
	if content(t, dir) != before {
		t.Error("something was written without the lock")
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	free := open(t, dir, "run-2")
	wantRecords(t, dir, []ledger.Record{add(t, free, ledger.Entry{Kind: "k"})})
}

func TestACancelledAppendWritesNothing(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, "run-1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Append(ctx, ledger.Entry{Kind: "k"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Append: %v", err)
	}
	wantRecords(t, dir, nil)
	// Cancelled at the last moment: the clock is read right before the write.
	ctx, cancel = context.WithCancel(t.Context())
	late := open(t, dir, "run-2", func(c *ledger.Config) {
		c.Now = func() time.Time { cancel(); return start }
	})
	if _, err := late.Append(ctx, ledger.Entry{Kind: "k"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Append, cancelled late: %v", err)
	}
	wantRecords(t, dir, nil)
}

func TestAClosedLedgerRefuses(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, "run-1")
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), ledger.Entry{Kind: "k"}); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	if _, err := l.Records(t.Context()); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("Records: %v", err)
	}
}

func TestFilesBelongToTheUserAloneWhateverTheUmask(t *testing.T) {
	for _, umask := range []int{0, 0o002, 0o077, 0o777} {
		func() {
			root := t.TempDir()
			defer syscall.Umask(syscall.Umask(umask))
			dir := filepath.Join(root, "home", "ledger")
			l := open(t, dir, "run-1", func(c *ledger.Config) {
				c.OpenFile = func(path string) (ledger.File, error) {
					if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
						t.Errorf("umask %04o: before it is first opened: %v, %v", umask, info.Mode(), err)
					}
					return ledger.OpenFile(path)
				}
			})
			add(t, l, ledger.Entry{Kind: "k"})
			for path, want := range map[string]os.FileMode{
				filepath.Join(root, "home"):         os.ModeDir | 0o700,
				dir:                                 os.ModeDir | 0o700,
				file(dir):                           0o600,
				filepath.Join(dir, ledger.LockName): 0o600,
			} {
				if info, err := os.Stat(path); err != nil || info.Mode() != want {
					t.Errorf("umask %04o: %s: %v, %v", umask, path, info.Mode(), err)
				}
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 2 {
				t.Errorf("umask %04o: %v %v", umask, entries, err)
			}
		}()
	}
}

func TestAFileThatOthersCanWriteIsRefused(t *testing.T) {
	dir := folder(t)
	add(t, open(t, dir, "run-1"), ledger.Entry{Kind: "k"})
	if err := os.Chmod(file(dir), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Open(t.Context(), ledger.Config{Dir: dir, Owner: "o"}); !errors.Is(err, durable.ErrLoose) {
		t.Errorf("Open: %v", err)
	}
}
