package browser_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/secret"
)

// town is a site under every name that ends in .test: a page at each path, and /act, which is always refused and counts by
// what it was asked.
type town struct {
	addr  string
	mu    sync.Mutex
	pages map[string]string
	asked []string
}

func newTown(t *testing.T) *town {
	t.Helper()
	s := &town{pages: make(map[string]string)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path != "/act" {
			_, _ = fmt.Fprint(w, "<!doctype html><meta charset=utf-8><link rel=icon href='data:,'>"+s.pages[r.URL.Path])
			return
		}
		s.asked = append(s.asked, r.URL.Query().Get("by"))
		w.Header().Set(field, `sid="s", ref="r"`)
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, "<!doctype html>"+s.pages["/act"])
	}))
	t.Cleanup(server.Close)
	s.addr = server.Listener.Addr().String()
	return s
}

// set puts pages in place of all that there were, and forgets what was asked.
func (s *town) set(pages map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages, s.asked = pages, nil
}

func (s *town) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *town) browser(t *testing.T, driver browser.Driver, log *heldLog) *browser.Browser {
	t.Helper()
	return startWith(t, browser.Config{Driver: driver, OnHeld: log.add, HostResolverRules: "MAP *.test:80 " + s.addr})
}

// soon is how long a test waits for what comes at once.
const soon = 5 * time.Second

// TestElementsAreFoundWhereverTheyAre presses controls in every sort of place, and looks whether that reached them.
func TestElementsAreFoundWhereverTheyAre(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newTown(t)
		var log heldLog
		c := newContext(t, site.browser(t, driver, &log))
		press := `onclick="top.postMessage('pressed', '*')"`
		heard := `<script>onmessage = (e) => document.title = e.data</script>`
		button := `<button id=go ` + press + `>Go  on</button>`
		shadow := func(mode, inner string) string {
			return `<div class=host></div><script>document.currentScript.previousElementSibling.attachShadow({mode: '` + mode + `'}).innerHTML = ` + "`" + inner + "`" + `</script>`
		}
		far := `<div style="height:3000px;width:3000px"></div>`
		for name, tc := range map[string]struct {
			page, frame, inner string
			act                browser.Act
		}{
			"css":               {button, "", "", browser.Act{Selectors: [][]string{{"#none"}, {"#go"}}}},
			"name":              {button, "", "", browser.Act{Selectors: [][]string{{"aria/ Go on "}}}},
			"name and role":     {`<p>Go on</p><a href="#">Go on</a>` + button, "", "", browser.Act{Selectors: [][]string{{`aria/Go on[role="button"]`}}}},
			"role alone":        {button, "", "", browser.Act{Selectors: [][]string{{`aria/[role="button"]`}}}},
			"first visible":     {`<button hidden>Go on</button><button style="visibility:hidden">Go on</button>` + button, "", "", browser.Act{Selectors: [][]string{{"text/Go on"}}}},
			"xpath":             {button, "", "", browser.Act{Selectors: [][]string{{`xpath///*[@id="go"]`}}}},
			"shadow path":       {shadow("open", "<section class=in></section>"+button), "", "", browser.Act{Selectors: [][]string{{".host", "#go"}}}},
			"pierced":           {shadow("open", button), "", "", browser.Act{Selectors: [][]string{{"pierce/#go"}}}},
			"name in shadow":    {shadow("open", button), "", "", browser.Act{Selectors: [][]string{{".host", "aria/Go on"}}}},
			"closed shadow":     {shadow("closed", button), "", "", browser.Act{Selectors: [][]string{{"aria/Go on"}}}},
			"below the fold":    {far + button + far, "", "", browser.Act{Selectors: [][]string{{"#go"}}}},
			"two lines":         {`<div style="width:9em">some words <a id=go href="#" ` + press + `>that break over two</a></div>`, "", "", browser.Act{Selectors: [][]string{{"#go"}}}},
			"frame":             {`<iframe></iframe><iframe src="/frame" style="border:7px solid;padding:11px"></iframe>`, button, "", browser.Act{Frame: []int{1}, Selectors: [][]string{{"#go"}}}},
			"frame far away":    {far + `<iframe src="/frame"></iframe>` + far, far + button + far, "", browser.Act{Frame: []int{0}, Selectors: [][]string{{"aria/Go on"}}}},
			"frame in a frame":  {far + `<iframe src="/frame" style="width:400px;height:300px"></iframe>`, far + `<iframe src="/inner"></iframe>`, far + button, browser.Act{Frame: []int{0, 0}, Selectors: [][]string{{"#go"}}}},
			"other site":        {far + `<iframe src="http://two.test/frame"></iframe>` + far, far + button + far, "", browser.Act{Frame: []int{0}, Selectors: [][]string{{"aria/Go on"}}}},
			"sites in sites":    {`<iframe></iframe><p style="height:40px"><iframe src="http://two.test/frame" style="width:400px;height:300px"></iframe>`, `<p style="height:60px"><iframe src="http://three.test/inner"></iframe>`, far + button, browser.Act{Frame: []int{1, 0}, Selectors: [][]string{{"#go"}}}},
			"same in other":     {`<iframe src="http://two.test/frame" style="width:400px;height:300px"></iframe>`, `<iframe src="/inner"></iframe>`, button, browser.Act{Frame: []int{0, 0}, Selectors: [][]string{{"#go"}}}},
			"frame that shrank": {`<iframe src="/frame" style="transform:scale(.5);transform-origin:0 0"></iframe>`, button, "", browser.Act{Frame: []int{0}, Selectors: [][]string{{"#go"}}}},
		} {
			t.Run(name, func(t *testing.T) {
				site.set(map[string]string{"/": heard + tc.page, "/frame": tc.frame, "/inner": tc.inner})
				do(t, c, browser.Act{Kind: browser.Navigate, URL: "http://one.test/"})
				tc.act.Kind, tc.act.Timeout = browser.Click, soon
				made := do(t, c, tc.act)
				heard := browser.Act{Kind: browser.WaitExpression, Expression: "document.title === 'pressed'", Timeout: soon}
				if _, err := c.Do(t.Context(), heard); err != nil {
					t.Errorf("%+v was pressed: %v", made.Control, err)
				}
			})
		}
	})
}

