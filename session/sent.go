package session

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// sending watches how far a request has come. A connection is had right before the request is written to it.
type sending struct{ wanted, had, reused atomic.Bool }

// watch has a request with the context that is returned watched. begins, which may be nil, is called each time before
// the request may be written.
func (s *sending) watch(ctx context.Context, begins func()) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { s.wanted.Store(true) },
		GotConn: func(got httptrace.GotConnInfo) {
			s.had.Store(true)
			s.reused.Store(got.Reused)
			if begins != nil {
				begins()
			}
		},
	})
}

// unsent reports whether it is certain that nothing was written: the transport looked for a connection and got none. A
// transport that tells nothing leaves it open.
func (s *sending) unsent() bool { return s.wanted.Load() && !s.had.Load() }
