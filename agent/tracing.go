package agent

import (
	"net/http"
	"net/http/httptrace"
	"sync"

	"github.com/papaver-agent/papaver/trace"
)

// traced has each request of ours be a span, its body's reading aside, and each new connection one within.
type traced struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t traced) RoundTrip(req *http.Request) (*http.Response, error) {
	if !trace.On(req.Context()) {
		return t.next.RoundTrip(req)
	}
	ctx, span := trace.Begin(req.Context(), trace.Request)
	var mu sync.Mutex // a dial may go on after the request took another connection
	var connecting trace.Span
	reused := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			mu.Lock()
			defer mu.Unlock()
			_, connecting = trace.Begin(ctx, trace.Connect)
		},
		GotConn: func(info httptrace.GotConnInfo) {
			mu.Lock()
			defer mu.Unlock()
			reused = info.Reused
			if reused {
				connecting.Drop()
			} else {
				connecting.End()
			}
		},
	})
	res, err := t.next.RoundTrip(req.WithContext(ctx))
	mu.Lock()
	defer mu.Unlock()
	status := 0
	if res != nil {
		status = res.StatusCode
	}
	span.End(trace.Reused(reused), trace.Status(status), trace.Failed(err))
	return res, err
}
