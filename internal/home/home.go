// Package home is the folder that holds everything Papaver keeps for one person: identity keys, the ledger, and a
// socket for each running process. The folder is 0700 and every file in it 0600.
package home

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/papaver-agent/papaver/internal/durable"
)

const (
	lockWait = 10 * time.Second
	lockPoll = 20 * time.Millisecond
)

// ErrLocked is returned when another process held a lock for all of the wait.
var ErrLocked = errors.New("another papaver holds the lock")

// Default returns the folder that is used without --home: PAPAVER_HOME, else papaver in the XDG state folder. getenv
// is os.Getenv in the program.
func Default(getenv func(string) string) (string, error) {
	if dir := getenv("PAPAVER_HOME"); dir != "" {
		return dir, nil
	}
	if state := getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "papaver"), nil
	}
	if user := getenv("HOME"); user != "" {
		return filepath.Join(user, ".local", "state", "papaver"), nil
	}
	return "", errors.New("no home: none of --home, PAPAVER_HOME, XDG_STATE_HOME and HOME is set")
}

// version is of what the folder holds and how. A program that changes that so that an older one would misread it counts it
// up, and says here how the older ones are migrated.
const version = 1

const (
	versionFile   = "version"
	versionPrefix = "papaver home "
	maxVersion    = 64 // bytes of the file
)

// ErrVersion is returned for a home whose version this program doesn't know: a newer program made it.
var ErrVersion = errors.New("another version of papaver made it, which this one can't read")

// Home is an existing home folder. It is immutable and safe for concurrent use.
type Home struct{ dir string }

// Open makes the folder when it is missing, and refuses one that others can enter, and one of a version that it doesn't know
// (ErrVersion) before anything in it is read. One that names no version is of the first.
func Open(dir string) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, err
	}
	if err := durable.MkdirAll(abs); err != nil {
		return Home{}, fmt.Errorf("the home %s: %w", abs, err)
	}
	if err := checkVersion(filepath.Join(abs, versionFile)); err != nil {
		return Home{}, fmt.Errorf("the home %s: %w", abs, err)
	}
	return Home{dir: abs}, nil
}

// checkVersion reads a home's version, and writes ours when none is there.
func checkVersion(path string) error {
	ours := fmt.Sprintf("%s%d\n", versionPrefix, version)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		err = durable.WriteNew(path, []byte(ours))
		if err == nil || errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) {
			return nil // what can't be written can still be read, and whoever has to write says so
		}
		if !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("its version was not written: %w", err)
		}
		f, err = os.Open(path) // another process was faster
	}
	if err != nil {
		return fmt.Errorf("its version: %w", err)
	}
	defer func() { _ = f.Close() }()
	found, err := io.ReadAll(io.LimitReader(f, maxVersion))
	if err != nil {
		return fmt.Errorf("its version: %w", err)
	}
	if string(found) != ours {
		return fmt.Errorf("%w: it says %q", ErrVersion, found)
	}
	return nil
}

// Dir is the folder's absolute path.
func (h Home) Dir() string { return h.dir }

// Identity is the folder of the keys and what is published of them.
func (h Home) Identity() string { return filepath.Join(h.dir, "identity") }

// Answers is the folder of the lock for the User's answers.
func (h Home) Answers() string { return filepath.Join(h.dir, "answers") }

// Ledger is the ledger's folder.
func (h Home) Ledger() string { return filepath.Join(h.dir, "ledger") }

// Companies is the folder of what Companies publish, kept as their caching headers allow.
func (h Home) Companies() string { return filepath.Join(h.dir, "companies") }

// Accounts is the folder of the sign-ins: who is signed in where, and the Account Tokens.
func (h Home) Accounts() string { return filepath.Join(h.dir, "accounts") }

// Run is the folder of running processes.
func (h Home) Run() string { return filepath.Join(h.dir, "run") }

// Lock takes the home's lock, under which small files that several processes share are changed, and returns the
// function that gives it back. It waits at most 10 s, then returns ErrLocked.
func (h Home) Lock(ctx context.Context) (unlock func(), err error) {
	return LockFile(ctx, filepath.Join(h.dir, "lock"), lockWait)
}

// LockFile takes the lock of one file, which it makes when it is missing, and returns the function that gives it back.
// It waits at most wait, then returns ErrLocked. A lock ends with the process that has it, however that ends.
func LockFile(ctx context.Context, path string, wait time.Duration) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	// flock has no deadline of its own, and a blocked one cannot be cancelled.
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("the lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ErrLocked
		case <-ticker.C:
		}
	}
}
