package agent_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/testsite"
)

// In the drafts a Session is started with a token request: an agent that the Company does not know learns there that it is
// unknown, and nothing of its browser is to blame. The request is made while the tab opens, which waits for it here.
func TestAnUnknownAgentIsToldWhatToCheck(t *testing.T) {
	w := newWorldOf(t, testsite.Config{Profile: "0.2", Control: "127.0.0.1:0"})
	w.control("revoke-client", map[string]any{"client_id": "https://agent.test/agent.json"})
	c := &tokenRequests{first: make(chan struct{})}
	a := w.startWith(&log{}, func(cfg *agent.Config) {
		cfg.Wrap, cfg.Driver = c.wrap, gated{asked: func() {}, open: c.first}
	})
	_, err := a.Visit(t.Context(), w.site.Company())
	said, ok := errors.AsType[*trouble.Error](err)
	if !ok || !strings.Contains(said.What, "no Session could be had") || !strings.Contains(said.Next, "papaver identity check") || strings.Contains(said.Done, "assertion") {
		t.Errorf("Visit = %+v", err)
	}
	if n := c.n.Load(); n != 1 {
		t.Errorf("%d token requests", n)
	}
}

// tokenRequests counts them, and closes first with the first.
type tokenRequests struct {
	next  http.RoundTripper
	n     atomic.Int64
	first chan struct{}
}

func (c *tokenRequests) wrap(next http.RoundTripper) http.RoundTripper {
	c.next = next
	return c
}

func (c *tokenRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && c.n.Add(1) == 1 {
		close(c.first)
	}
	return c.next.RoundTrip(r)
}
