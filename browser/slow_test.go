package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

// A real Chromium's late answer belongs to the act whose request it answers: the second act was made meanwhile.
//
// Clauses: OPS3-4.36
func TestChromiumsLateAnswerBelongsToTheActThatAsked(t *testing.T) {
	eachDriver(t, testChromiumsLateAnswerBelongsToTheActThatAsked)
}

func testChromiumsLateAnswerBelongsToTheActThatAsked(t *testing.T, driver browser.Driver) {
	answer := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<!doctype html><button id="slow" onclick="fetch('/slow',{method:'POST'})">Slow</button><button id="other">Other</button>`)
	})
	mux.HandleFunc("POST /slow", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		w.Header().Set(field, `sid="ses_x", ref="ref_1"`)
		w.WriteHeader(http.StatusForbidden)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	var log heldLog
	b := start(t, driver, log.add)
	c := newContext(t, b)
	do(t, c, browser.Act{Kind: browser.Navigate, URL: server.URL + "/"})
	first := do(t, c, click("#slow")) // it waits for its request only so long
	other := do(t, c, click("#other"))
	close(answer)
	c.Quiet(t.Context())
	held := log.all()
	if len(held) != 1 {
		t.Fatalf("%d responses were held", len(held))
	}
	if got := held[0].Act(); got != first || got == other {
		t.Errorf("it was credited to act %+v, want the first", got)
	}
}
