package opsweb

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

// chrome is a Chromium without one: a driver whose tabs hold one page with one control, and a Continue control when
// asked to. A request of a page is paused like a real one, and goes on when it is released.
type chrome struct {
	browser.Engine // what is not scripted below is not called

	world  *world
	paused func(browser.Paused)
	gone   chan struct{}
	loads  sync.WaitGroup
	doing  atomic.Bool // an act is made for the first time

	mu       sync.Mutex
	marked   int // under what mark package browser knows the Continue control
	number   int
	released map[browser.PausedID]chan struct{}
	last     *tab
	script   []page
	live     func() page // answers in place of the script when it is set
	control  string      // the accessible name of the page's control
	cont     bool        // a Continue control is in the page
	dead     bool        // the control is not found any more
}

// page is what the website answers to one request of the act.
type page struct {
	fields   []string // lines of Poppy-Operation; %SID is the Session's
	status   int
	method   string // POST when empty
	url      string // that of the action when empty
	resource string // Document, or Fetch for a script's, when empty
	script   bool   // a script of the page asked, and its document stays
	cont     bool   // a Continue control comes with the answer
	dead     bool   // the page's control is gone after it
	renamed  bool   // another control stands in its place
	leaves   bool   // the tab goes to another page by itself, afterwards
	repeats  bool   // the page makes its request again by itself, and gets 200
	during   func() // while the response is held
}

// refused is the 403 of a form with a reference.
func refused(ref string) page {
	return page{status: http.StatusForbidden, fields: []string{`sid="%SID", ref="` + ref + `"`}}
}

// refusedScript is the 403 of a page's own script with a reference.
func refusedScript(ref string) page {
	p := refused(ref)
	p.script = true
	return p
}

var done = page{status: http.StatusOK}

func newChrome(w *world) *chrome {
	return &chrome{world: w, gone: make(chan struct{}), released: make(map[browser.PausedID]chan struct{}), control: "Exchange"}
}

func (c *chrome) Start(_ context.Context, _ browser.Process, paused func(browser.Paused)) (browser.Engine, error) {
	c.paused = paused
	return c, nil
}

func (c *chrome) Version() string { return "Chrome/0" }

func (c *chrome) next(what string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.number++
	return fmt.Sprintf("%s-%d", what, c.number)
}

func (c *chrome) NewContext(context.Context) (browser.ContextID, error) {
	return browser.ContextID(c.next("context")), nil
}

func (c *chrome) CloseContext(context.Context, browser.ContextID) error { return nil }

func (c *chrome) Cookies(context.Context, browser.ContextID) ([]browser.Cookie, error) {
	return nil, nil
}

func (c *chrome) NewTab(_ context.Context, _ browser.ContextID) (browser.Tab, error) {
	t := &tab{chrome: c, id: browser.TargetID(c.next("tab")), changed: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = t
	return t, nil
}

func (c *chrome) Targets(context.Context) ([]browser.Target, error) { return nil, nil }

func (c *chrome) Release(_ context.Context, id browser.PausedID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch, ok := c.released[id]; ok {
		close(ch)
		delete(c.released, id)
	}
	return nil
}

func (c *chrome) Fail(ctx context.Context, id browser.PausedID) error { return c.Release(ctx, id) }
func (c *chrome) Gone() <-chan struct{}                               { return c.gone }

func (c *chrome) Close(context.Context) error {
	c.mu.Lock()
	for id, ch := range c.released {
		close(ch)
		delete(c.released, id)
	}
	c.mu.Unlock()
	c.loads.Wait()
	close(c.gone)
	return nil
}

// send pauses a response and waits for its release. A response with the header is released only when its sighting is
// on disk.
func (c *chrome) send(p browser.Paused) {
	ch := make(chan struct{})
	c.mu.Lock()
	c.released[p.ID] = ch
	c.mu.Unlock()
	lines := len(c.world.disk.records())
	c.paused(p)
	<-ch
	for _, h := range p.Headers {
		if h.Name == Header && !c.world.disk.mayFail() && len(c.world.disk.records()) == lines {
			c.world.t.Error("a response with the header was released and no line of it is on disk")
		}
	}
}

// tab is a tab of it.
type tab struct {
	browser.Tab // what is not scripted below is not called

	chrome *chrome
	id     browser.TargetID

	mu       sync.Mutex
	document int
	active   int
	changed  chan struct{}
}

func (t *tab) ID() browser.TargetID                      { return t.id }
func (t *tab) SetDocument(context.Context, string) error { return nil }
func (t *tab) Type(context.Context, string) error        { return nil }
func (t *tab) Front(context.Context) error               { return nil }
func (t *tab) Close(context.Context) error               { return nil }

func (t *tab) Follow(context.Context) error { return nil }

func (t *tab) URL() string { return "" }

func (t *tab) Activity() (int, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active, t.changed
}

func (t *tab) Document() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprint(t.document)
}

func (t *tab) busy(by, documents int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active += by
	t.document += documents
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *tab) Navigate(_ context.Context, url string) error {
	t.busy(1, 0)
	t.chrome.send(browser.Paused{ID: browser.PausedID(t.chrome.next("p")), Frame: t.id, Resource: "Document", Method: http.MethodGet, URL: url, Status: http.StatusOK})
	t.busy(-1, 1)
	return nil
}

