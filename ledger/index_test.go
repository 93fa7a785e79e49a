package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/ledger"
)

// quick keeps what is known of a file as soon as there is a newer one.
func quick(c *ledger.Config) { c.Coarse = time.Nanosecond }

// found is all that an index finds of some keys and rounds.
type found struct {
	Lines, Rounds map[string][]uint64
	Round         map[string][]uint64
	Unended       []uint64
}

var (
	someKinds  = []string{"sighting", "sending", "settled", "resumed", "nowhere"}
	someRounds = []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "none"}
)

func seqs(records []ledger.Record) []uint64 {
	list := []uint64{}
	for _, r := range records {
		list = append(list, r.Seq)
	}
	return list
}

// asked asks a view.
func asked(v ledger.View) (found, error) {
	f := found{Lines: map[string][]uint64{}, Rounds: map[string][]uint64{}, Round: map[string][]uint64{}}
	for _, kind := range someKinds {
		lines, err := v.Lines(kind)
		rounds, err2 := v.Rounds(kind)
		if err := errors.Join(err, err2); err != nil {
			return f, err
		}
		f.Lines[kind], f.Rounds[kind] = seqs(lines), seqs(rounds)
	}
	for _, id := range someRounds {
		records, err := v.Round(id)
		if err != nil {
			return f, err
		}
		f.Round[id] = seqs(records)
	}
	unended, err := v.Unended()
	f.Unended = seqs(unended)
	return f, err
}

// counted is what reading all of the ledger finds.
func counted(t testing.TB, dir string) found {
	t.Helper()
	records, _, err := ledger.Read(file(dir))
	if err != nil {
		t.Fatal(err)
	}
	f := found{Lines: map[string][]uint64{}, Rounds: map[string][]uint64{}, Round: map[string][]uint64{}, Unended: []uint64{}}
	stands, ended := map[string]string{}, map[string]bool{}
	for _, r := range records {
		if r.Round != "" {
			stands[r.Round], ended[r.Round] = byKind.Stand(stands[r.Round], r)
		}
	}
	only := func(fits func(ledger.Record) bool) []uint64 {
		return seqs(slices.DeleteFunc(slices.Clone(records), func(r ledger.Record) bool { return !fits(r) }))
	}
	for _, kind := range someKinds {
		in := map[string]bool{}
		f.Lines[kind] = only(func(r ledger.Record) bool {
			in[r.Round] = in[r.Round] || r.Kind == kind && r.Round != ""
			return r.Kind == kind
		})
		f.Rounds[kind] = only(func(r ledger.Record) bool { return in[r.Round] })
	}
	for _, id := range someRounds {
		f.Round[id] = only(func(r ledger.Record) bool { return r.Round == id })
	}
	f.Unended = only(func(r ledger.Record) bool { return r.Round != "" && !ended[r.Round] })
	return f
}

var errAsked = errors.New("only asked")

// Whatever is appended by whom, in however many files, in memory or kept beside them: the index finds what a read of
// everything finds, to a condition, to a look and to who only reads.
func TestTheIndexFindsWhatReadingAllFinds(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*ledger.Config)
		kept   bool
	}{
		{"one file", func(*ledger.Config) {}, false},
		{"files whose times are too young", func(c *ledger.Config) { c.MaxFile, c.Coarse = 1500, time.Hour }, false},
		{"files that are kept", func(c *ledger.Config) { c.MaxFile, c.Coarse = 1500, time.Nanosecond }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := folder(t)
			chance := rand.New(rand.NewPCG(1, 2))
			unsynced := func(c *ledger.Config) {
				c.OpenFile = func(path string) (ledger.File, error) {
					f, err := ledger.OpenFile(path)
					return &faultFile{File: f, sync: func(ledger.File) error { return nil }}, err
				}
			}
			opened := func() *ledger.Ledger { return open(t, dir, "o", indexed, unsynced, tc.change) }
			both := []*ledger.Ledger{opened(), opened()}
			kept := 0
			for step := range 70 {
				if chance.IntN(12) == 0 {
					both[chance.IntN(2)] = opened()
				}
				round := someRounds[chance.IntN(len(someRounds)-1)]
				if chance.IntN(9) == 0 {
					round = ""
				}
				add(t, both[chance.IntN(2)], ledger.Entry{Kind: someKinds[chance.IntN(4)], Round: round})
				if step%7 > 0 {
					continue
				}
				want := counted(t, dir)
				for i, l := range both {
					var under found
					_, err := l.Append(t.Context(), ledger.Entry{Kind: "k", Unless: func(v ledger.View) (err error) {
						if under, err = asked(v); err == nil {
							err = errAsked
						}
						return err
					}})
					if !errors.Is(err, errAsked) {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, under); diff != "" {
						t.Fatalf("step %d, ledger %d, a condition (-want +got):\n%s", step, i, diff)
					}
					kept = max(kept, len(l.Kept()))
				}
				// One that has not read the other's line yet sees it all the same.
				add(t, both[0], ledger.Entry{Kind: "settled", Round: "r0"})
				want = counted(t, dir)
				for i, look := range []func(func(ledger.View) error) error{
					func(see func(ledger.View) error) error { return both[0].Look(t.Context(), see) },
					func(see func(ledger.View) error) error { return both[1].Look(t.Context(), see) },
					func(see func(ledger.View) error) error { return ledger.Look(file(dir), byKind, see) },
				} {
					var seen found
					if err := look(func(v ledger.View) (err error) { seen, err = asked(v); return err }); err != nil {
						t.Fatal(err)
					}
					if i == 1 { // it may show a round too many, and none too few
						seen.Unended = slices.DeleteFunc(seen.Unended, func(seq uint64) bool { return !slices.Contains(want.Unended, seq) })
					}
					if diff := cmp.Diff(want, seen); diff != "" {
						t.Fatalf("step %d, look %d (-want +got):\n%s", step, i, diff)
					}
				}
			}
			if (kept > 0) != tc.kept {
				t.Errorf("%d files were kept", kept)
			}
		})
	}
}

