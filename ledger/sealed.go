package ledger

import (
	"bytes"
	"cmp"
	"encoding/binary"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/papaver-agent/papaver/internal/durable"
)

// What is known of an older file is kept beside it, so that an opening reads
// only what is new: DIR/ledger-000001.index. The first line of that is the
// SHA-256 of the second; the second, one JSON object, says of which file at
// which moment it is; then come the postings, by key, in blocks of their own checksums. It may be deleted at any
// time: it is then made again from the ledger's file, which alone counts.
//
// It is written only after the whole file was verified while nothing touched
// it, and it holds only as long as nothing has: see stamp.

const (
	indexFormat  = "papaver ledger index"
	indexVersion = 1
	indexSuffix  = ".index"

	postingSize  = 32
	blockSpots   = 128
	maxIndexHead = 64 << 20 // bytes of its first two lines
)

// indexName is the name of what is kept beside the n-th file.
func indexName(n int) string { return strings.TrimSuffix(ArchiveName(n), archiveSuffix) + indexSuffix }

// sealed is what is in memory of a file's postings that are kept beside it.
type sealed struct {
	file   int
	begin  chain
	end    chain
	blocks int64 // where they begin
	first  []uint64
	sums   []uint32
	spots  int
	filter filter
}

// sealedHead is the second line of what is kept.
type sealedHead struct {
	Format  string              `json:"format"`
	Version int                 `json:"version"`
	Index   string              `json:"index"` // its name
	File    int                 `json:"file"`
	Stamp   stamp               `json:"stamp"`
	Records uint64              `json:"records"` // of the files before
	Prev    string              `json:"prev"`    // the head of the files before
	Lines   int                 `json:"lines"`
	Seq     uint64              `json:"seq"`
	Hash    string              `json:"hash"`
	Open    map[string]standing `json:"open"` // the rounds that have not ended at the file's end
	Spots   int                 `json:"spots"`
	First   []uint64            `json:"first"` // the first key of each block
	Sums    []uint32            `json:"sums"`  // of each block, CRC-32C
	Filter  []byte              `json:"filter"`
}

// stamp tells whether a file was touched. Whoever writes to a file changes its
// ctime, and can't set it back by any call.
type stamp struct {
	Inode uint64 `json:"inode"`
	Size  int64  `json:"size"`
	Mtime int64  `json:"mtime"` // ns
	Ctime int64  `json:"ctime"` // ns
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, errors.ErrUnsupported
	}
	return stamp{Inode: sys.Ino, Size: info.Size(), Mtime: sys.Mtim.Nano(), Ctime: sys.Ctim.Nano()}, nil
}

// quiet reports whether a file's last change is so long ago that the next one
// has another time, however coarse the file system's are.
func (s stamp) quiet(coarse time.Duration) bool {
	return time.Since(time.Unix(0, max(s.Ctime, s.Mtime))) > coarse
}

// archives takes in the files 1 to before-1, and returns the place before the
// file after them. Those that are kept and untouched are not read. With seal, what is not kept yet will be.
func (x *index) archives(before int, seal bool) (chain, error) {
	var c chain
	for n := 1; n < before; n++ {
		path := filepath.Join(x.dir, ArchiveName(n))
		was, err := stampOf(path)
		if err != nil {
			was = stamp{} // reading it says what is wrong
		}
		if s, open, ok := x.kept(n, was, c); ok {
			x.segments = append(x.segments, &segment{file: n, begin: c, end: s.end, size: was.Size, sealed: s})
			x.open = open
			c = s.end.goesOn()
			continue
		}
		s := x.starts(n)
		s.begin = c
		from := source{dir: x.dir}
		if err := archive(path, &c, func(r Record, file int, at spot) error { return x.accept(from, r, file, at) }); err != nil {
			return c, err
		}
		s.end, s.size = c, was.Size
		if seal {
			s.open = x.open
			x.seal(s, was)
		}
		c = c.goesOn()
	}
	return c, nil
}

