package ledger

import (
	"errors"
	"fmt"
)

var (
	// ErrDamaged says that the file is not a whole chain. The error that
	// matches it is, or wraps, a [*DamageError] when a line can be named.
	ErrDamaged = errors.New("ledger is damaged")

	// ErrVersion says that the file is of a newer version of the format than
	// this program knows. It comes with ErrDamaged: the file can't be read.
	ErrVersion = errors.New("ledger is of a newer version")

	// ErrBroken says that a write or sync went wrong in a way after which
	// nothing that this [Ledger] reads back can be trusted. It refuses every
	// further append. The line it was about may or may not be on disk; the
	// next Open finds out.
	ErrBroken = errors.New("ledger takes no more lines in this run")

	// ErrNotOwner says that the round belongs to another owner. Nothing was
	// written.
	ErrNotOwner = errors.New("round belongs to another owner")

	// ErrLocked says that other appends held the ledger's lock for the whole
	// of [Config.LockWait]. Nothing was written.
	ErrLocked = errors.New("ledger is locked")

	// ErrEntry says that an [Entry] can't be a line: a name out of its
	// alphabet, data that can't be marshalled to a JSON object, a line that
	// would be too long. Nothing was written.
	ErrEntry = errors.New("not a ledger entry")

	// ErrClosed says that the ledger was closed before. Nothing was written.
	ErrClosed = errors.New("ledger is closed")
)

// DamageError names the first line that is not what the chain says it must be.
// It matches [ErrDamaged].
type DamageError struct {
	Line   int    // counted from 1, as editors and sed do; the format line is line 1
	Reason string // in words for people; holds nothing of the line's own text

	newer bool
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("line %d of the ledger: %s", e.Line, e.Reason)
}

// Unwrap returns [ErrDamaged].
func (e *DamageError) Unwrap() error { return ErrDamaged }

// Is reports whether target is [ErrVersion] and the line names a newer version.
func (e *DamageError) Is(target error) bool { return target == ErrVersion && e.newer }
