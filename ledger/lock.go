package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// begin takes this process's turn and then the lock. The caller calls done.
func (l *Ledger) begin(ctx context.Context) (done func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.cfg.LockWait,
		fmt.Errorf("%s not free within %v: %w", filepath.Join(l.cfg.Dir, LockName), l.cfg.LockWait, ErrLocked))
	defer cancel()
	select {
	case <-l.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	giveBack := func() { l.turn <- struct{}{} }
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		giveBack()
		return nil, ErrClosed
	}
	if err := lock(ctx, l.lockFile); err != nil {
		giveBack()
		return nil, err
	}
	return func() {
		// The lock ends with its file too, so an error changes nothing here.
		_ = unlock(l.lockFile)
		giveBack()
	}, nil
}

// lockPoll is how long to wait before a held lock is tried again. flock has
// no deadline of its own, and a goroutine that waits in it can't be stopped.
const lockPoll = 2 * time.Millisecond

// lock takes the flock of f, until ctx is done.
func lock(ctx context.Context, f *os.File) error {
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for {
		err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

func unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	if err := raw.Control(func(fd uintptr) {
		for {
			if lockErr = syscall.Flock(int(fd), how); !errors.Is(lockErr, syscall.EINTR) {
				return
			}
		}
	}); err != nil {
		return err
	}
	if lockErr != nil {
		return fmt.Errorf("%s: flock: %w", f.Name(), lockErr)
	}
	return nil
}