// kept returns what is kept of the n-th file, when it is of this index, of the
// file as it is, and of one that begins at c. All that is wrong with it means that it is made again.
func (x *index) kept(n int, now stamp, c chain) (*sealed, map[string]standing, bool) {
	if x.rules.Name == "" || now == (stamp{}) {
		return nil, nil, false
	}
	f, err := os.Open(filepath.Join(x.dir, indexName(n)))
	if err != nil {
		return nil, nil, false
	}
	defer func() { _ = f.Close() }()
	h, blocks, err := readHead(f)
	switch {
	case err != nil,
		h.Index != x.rules.Name || h.File != n || h.Stamp != now,
		h.Records != c.seq || n > 1 && h.Prev != c.hash:
		return nil, nil, false
	}
	s := &sealed{
		file: n, begin: c, end: chain{lines: h.Lines, file: n, seq: h.Seq, hash: h.Hash},
		blocks: blocks, first: h.First, sums: h.Sums, spots: h.Spots, filter: h.Filter,
	}
	if h.Open == nil {
		h.Open = make(map[string]standing)
	}
	return s, h.Open, true
}

var errIndex = errors.New("what is kept of an older file of the ledger can't be used")

// readHead reads the first two lines, and returns where the blocks begin.
func readHead(in io.Reader) (h sealedHead, blocks int64, err error) {
	sum, head, whole := cutHead(in)
	if !whole || hashOf(head) != sum {
		return h, 0, errIndex
	}
	if err := json.Unmarshal(head, &h, json.RejectUnknownMembers(true)); err != nil {
		return h, 0, fmt.Errorf("%w: %w", errIndex, err)
	}
	switch n := (h.Spots + blockSpots - 1) / blockSpots; {
	case h.Format != indexFormat || h.Version != indexVersion, h.Spots < 0 || len(h.First) != n || len(h.Sums) != n,
		h.Lines < 1 || h.Seq < h.Records || !isHash(h.Hash) || len(h.Filter) == 0:
		return h, 0, errIndex
	}
	return h, int64(len(sum) + len(head) + 2), nil
}

func cutHead(in io.Reader) (sum string, head []byte, whole bool) {
	lines := newLines(io.LimitReader(in, maxIndexHead))
	first, err := lines.ReadBytes('\n')
	if err != nil {
		return "", nil, false
	}
	head, err = lines.ReadBytes('\n')
	if err != nil {
		return "", nil, false
	}
	return string(first[:len(first)-1]), head[:len(head)-1], true
}

