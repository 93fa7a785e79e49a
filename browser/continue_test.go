package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

// refusing serves a page with a button that asks /act, which is always refused with the page waiting, and counts by
// which control it was asked.
func refusing(t *testing.T, page, waiting string) (url string, asked func(by string) int) {
	t.Helper()
	var mu sync.Mutex
	counts := make(map[string]int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			_, _ = fmt.Fprint(w, "<!doctype html><meta charset=utf-8>"+page)
			return
		}
		if r.URL.Path != "/act" {
			http.NotFound(w, r) // the page's icon
			return
		}
		mu.Lock()
		defer mu.Unlock()
		counts[r.URL.Query().Get("by")]++
		w.Header().Set(field, `sid="s", ref="r"`)
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, "<!doctype html><meta charset=utf-8>"+waiting)
	}))
	t.Cleanup(server.Close)
	return server.URL, func(by string) int { mu.Lock(); defer mu.Unlock(); return counts[by] }
}

// TestOnlyTheOneContinueControlThatAPersonCouldPressIsPressed refuses a form with waiting pages of every kind.
func TestOnlyTheOneContinueControlThatAPersonCouldPressIsPressed(t *testing.T) {
	eachDriver(t, testOnlyTheOneContinueControlThatAPersonCouldPressIsPressed)
}

func testOnlyTheOneContinueControlThatAPersonCouldPressIsPressed(t *testing.T, driver browser.Driver) {
	button := func(style string) string {
		return `<form method=post action="/act?by=continue"><button style="` + style + `">Continue</button></form>`
	}
	var log heldLog
	b := start(t, driver, log.add)
	for name, tc := range map[string]struct {
		waiting string
		how     browser.How
	}{
		"the one":           {button(""), browser.ByContinue},
		"out of view":       {`<div style="height:5000px"></div>` + button("margin-left:4000px") + `<div style="height:5000px"></div>`, browser.ByContinue},
		"with a picture":    {`<form method=post action="/act?by=continue"><button><b> continue </b></button></form>`, browser.ByContinue},
		"one hidden":        {button("") + button("display:none") + button("visibility:hidden"), browser.ByContinue},
		"two":               {button("") + button(""), browser.ByReload},
		"covered":           {button("") + `<div style="position:fixed;inset:0;background:white">Wait</div>`, browser.ByReload},
		"transparent":       {button("opacity:0"), browser.ByReload},
		"in a clear parent": {`<div style="opacity:0">` + button("") + `</div>`, browser.ByReload},
		"outside the page":  {button("position:absolute;left:-9999px"), browser.ByReload},
		"disabled":          {`<button disabled>Continue</button>`, browser.ByReload},
		"no control":        {`<p>Continue</p>`, browser.ByReload},
		"another name":      {`<form method=post action="/act?by=continue"><button>Continue anyway</button></form>`, browser.ByReload},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := refusing(t, `<form method=post action="/act?by=button"><button id=buy>Buy</button></form>`, tc.waiting)
			c := newContext(t, b)
			do(t, c, browser.Act{Kind: browser.Navigate, URL: url})
			made := do(t, c, click("#buy"))
			held := log.all()
			how, err := c.Again(t.Context(), made, held[len(held)-1], func(browser.How) error { return nil })
			if err != nil || how != tc.how {
				t.Fatalf("Again = %q, %v; want %q", how, err, tc.how)
			}
			byContinue := 0
			if tc.how == browser.ByContinue {
				byContinue = 1
			}
			if asked("continue") != byContinue || asked("button") != 2-byContinue {
				t.Errorf("asked %d times by Continue and %d by the button", asked("continue"), asked("button"))
			}
		})
	}
}

// TestAContinueControlIsPressedOnlyInTheDocumentThatGotTheRefusal has scripts of the page, of a frame and of a worker
// refused.
func TestAContinueControlIsPressedOnlyInTheDocumentThatGotTheRefusal(t *testing.T) {
	eachDriver(t, testAContinueControlIsPressedOnlyInTheDocumentThatGotTheRefusal)
}

func testAContinueControlIsPressedOnlyInTheDocumentThatGotTheRefusal(t *testing.T, driver browser.Driver) {
	ask := `<script>const ask = (by) => fetch('/act?by=' + by, {method: 'POST'});
		const show = () => { const b = document.createElement('button'); b.textContent = 'Continue'; b.onclick = () => ask('continue'); document.body.append(b) };</script>`
	var log heldLog
	b := start(t, driver, log.add)
	for name, tc := range map[string]struct {
		page string
		how  browser.How
	}{
		"new": {`<button id=buy onclick="ask('button').then(show)">Buy</button>` + ask, browser.ByContinue},
		"new, and the page cannot say what was there before": {`<button id=buy onclick="const x = new XMLHttpRequest; x.open('POST', '/act?by=button', false); x.send(); show()">Buy</button>` + ask, browser.ByContinue},
		"there before":      {`<button onclick="ask('continue')">Continue</button><button id=buy onclick="ask('button')">Buy</button>` + ask, browser.ByRepeat},
		"a frame's refusal": {`<iframe srcdoc="<p>frame"></iframe><button id=buy onclick="frames[0].fetch('/act?by=button', {method: 'POST'}).then(show)">Buy</button>` + ask, browser.ByRepeat},
		"a worker's refusal": {`<button id=buy onclick="w.postMessage('/act?by=button'); w.onmessage = show">Buy</button>` + ask +
			"<script>const w = new Worker(URL.createObjectURL(new Blob([`onmessage = (e) => fetch('${location.origin}' + e.data, {method: 'POST'}).then(() => postMessage(''))`])))</script>", browser.ByContinue},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := refusing(t, tc.page, "")
			c := newContext(t, b)
			do(t, c, browser.Act{Kind: browser.Navigate, URL: url})
			made := do(t, c, click("#buy"))
			do(t, c, browser.Act{Kind: browser.Wait, Selectors: [][]string{{"text/Continue"}}}) // a worker's message is no request that an act waits for
			held := log.all()
			how, err := c.Again(t.Context(), made, held[len(held)-1], func(browser.How) error { return nil })
			if err != nil || how != tc.how {
				t.Fatalf("Again = %q, %v; want %q", how, err, tc.how)
			}
			byContinue := 0
			if tc.how == browser.ByContinue {
				byContinue = 1
			}
			if asked("continue") != byContinue || asked("button") != 2-byContinue {
				t.Errorf("asked %d times by Continue and %d by the button", asked("continue"), asked("button"))
			}
		})
	}
}

// TestLookingForAContinueControlMovesNothing presses a control far below one that is called Continue.
func TestLookingForAContinueControlMovesNothing(t *testing.T) {
	eachDriver(t, testLookingForAContinueControlMovesNothing)
}

func testLookingForAContinueControlMovesNothing(t *testing.T, driver browser.Driver) {
	url, asked := refusing(t, `<form method=post action="/act?by=continue"><button>Continue</button></form><div style="height:5000px"></div>
		<form method=post action="/act?by=button"><button id=buy>Buy</button></form><div style="height:5000px"></div>`, "")
	var log heldLog
	c := newContext(t, start(t, driver, log.add))
	do(t, c, browser.Act{Kind: browser.Navigate, URL: url})
	do(t, c, click("#buy"))
	if asked("button") != 1 || asked("continue") != 0 {
		t.Errorf("asked %d times by the button and %d by Continue", asked("button"), asked("continue"))
	}
}
