package agent_test

import (
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
)

// connections notes which requests of ours were made on a connection that was there already, by host and path.
type connections struct {
	next http.RoundTripper

	mu     sync.Mutex
	opened map[string]int // by host
	reused map[string]int // by host and path
}

func (c *connections) wrap(next http.RoundTripper) http.RoundTripper {
	c.next, c.opened, c.reused = next, make(map[string]int), make(map[string]int)
	return c
}

func (c *connections) RoundTrip(req *http.Request) (*http.Response, error) {
	to := req.URL
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if got.Reused {
			c.reused[to.Host+to.Path]++
		} else {
			c.opened[to.Host]++
		}
	}})
	return c.next.RoundTrip(req.WithContext(ctx))
}

// ready wants the requests of discovery and of a round to have opened one connection to each host, and the first one to the
// operations endpoint to have found it open.
func (c *connections) ready(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.opened) != 2 || c.opened["stormline.test"] != 1 || c.opened["auth.stormline.test"] != 1 {
		t.Errorf("connections that were opened: %v", c.opened)
	}
	if c.reused["stormline.test/poppy/operations"] < 3 { // terms, approval, look-up
		t.Errorf("requests on open connections: %v", c.reused)
	}
}