// TestAnErrorOfFindingSaysWhatWasSeenInstead has an element be there in every wrong way.
func TestAnErrorOfFindingSaysWhatWasSeenInstead(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newTown(t)
		var log heldLog
		c := newContext(t, site.browser(t, driver, &log))
		for name, tc := range map[string]struct {
			page   string
			act    browser.Act
			reason browser.Reason
			says   string
		}{
			"nothing":         {"", browser.Act{Kind: browser.Click}, browser.NoMatch, "nothing matches"},
			"no selector":     {"", browser.Act{Kind: browser.Click, Selectors: [][]string{{"##"}}}, browser.Wrong, "not a selector"},
			"no frame":        {"", browser.Act{Kind: browser.Click, Frame: []int{0}}, browser.NoFrame, "frame"},
			"hidden":          {`<button hidden id=go>Go</button>`, browser.Act{Kind: browser.Click}, browser.Hidden, `not visible: <button> "Go"`},
			"outside":         {`<button id=go style="position:fixed;left:-999px">Go</button>`, browser.Act{Kind: browser.Click}, browser.Outside, "outside"},
			"covered":         {`<button id=go>Go</button><div role=dialog aria-label="Cookies &#10;&#27;[1m?" style="position:fixed;inset:0"></div>`, browser.Act{Kind: browser.Click}, browser.Covered, `covered by <div> "Cookies \x1b[1m?"`},
			"covered frame":   {`<iframe srcdoc="<button id=go>Go</button>"></iframe><main style="position:fixed;inset:0"></main>`, browser.Act{Kind: browser.Click, Frame: []int{0}}, browser.Covered, "covered by <main>"},
			"moving":          {`<style>@keyframes m { to { margin-left: 900px } }</style><button id=go style="animation:m 1s infinite alternate linear">Go</button>`, browser.Act{Kind: browser.Click}, browser.Moving, "moving"},
			"disabled":        {`<button id=go disabled>Go</button>`, browser.Act{Kind: browser.Click}, browser.Disabled, "disabled"},
			"disabled within": {`<fieldset disabled><input id=go></fieldset>`, browser.Act{Kind: browser.Change}, browser.Disabled, "disabled"},
			"aria-disabled":   {`<div aria-disabled=true><button id=go>Go</button></div>`, browser.Act{Kind: browser.Click}, browser.Disabled, "disabled"},
			"read-only":       {`<input id=go readonly>`, browser.Act{Kind: browser.Change}, browser.ReadOnly, "read-only"},
			"several":         {`<a href="#" class=x>One</a><a href="#" class=x>Two</a><a class=x hidden>Three</a>`, browser.Act{Kind: browser.Click, Strict: true, Selectors: [][]string{{".x"}}}, browser.Several, `<a> "One", <a> "Two"`},
			"unknown":         {"", browser.Act{Kind: browser.Click, Ref: "e999"}, browser.Unknown, "no snapshot"},
		} {
			t.Run(name, func(t *testing.T) {
				site.set(map[string]string{"/": tc.page})
				do(t, c, browser.Act{Kind: browser.Navigate, URL: "http://one.test/"})
				act := tc.act
				if act.Selectors == nil && act.Ref == "" {
					act.Selectors = [][]string{{"#go"}}
				}
				var err error
				var found *browser.FindError
				var ok bool
				// On a busy machine the page may not answer in time.
				for act.Timeout = gone; (!ok || found.Reason != tc.reason) && act.Timeout < patience/4; act.Timeout *= 4 {
					_, err = c.Do(t.Context(), act)
					found, ok = errors.AsType[*browser.FindError](err)
				}
				if !ok || found.Reason != tc.reason || !errors.Is(err, browser.ErrNotFound) || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("err = %v", err)
				}
			})
		}
	})
}

