package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/muesli/cancelreader"
	"golang.org/x/sys/unix"
)

const maxInput = 1 << 20 // bytes of all answers

// answers are the lines, or the JSON objects, that come from a file or a terminal. Their waits end with a context, after
// which nothing more can be read.
type answers struct {
	reader cancelreader.CancelReader // nil where reading never waits
	lines  *bufio.Reader
	values *jsontext.Decoder // nil before the first object
}

func newAnswers(f *os.File) *answers {
	reader, err := cancelreader.NewReader(f)
	if err != nil { // an ordinary file, or none: a read of it never waits
		return &answers{lines: bufio.NewReaderSize(f, maxInput)}
	}
	return &answers{reader: reader, lines: bufio.NewReaderSize(reader, maxInput)}
}

func (a *answers) close() {
	if a.reader != nil {
		_ = a.reader.Close()
	}
}

// cancelWith lets the reading under way end with ctx.
func (a *answers) cancelWith(ctx context.Context) (stop func()) {
	if a.reader == nil {
		return func() {}
	}
	end := context.AfterFunc(ctx, func() { a.reader.Cancel() })
	return func() { end() }
}

// line reads one line, without its end. At the end of the input it is io.EOF, beside what came before it.
func (a *answers) line(ctx context.Context) ([]byte, error) {
	defer a.cancelWith(ctx)()
	read, err := a.lines.ReadSlice('\n')
	line := bytes.Clone(bytes.TrimRight(read, "\r\n"))
	clear(read)
	switch {
	case ctx.Err() != nil:
		clear(line)
		return nil, ctx.Err()
	case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
		return line, nil
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("a line of more than %d bytes was given", maxInput)
	default:
		return nil, err
	}
}

// withoutEcho lets a terminal show nothing of what is typed but the ends of lines, until restore. Ctrl-C still works.
func withoutEcho(terminal *os.File) (restore func(), err error) {
	fd := int(terminal.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("the terminal: %w", err)
	}
	silent := *before
	silent.Lflag &^= unix.ECHO
	silent.Lflag |= unix.ECHONL | unix.ICANON | unix.ISIG
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &silent); err != nil {
		return nil, fmt.Errorf("the terminal: %w", err)
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }, nil
}
