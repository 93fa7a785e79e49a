package ledger

import (
	"fmt"
	"io"
	"os"
)

// catchUp, under the lock, reads and verifies what others appended and repairs
// a torn last line.
func (l *Ledger) catchUp() error {
	l.mu.Lock()
	at, end := l.at, l.end
	l.mu.Unlock()
	size, err := l.sameFile(at, end)
	if err != nil {
		return err
	}
	var fresh []Record
	whole, tail, err := at.follow(io.NewSectionReader(l.file, end, size-end), func(r Record) { fresh = append(fresh, r) })
	if err != nil {
		return fmt.Errorf("ledger %s: %w", l.path, err)
	}
	end += whole
	var notice string
	if len(tail) > 0 {
		notice, err = l.repair(&at, &end, tail, &fresh)
		if err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range fresh {
		l.accept(r)
	}
	l.at, l.end = at, end
	if notice != "" {
		l.notices = append(l.notices, notice)
	}
	return nil
}

// sameFile returns the file's size, after checking that what was verified
// before is still there: the same file, no shorter, with the same head.
func (l *Ledger) sameFile(at chain, end int64) (int64, error) {
	info, err := l.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("ledger %s: %w", l.path, err)
	}
	now, err := os.Stat(l.path)
	if err != nil {
		return 0, fmt.Errorf("ledger %s: gone while it was open: %w: %w", l.path, ErrDamaged, err)
	}
	if !os.SameFile(info, now) {
		return 0, fmt.Errorf("ledger %s: replaced by another file while it was open: %w", l.path, ErrDamaged)
	}
	if at.lines == 0 {
		return info.Size(), nil
	}
	changed := fmt.Errorf("ledger %s: %w", l.path, &DamageError{Line: at.lines, Reason: "was changed or cut off while the ledger was open"})
	if info.Size() < end {
		return 0, changed
	}
	if at.seq > 0 {
		head := make([]byte, hashDigits+len(lineEnd)+1)
		if _, err := l.file.ReadAt(head, end-int64(len(head))); err != nil {
			return 0, fmt.Errorf("ledger %s: %w", l.path, err)
		}
		if string(head) != at.hash+lineEnd+"\n" {
			return 0, changed
		}
	}
	return info.Size(), nil
}

// repair completes the unfinished last line when it only lacks its line feed,
// and cuts it off otherwise.
func (l *Ledger) repair(at *chain, end *int64, tail []byte, fresh *[]Record) (notice string, err error) {
	number := at.lines + 1
	if r, err := at.next(tail); err == nil {
		// Its writer can't have acted on it, but all that reads the ledger
		// must cope with a crash right after a line, and so it is kept.
		if err := l.write([]byte("\n"), *end+int64(len(tail)), number); err != nil {
			return "", err
		}
		*end += int64(len(tail)) + 1
		*fresh = append(*fresh, r)
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
