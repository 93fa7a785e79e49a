package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/papaver-agent/papaver/internal/durable"
)

// ErrNotTrace is returned for a file that is there and is no trace: it is not overwritten.
var ErrNotTrace = errors.New("is there and is no trace, so it is not overwritten")

// Create makes the file of a trace, for its owner alone. An older trace there is replaced, and an empty file used; anything
// else stays as it is: ErrNotTrace, or [durable.ErrLoose].
func Create(path string) (*os.File, error) {
	// Looked at before it is opened to be written, which takes it from all who could read it.
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		if err := isTrace(path); err != nil {
			return nil, err
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isTrace is an error when a file holds something else than a trace.
func isTrace(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	head := make([]byte, len(start))
	n, err := io.ReadFull(f, head)
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case n > 0 && string(head[:n]) != start:
		return fmt.Errorf("%s %w", path, ErrNotTrace)
	default:
		return nil
	}
}
