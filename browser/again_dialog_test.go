package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

// TestAnActThatAskedIsMadeAgainWithTheSameAnswer has a page ask before it posts, and lead on once that is allowed.
func TestAnActThatAskedIsMadeAgainWithTheSameAnswer(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		var posts atomic.Int32
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch {
			case r.URL.Path == "/done":
				_, _ = fmt.Fprint(w, `<!doctype html><title>Done</title><link rel=icon href="data:,">`)
			case r.Method == http.MethodGet:
				_, _ = fmt.Fprint(w, `<!doctype html><link rel=icon href="data:,"><button id=b onclick="if(prompt('code?')==='17')fetch('/',{method:'POST'}).then((r)=>{if(r.ok)location='/done'})">B</button>`)
			case posts.Add(1) == 1:
				w.Header().Set(field, `sid="ses_x", ref="ref_1"`)
				w.WriteHeader(http.StatusForbidden)
			}
		}))
		t.Cleanup(site.Close)
		var held heldLog
		b := start(t, driver, held.add)
		c := newContext(t, b)
		do(t, c, browser.Act{Kind: browser.Navigate, URL: site.URL})
		c.HandleDialogs(browser.Asked)
		made := do(t, c, on("#b", browser.Act{Kind: browser.Click, Expect: &browser.Navigation{URL: "*/done", Title: "Done"}}))
		do(t, c, browser.Act{Kind: browser.HandleDialog, Reply: browser.Reply{Accept: true, Text: value("17")}})
		refusals := held.all()
		if len(refusals) != 1 || refusals[0].Act() != made {
			t.Fatalf("held: %+v", refusals)
		}
		how, err := c.Again(t.Context(), made, refusals[0], func(browser.How) error { return nil })
		if err != nil || how != browser.ByRepeat {
			t.Fatalf("again: %s, %v", how, err)
		}
		if err := c.Arrived(t.Context(), made); err != nil {
			t.Error(err)
		}
		if n := posts.Load(); n != 2 {
			t.Errorf("%d requests came", n)
		}
	})
}
