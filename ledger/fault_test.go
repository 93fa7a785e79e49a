package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/papaver-agent/papaver/ledger"
)

// faultFile is the real file, except where a test says otherwise. Its
// functions are nil for what works.
type faultFile struct {
	ledger.File
	write    func(ledger.File, []byte) (int, error)
	sync     func(ledger.File) error
	truncate func(ledger.File, int64) error
}

func (f *faultFile) Write(b []byte) (int, error) {
	if f.write != nil {
		return f.write(f.File, b)
	}
	return f.File.Write(b)
}

func (f *faultFile) Sync() error {
	if f.sync != nil {
		return f.sync(f.File)
	}
	return f.File.Sync()
}

func (f *faultFile) Truncate(size int64) error {
	if f.truncate != nil {
		return f.truncate(f.File, size)
	}
	return f.File.Truncate(size)
}

// over puts f between a ledger and its file.
func over(f *faultFile) func(*ledger.Config) {
	return func(c *ledger.Config) {
		c.OpenFile = func(path string) (ledger.File, error) {
			var err error
			f.File, err = ledger.OpenFile(path)
			return f, err
		}
	}
}

// part returns a write that stores the first n bytes and answers with err.
func part(n int, err error) func(ledger.File, []byte) (int, error) {
	return func(f ledger.File, b []byte) (int, error) {
		stored, writeErr := f.Write(b[:min(n, len(b))])
		return stored, errors.Join(writeErr, err)
	}
}

const everything = 1 << 30

func TestAFailedWriteLeavesNothingAndTheNextAppendIsClean(t *testing.T) {
	for name, c := range map[string]struct {
		write func(ledger.File, []byte) (int, error)
		want  error
	}{
		"disk full":              {part(0, syscall.ENOSPC), syscall.ENOSPC},
		"disk full after a part": {part(100, syscall.ENOSPC), syscall.ENOSPC},
		"short without an error": {part(100, nil), io.ErrShortWrite},
		"all but the line feed":  {func(f ledger.File, b []byte) (int, error) { return part(len(b)-1, syscall.ENOSPC)(f, b) }, syscall.ENOSPC},
		"failed but stored":      {part(everything, syscall.EIO), syscall.EIO},
		"read-only":              {part(0, syscall.EROFS), syscall.EROFS},
		"stored, count forgotten": {func(f ledger.File, b []byte) (int, error) {
			_, err := f.Write(b)
			return 0, errors.Join(err, syscall.EIO)
		}, syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			dir, f := folder(t), &faultFile{}
			l := open(t, dir, "o", over(f))
			want := []ledger.Record{add(t, l, ledger.Entry{Kind: "before", Round: "r"})}
			f.write = c.write
			for range 2 {
				if _, err := l.Append(t.Context(), ledger.Entry{Kind: "failing", Round: "r"}); !errors.Is(err, c.want) || errors.Is(err, ledger.ErrBroken) {
					t.Fatalf("Append: %v", err)
				}
				wantRecords(t, dir, want)
			}
			f.write = nil
			want = append(want, add(t, l, ledger.Entry{Kind: "after", Round: "r"}))
			wantRecords(t, dir, want)
			if n := l.Notices(); len(n) > 0 {
				t.Errorf("notices: %q", n)
			}
		})
	}
}

func TestAPartThatCannotBeCutOffBreaksTheLedgerAndTheNextOneRepairs(t *testing.T) {
	dir, f := folder(t), &faultFile{}
	l := open(t, dir, "o", over(f))
	want := []ledger.Record{add(t, l, ledger.Entry{Kind: "before"})}
	f.write = part(100, syscall.ENOSPC)
	f.truncate = func(ledger.File, int64) error { return syscall.EIO }
	_, err := l.Append(t.Context(), ledger.Entry{Kind: "failing"})
	if !errors.Is(err, ledger.ErrBroken) || !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("Append: %v", err)
	}
	f.write, f.truncate = nil, nil
	if _, err := l.Append(t.Context(), ledger.Entry{Kind: "after"}); !errors.Is(err, ledger.ErrBroken) {
		t.Fatalf("the next Append: %v", err)
	}
	next := open(t, dir, "o2")
	if n := next.Notices(); len(n) != 1 || !strings.Contains(n[0], "line 3 ") {
		t.Errorf("notices: %q", n)
	}
	wantRecords(t, dir, append(want, add(t, next, ledger.Entry{Kind: "after"})))
}

