package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Report is what a look at a whole ledger found.
type Report struct {
	Records uint64 // how many; also the last one's sequence number
	Head    string // hash of the last record; of the format line when there is none
	Torn    bool   // an unfinished last line was left out: see the package's comment
	Files   int    // of how many files the last one read is the newest
}

// Verify reads one file of a ledger from r and checks all that can be known from
// it alone: format, sequence, every hash, every link of the chain. The error is a
// [*DamageError] naming the first bad line, or what reading gave. The report
// covers what stands before the error. It keeps no more than one line in memory.
func Verify(r io.Reader) (Report, error) {
	var c chain
	_, tail, err := c.follow(r, func(Record) {})
	return c.report(tail), err
}

// Read returns all records of the ledger whose newest file is at path, those of
// its older files beside it included, verified like [Verify] and across the
// files. It takes no lock and changes nothing. A torn last line is left out
// and reported; for any damage the records before it come with the error.
func Read(path string) ([]Record, Report, error) {
	var records []Record
	var report Report
	// A live writer can cut off its partial line and write another while we
	// read: the mixture looks like damage once, real damage twice.
	var err error
	for range 2 {
		records, report, err = readOnce(path)
		if !errors.Is(err, ErrDamaged) {
			break
		}
	}
	return records, report, err
}

func readOnce(path string) (records []Record, _ Report, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Report{}, onlyOlder(path, err)
	}
	if err != nil {
		return nil, Report{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// The newest file first: while the older ones are read, it may become one of them, and stays what it is.
	number, err := numberOf(f)
	if err != nil {
		return nil, Report{}, fmt.Errorf("%s: %w", path, err)
	}
	add := func(r Record) { records = append(records, r) }
	c, err := archives(filepath.Dir(path), number, add)
	if err != nil {
		return records, c.report(nil), err
	}
	_, tail, err := c.follow(f, add)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return records, c.report(tail), err
}

// onlyOlder makes missing, the error of a newest file that is not there, one of
// damage when older ones are.
func onlyOlder(path string, missing error) error {
	names, err := archived(filepath.Dir(path))
	if err != nil || len(names) == 0 {
		return missing
	}
	return fmt.Errorf("%s is missing, and older files of the ledger are there (%s the newest): %w", path, names[len(names)-1], ErrDamaged)
}

// Place returns where in a ledger, as Read gave it, a hash stands that somebody
// remembered as its head: after how many records. False says that it is none of
// this ledger's: its end was cut off since, or it is another one.
func Place(records []Record, report Report, hash string) (after uint64, found bool) {
	for _, r := range records {
		switch hash {
		case r.Prev:
			return r.Seq - 1, true
		case r.Hash:
			return r.Seq, true
		}
	}
	return report.Records, report.Head == hash
}

// chain is a place in a verified ledger: after so many lines of the file with
// this number, with this hash. Its zero value is before any format line.
type chain struct {
	lines int
	file  int
	seq   uint64
	hash  string
	from  bool // lines is 0, and the rest is the place where the file before ends
}

func (c *chain) report(tail []byte) Report {
	return Report{Records: c.seq, Head: c.hash, Torn: len(tail) > 0, Files: c.file}
}

// follow reads lines from r, which begins at c's place, to the end, moves c
// over each that verifies and hands its record to each. It returns how many
// bytes the verified lines have, and the unfinished last line, if there is one.
func (c *chain) follow(r io.Reader, each func(Record)) (whole int64, tail []byte, err error) {
	in := bufio.NewReader(r)
	for {
		line, err := readLine(in)
		switch {
		case errors.Is(err, errLongLine):
			return whole, nil, c.damage(fmt.Sprintf("is longer than %d bytes", maxLine))
		case errors.Is(err, io.EOF):
			return whole, line, c.checkTail(line)
		case err != nil:
			return whole, nil, fmt.Errorf("line %d of the ledger: not read: %w", c.lines+1, err)
		}
		rec, err := c.next(line)
		if err != nil {
			return whole, nil, err
		}
		whole += int64(len(line)) + 1
		if c.lines > 1 {
			each(rec)
		}
	}
}

// next verifies one line, without its line feed, against c's place and moves
// c over it. The record is zero for the format line.
func (c *chain) next(line []byte) (Record, error) {
	if c.lines == 0 {
		return Record{}, c.format(string(line))
	}
	rec, reason := decode(line)
	switch {
	case reason != "":
		return Record{}, c.damage(reason)
	case rec.Seq != c.seq+1:
		return Record{}, c.damage(fmt.Sprintf("its sequence number is %d, not %d", rec.Seq, c.seq+1))
	case rec.Prev != c.hash:
		return Record{}, c.damage("its prev is not the hash of the line before")
	}
	c.lines, c.seq, c.hash = c.lines+1, rec.Seq, rec.Hash
	return rec, nil
}

// checkTail decides whether the bytes after the last line feed may be a torn
// line. A write that was cut off leaves a part of a line. It never leaves
// a whole line followed by something else than a line feed: that is a changed
// byte, and cutting that record off could undo something already acted upon.
func (c *chain) checkTail(tail []byte) error {
	if c.lines == 0 {
		// The file is made whole, by a rename: an empty one was emptied.
		return c.damage("is missing or unfinished; a ledger begins with its format line")
	}
	if len(tail) == 0 {
		return nil
	}
	after := *c
	if _, err := after.next(tail[:len(tail)-1]); err == nil {
		return c.damage("ends with another byte than a line feed")
	}
	return nil
}

func (c *chain) damage(reason string) error {
	return &DamageError{Line: c.lines + 1, Reason: reason}
}

var errLongLine = errors.New("line too long")

// readLine returns the next line without its line feed, or at the end of the
// input what follows the last line feed, with [io.EOF]. The result is the
// caller's. It never holds more than maxLine bytes.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, errLongLine
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return line, err
		default:
			return line[:len(line)-1], nil
		}
	}
}
