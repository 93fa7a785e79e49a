package session

import (
	"io"
	"net/http"
)

// once has a request leave one time only. net/http repeats one by itself, with the same statement and proof, when a
// connection that was used before breaks or a server refuses the stream; it does so only where it can have the body again:
// where there is none, or GetBody makes it. So a request whose method has no body gets one that is empty and cannot be had
// again, which is sent as none.
func once(req *http.Request) {
	req.GetBody = nil
	if bodiless(req) && repeatable(req) {
		req.Body, req.ContentLength = spent{}, 0
	}
}

// bodiless reports whether a request has no body.
func bodiless(req *http.Request) bool { return req.Body == nil || req.Body == http.NoBody }

// repeatable reports whether a request may be made twice, whatever became of it the first time (RFC 9110, section 9.2.2),
// and says nothing in a body.
func repeatable(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	default:
		return false
	}
}

// spent is an empty body that was read to its end.
type spent struct{}

// Read tells the end.
func (spent) Read([]byte) (int, error) { return 0, io.EOF }

// Close does nothing.
func (spent) Close() error { return nil }