// The points of the viewport where the page's controls are.
const (
	atControl  = 10
	atContinue = 20
)

// Mouse acts when the button is released, as a page does.
func (t *tab) Mouse(_ context.Context, e browser.MouseEvent) error {
	if e.Action != browser.Released {
		return nil
	}
	how := "PRESS"
	if e.X == atContinue {
		how = "CONTINUE"
	}
	if !t.chrome.doing.Load() {
		t.again(how)
	}
	t.act()
	return nil
}

func (t *tab) Reload(context.Context) error {
	t.again("RELOAD")
	t.act()
	return nil
}

// again notes that the act is made again; what permits that must be on disk.
func (t *tab) again(how string) {
	w := t.chrome.world
	records := w.disk.records()
	if last := records[len(records)-1].Kind; last != "replaying" && last != "reference-gone" {
		w.t.Errorf("the act is made again and the last line on disk is %s", last)
	}
	w.note("%s", how)
}

// act makes the page's request, without waiting for its answer.
func (t *tab) act() {
	c := t.chrome
	c.mu.Lock()
	var p page
	switch {
	case c.live != nil:
		p = c.live()
	case len(c.script) == 0:
		c.world.t.Error("the website was asked once too often")
		p = done
	default:
		p, c.script = c.script[0], c.script[1:]
	}
	c.mu.Unlock()
	t.busy(1, 0)
	c.loads.Go(func() {
		defer t.busy(-1, 0)
		t.load(p)
	})
}

func (t *tab) load(p page) {
	c := t.chrome
	paused := browser.Paused{ID: browser.PausedID(c.next("p")), Frame: t.id, Resource: "Document", Method: http.MethodPost, URL: shopAction, Status: p.status}
	if p.script {
		paused.Resource = "Fetch"
	}
	if p.resource != "" {
		paused.Resource = p.resource
	}
	if p.method != "" {
		paused.Method = p.method
	}
	if p.url != "" {
		paused.URL = p.url
	}
	for _, line := range p.fields {
		paused.Headers = append(paused.Headers, browser.Header{Name: Header, Value: strings.ReplaceAll(line, "%SID", c.world.session.ID())})
	}
	if p.during != nil {
		p.during()
	}
	c.send(paused)
	c.mu.Lock()
	c.cont, c.dead = p.cont, c.dead || p.dead
	if p.renamed {
		c.control = "Something else"
	}
	c.mu.Unlock()
	if !p.script || p.leaves {
		t.busy(0, 1)
	}
	if p.repeats {
		again := paused
		again.ID, again.Status, again.Headers = browser.PausedID(c.next("p")), http.StatusOK, nil
		c.send(again)
	}
}

// CallIn is Call: the page has no other frame.
func (t *tab) CallIn(ctx context.Context, _ browser.TargetID, function string, result any, args ...any) error {
	return t.Call(ctx, function, result, args...)
}

// Frames lists the page alone.
func (t *tab) Frames(context.Context) ([]browser.Frame, error) {
	return []browser.Frame{{ID: t.id, Document: t.Document()}}, nil
}

// Element is the page's one control.
func (t *tab) Element(context.Context, browser.TargetID, string, ...any) (browser.Node, error) {
	return 1, nil
}

// Accessible is the page's one control, while it is there.
func (t *tab) Accessible(context.Context, browser.TargetID, *browser.AXQuery) ([]browser.AXNode, error) {
	t.chrome.mu.Lock()
	defer t.chrome.mu.Unlock()
	if t.chrome.dead {
		return nil, nil
	}
	return []browser.AXNode{{ID: "1", Node: 1}}, nil
}

// Call answers the functions that package browser calls in a page.
func (t *tab) Call(_ context.Context, function string, result any, args ...any) error {
	c := t.chrome
	c.mu.Lock()
	defer c.mu.Unlock()
	var value any = true
	switch {
	case strings.Contains(function, "(path, need, mark"):
		if path, mark := args[0], args[2].(int); path == nil && mark != 0 && mark == c.marked {
			value = map[string]any{"found": c.cont, "matches": 1, "shown": 1, "x": atContinue, "y": 1, "control": map[string]string{"tag": "button", "role": "button", "name": "Continue", "type": "submit"}}
			break
		}
		value = map[string]any{"found": !c.dead, "reason": "no match", "x": atControl, "y": 1, "page": "https://shop.test/order", "form": map[string]string{"order_id": "ord_1"},
			"control": map[string]string{"tag": "button", "role": "button", "name": c.control, "type": "submit"}}
		if !c.dead {
			value.(map[string]any)["matches"], value.(map[string]any)["shown"] = 1, 1
		}
	case strings.Contains(function, "continue$"):
		value = 0
		if c.cont {
			value, c.marked = 1, args[0].(int)
		}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, result)
}

// byItself has a page's script make its request long after any act of ours.
func (w *world) byItself(p page) {
	w.skip(time.Minute)
	w.chrome.mu.Lock()
	t := w.chrome.last
	w.chrome.mu.Unlock()
	t.load(p)
}
