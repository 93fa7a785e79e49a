package company

import (
	"context"
	"net/http/httptrace"
	"sync"
)

// early is the resource document, which is at a place that is known before poppy.json says whether there should be one. It
// is asked for as soon as poppy.json's request has its connection: not at a host that can't be reached, and where the host
// speaks HTTP/2 on that same connection. What came of it is looked at where its rule is judged and nowhere else, so a report
// and its errors do not depend on which document came first. A transport that tells of no connection has the two read one
// after another.
type early struct {
	ctx    context.Context // of the reading, which outlives no examination
	cancel context.CancelFunc
	at     string

	mu    sync.Mutex
	began bool
	over  bool // it does not begin any more

	ended    chan struct{}
	reading  reading // from here on to be read after ended
	document resourceDocument
	found    string
	err      *DocumentError
}

// newEarly begins nothing yet. The caller calls end.
func newEarly(ctx context.Context, r reading, at string) *early {
	ctx, cancel := context.WithCancel(ctx)
	return &early{ctx: ctx, cancel: cancel, at: at, reading: r, ended: make(chan struct{})}
}

// with has the reading begin when a request with the context that is returned has its connection.
func (e *early) with(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { e.begin() }})
}

// begin begins once. A transport may tell of a connection of its own late, even when nobody asks any more.
func (e *early) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.began || e.over {
		return
	}
	e.began = true
	go func() {
		defer close(e.ended)
		e.found, e.err = e.reading.read(e.ctx, e.at, &e.document)
	}()
}

// taken waits for the reading, and reports false when it never began.
func (e *early) taken() bool {
	e.mu.Lock()
	e.over = true
	began := e.began
	e.mu.Unlock()
	if began {
		<-e.ended
	}
	return began
}

// end gives up what nobody has taken. Nothing of it goes on when it returns.
func (e *early) end() {
	e.cancel()
	e.taken()
}