// TestASnapshotNamesWhatCanBeActedOn takes one of a page with frames of both kinds and acts by its references.
func TestASnapshotNamesWhatCanBeActedOn(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newTown(t)
		var log heldLog
		c := newContext(t, site.browser(t, driver, &log))
		site.set(map[string]string{"/": `<title>Orders</title><h1>Your orders</h1><p>Two of them</p>
			<label>Note <input value="as before"></label><label>Pin <input type=password value=4711></label><label>Code <input id=code></label>
			<label><input type=checkbox checked> Gift</label><select aria-label=Size><option>M<option selected>L</select>
			<details><summary>More</summary></details><button disabled>Pay "now"</button><a href="/terms">Terms</a>
			<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = '<button>In shadow</button>'</script>
			<iframe srcdoc="<button onclick=&quot;this.textContent='Pressed'&quot;>Inside</button>"></iframe><iframe src="http://two.test/frame"></iframe>`,
			"/frame": `<button onclick="this.textContent = 'Done'">Apart</button>`, "/two": strings.Repeat("<button>x</button>", 50)})
		do(t, c, browser.Act{Kind: browser.Navigate, URL: "http://one.test/"})
		do(t, c, browser.Act{Kind: browser.Wait, Frame: []int{1}, Selectors: [][]string{{"button"}}})
		do(t, c, browser.Act{Kind: browser.Change, Selectors: [][]string{{"#code"}}, Value: secret.New("swordfish"), Private: true})
		snap := func(o browser.SnapshotOptions) browser.Snapshot {
			t.Helper()
			s, err := c.Snapshot(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := snap(browser.SnapshotOptions{})
		refs := regexp.MustCompile(` \[ref=(f\d+)?e\d+\]`)
		for _, line := range []string{
			`- heading "Your orders" [level=1]`, `- paragraph: "Two of them"`, `- textbox "Note": "as before"`, `- textbox "Pin": (a secret, left out)`,
			`- checkbox "Gift" [checked]`, `- combobox "Size": "L"`, `- option "L" [selected]`, `- button "Pay \"now\"" [disabled]`, `- link "Terms":`,
			`  - /url: "http://one.test/terms"`, `- button "In shadow"`, `- iframe:`, `  - button "Inside"`, `  - button "Apart"`,
		} {
			if !strings.Contains(refs.ReplaceAllString(s.Text, ""), line) {
				t.Errorf("no line %s", line)
			}
		}
		if t.Failed() || s.Title != "Orders" || s.URL != "http://one.test/" || s.Next != 0 || strings.Contains(s.Text, "4711") || strings.Contains(s.Text, "swordfish") {
			t.Fatalf("%+v\n%s", s, s.Text)
		}
		refOf := func(s browser.Snapshot, name string) string {
			t.Helper()
			m := regexp.MustCompile(regexp.QuoteMeta(name) + `"[^\n]*\[ref=(\w+)\]`).FindStringSubmatch(s.Text)
			if m == nil {
				t.Fatalf("no reference of %s in\n%s", name, s.Text)
			}
			return m[1]
		}
		for before, after := range map[string]string{"Inside": "Pressed", "Apart": "Done"} {
			ref := refOf(s, before)
			made := do(t, c, browser.Act{Kind: browser.Click, Ref: ref})
			now := snap(browser.SnapshotOptions{})
			if refOf(now, after) != ref || made.Control.Name != before {
				t.Errorf("%s is %+v now in\n%s", before, made.Control, now.Text)
			}
		}
		if part := snap(browser.SnapshotOptions{Ref: refOf(s, "Gift")}); part.Lines != 1 || !strings.HasPrefix(part.Text, `- checkbox "Gift"`) {
			t.Errorf("part:\n%s", part.Text)
		}
		terms := refOf(s, "Terms")
		do(t, c, browser.Act{Kind: browser.Navigate, URL: "http://one.test/two"})
		if _, err := c.Do(t.Context(), browser.Act{Kind: browser.Click, Ref: terms}); !errors.Is(err, browser.ErrRefExpired) || !errors.Is(err, browser.ErrNotFound) {
			t.Errorf("an expired reference: %v", err)
		}
		first := snap(browser.SnapshotOptions{Lines: 20})
		second := snap(browser.SnapshotOptions{Offset: first.Next, Bytes: 1 << 20})
		if first.Lines != 50 || first.Next != 20 || !strings.Contains(first.Text, "30 more lines") || second.Next != 0 || strings.Count(second.Text, "\n") != 30 || refOf(first, "x") == terms {
			t.Errorf("%d lines, next %d, then\n%s", first.Lines, first.Next, second.Text)
		}
	})
}