// kept makes a ledger of several files of which each older one is kept, and returns the names of that.
func kept(t testing.TB, dir string) []string {
	t.Helper()
	l := open(t, dir, "o", indexed, short, quick)
	for i := range 24 {
		add(t, l, ledger.Entry{Kind: someKinds[i%4], Round: someRounds[i%8]})
	}
	names := open(t, dir, "o", indexed, short, quick).Kept()
	if len(names) < 3 {
		t.Fatalf("%d files are kept", len(names))
	}
	return names
}

func lookedAt(t testing.TB, dir string) (seen found) {
	t.Helper()
	if err := ledger.Look(file(dir), byKind, func(v ledger.View) (err error) { seen, err = asked(v); return err }); err != nil {
		t.Fatal(err)
	}
	return seen
}

// What is kept beside a file is a help and never a witness: with any byte of it changed, cut off anywhere, or gone, the
// answers are those of the ledger's own files.
func TestWhateverHappensToWhatIsKeptTheAnswersAreTheSame(t *testing.T) {
	dir := folder(t)
	names := kept(t, dir)
	want := counted(t, dir)
	name := filepath.Join(dir, names[1])
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, lookedAt(t, dir)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", what, diff)
		}
	}
	for i := 0; i < len(whole); i += 11 {
		changed := slices.Clone(whole)
		changed[i] ^= 1 << (i % 8)
		try(fmt.Sprintf("byte %d changed", i), changed)
		try(fmt.Sprintf("cut off after byte %d", i), whole[:i])
	}
	other, err := os.ReadFile(filepath.Join(dir, names[0]))
	if err != nil {
		t.Fatal(err)
	}
	try("another file's", other)
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, lookedAt(t, dir)); diff != "" {
		t.Fatalf("none is there (-want +got):\n%s", diff)
	}
}

func TestAnOpeningDoesNotReadWhatItVerifiedBeforeUntilThatIsTouched(t *testing.T) {
	dir := folder(t)
	names := kept(t, dir)
	made := func() time.Time {
		t.Helper()
		info, err := os.Stat(filepath.Join(dir, names[0]))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	first := made()
	open(t, dir, "o", indexed, short, quick)
	if !made().Equal(first) {
		t.Error("what is kept of an untouched file was made again")
	}
	// Another index has other keys: what is kept under one name is nobody else's.
	again := func(c *ledger.Config) { c.Index.Name = "another" }
	if got := open(t, dir, "o", indexed, again, short, quick).Kept(); len(got) != len(names) || made().Equal(first) {
		t.Errorf("another index keeps %d of %d files, or used what it did not make", len(got), len(names))
	}
	// One changed byte of an older file is found, as if nothing of it had ever been verified.
	old := older(dir, 1)
	data, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(data), `"kind":"s`) + len(`"kind":"`)
	data[at] = 'S'
	if err := os.WriteFile(old, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var damage *ledger.DamageError
	if _, err := ledger.Open(t.Context(), ledger.Config{Dir: dir, Owner: "o", Index: byKind}); !errors.As(err, &damage) || damage.Line != 2 {
		t.Errorf("an opening after an older file was changed: %v", err)
	}
}

// The file system's times are coarse: a change right after one that we saw may have the same time.
func TestAFileThatChangedJustNowIsNotKept(t *testing.T) {
	dir := folder(t)
	young := func(c *ledger.Config) { c.Coarse = time.Hour }
	l := open(t, dir, "o", indexed, short, young)
	for range 24 {
		add(t, l, ledger.Entry{Kind: "sighting", Round: "r0"})
	}
	if names := open(t, dir, "o", indexed, short, young).Kept(); len(names) > 0 {
		t.Errorf("kept: %v", names)
	}
}

// A line that is asked for must be the one that was verified.
func TestALineThatWasChangedSinceItWasVerifiedIsNeverHandedOut(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, "o", indexed)
	first := add(t, l, ledger.Entry{Kind: "sending", Round: "r0", Data: map[string]string{"a": "b"}})
	add(t, l, ledger.Entry{Kind: "settled", Round: "r0"})
	f, err := os.OpenFile(file(dir), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	changed := first
	changed.Data = []byte(`{"a":"c"}`)
	at := strings.Index(content(t, dir), "\n") + 1
	if _, err := f.WriteAt([]byte(ledger.Encode(changed)), int64(at)); err != nil { // with a hash that fits
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var damage *ledger.DamageError
	err = l.Look(t.Context(), func(v ledger.View) error { _, err := v.Lines("sending"); return err })
	if !errors.As(err, &damage) || damage.Line != 2 {
		t.Errorf("a changed line is asked for: %v", err)
	}
	_, err = l.Append(t.Context(), ledger.Entry{Kind: "sending", Unless: func(v ledger.View) error { _, err := v.Rounds("sending"); return err }})
	if !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("a condition on a changed line: %v", err)
	}
}
