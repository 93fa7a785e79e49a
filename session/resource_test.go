package session_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/session"
)

const mcpMetadata = "/.well-known/oauth-protected-resource/mcp"

// A 404 may be that of a deployment: proofs are not given up for good because of it.
//
// Clauses: S01-4.3.16
func TestAnMCPServersMetadataAreBelievedForATime(t *testing.T) {
	t.Parallel()
	const listed = `{"resource":"` + mcpServer + `","authorization_servers":["` + draftIssuer + `"],"dpop_signing_alg_values_supported":["ES256"]}`
	clock := &clock{now: noon}
	f := newFake(t, drafts["0.2"], clock.Now)
	answer := func(req *http.Request) *http.Response { return reply(req, http.StatusNotFound, "") }
	f.answers["mcp.example.com"+mcpMetadata] = func(req *http.Request, _ url.Values) *http.Response { return answer(req) }
	server := f.server()
	for i, step := range []struct {
		after  time.Duration
		listed bool
		reads  int
	}{
		{0, false, 1},
		{4 * time.Minute, false, 1},
		{2 * time.Minute, true, 2},
		{59 * time.Minute, true, 2},
		{2 * time.Minute, true, 3},
	} {
		clock.advance(step.after)
		if step.listed && step.reads == 2 {
			answer = func(req *http.Request) *http.Response { return reply(req, http.StatusOK, listed) }
		}
		f.mcpProofs = step.listed
		f.must(f.sessionOf(server, ""), mcpServer)
		if n := len(f.requests(mcpMetadata)); n != step.reads {
			t.Errorf("step %d: the metadata were read %d times, want %d", i, n, step.reads)
		}
	}
}

func TestAnMCPServersMetadataAreLeftAloneForAsLongAsTheyAsk(t *testing.T) {
	t.Parallel()
	clock := &clock{now: noon}
	f := newFake(t, drafts["0.2"], clock.Now)
	busy := true
	f.answers["mcp.example.com"+mcpMetadata] = func(req *http.Request, _ url.Values) *http.Response {
		if busy {
			return reply(req, http.StatusServiceUnavailable, "", "Retry-After: 60")
		}
		return reply(req, http.StatusNotFound, "")
	}
	s := f.session("")
	for range 2 {
		var limited *session.RateLimited
		if _, err := f.get(s, mcpServer); !errors.As(err, &limited) || limited.After != time.Minute {
			t.Errorf("err = %v", err)
		}
	}
	if n := len(f.requests(mcpMetadata)); n != 1 {
		t.Errorf("the metadata were asked for %d times", n)
	}
	busy = false
	clock.advance(time.Minute)
	f.must(s, mcpServer)
}
