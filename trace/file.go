package trace

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/papaver-agent/papaver/internal/durable"
)

// ErrNotTrace is returned for a file that is there and is no trace: it is not overwritten.
var ErrNotTrace = errors.New("is there and is no trace, so it is not overwritten")

// Create makes the file of a trace, for its owner alone. An older trace there is replaced, and an empty file used; anything
// else stays as it is: ErrNotTrace, or [durable.ErrLoose].
func Create(path string) (*os.File, error) {
	f, err := durable.OpenFile(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	head := make([]byte, HeadSize)
	n, err := io.ReadFull(f, head)
	switch {
	case errors.Is(err, io.EOF): // new, or empty
		return f, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
	case !Ours(head[:n]):
		err = fmt.Errorf("%s %w", path, ErrNotTrace)
	default:
		if err = f.Truncate(0); err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
