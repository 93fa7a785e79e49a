package browser_test

import (
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

func TestATabKnowsItsURLAndAPageThatHangsIsLeft(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newTown(t)
		site.set(map[string]string{"/": "", "/on": `<a id=deeper href="#deeper">Deeper</a><button id=stuck onclick="setTimeout(() => { for (;;); })">Stuck</button>`})
		b := site.browser(t, driver, new(heldLog))
		c := newContext(t, b)
		from := func(act browser.Act) string {
			t.Helper()
			act.Timeout = soon
			return do(t, c, act).Page
		}
		var pages []string
		for _, act := range []browser.Act{
			{Kind: browser.Navigate, URL: "http://one.test/on?a=b#part"},
			{Kind: browser.Reload},
			{Kind: browser.WaitExpression, Expression: `history.pushState(null, '', '/pushed'), true`},
			{Kind: browser.Back},
			click("#deeper"),
			{Kind: browser.Back},
			click("#stuck"),
			{Kind: browser.Navigate, URL: "http://two.test/"},
			{Kind: browser.Reload},
		} {
			pages = append(pages, from(act))
		}
		const on = "http://one.test/on?a=b#part"
		for i, want := range map[int]string{1: on, 3: "http://one.test/pushed", 5: "http://one.test/on?a=b#deeper", 7: on, 8: "http://two.test/"} {
			if pages[i] != want {
				t.Errorf("act %d was made on %q, want %q", i+1, pages[i], want)
			}
		}
	})
}
