package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

// TestARepeatOfThePageThatHasNoAnswerYetIsNotMadeOnceMore has a page ask again by itself while the server takes its time,
// or give that up.
//
// Clauses: OPS3-4.36
func TestARepeatOfThePageThatHasNoAnswerYetIsNotMadeOnceMore(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		var held heldLog
		b := start(t, driver, held.add)
		for name, tc := range map[string]struct {
			again string // what the page does by itself
			how   browser.How
			posts int32
		}{
			"under way": {"(ask(), true)", browser.ByPage, 2},
			"given up":  {"(setTimeout(() => given.abort()), ask().catch(() => true))", browser.ByRepeat, 3},
		} {
			t.Run(name, func(t *testing.T) {
				var posts atomic.Int32
				came, answer := make(chan struct{}), make(chan struct{})
				site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodGet {
						w.Header().Set("Content-Type", "text/html")
						_, _ = fmt.Fprint(w, `<!doctype html><link rel=icon href="data:,"><button id=b>B</button>
							<script>const given = new AbortController();
							const ask = () => fetch('/', {method: 'POST', signal: given.signal});
							document.getElementById('b').onclick = () => fetch('/', {method: 'POST'})</script>`)
						return
					}
					switch posts.Add(1) {
					case 1:
						w.Header().Set(field, `sid="ses_x", ref="ref_1"`)
						w.WriteHeader(http.StatusForbidden)
					case 2:
						close(came)
						<-answer
					}
				}))
				t.Cleanup(site.Close)
				c := newContext(t, b)
				before := len(held.all())
				do(t, c, browser.Act{Kind: browser.Navigate, URL: site.URL})
				made := do(t, c, click("#b"))
				do(t, c, browser.Act{Kind: browser.WaitExpression, Expression: tc.again})
				if tc.how == browser.ByPage {
					<-came
				} else {
					c.Quiet(t.Context())
				}
				how, err := c.Again(t.Context(), made, held.all()[before], func(browser.How) error { close(answer); return nil })
				if err != nil || how != tc.how {
					t.Errorf("again: %s, %v", how, err)
				}
				if n := posts.Load(); n > tc.posts || tc.how == browser.ByPage && n != tc.posts {
					t.Errorf("%d requests came", n)
				}
			})
		}
	})
}
