package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/papaver-agent/papaver/internal/durable"
)

// DefaultMaxFile is the size in bytes from which a ledger goes on in a new file. The newest one is read at every opening.
const DefaultMaxFile = 4 << 20

const (
	archivePrefix = "ledger-"
	archiveSuffix = ".jsonl"
)

// ArchiveName is the name of the n-th file of a ledger, counted from 1, once a
// newer one goes on from it.
func ArchiveName(n int) string {
	return fmt.Sprintf("%s%06d%s", archivePrefix, n, archiveSuffix)
}

// continued returns the format line of the file that goes on from c.
func (c *chain) continued() string {
	return fmt.Sprintf(`%s2,"file":%d,"records":%d,"prev":"%s"}`, formatPrefix, c.file+1, c.seq, c.hash)
}

// goesOn returns the place before the format line of the next file.
func (c *chain) goesOn() chain {
	return chain{file: c.file, seq: c.seq, hash: c.hash, from: true}
}

// parseContinued reads the format line of a file that goes on from another one,
// as the place where that one ends.
func parseContinued(line string) (chain, bool) {
	rest, ok := strings.CutPrefix(line, formatPrefix+`2,"file":`)
	number, rest, found := strings.Cut(rest, `,"records":`)
	records, rest, also := strings.Cut(rest, `,"prev":"`)
	hash, end, last := strings.Cut(rest, `"`)
	n, err := strconv.Atoi(number)
	seq, seqErr := strconv.ParseUint(records, 10, 64)
	if !ok || !found || !also || !last || end != "}" || err != nil || seqErr != nil || n < 2 || !isHash(hash) {
		return chain{}, false
	}
	before := chain{file: n - 1, seq: seq, hash: hash}
	return before, before.continued() == line
}

// format verifies the first line of a file.
func (c *chain) format(text string) error {
	before, continues := parseContinued(text)
	switch {
	case text == formatLine && !c.from:
		*c = chain{lines: 1, file: 1, hash: hashOf([]byte(text))}
	case continues && c.from && c.continued() != text:
		return c.damage("does not go on from where the file before it ends")
	case continues:
		*c = chain{lines: 1, file: before.file + 1, seq: before.seq, hash: hashOf([]byte(text))}
	case text == formatLine:
		return c.damage("begins a ledger, and a file of the same ledger stands before it")
	case strings.HasPrefix(text, formatPrefix):
		return &DamageError{Line: c.lines + 1, Reason: "names a version of the format that this program doesn't know", newer: true}
	default:
		return c.damage("is not the format line of a ledger")
	}
	return nil
}

// numberOf returns which file of its ledger r is, by its first line. A first
// line that is none gives 1: who reads the file then says what is wrong with it.
func numberOf(r io.ReaderAt) (int, error) {
	line, err := readLine(bufio.NewReader(io.NewSectionReader(r, 0, 1<<10)))
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	before, ok := parseContinued(string(line))
	if !ok {
		return 1, nil
	}
	return before.file + 1, nil
}

// archives reads the files 1 to before-1 of the ledger in dir, and returns the
// place before the file after them.
func archives(dir string, before int, each taker) (chain, error) {
	var c chain
	for n := 1; n < before; n++ {
		path := filepath.Join(dir, ArchiveName(n))
		if err := archive(path, &c, each); err != nil {
			return c, err
		}
		c = c.goesOn()
	}
	return c, nil
}

func archive(path string, c *chain, each taker) (err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s, an older file of the ledger, is missing: %w", path, ErrDamaged)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, tail, err := c.follow(f, 0, each)
	if err == nil && len(tail) > 0 {
		err = c.damage("is unfinished, and a newer file goes on from it")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// archived returns the names of the older files in dir.
func archived(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), archivePrefix) && strings.HasSuffix(e.Name(), archiveSuffix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// tidy removes what a process left that died while it made a file. The lock is held,
// so nobody is making one.
func (l *Ledger) tidy() error {
	var err error
	for _, name := range []string{FileName, archivePrefix + "*" + indexSuffix} {
		left, globErr := filepath.Glob(filepath.Join(l.cfg.Dir, "."+name+".tmp-*"))
		err = errors.Join(err, globErr)
		for _, path := range left {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// rotate lets the ledger go on in a new file, under the lock. What stands in
// the old one is not touched: it gets its second name first, and then the new
// file, whose first line names the old one's head, takes its first name from
// it, at once. A crash before that leaves a second name, which nobody reads and
// the next try uses.
//
// When the new file can't be made, the old one goes on and a notice says so.
func (l *Ledger) rotate(at chain) error {
	name := filepath.Join(l.cfg.Dir, ArchiveName(at.file))
	if err := l.secondName(name); err != nil {
		return l.goOnHere(err)
	}
	if err := durable.WriteFile(l.path, []byte(at.continued()+"\n")); err != nil {
		if same, statErr := l.isCurrent(); statErr == nil && same {
			return l.goOnHere(err)
		}
		// The new file is there, and may be gone after a power cut, with all
		// that would be written to it.
		return l.breakOff(at.lines, fmt.Errorf("a new file was begun after it: %w", err))
	}
	if err := l.catchUp(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.index.sealOlder()
	return nil
}

func (l *Ledger) secondName(name string) error {
	err := os.Link(l.path, name)
	if errors.Is(err, fs.ErrExist) {
		there, statErr := os.Lstat(name)
		mine, mineErr := l.file.Stat()
		if statErr == nil && mineErr == nil && os.SameFile(there, mine) {
			err = nil // of a try that ended here
		}
	}
	if err != nil {
		return err
	}
	return durable.SyncDir(l.cfg.Dir)
}

func (l *Ledger) goOnHere(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	notice := fmt.Sprintf("the ledger is longer than %d bytes and could not go on in a new file, so it goes on in this one: %v", l.cfg.MaxFile, cause)
	if !slices.Contains(l.notices, notice) {
		l.notices = append(l.notices, notice)
	}
	return nil
}

// isCurrent reports whether the open file is the one that the ledger's name leads to.
func (l *Ledger) isCurrent() (bool, error) {
	info, err := l.file.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(l.path)
	if err != nil {
		return false, err
	}
	return os.SameFile(info, now), nil
}
