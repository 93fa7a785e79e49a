package browser_test

import (
	"context"
	"errors"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

// current is the URL of the tab that acts without a Target are made in, and how many tabs there are.
func current(t *testing.T, c *browser.Context) (string, int) {
	t.Helper()
	tabs, err := c.Tabs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tab := range tabs {
		if tab.Current {
			return tab.URL, len(tabs)
		}
	}
	t.Fatalf("no tab is the current one: %+v", tabs)
	return "", 0
}

func TestActsAreMadeInTheTabThatTheyName(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newPages(t)
		main := site.page("/main", `<button id=b onclick="w=window.open('/popup')">B</button><a id=n target=_blank rel=noopener href="/popup?noopener">N</a>
<button id=slow onclick="w=window.open('about:blank');setTimeout(()=>{w.location='/popup?slow'},300)">S</button><button id=talk onclick="window.open('/talks')">T</button><button id=m onclick="note('main')">M</button>`)
		popup := site.page("/popup", `<button id=b onclick="note('popup');fetch('/paid',{method:'POST'})">P</button><button id=x onclick="window.close()">X</button>`)
		site.page("/talks", `<script>alert(1)</script><button id=b onclick="note('talks')">P</button>`)
		b := start(t, driver, func(context.Context, browser.Held) {})
		c := newContext(t, b)
		in := func(target string, act browser.Act) browser.Act { act.Target = target; return act }
		do(t, c, browser.Act{Kind: browser.Navigate, URL: main})

		do(t, c, click("#b"))
		made := do(t, c, in(popup, click("#b")))
		if n := site.count("POST /paid"); n != 1 || made.Page != popup {
			t.Errorf("%d requests of the popup, made on %s", n, made.Page)
		}
		do(t, c, click("#m")) // the opener is in the back by now
		if url, n := current(t, c); url != main || n != 2 {
			t.Errorf("the current of %d tabs is %s", n, url)
		}
		do(t, c, in(popup, click("#x")))
		if url, n := current(t, c); url != main || n != 1 {
			t.Errorf("after the popup closed itself the current of %d tabs is %s", n, url)
		}

		do(t, c, click("#n"))
		do(t, c, in("*?noopener", browser.Act{Kind: browser.SwitchTab}))
		do(t, c, click("#b"))
		if got := said(t, c); got != "popup" {
			t.Errorf("the tab without an opener noted %q", got)
		}
		do(t, c, in(browser.MainTab, click("#slow")))
		do(t, c, in(popup+"?slow", click("#b")))
		do(t, c, in(popup+"?slow", browser.Act{Kind: browser.CloseTab}))
		do(t, c, browser.Act{Kind: browser.CloseTab})
		if url, n := current(t, c); url != main || n != 1 {
			t.Errorf("after the others were closed the current of %d tabs is %s", n, url)
		}

		do(t, c, browser.Act{Kind: browser.NewTab, URL: popup})
		if url, n := current(t, c); url != popup || n != 2 {
			t.Errorf("the new tab of %d is not the current one: %s", n, url)
		}
		do(t, c, in(browser.MainTab, browser.Act{Kind: browser.CloseTab}))
		do(t, c, browser.Act{Kind: browser.CloseTab})
		if url, n := current(t, c); url != "about:blank" || n != 1 {
			t.Errorf("in the place of the last tab there are %d: %s", n, url)
		}

		do(t, c, browser.Act{Kind: browser.Navigate, URL: main})
		do(t, c, click("#talk"))
		_, err := c.Do(t.Context(), in(site.URL+"/talks", click("#b")))
		if err != nil && !errors.Is(err, browser.ErrNoTab) { // one that asks from its first moment is closed when it cannot be driven
			t.Errorf("a popup that opens a dialog at once: %v", err)
		}
		do(t, c, in(browser.MainTab, click("#m")))
	})
}