// TestAnActInAnyDocumentIsMadeAgainThere has frames of both kinds and a window refused.
func TestAnActInAnyDocumentIsMadeAgainThere(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newTown(t)
		var log heldLog
		b := site.browser(t, driver, &log)
		form := func(by, more string) string {
			return `<form method=post action="http://one.test/act?by=` + by + `"` + more + `><button id=` + by + `>` + by + `</button></form>`
		}
		script := `<script>const ask = (by) => fetch('/act?by=' + by, {method: 'POST'});
			const show = () => document.body.insertAdjacentHTML('beforeend', '<button onclick="ask(\'continue\')">Continue</button>')</script>`
		cont := form("continue", "")
		wait := strings.ReplaceAll(strings.ReplaceAll(cont, "id=continue", ""), ">continue<", ">Continue<")
		for name, tc := range map[string]struct {
			page, frame, waiting string
			frames               []int
			how                  browser.How
			by                   string
		}{
			"a form in a frame":               {`<iframe src="/frame"></iframe>`, form("go", ""), "", []int{0}, browser.ByReload, "go"},
			"a form in a frame, Continue":     {`<iframe src="/frame"></iframe>`, form("go", ""), wait, []int{0}, browser.ByContinue, "continue"},
			"a form of another site":          {`<iframe src="http://two.test/frame"></iframe>`, form("go", ""), "", []int{0}, browser.ByReload, "go"},
			"a script of another site":        {`<iframe src="http://two.test/frame"></iframe>`, `<button id=go onclick="ask('go')">Go</button>` + script, "", []int{0}, browser.ByRepeat, "go"},
			"a script of another, Continue":   {`<button>Continue</button><iframe src="http://two.test/frame"></iframe>`, `<button id=go onclick="ask('go').then(show)">Go</button>` + script, "", []int{0}, browser.ByContinue, "continue"},
			"a form into a frame":             {form("go", " target=in") + `<iframe name=in></iframe>`, "", "", nil, browser.ByReload, "go"},
			"a frame's script that was told":  {`<button id=go onclick="frames[0].postMessage('', '*')">Go</button><iframe src="http://two.test/frame"></iframe>`, script + `<script>onmessage = () => ask('go').then(show)</script>`, "", nil, browser.ByContinue, "continue"},
			"a form into a window":            {form("go", " target=_blank"), "", "", nil, browser.ByReload, "go"},
			"a form into a window, Continue":  {form("go", " target=_blank"), "", wait, nil, browser.ByContinue, "continue"},
			"Continue in an open shadow root": {form("go", ""), "", `<div id=h></div><script>h.attachShadow({mode: 'open'}).innerHTML = '` + wait + `'</script>`, nil, browser.ByContinue, "continue"},
			"an element that moved":           {`<div id=d></div><script>const ask = (by) => fetch('/act?by=' + by, {method: 'POST'}); const button = (id, by) => '<button id=' + id + ' onclick="ask(this.textContent).then(() => draw(\'other\', \'go\'))">' + by + '</button>'; const draw = (a, b) => d.innerHTML = button('go', a) + button('second', b); draw('go', 'other')</script>`, "", "", nil, browser.ByRepeat, "go"},
			"an element put in its place":     {`<div id=d></div><script>const draw = () => d.innerHTML = '<button id=go onclick="ask().then(draw)">Go</button>'; const ask = () => fetch('/act?by=go', {method: 'POST'}); draw()</script>`, "", "", nil, browser.ByRepeat, "go"},
		} {
			t.Run(name, func(t *testing.T) {
				site.set(map[string]string{"/": tc.page, "/frame": tc.frame, "/act": tc.waiting})
				c := newContext(t, b)
				do(t, c, browser.Act{Kind: browser.Navigate, URL: "http://one.test/"})
				before := len(log.all())
				act := click("#go")
				act.Frame, act.Timeout = tc.frames, soon
				made := do(t, c, act)
				held := heldAfter(t, &log, before)
				if h := held[before]; h.Act() != made {
					t.Fatalf("held for %+v", h.Act())
				}
				c.Quiet(t.Context())
				how, err := c.Again(t.Context(), made, held[before], func(browser.How) error { return nil })
				if err != nil || how != tc.how {
					t.Fatalf("Again = %q, %v; want %q", how, err, tc.how)
				}
				heldAfter(t, &log, before+1)
				if got := site.requests(); !slices.Equal(got, []string{"go", tc.by}) {
					t.Errorf("asked %q", got)
				}
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// heldAfter waits for a response more than so many to be held.
func heldAfter(t *testing.T, log *heldLog, n int) []browser.Held {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if list := log.all(); len(list) > n {
			return list
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("no %d. response was held", n+1)
		}
	}
}
