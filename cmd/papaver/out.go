package main

import (
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
	data, err := json.Marshal(v)
	if err == nil {
		_, err = l.w.Write(append(data, '\n'))
	}
	l.err = err
}

func (l *lines) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
