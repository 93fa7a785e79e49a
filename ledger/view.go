package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// View is a ledger at one moment. It is good until the function returns that it
// was given to, and for that one's goroutine alone. Lines are read from the files when they
// are asked for; each is held against what it was when it was verified. Errors
// match [ErrDamaged], or are the file system's. All lines come in their order.
type View struct {
	x     *index
	from  source
	fresh []Record // verified, after all that x has
}

// Lines returns the lines that a key finds, see [Index.Keys].
func (v View) Lines(key string) ([]Record, error) {
	found, err := v.x.lines(v.from, key)
	if err != nil {
		return nil, err
	}
	for _, r := range v.fresh {
		if slices.Contains(v.x.keys(r), key) {
			found = append(found, r)
		}
	}
	return found, nil
}

// Round returns all lines of a round.
func (v View) Round(id string) ([]Record, error) { return v.all([]string{id}) }

// Rounds returns all lines of the rounds of which a key finds a line.
func (v View) Rounds(key string) ([]Record, error) {
	lines, err := v.Lines(key)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range lines {
		if r.Round != "" {
			ids = append(ids, r.Round)
		}
	}
	return v.all(ids)
}

// Unended returns all lines of the rounds that have not ended, see
// [Index.Stand]; perhaps also of some that ended a moment ago.
func (v View) Unended() ([]Record, error) {
	var ids []string
	for id := range v.x.open {
		ids = append(ids, id)
	}
	for _, r := range v.fresh {
		if r.Round != "" {
			ids = append(ids, r.Round)
		}
	}
	return v.all(ids)
}

// all returns all lines of rounds, each of which may be named more than once.
func (v View) all(ids []string) ([]Record, error) {
	slices.Sort(ids)
	var found []Record
	for _, id := range slices.Compact(ids) {
		records, err := v.x.round(v.from, id)
		if err != nil {
			return nil, err
		}
		found = append(found, records...)
		for _, r := range v.fresh {
			if r.Round == id {
				found = append(found, r)
			}
		}
	}
	slices.SortFunc(found, bySeq)
	return found, nil
}

// Look shows see the ledger as it stands, with what others appended. It takes
// no lock: the last lines may be ones whose writer is still syncing them. After [ErrBroken] it
// shows what is known to be on disk. See must not call the Ledger. Errors are
// see's, match [ErrDamaged] or [ErrClosed], or are ctx's or the file system's.
func (l *Ledger) Look(ctx context.Context, see func(View) error) error {
	// Twice, for the reason given in Scan.
	var err error
	for range 2 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err = l.lookOnce(see); !errors.Is(err, ErrDamaged) {
			break
		}
	}
	return err
}

func (l *Ledger) lookOnce(see func(View) error) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return ErrClosed
	}
	v := l.viewLocked()
	if l.broken == nil {
		// What is read here isn't kept: it may be cut off again by its writer.
		met, err := l.follow(place{l.at, l.end, l.file}, func(r Record, _ int, _ spot) error { v.fresh = append(v.fresh, r); return nil })
		if err := errors.Join(err, closeAll(met.files[1:])); err != nil {
			return err
		}
	}
	return see(v)
}

// viewLocked is the ledger as the last append or opening left it.
func (l *Ledger) viewLocked() View {
	return View{x: l.index, from: source{dir: l.cfg.Dir, current: l.file, file: l.at.file}}
}

// Look shows see the ledger whose newest file is at path, as [Ledger.Look] does,
// without opening it for appending: it takes no lock and changes nothing. A
// ledger that is not there gives [fs.ErrNotExist].
func Look(path string, rules Index, see func(View) error) error {
	var err error
	for range 2 {
		if err = lookAt(path, rules, see); !errors.Is(err, ErrDamaged) {
			break
		}
	}
	return err
}

func lookAt(path string, rules Index, see func(View) error) (err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return onlyOlder(path, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	number, err := numberOf(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	x := newIndex(rules, filepath.Dir(path), 0)
	c, err := x.archives(number, false)
	if err != nil {
		return err
	}
	from := source{dir: x.dir, current: readOnly{f}, file: number}
	if _, _, err := c.follow(f, 0, func(r Record, file int, at spot) error { return x.accept(from, r, file, at) }); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return see(View{x: x, from: from})
}

// readOnly is a File of which lines are only read.
type readOnly struct{ *os.File }

// Sync does nothing: nothing was written.
func (readOnly) Sync() error { return nil }

// Scan hands each record of the ledger whose newest file is at path to each, in
// order, those of its older files beside it included, verified like [Verify] and
// across the files. It keeps no more than one line in memory, takes no lock and
// changes nothing. A torn last line is left out and reported; for any damage the
// records before it were handed over when its error comes. Each's own error
// ends the scan and is returned.
func Scan(path string, each func(Record) error) (_ Report, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Report{}, onlyOlder(path, err)
	}
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// The newest file first: while the older ones are read, it may become one of them, and stays what it is.
	number, err := numberOf(f)
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", path, err)
	}
	handed := func(r Record, _ int, _ spot) error { return each(r) }
	c, err := archives(filepath.Dir(path), number, handed)
	if err != nil {
		return c.report(nil), err
	}
	// A live writer can cut off its partial line and write another while we
	// read: the mixture looks like damage once, real damage twice.
	var read int64
	var tail []byte
	for range 2 {
		var whole int64
		whole, tail, err = c.follow(io.NewSectionReader(f, read, 1<<62-read), read, handed)
		read += whole
		if !errors.Is(err, ErrDamaged) {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return c.report(tail), err
}

// Read is [Scan] for a ledger that is small enough to be held in memory.
func Read(path string) (records []Record, _ Report, err error) {
	report, err := Scan(path, func(r Record) error {
		records = append(records, r)
		return nil
	})
	return records, report, err
}