// under returns where the lines under a key stand.
func (s *sealed) under(dir string, key uint64) ([]spot, error) {
	if !s.filter.has(key) {
		return nil, nil
	}
	at, _ := slices.BinarySearch(s.first, key)
	at = max(0, at-1) // its first ones may stand at the end of the block before
	var f *os.File
	var found []spot
	for ; at < len(s.first) && s.first[at] <= key; at++ {
		if f == nil {
			var err error
			if f, err = os.Open(filepath.Join(dir, indexName(s.file))); err != nil {
				return nil, err
			}
			defer func() { _ = f.Close() }()
		}
		block := make([]byte, postingSize*min(blockSpots, s.spots-at*blockSpots))
		if _, err := f.ReadAt(block, s.blocks+int64(at)*blockSpots*postingSize); err != nil {
			return nil, err
		}
		if crc32.Checksum(block, castagnoli()) != s.sums[at] {
			return nil, errIndex
		}
		for ; len(block) > 0; block = block[postingSize:] {
			if k, spot := decodePosting(block); k == key {
				found = append(found, spot)
			}
		}
	}
	return found, nil
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// seal keeps what is known of an older file, which was just verified whole and
// was as was before that, and lets go of its postings. It stays in memory when it can't be kept: that costs
// memory and nothing else.
func (x *index) seal(s *segment, was stamp) {
	if x.rules.Name == "" || s.sealed != nil || s.open == nil || !was.quiet(x.coarse) {
		return
	}
	data, err := s.encode(x.rules.Name, was)
	if err != nil {
		return
	}
	// Before and after: what was read in between is what stands there.
	if now, err := stampOf(filepath.Join(x.dir, ArchiveName(s.file))); err != nil || now != was {
		return
	}
	if err := durable.WriteFile(filepath.Join(x.dir, indexName(s.file)), data); err != nil {
		return
	}
	if kept, _, ok := x.kept(s.file, was, s.begin); ok {
		s.sealed, s.postings, s.newest, s.open = kept, nil, nil, nil
	}
}

// sealOlder keeps what is known of the files before the newest two, whose times
// have come to rest, after verifying each once more: the lines were read, or written, some time ago.
func (x *index) sealOlder() {
	for _, s := range x.segments[:max(0, len(x.segments)-1)] {
		if s.sealed != nil || s.open == nil || x.rules.Name == "" {
			continue
		}
		path := filepath.Join(x.dir, ArchiveName(s.file))
		was, err := stampOf(path)
		if err != nil || was.Size != s.size || !was.quiet(x.coarse) {
			continue
		}
		c := s.begin
		if err := archive(path, &c, func(Record, int, spot) error { return nil }); err != nil || c != s.end {
			continue
		}
		x.seal(s, was)
	}
}

func (s *segment) encode(name string, was stamp) ([]byte, error) {
	sorted := slices.Clone(s.postings)
	slices.SortFunc(sorted, func(a, b posting) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.spot.off, b.spot.off))
	})
	h := sealedHead{
		Format: indexFormat, Version: indexVersion, Index: name, File: s.file, Stamp: was, Records: s.begin.seq, Prev: s.begin.hash,
		Lines: s.end.lines, Seq: s.end.seq, Hash: s.end.hash, Open: s.open, Spots: len(sorted), Filter: newFilter(len(s.newest)),
	}
	var blocks bytes.Buffer
	for block := range slices.Chunk(sorted, blockSpots) {
		at := blocks.Len()
		for _, p := range block {
			blocks.Write(encodePosting(p))
			filter(h.Filter).add(p.key)
		}
		h.First = append(h.First, block[0].key)
		h.Sums = append(h.Sums, crc32.Checksum(blocks.Bytes()[at:], castagnoli()))
	}
	head, err := stdjson.Marshal(h)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(hashOf(head)), []byte("\n"), head, []byte("\n"), blocks.Bytes()), nil
}

func encodePosting(p posting) []byte {
	b := make([]byte, 0, postingSize)
	b = binary.LittleEndian.AppendUint64(b, p.key)
	b = binary.LittleEndian.AppendUint64(b, uint64(p.spot.off))
	b = binary.LittleEndian.AppendUint64(b, p.spot.sum)
	b = binary.LittleEndian.AppendUint32(b, p.spot.size)
	return binary.LittleEndian.AppendUint32(b, p.spot.line)
}

func decodePosting(b []byte) (key uint64, at spot) {
	in := binary.LittleEndian
	return in.Uint64(b), spot{off: int64(in.Uint64(b[8:])), sum: in.Uint64(b[16:]), size: in.Uint32(b[24:]), line: in.Uint32(b[28:])}
}

// filter is a Bloom filter over keys: it says of nearly every key that is not
// there that it isn't, and never of one that is.
type filter []byte

const (
	filterBits   = 10 // a key: one absent key of a hundred is looked for in vain
	filterProbes = 7
)

func newFilter(keys int) filter { return make(filter, keys*filterBits/8+1) }

func (f filter) each(key uint64, do func(at uint64, bit byte) bool) {
	step := key>>32 | key<<32 | 1
	for range filterProbes {
		bit := key % (uint64(len(f)) * 8)
		if !do(bit/8, 1<<(bit%8)) {
			return
		}
		key += step
	}
}

func (f filter) add(key uint64) {
	f.each(key, func(at uint64, bit byte) bool { f[at] |= bit; return true })
}

func (f filter) has(key uint64) bool {
	all := true
	f.each(key, func(at uint64, bit byte) bool { all = f[at]&bit != 0; return all })
	return all
}
