package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bytes"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/secret"
)

// gone is how long a test waits for what does not come.
const gone = 300 * time.Millisecond

// pages is a site of pages as they are given. Each has a function note, which writes a line into the page, and the site
// counts requests to paths that are no page.
type pages struct {
	*httptest.Server
	mu      sync.Mutex
	content map[string]string
	asked   map[string]int
}

func newPages(t *testing.T) *pages {
	t.Helper()
	p := &pages{content: make(map[string]string), asked: make(map[string]int)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked[r.Method+" "+r.URL.Path]++
		content, known := p.content[r.URL.Path]
		p.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		if known {
			_, _ = fmt.Fprint(w, `<!doctype html><meta charset=utf-8><link rel=icon href="data:,"><title>`+r.URL.Path[1:]+`</title>
<script>const note = (s) => { log.textContent += s + ' '; };</script><div id=log style="white-space:nowrap;height:20px"></div>`+content)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// page puts a page at a path and returns its URL.
func (p *pages) page(path, content string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.content[path] = content
	return p.URL + path
}

func (p *pages) count(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[what]
}

func on(selector string, act browser.Act) browser.Act {
	act.Selectors = [][]string{{selector}}
	return act
}

func value(s string) secret.Text { return secret.New(s) }

// said is what the page's scripts noted.
func said(t *testing.T, c *browser.Context) string {
	t.Helper()
	text, err := c.Text(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(first)
}

func TestActsDoWhatAPersonWould(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newPages(t)
		b := start(t, driver, func(context.Context, browser.Held) {})
		folder := t.TempDir()
		for _, name := range []string{"a.txt", "b.txt"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := newContext(t, b)
		if err := c.AllowUploads(folder); err != nil {
			t.Fatal(err)
		}
		const typed = `<input id=f value=old oninput="note('i:'+this.value)" onchange="note('c:'+this.value)">`
		for name, test := range map[string]struct {
			page string
			acts []browser.Act
			want string
		}{
			"every button": {
				`<button id=b>B</button><script>for (const n of ['mousedown','mouseup','auxclick','contextmenu']) b.addEventListener(n, (e) => { e.preventDefault(); if (n !== 'mouseup') note(n+e.button) })</script>`,
				[]browser.Act{
					on("#b", browser.Act{Kind: browser.Click, Pointer: browser.Pointer{Button: browser.Auxiliary}}),
					on("#b", browser.Act{Kind: browser.Click, Pointer: browser.Pointer{Button: browser.Secondary}}),
					on("#b", browser.Act{Kind: browser.Click, Pointer: browser.Pointer{Button: browser.BackButton}}),
					on("#b", browser.Act{Kind: browser.Click, Pointer: browser.Pointer{Button: browser.ForwardButton}}),
				},
				"mousedown1 auxclick1 mousedown2 contextmenu2 auxclick2 mousedown3 auxclick3 mousedown4 auxclick4",
			},
			"two presses": {
				`<button id=b onclick="note('click'+event.detail)" ondblclick="note('double')">B</button>`,
				[]browser.Act{on("#b", browser.Act{Kind: browser.DoubleClick}), on("#b", browser.Act{Kind: browser.Click})},
				"click1 click2 double click1",
			},
			"a long press": {
				`<button id=b onpointerdown="at=event.timeStamp" onpointerup="note(event.timeStamp-at>=150)">B</button>`,
				[]browser.Act{on("#b", browser.Act{Kind: browser.Click, Pointer: browser.Pointer{Duration: 160 * time.Millisecond}})},
				"true",
			},
			"a pen and a finger": {
				`<button id=b onpointerdown="note(event.pointerType)" onclick="note('click')">B</button>`,
				[]browser.Act{
					on("#b", browser.Act{Kind: browser.Click, Pointer: browser.Pointer{Device: browser.Pen}}),
					on("#b", browser.Act{Kind: browser.Click, Pointer: browser.Pointer{Device: browser.Touch}}),
				},
				"pen click touch click",
			},
			"a place in an element, and one that lies outside of it": {
				`<button id=b style="width:200px;height:60px;padding:0;border:0" onclick="note(event.offsetX+','+event.offsetY)">B</button>`,
				[]browser.Act{
					on("#b", browser.Act{Kind: browser.Click, Pointer: browser.Pointer{Offset: &browser.Point{X: 7, Y: 9}}}),
					on("#b", browser.Act{Kind: browser.Click, Pointer: browser.Pointer{Offset: &browser.Point{X: 700, Y: 9}}}),
				},
				"7,9 100,30",
			},
			"an element that is replaced when it is pressed": {
				`<button id=b onmousedown="this.outerHTML='<button onmouseup=note(\'up\')>C</button>'">B</button>`,
				[]browser.Act{on("#b", browser.Act{Kind: browser.Click})},
				"up",
			},
			"the pointer stays where it is": {
				`<style>#m{display:none} #h:hover #m{display:block}</style><div id=h>menu<div id=m><button id=b onclick="note('in')">B</button></div></div>`,
				[]browser.Act{on("#h", browser.Act{Kind: browser.Hover}), on("#b", browser.Act{Kind: browser.Click})},
				"in",
			},
			"a value in the place of another": {
				typed, []browser.Act{on("#f", browser.Act{Kind: browser.Change, Value: value("new")})}, "i:new",
			},
			"a value is changed once, when its field is left": {
				typed, []browser.Act{on("#f", browser.Act{Kind: browser.Change, Value: value("new")}), {Kind: browser.Press, Key: "Tab"}}, "i:new c:new",
			},
			"a value that is typed behind another": {
				typed + `<script>f.addEventListener('keydown', (e) => note(e.code+e.key))</script>`,
				[]browser.Act{on("#f", browser.Act{Kind: browser.Type, Value: value("Aß")})},
				"KeyAA i:oldA i:oldAß",
			},
			"no value": {
				typed, []browser.Act{on("#f", browser.Act{Kind: browser.Clear}), {Kind: browser.Press, Key: "Tab"}}, "i: c:",
			},
			"fields whose value is chosen": {
				`<input id=d type=date onchange="note(value)"><input id=c type=color onchange="note(value)"><input id=r type=range onchange="note(value)"><input id=n type=number value=1 onchange="note(value)">`,
				[]browser.Act{
					on("#d", browser.Act{Kind: browser.Change, Value: value("2031-02-03")}), on("#c", browser.Act{Kind: browser.Change, Value: value("#A0b0c0")}),
					on("#r", browser.Act{Kind: browser.Change, Value: value("40")}), on("#n", browser.Act{Kind: browser.Change, Value: value("12.5")}),
					on("#n", browser.Act{Kind: browser.Type, Value: value("7")}), {Kind: browser.Press, Key: "Tab"},
				},
				"2031-02-03 #a0b0c0 40 12.57",
			},
			"text that has a form of its own": {
				`<div id=e contenteditable oninput="note(innerText)">old</div><textarea id=a onchange="note(JSON.stringify(value))">old</textarea>`,
				[]browser.Act{on("#e", browser.Act{Kind: browser.Change, Value: value("two pots")}), on("#a", browser.Act{Kind: browser.Change, Value: value("x\ny")}), {Kind: browser.Press, Key: "Tab"}},
				`two pots "x\ny"`,
			},
			"options by value and by label": {
				`<select id=s onchange="note(value)"><option value=1>One<option value=2>Two<option value=3 disabled>Three</select><select id=m multiple onchange="note(Array.from(selectedOptions,o=>o.value))"><option selected>a<option>b<option label="See">c</select>`,
				[]browser.Act{
					on("#s", browser.Act{Kind: browser.Change, Value: value("2")}), on("#s", browser.Act{Kind: browser.Select, Options: []string{" One "}}),
					on("#m", browser.Act{Kind: browser.Select, Options: []string{"b", "See"}}), on("#m", browser.Act{Kind: browser.Select}),
				},
				"2 1 b,c",
			},
			"what is checked stays so": {
				`<input id=c type=checkbox onclick="note(checked)"><div id=w role=switch aria-checked=false onclick="ariaChecked=String(ariaChecked!=='true');note(ariaChecked)">W</div>`,
				[]browser.Act{
					on("#c", browser.Act{Kind: browser.Check}), on("#c", browser.Act{Kind: browser.Check}), on("#c", browser.Act{Kind: browser.Uncheck}),
					on("#w", browser.Act{Kind: browser.Check}), on("#c", browser.Act{Kind: browser.Change, Value: value("true")}),
				},
				"true false true true",
			},
			"files": {
				`<input id=f type=file multiple onchange="note(Array.from(files,f=>f.name+f.size))">`,
				[]browser.Act{on("#f", browser.Act{Kind: browser.Upload, Files: []string{filepath.Join(folder, "a.txt"), filepath.Join(folder, "b.txt")}})},
				"a.txt1,b.txt1",
			},
			"a chord, and keys that are held": {
				typed + `<input id=g onfocus="note('g')"><script>f.addEventListener('keydown', (e) => note([e.code,e.shiftKey,e.ctrlKey]))</script>`,
				[]browser.Act{
					on("#f", browser.Act{Kind: browser.Press, Key: "Control+a"}), {Kind: browser.Press, Key: "x"},
					{Kind: browser.Press, Key: "Tab"}, {Kind: browser.KeyDown, Key: "Shift"}, {Kind: browser.Press, Key: "Tab"}, {Kind: browser.Press, Key: "y"}, {Kind: browser.KeyUp, Key: "Shift"},
				},
				"ControlLeft,false,true KeyA,false,true KeyX,false,false i:x Tab,false,false c:x g KeyY,true,false i:Y",
			},
			"scrolling a page and an element": {
				`<div id=s style="height:100px;width:100px;overflow:auto" onscroll="note(scrollTop)"><div style="height:900px">x</div></div><div style="height:5000px"></div><script>document.onscroll=()=>note('page'+scrollY)</script>`,
				[]browser.Act{
					on("#s", browser.Act{Kind: browser.Scroll, Scrolling: browser.Scrolling{Y: 50}}),
					on("#s", browser.Act{Kind: browser.Scroll, Scrolling: browser.Scrolling{Y: 10, By: true}}),
					{Kind: browser.Scroll, Scrolling: browser.Scrolling{Y: 700}},
				},
				"50 60 page700",
			},
		} {
			t.Run(name, func(t *testing.T) {
				do(t, c, browser.Act{Kind: browser.Navigate, URL: site.page("/page", test.page)})
				for _, act := range test.acts {
					do(t, c, act)
				}
				if got := said(t, c); got != test.want {
					t.Errorf("the page noted\n%s\nwant\n%s", got, test.want)
				}
			})
		}
	})
}

func TestAnActSaysWhatItSawInstead(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newPages(t)
		b := start(t, driver, func(context.Context, browser.Held) {})
		c := newContext(t, b)
		allowed, other := t.TempDir(), t.TempDir()
		hidden := filepath.Join(other, "hidden")
		if err := os.WriteFile(hidden, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(allowed, "link")
		if err := os.Symlink(hidden, link); err != nil {
			t.Fatal(err)
		}
		if err := c.AllowUploads(allowed); err != nil {
			t.Fatal(err)
		}
		do(t, c, browser.Act{Kind: browser.Navigate, URL: site.page("/page", `<input id=short maxlength=2><input id=fixed readonly><input id=n type=number>
<select id=s><option>a<option disabled>b</select><input id=r type=radio><input id=f type=file><button id=b onclick="note('pressed')">B</button>`)})
		for name, test := range map[string]struct {
			act    browser.Act
			family error
			say    string
		}{
			"a value that is cut":       {on("#short", browser.Act{Kind: browser.Change, Value: value("s3cret")}), browser.ErrNotTaken, "the field holds something else"},
			"a field that is fixed":     {on("#fixed", browser.Act{Kind: browser.Change, Value: value("s3cret")}), nil, "read-only"},
			"no number":                 {on("#n", browser.Act{Kind: browser.Change, Value: value("s3cret")}), browser.ErrNotTaken, "something else"},
			"no such option":            {on("#s", browser.Act{Kind: browser.Select, Options: []string{"c"}}), browser.ErrNotTaken, `no such option that can be chosen: "c"`},
			"an option that is off":     {on("#s", browser.Act{Kind: browser.Change, Value: value("b")}), browser.ErrNotTaken, "no such option"},
			"two of one":                {on("#s", browser.Act{Kind: browser.Select, Options: []string{"a", "b"}}), browser.ErrNotTaken, "takes one option"},
			"no list":                   {on("#b", browser.Act{Kind: browser.Select, Options: []string{"a"}}), browser.ErrNotTaken, "no list"},
			"nothing to check":          {on("#b", browser.Act{Kind: browser.Check}), browser.ErrNotTaken, "nothing that can be checked"},
			"a link out of the folder":  {on("#f", browser.Act{Kind: browser.Upload, Files: []string{link}}), browser.ErrUpload, "no folder that was allowed"},
			"a file elsewhere":          {on("#f", browser.Act{Kind: browser.Upload, Files: []string{hidden}}), browser.ErrUpload, "no folder that was allowed"},
			"a folder":                  {on("#f", browser.Act{Kind: browser.Upload, Files: []string{allowed}}), browser.ErrUpload, "is no file"},
			"elements":                  {on("option", browser.Act{Kind: browser.Wait, Elements: browser.Elements{Count: 9}}), browser.ErrNotSeen, "visible elements match"},
			"no selector":               {on("[[", browser.Act{Kind: browser.Wait}), browser.ErrNotFound, "that is not a selector"},
			"a text":                    {browser.Act{Kind: browser.WaitText, Text: browser.Text{Is: "thanks"}}, browser.ErrNotSeen, `the page says "`},
			"a text that stays":         {browser.Act{Kind: browser.WaitText, Text: browser.Text{Is: "B", Gone: true}}, browser.ErrNotSeen, "the text is there"},
			"a URL":                     {browser.Act{Kind: browser.WaitURL, URL: "*/elsewhere"}, browser.ErrNotSeen, "the page is"},
			"an expression":             {browser.Act{Kind: browser.WaitExpression, Expression: "1 === 2"}, browser.ErrNotSeen, "the expression is not true"},
			"an expression that throws": {browser.Act{Kind: browser.WaitExpression, Expression: "nope.nope"}, browser.ErrNotSeen, "nope is not defined"},
			"a response":                {browser.Act{Kind: browser.WaitResponse, Response: browser.Response{URL: "*/never"}}, browser.ErrNotSeen, "respon"},
			"a tab":                     {browser.Act{Kind: browser.Press, Key: "a", Target: "https://pop.test/"}, browser.ErrNoTab, "/page"},
			"no dialog":                 {browser.Act{Kind: browser.HandleDialog}, browser.ErrNoDialog, ""},
			"no page before":            {browser.Act{Kind: browser.Forward}, browser.ErrNoHistory, ""},
		} {
			t.Run(name, func(t *testing.T) {
				if test.family == browser.ErrNotSeen || test.family == browser.ErrNoTab {
					test.act.Timeout = gone
				}
				_, err := c.Do(t.Context(), test.act)
				if err == nil || (test.family != nil && !errors.Is(err, test.family)) || !strings.Contains(err.Error(), test.say) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("err = %v, want %v with %q", err, test.family, test.say)
				}
			})
		}
		made, err := c.Do(t.Context(), on("#b", browser.Act{Kind: browser.Click, Timeout: gone, Expect: &browser.Navigation{URL: "*/elsewhere", Title: "There"}}))
		nav, ok := errors.AsType[*browser.NavigationError](err)
		if made == nil || !ok || nav.Title != "page" || !strings.Contains(err.Error(), "the click was made, and the navigation to ") {
			t.Errorf("made %v, err = %v", made, err)
		}
		if got := said(t, c); got != "pressed" {
			t.Errorf("the page noted %s", got)
		}
	})
}

func TestAnActWaitsForWhatItLeadsTo(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newPages(t)
		b := start(t, driver, func(context.Context, browser.Held) {})
		c := newContext(t, b)
		first := site.page("/first", `<button id=soft onclick="setTimeout(()=>{history.pushState(0,'','?tab=2');document.title='Soft'},200)">S</button>
<button id=hard onclick="location='/hop'">H</button><button id=call onclick="fetch('/call',{method:'POST'}).then(()=>log.textContent='answered')">C</button>
<button id=same onclick="setTimeout(()=>location.reload(),200)">R</button>`)
		site.page("/hop", `<script>setTimeout(()=>location.replace('/second'),200)</script>`)
		site.page("/second", `second`)
		do(t, c, browser.Act{Kind: browser.Navigate, URL: first, Expect: &browser.Navigation{URL: first, Title: "first"}})
		do(t, c, browser.Act{Kind: browser.Viewport, View: browser.View{Width: 500, Height: 400, Scale: 2, Touch: true, Landscape: true}})
		do(t, c, browser.Act{Kind: browser.WaitExpression, Expression: "[innerWidth, innerHeight, devicePixelRatio, navigator.maxTouchPoints > 0, screen.orientation.type].join() === '500,400,2,true,landscape-primary'"})
		do(t, c, on("#same", browser.Act{Kind: browser.Click, Expect: &browser.Navigation{URL: first}}))
		if n := site.count("GET /first"); n != 2 {
			t.Errorf("the page was asked for %d times", n)
		}
		do(t, c, on("#call", browser.Act{Kind: browser.Click}))
		do(t, c, browser.Act{Kind: browser.WaitResponse, Response: browser.Response{URL: "*/call", Method: "POST", Status: 200}})
		do(t, c, browser.Act{Kind: browser.WaitText, Text: browser.Text{Is: " answered "}})
		do(t, c, on("#soft", browser.Act{Kind: browser.Click, Expect: &browser.Navigation{URL: "*?tab=2", Title: "Soft"}}))
		do(t, c, browser.Act{Kind: browser.WaitExpression, Expression: "new Promise((r) => setTimeout(() => r(history.length > 1), 50))"})
		do(t, c, on("#hard", browser.Act{Kind: browser.Click, Expect: &browser.Navigation{URL: site.URL + "/second"}}))
		do(t, c, browser.Act{Kind: browser.Back})
		do(t, c, browser.Act{Kind: browser.WaitURL, URL: first + "?tab=2"})
		do(t, c, browser.Act{Kind: browser.Forward})
		do(t, c, browser.Act{Kind: browser.WaitURL, URL: "*/second"})
		before := site.count("GET /second")
		do(t, c, browser.Act{Kind: browser.Reload})
		if n := site.count("GET /second"); n != before+1 {
			t.Errorf("a reload made %d requests", n-before)
		}
		do(t, c, browser.Act{Kind: browser.EmulateNetwork, Network: browser.Network{Offline: true}})
		if _, err := c.Do(t.Context(), browser.Act{Kind: browser.Navigate, URL: first}); err == nil {
			t.Error("a page came over no network")
		}
		do(t, c, browser.Act{Kind: browser.EmulateNetwork})
		do(t, c, browser.Act{Kind: browser.Navigate, URL: first})
		shot, err := c.Screenshot(t.Context(), browser.Shot{Selectors: [][]string{{"#hard"}}})
		picture, decoded := png.Decode(bytes.NewReader(shot))
		if err != nil || decoded != nil || picture.Bounds().Dx() > 200 || picture.Bounds().Dy() > 60 {
			t.Errorf("a picture of a button: %d bytes, %v, %v", len(shot), err, decoded)
		}
	})
}

