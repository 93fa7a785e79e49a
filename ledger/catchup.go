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

// place is where a reader stands in one file of the ledger.
type place struct {
	at   chain
	end  int64 // that place in bytes
	file File
}

// met is what a reader met on its way to the end of the ledger.
type met struct {
	place
	files []File // the one it began with, and those that go on from it; the last is that of place
	tail  []byte // the unfinished last line
}

// follow reads from a place to the end of the ledger, through the files that go
// on from its own. Also with an error, the caller closes all files but the first.
func (l *Ledger) follow(from place, each taker) (met, error) {
	m := met{place: from, files: []File{from.file}}
	for {
		size, current, err := l.sameFile(m.place)
		if err != nil {
			return m, err
		}
		if current && size == m.end && m.at.lines > 0 {
			m.tail = nil
			return m, nil // as nearly always
		}
		whole, tail, err := m.at.follow(io.NewSectionReader(m.file, m.end, size-m.end), m.end, each)
		if err != nil {
			return m, fmt.Errorf("ledger %s: %w", l.path, err)
		}
		m.end += whole
		if current {
			m.tail = tail
			return m, nil
		}
		next, err := l.nextFile(m.at, tail)
		if err != nil {
			return m, err
		}
		m.files = append(m.files, next)
		m.place = place{at: m.at.goesOn(), file: next}
	}
}

// nextFile opens the file that goes on from at, the end of one that has lost the
// ledger's name.
func (l *Ledger) nextFile(at chain, tail []byte) (File, error) {
	replaced := fmt.Errorf("ledger %s: replaced by another file while it was open: %w", l.path, ErrDamaged)
	if len(tail) > 0 {
		return nil, replaced
	}
	path := filepath.Join(l.cfg.Dir, ArchiveName(at.file+1))
	f, err := l.cfg.OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = l.cfg.OpenFile(l.path)
	}
	if err != nil {
		return nil, fmt.Errorf("ledger not opened: %w", err)
	}
	line, err := readLine(bufio.NewReader(io.NewSectionReader(f, 0, 1<<10)))
	if err != nil || string(line) != at.continued() {
		return nil, errors.Join(replaced, f.Close())
	}
	return f, nil
}

// catchUp, under the lock, reads and verifies what others appended and repairs
// a torn last line.
func (l *Ledger) catchUp() error {
	l.mu.Lock()
	from := place{l.at, l.end, l.file}
	l.mu.Unlock()
	var fresh []taken
	m, err := l.follow(from, func(r Record, file int, at spot) error {
		fresh = append(fresh, taken{r, file, at})
		return nil
	})
	if err != nil {
		return errors.Join(err, closeAll(m.files[1:]))
	}
	// Of the place before a repair: what is wrong with the rest may be repaired by the next try.
	if err := l.moveTo(m, fresh); err != nil || len(m.tail) == 0 {
		return err
	}
	fresh = nil
	notice, err := l.repair(&m.at, &m.end, m.tail, &fresh)
	if err != nil {
		return err
	}
	m.files = m.files[len(m.files)-1:]
	if err := l.moveTo(m, fresh); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notices = append(l.notices, notice)
	return nil
}

// taken is a verified record and where it stands.
type taken struct {
	record Record
	file   int
	at     spot
}

// moveTo takes in what was verified on the way to a place, and closes the files before it.
func (l *Ledger) moveTo(m met, fresh []taken) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	closing := closeAll(m.files[:len(m.files)-1])
	l.file, l.at, l.end = m.file, m.at, m.end
	return errors.Join(closing, l.acceptLocked(fresh...))
}

// acceptLocked adds verified records to the index.
func (l *Ledger) acceptLocked(fresh ...taken) error {
	for _, t := range fresh {
		if err := l.index.accept(l.viewLocked().from, t.record, t.file, t.at); err != nil {
			// The index lacks a line from now on, and every condition asks the index.
			l.broken = fmt.Errorf("ledger %s: what it holds can't be read back: %w: %w", l.path, err, ErrBroken)
			return l.broken
		}
	}
	return nil
}

// sameFile returns the file's size, and whether it is still the newest of the
// ledger, after checking that what was verified before is still there: no
// shorter, with the same head.
func (l *Ledger) sameFile(p place) (size int64, current bool, err error) {
	// The name first: a file that has it now may lose it, and then grows no more.
	now, err := os.Stat(l.path)
	if err != nil {
		return 0, false, fmt.Errorf("ledger %s: gone while it was open: %w: %w", l.path, ErrDamaged, err)
	}
	info, err := p.file.Stat()
	if err != nil {
		return 0, false, fmt.Errorf("ledger %s: %w", l.path, err)
	}
	current = os.SameFile(info, now)
	if p.at.lines == 0 {
		return info.Size(), current, nil
	}
	changed := fmt.Errorf("ledger %s: %w", l.path, &DamageError{Line: p.at.lines, Reason: "was changed or cut off while the ledger was open"})
	if info.Size() < p.end {
		return 0, false, changed
	}
	if p.at.lines > 1 {
		head := make([]byte, hashDigits+len(lineEnd)+1)
		if _, err := p.file.ReadAt(head, p.end-int64(len(head))); err != nil {
			return 0, false, fmt.Errorf("ledger %s: %w", l.path, err)
		}
		if string(head) != p.at.hash+lineEnd+"\n" {
			return 0, false, changed
		}
	}
	return info.Size(), current, nil
}

// repair completes the unfinished last line when it only lacks its line feed,
// and cuts it off otherwise.
func (l *Ledger) repair(at *chain, end *int64, tail []byte, fresh *[]taken) (notice string, err error) {
	number := at.lines + 1
	if r, err := at.next(tail); err == nil {
		// Its writer can't have acted on it, but all that reads the ledger
		// must cope with a crash right after a line, and so it is kept.
		if err := l.write([]byte("\n"), *end+int64(len(tail)), number); err != nil {
			return "", err
		}
		*fresh = append(*fresh, taken{r, at.file, at.spotOf(r, *end, len(tail))})
		*end += int64(len(tail)) + 1
		return fmt.Sprintf("line %d of the ledger lacked its line feed, which was added: its writer stopped before the line was on disk", number), nil
	}
	if err := l.file.Truncate(*end); err != nil {
		return "", fmt.Errorf("ledger %s: torn line %d not cut off: %w", l.path, number, err)
	}
	if err := l.file.Sync(); err != nil {
		return "", l.breakOff(number, fmt.Errorf("torn and cut off, not synced: %w", err))
	}
	return fmt.Sprintf("line %d of the ledger was torn and was cut off (%d bytes): its writer stopped before the line was on disk", number, len(tail)), nil
}
