package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Index says by what the lines of a ledger are found again without reading all
// of them, and which rounds have not ended. Its functions see each line once, in
// order, and depend on nothing but their arguments: what they say of an older
// file is kept beside it, under the index's name.
type Index struct {
	// Name changes whenever Keys or Stand would say something else of any line.
	// Without one nothing is kept, and every opening reads all files.
	Name string
	// Keys returns what a line is found by; the round's name always is one beside
	// these. Nil: nothing.
	Keys func(Record) []string
	// Stand returns, in the caller's own words, where a round stands after a line,
	// and whether it has ended, from where it stood before; empty before its first
	// line. Nil: every round has ended as soon as it began.
	Stand func(before string, r Record) (after string, ended bool)
}

// spot is where a line stands in its file, and what it was when it was verified.
type spot struct {
	off  int64
	sum  uint64 // the first bytes of its hash
	size uint32 // in bytes, without its line feed
	line uint32 // its number
}

// posting is a spot under one key. Those of one key are a list, the newest first.
type posting struct {
	key    uint64
	spot   spot
	before int32 // the index of the one before, or -1
}

// segment is what is known of one file of the ledger: in memory, or, of an
// older one that was verified as it is, in a file beside it.
type segment struct {
	file  int
	begin chain // the place before its format line
	end   chain // the place after its last line
	size  int64 // that place in bytes

	postings []posting
	newest   map[uint64]int32
	open     map[string]standing // the rounds that had not ended at its end; set when a newer segment begins

	sealed *sealed // nil while the postings are in memory
}

// standing is a round that has not ended.
type standing struct {
	Owner string `json:"owner"` // of its latest line
	State string `json:"state"` // in the index's words
}

func (s *segment) add(key uint64, at spot) {
	before, known := s.newest[key]
	if !known {
		before = -1
	}
	s.newest[key] = int32(len(s.postings))
	s.postings = append(s.postings, posting{key: key, spot: at, before: before})
}

func (s *segment) under(key uint64) []spot {
	var found []spot
	i, known := s.newest[key]
	for ; known && i >= 0; i = s.postings[i].before {
		found = append(found, s.postings[i].spot)
	}
	slices.Reverse(found)
	return found
}

// index is a ledger's own: which lines stand where, and the rounds that have not
// ended, of all that was verified. It is not safe for concurrent use.
type index struct {
	rules    Index
	dir      string
	coarse   time.Duration // see Config.Coarse
	segments []*segment    // the oldest first
	open     map[string]standing
}

func newIndex(rules Index, dir string, coarse time.Duration) *index {
	return &index{rules: rules, dir: dir, coarse: coarse, open: make(map[string]standing)}
}

// starts begins the segment of a file, unless it is there.
func (x *index) starts(file int) *segment {
	var begin chain
	if len(x.segments) > 0 {
		last := x.segments[len(x.segments)-1]
		if last.file == file {
			return last
		}
		last.open = maps.Clone(x.open)
		begin = last.end.goesOn()
	}
	s := &segment{file: file, begin: begin, newest: make(map[uint64]int32)}
	x.segments = append(x.segments, s)
	return s
}

// accept adds a verified line. An error is one of reading older lines of a
// round that had ended.
func (x *index) accept(from source, r Record, file int, at spot) error {
	s := x.starts(file)
	if r.Round != "" {
		if err := x.stands(from, r); err != nil {
			return err
		}
		s.add(roundKey(r.Round), at)
	}
	for _, key := range x.keys(r) {
		s.add(callersKey(key), at)
	}
	s.end = chain{lines: int(at.line), file: file, seq: r.Seq, hash: r.Hash}
	s.size = at.off + int64(at.size) + 1
	return nil
}

func (x *index) keys(r Record) []string {
	if x.rules.Keys == nil {
		return nil
	}
	return x.rules.Keys(r)
}

// stands moves the round of a line that is not yet in the index.
func (x *index) stands(from source, r Record) error {
	if x.rules.Stand == nil {
		return nil
	}
	was, open := x.open[r.Round]
	if !open {
		earlier, err := x.round(from, r.Round)
		if err != nil {
			return fmt.Errorf("round %s, which had ended: %w", r.Round, err)
		}
		for _, old := range earlier {
			was.State, _ = x.rules.Stand(was.State, old)
		}
	}
	state, ended := x.rules.Stand(was.State, r)
	if ended {
		delete(x.open, r.Round)
	} else {
		x.open[r.Round] = standing{Owner: r.Owner, State: state}
	}
	return nil
}