func TestAFailedSyncPoisonsTheLedger(t *testing.T) {
	for name, sync := range map[string]func(ledger.File) error{
		"not on disk": func(ledger.File) error { return syscall.EIO },
		"on disk":     func(f ledger.File) error { return errors.Join(f.Sync(), syscall.EIO) },
	} {
		for _, cuts := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, cut off %v", name, cuts), func(t *testing.T) {
				dir, f := folder(t), &faultFile{}
				l := open(t, dir, "o", over(f))
				first := add(t, l, ledger.Entry{Kind: "before"})
				f.sync = sync
				if !cuts {
					f.truncate = func(ledger.File, int64) error { return syscall.EIO }
				}
				_, err := l.Append(t.Context(), ledger.Entry{Kind: "failing"})
				if !errors.Is(err, ledger.ErrBroken) || !errors.Is(err, syscall.EIO) {
					t.Fatalf("Append: %v", err)
				}
				if !strings.Contains(err.Error(), "papaver ledger verify") {
					t.Errorf("the error doesn't say what to do: %v", err)
				}
				f.sync, f.truncate = nil, nil
				left := content(t, dir)
				if _, err := l.Append(t.Context(), ledger.Entry{Kind: "after"}); !errors.Is(err, ledger.ErrBroken) {
					t.Fatalf("the next Append: %v", err)
				}
				if content(t, dir) != left {
					t.Error("a broken ledger wrote")
				}
				// Only what was acknowledged is known to be on disk.
				if records, err := l.Records(t.Context()); err != nil || len(records) != 1 || records[0].Hash != first.Hash {
					t.Errorf("Records: %d, %v", len(records), err)
				}
				next := open(t, dir, "o2")
				records, err := next.Records(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if cuts && len(records) != 1 {
					t.Errorf("%d records after a failed sync whose line was cut off", len(records))
				}
				wantRecords(t, dir, append(records, add(t, next, ledger.Entry{Kind: "after"})))
			})
		}
	}
}

func TestOpenFailsWhenWhatItReadMayNotBeOnDisk(t *testing.T) {
	f := &faultFile{sync: func(ledger.File) error { return syscall.EIO }}
	cfg := ledger.Config{Dir: folder(t), Owner: "o"}
	over(f)(&cfg)
	if _, err := ledger.Open(t.Context(), cfg); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
}

func TestATornLineThatCannotBeRepairedStopsTheAppend(t *testing.T) {
	lines := sample(2)
	for name, c := range map[string]struct {
		content string
		fault   faultFile
		broken  bool
	}{
		"not cut off":                 {lines[0] + lines[1][:50], faultFile{truncate: func(ledger.File, int64) error { return syscall.EIO }}, false},
		"cut off, not synced":         {lines[0] + lines[1][:50], faultFile{sync: func(ledger.File) error { return syscall.EIO }}, true},
		"line feed not added":         {strings.TrimSuffix(lines[0]+lines[1], "\n"), faultFile{write: part(0, syscall.EIO)}, false},
		"line feed added, not synced": {strings.TrimSuffix(lines[0]+lines[1], "\n"), faultFile{sync: func(ledger.File) error { return syscall.EIO }}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, f := put(t, lines[0]), &faultFile{}
			l := open(t, dir, "o", over(f))
			if _, err := f.File.Write([]byte(strings.TrimPrefix(c.content, lines[0]))); err != nil {
				t.Fatal(err)
			}
			f.write, f.sync, f.truncate = c.fault.write, c.fault.sync, c.fault.truncate
			_, err := l.Append(t.Context(), ledger.Entry{Kind: "k"})
			if !errors.Is(err, syscall.EIO) || errors.Is(err, ledger.ErrBroken) != c.broken {
				t.Fatalf("Append: %v", err)
			}
			if len(l.Notices()) > 0 {
				t.Errorf("a repair that failed was noticed as done: %q", l.Notices())
			}
			f.write, f.sync, f.truncate = nil, nil, nil
			next := open(t, dir, "o2")
			records, err := next.Records(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			wantRecords(t, dir, append(records, add(t, next, ledger.Entry{Kind: "after"})))
		})
	}
}

// Every call on the file fails in its turn, once doing nothing and once after
// it did its work. Whatever happens, all that was acknowledged is there, in
// order, and a new ledger goes on.
func TestNothingAcknowledgedIsLostWhicheverCallFails(t *testing.T) {
	for _, stored := range []bool{false, true} {
		for failing := 0; ; failing++ {
			dir := folder(t)
			calls := 0
			fails := func() bool { calls++; return calls == failing+1 }
			f := &faultFile{
				write: func(f ledger.File, b []byte) (int, error) {
					if !fails() {
						return f.Write(b)
					}
					if stored {
						return part(everything, syscall.EIO)(f, b)
					}
					return part(len(b)/2, syscall.ENOSPC)(f, b)
				},
				sync: func(f ledger.File) error {
					if !fails() {
						return f.Sync()
					}
					if stored {
						return errors.Join(f.Sync(), syscall.EIO)
					}
					return syscall.EIO
				},
			}
			cfg := ledger.Config{Dir: dir, Owner: "o", Now: clock()}
			over(f)(&cfg)
			var acknowledged []ledger.Record
			l, err := ledger.Open(t.Context(), cfg)
			if err == nil {
				for range 3 {
					if r, err := l.Append(context.Background(), ledger.Entry{Kind: "k"}); err == nil {
						acknowledged = append(acknowledged, r)
					}
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if calls <= failing {
				if failing < 7 {
					t.Fatalf("only %d calls: an open and three appends are at least 7", calls)
				}
				break
			}
			next := open(t, dir, "o2")
			wantRecords(t, dir, append(acknowledged, add(t, next, ledger.Entry{Kind: "after"})))
		}
	}
}