func TestElementsAreCountedAndComparedUntilTheyFit(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newPages(t)
		b := start(t, driver, func(context.Context, browser.Held) {})
		c := newContext(t, b)
		do(t, c, browser.Act{Kind: browser.Navigate, URL: site.page("/page", `<ul><li class=x data-n=1>a<li class=x>b<li class=x hidden>c</ul><input id=i value=v>`)})
		for name, test := range map[string]struct {
			selectors [][]string
			elements  browser.Elements
			fits      bool
		}{
			"one or more":                          {[][]string{{".x"}}, browser.Elements{}, true},
			"exactly the visible ones":             {[][]string{{".none"}, {".x"}, {"input"}}, browser.Elements{Operator: "==", Count: 2}, true},
			"more than there are":                  {[][]string{{".x"}}, browser.Elements{Count: 3}, false},
			"at most":                              {[][]string{{".x"}}, browser.Elements{Operator: "<=", Count: 2}, true},
			"none, and there are some":             {[][]string{{".x"}}, browser.Elements{Operator: "==", Counted: true}, false},
			"none":                                 {[][]string{{".none"}}, browser.Elements{Operator: "==", Counted: true}, true},
			"hidden, and it is not":                {[][]string{{".x"}}, browser.Elements{Hidden: true}, false},
			"hidden":                               {[][]string{{".x[hidden]"}}, browser.Elements{Hidden: true}, true},
			"those that nobody sees":               {[][]string{{".x"}}, browser.Elements{Operator: "==", Count: 3, Unseen: true}, true},
			"not the visible alone":                {[][]string{{".x"}}, browser.Elements{Operator: "==", Count: 2, Unseen: true}, false},
			"an attribute of one that nobody sees": {[][]string{{".x[hidden]"}}, browser.Elements{Unseen: true, Attributes: map[string]string{"data-n": "9"}}, false},
			"there, unseen":                        {[][]string{{".x[hidden]"}}, browser.Elements{Unseen: true, Hidden: true}, false},
			"a property":                           {[][]string{{"#i"}}, browser.Elements{Properties: map[string]json.RawMessage{"value": json.RawMessage(`"v"`)}}, true},
			"another property":                     {[][]string{{"#i"}}, browser.Elements{Properties: map[string]json.RawMessage{"value": json.RawMessage(`"w"`)}}, false},
			"an attribute":                         {[][]string{{"#i"}}, browser.Elements{Attributes: map[string]string{"value": "v"}}, true},
			"an attribute of one":                  {[][]string{{".x"}}, browser.Elements{Attributes: map[string]string{"data-n": "1"}}, false},
		} {
			act := browser.Act{Kind: browser.Wait, Selectors: test.selectors, Elements: test.elements}
			if !test.fits {
				act.Timeout = gone
			}
			if _, err := c.Do(t.Context(), act); (err == nil) != test.fits || (err != nil && !errors.Is(err, browser.ErrNotSeen)) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestOnlyWebPagesAreOpened(t *testing.T) {
	for _, url := range []string{"file:///etc/passwd", "data:text/html,x", "javascript:alert(1)", "chrome://settings", "view-source:https://shop.test/", "blob:https://shop.test/x", "about:srcdoc", "https:///", "//shop.test/", "", "ABOUT:blank"} {
		for _, kind := range []browser.Kind{browser.Navigate, browser.NewTab} {
			if kind == browser.NewTab && url == "" {
				continue
			}
			if err := (browser.Act{Kind: kind, URL: url}).Validate(); !errors.Is(err, browser.ErrNotAWebPage) || !errors.Is(err, browser.ErrAct) {
				t.Errorf("%s %s: %v", kind, url, err)
			}
		}
	}
	for _, url := range []string{"about:blank", "https://shop.test/", "http://shop.test/x"} {
		if err := (browser.Act{Kind: browser.Navigate, URL: url}).Validate(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}
