package ledger

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/papaver-agent/papaver/internal/durable"
)

// File is what a ledger needs of its file: a place to inject a full disk or
// an I/O error in tests. Its methods promise what those of [*os.File] do.
type File interface {
	io.ReaderAt
	// Write appends at the file's end, whatever was read before.
	Write([]byte) (int, error)
	// Sync returns when all that was written is on disk.
	Sync() error
	Truncate(size int64) error
	Stat() (os.FileInfo, error)
	Close() error
}

// OpenFile opens the existing file at path for reading and appending, with
// mode 0600. Its Sync is fdatasync: of a file's metadata only the length
// matters here, and fdatasync writes that.
func OpenFile(path string) (File, error) {
	f, err := durable.OpenFile(path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

type diskFile struct{ *os.File }

func (f diskFile) Sync() error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var syncErr error
	if err := raw.Control(func(fd uintptr) {
		for {
			// Only an interrupted call may be made again: after any other
			// failure a second one can succeed without having written.
			if syncErr = syscall.Fdatasync(int(fd)); !errors.Is(syncErr, syscall.EINTR) {
				return
			}
		}
	}); err != nil {
		return err
	}
	if syncErr != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: syncErr}
	}
	return nil
}