// owner is the owner of a round's latest line; empty for a round without any.
func (x *index) owner(from source, round string) (string, error) {
	if s, open := x.open[round]; open {
		return s.Owner, nil
	}
	records, err := x.round(from, round)
	if err != nil || len(records) == 0 {
		return "", err
	}
	return records[len(records)-1].Owner, nil
}

// round returns the lines of a round.
func (x *index) round(from source, id string) ([]Record, error) {
	return x.find(from, roundKey(id), func(r Record) bool { return r.Round == id })
}

// lines returns the lines that a caller's key finds.
func (x *index) lines(from source, key string) ([]Record, error) {
	return x.find(from, callersKey(key), func(r Record) bool { return slices.Contains(x.keys(r), key) })
}

// find reads the lines under a key that are what it stands for: two names may
// have one key.
func (x *index) find(from source, key uint64, is func(Record) bool) ([]Record, error) {
	var found []Record
	for _, s := range x.segments {
		spots, err := s.spots(x, key)
		if err != nil {
			return nil, err
		}
		if len(spots) == 0 {
			continue
		}
		records, err := from.read(s.file, spots)
		if err != nil {
			return nil, err
		}
		found = append(found, slices.DeleteFunc(records, func(r Record) bool { return !is(r) })...)
	}
	return found, nil
}

// spots returns where the lines under a key stand in the segment's file.
func (s *segment) spots(x *index, key uint64) ([]spot, error) {
	if s.sealed == nil {
		return s.under(key), nil
	}
	spots, err := s.sealed.under(x.dir, key)
	if err == nil {
		return spots, nil
	}
	// What is kept beside the file can't be read. The file itself can.
	again := &segment{file: s.file, newest: make(map[uint64]int32)}
	c := s.sealed.begin
	if err := archive(filepath.Join(x.dir, ArchiveName(s.file)), &c, func(r Record, _ int, at spot) error {
		if r.Round != "" {
			again.add(roundKey(r.Round), at)
		}
		for _, key := range x.keys(r) {
			again.add(callersKey(key), at)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return again.under(key), nil
}

// source is where the lines of a ledger are read from.
type source struct {
	dir     string
	current File // nil for none
	file    int  // its number
}

// read reads lines of one file that were verified before.
func (s source) read(file int, spots []spot) (_ []Record, err error) {
	var in interface {
		ReadAt([]byte, int64) (int, error)
	} = s.current
	path := filepath.Join(s.dir, ArchiveName(file))
	if s.current == nil || file != s.file {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("an older file of the ledger: %w", err)
		}
		defer func() { _ = f.Close() }() // nothing was written to it
		in = f
	} else {
		path = filepath.Join(s.dir, FileName)
	}
	records := make([]Record, 0, len(spots))
	for _, at := range spots {
		line := make([]byte, at.size)
		if _, err := in.ReadAt(line, at.off); err != nil {
			return nil, fmt.Errorf("line %d of the ledger %s: not read: %w", at.line, path, err)
		}
		r, reason := decode(line)
		if reason != "" || sumOf(r.Hash) != at.sum {
			return nil, fmt.Errorf("ledger %s: %w", path, &DamageError{Line: int(at.line), Reason: "was changed since it was verified"})
		}
		records = append(records, r)
	}
	return records, nil
}

// sumOf is the beginning of a hash, as a number.
func sumOf(hash string) uint64 {
	n, err := strconv.ParseUint(hash[:min(len(hash), 16)], 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// The key of a name is 64-bit FNV-1a: two names with one key cost a read line.
func roundKey(round string) uint64  { return hashed('r', round) }
func callersKey(name string) uint64 { return hashed('k', name) }

func hashed(kind byte, name string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (uint64(offset) ^ uint64(kind)) * prime
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	return h
}

func bySeq(a, b Record) int { return cmp.Compare(a.Seq, b.Seq) }
