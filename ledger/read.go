package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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
	_, tail, err := c.follow(r, 0, func(Record, int, spot) error { return nil })
	return c.report(tail), err
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

// Place finds where in a ledger a hash stands that somebody remembered as its
// head. Its zero value has seen no records.
type Place struct {
	Hash  string
	After uint64 // after how many records, once Found
	Found bool   // when it is not: the ledger's end was cut off since, or it is another one
}

// Sees looks at the next record of a [Scan].
func (p *Place) Sees(r Record) {
	switch {
	case p.Found:
	case r.Prev == p.Hash:
		p.After, p.Found = r.Seq-1, true
	case r.Hash == p.Hash:
		p.After, p.Found = r.Seq, true
	}
}

// Ends looks at the scan's report: the head of a ledger without records is that of its format line.
func (p *Place) Ends(r Report) {
	if !p.Found && r.Head == p.Hash {
		p.After, p.Found = r.Records, true
	}
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

// readSize is how many bytes are read at once.
const readSize = 64 << 10

func newLines(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, readSize) }

// taker gets a verified record, the number of its file, and where it stands in that. Its error ends the reading.
type taker = func(r Record, file int, at spot) error

// follow reads lines from r, which begins at c's place and at that offset of its
// file, to the end, moves c over each that verifies and hands its record to each.
// It returns how many bytes the verified lines have, and the unfinished last
// line, if there is one.
func (c *chain) follow(r io.Reader, offset int64, each taker) (whole int64, tail []byte, err error) {
	in := newLines(r)
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
		if c.lines > 1 {
			if err := each(rec, c.file, c.spotOf(rec, offset+whole, len(line))); err != nil {
				return whole, nil, err
			}
		}
		whole += int64(len(line)) + 1
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

// spotOf is where the line stands over which c was moved last.
func (c *chain) spotOf(r Record, off int64, size int) spot {
	return spot{off: off, sum: sumOf(r.Hash), size: uint32(size), line: uint32(c.lines)}
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
