package main

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// lines writes JSON objects, one a line. Safe for concurrent use. After a failed write it writes nothing more and
// remembers the error: a reader that went away must not stop a round.
type lines struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

func (l *lines) write(v any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	// Written whole, so that a line is never half of one; without the escapes that are for web pages, so that what the
	// ledger holds is exported as it is.
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if l.err = encoder.Encode(v); l.err == nil {
		_, l.err = l.w.Write(line.Bytes())
	}
}

func (l *lines) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
