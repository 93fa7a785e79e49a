package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

const (
	shopDomain   = "shop.test"
	shopEndpoint = "https://shop.test/poppy/operations"
	shopAction   = "https://shop.test/exchange"
)

// chrome is a Chromium without one, as a driver of package browser: one tab, whose page has the action's control and,
// by seed, a Continue control. The page asks by a form or by a script, and may ask again by itself.
type chrome struct {
	browser.Engine // what is not scripted below is not called

	p      *process
	paused func(browser.Paused)
	sent   func(browser.SentRequest)
	gone   chan struct{}
	loads  sync.WaitGroup
	doing  atomic.Bool // an act is made for the first time

	mu       sync.Mutex
	marked   int // under what mark package browser knows the Continue control
	dead     bool
	number   int
	act      int // the last act of the User's
	repeats  int // of the page by itself
	released map[browser.PausedID]chan struct{}
	script   bool
	cont     bool
	control  bool
}

// maxRepeats is how often the pages of a Chromium ask again by themselves: each of them may again be refused and ask again.
const maxRepeats = 100

var errGone = errors.New("chromium has ended")

func (c *chrome) Start(_ context.Context, pr browser.Process, paused func(browser.Paused)) (browser.Engine, error) {
	c.paused, c.sent = paused, pr.Sent
	return c, os.RemoveAll(pr.ProfileDir)
}

func (c *chrome) Version() string { return "Chrome/0" }

func (c *chrome) next(what string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.number++
	return fmt.Sprintf("%s-%d-%d", what, c.p.number, c.number)
}

func (c *chrome) NewContext(context.Context) (browser.ContextID, error) {
	return browser.ContextID(c.next("context")), nil
}

func (c *chrome) CloseContext(context.Context, browser.ContextID) error { return nil }

func (c *chrome) Cookies(context.Context, browser.ContextID) ([]browser.Cookie, error) {
	return nil, nil
}

func (c *chrome) NewTab(context.Context, browser.ContextID) (browser.Tab, error) {
	return &tab{c: c, id: browser.TargetID(c.next("tab")), changed: make(chan struct{})}, nil
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
	c.end()
	return nil
}

func (c *chrome) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dead {
		c.dead = true
		close(c.gone)
	}
}

func (c *chrome) isGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// send pauses a response and waits for its release.
func (c *chrome) send(p browser.Paused) {
	ch := make(chan struct{})
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return
	}
	c.released[p.ID] = ch
	c.mu.Unlock()
	c.paused(p)
	select {
	case <-ch:
	case <-c.gone:
	}
}

// tab is the tab of it.
type tab struct {
	browser.Tab // what is not scripted below is not called

	c  *chrome
	id browser.TargetID

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
	t.c.send(browser.Paused{ID: browser.PausedID(t.c.next("p")), Frame: t.id, Resource: "Document", Method: http.MethodGet, URL: url, Status: http.StatusOK})
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
	if e.X == atContinue {
		return t.acts("presses Continue")
	}
	return t.acts("presses the control")
}

func (t *tab) Reload(context.Context) error { return t.acts("reloads") }

// acts makes the page's request because of what the agent does.
func (t *tab) acts(how string) error {
	c := t.c
	if c.isGone() {
		return errGone
	}
	if c.doing.Load() {
		c.p.story("the act: it %s", how)
	} else {
		if c.p.crashes(crashAtClick) {
			return errGone
		}
		c.p.story("again: it %s", how)
		c.p.world.mu.Lock()
		c.p.world.judge.actsAgain(c.p)
		c.p.world.mu.Unlock()
	}
	c.mu.Lock()
	act := c.act
	c.mu.Unlock()
	if c.p.world.chance.meetsAt(chromiumDies, 0.1) {
		c.p.story("Chromium dies")
		c.p.world.background.Go(func() { wait(c.p.world.chance.between("page", 0, time.Second)); c.end() })
	}
	t.asks(act)
	return nil
}

// asks makes the page's request, without waiting for its answer.
func (t *tab) asks(act int) {
	n, _ := t.Activity()
	t.busy(1, 0)
	request := browser.RequestID(t.c.next("q"))
	t.c.sent(browser.SentRequest{Tab: t.id, Frame: t.id, ID: request, Method: http.MethodPost, URL: shopAction, Busy: n > 0})
	t.c.loads.Go(func() {
		defer t.busy(-1, 0)
		t.load(act, request)
	})
}

type siteAnswer struct {
	status int
	ref    string
}

func (t *tab) load(act int, request browser.RequestID) {
	c, w := t.c, t.c.p.world
	got, there := t.travels(act)
	if !there {
		return
	}
	c.mu.Lock()
	script := c.script
	c.mu.Unlock()
	p := browser.Paused{ID: browser.PausedID(c.next("p")), Request: request, Frame: t.id, Resource: "Document", Method: http.MethodPost, URL: shopAction, Status: got.status}
	if script {
		p.Resource = "Fetch"
	}
	if got.ref != "" {
		p.Headers = []browser.Header{{Name: "Poppy-Operation", Value: c.header(got.ref)}}
	}
	c.p.story("page <- %d %s", got.status, got.ref)
	c.send(p)
	if w.chance.meets(answerRepeated) {
		wait(w.chance.between("page", time.Millisecond, 2*time.Second), c.gone)
		p.ID = browser.PausedID(c.next("p"))
		c.send(p)
	}
	c.mu.Lock()
	c.cont = got.status == http.StatusForbidden && act > 0 && w.chance.one("page", 3)
	if w.chance.meetsAt(controlGone, 0.5) {
		c.control = false
	}
	c.mu.Unlock()
	if !script || w.chance.meetsAt(pageLeaves, 0.5) {
		t.busy(0, 1)
	}
	if got.status != http.StatusForbidden {
		return
	}
	if w.chance.meetsAt(pageRepeats, 2) {
		times := 1 + w.chance.number("page", 4)
		c.loads.Go(func() {
			for range times {
				if !wait(w.chance.between("page", 500*time.Millisecond, 20*time.Second), c.gone) {
					return
				}
				c.mu.Lock()
				present := c.act // by now the User may have acted again
				c.repeats++
				tired := c.repeats > maxRepeats
				c.mu.Unlock()
				if tired {
					return
				}
				c.p.story("the page asks again by itself")
				t.asks(present)
			}
		})
	}
	if w.chance.meets(pageRepeatsLate) {
		c.loads.Go(func() {
			if wait(w.chance.between("page", 2*time.Minute, 40*time.Minute), c.gone) {
				c.p.story("the page asks again by itself, long after")
				t.asks(0)
			}
		})
	}
}

// header is the value of Poppy-Operation.
func (c *chrome) header(ref string) string {
	good := fmt.Sprintf(`sid=%q, ref=%q`, c.p.session.ID(), ref)
	if !c.p.world.chance.meetsAt(headerBad, 0.5) {
		return good
	}
	bad := []string{good + `, sid="ses_other"`, `sid="ses_other", ref="` + ref + `"`, `ref="` + ref + `"`, good + `, ref="a/b"`, good + ` "`, ""}
	return bad[c.p.world.chance.number("page", len(bad))]
}

// travels takes a request to the website and its answer back; false when the Chromium has ended meanwhile.
func (t *tab) travels(act int) (siteAnswer, bool) {
	c, w := t.c, t.c.p.world
	ch := w.chance
	if ch.meets(siteRequestLost) {
		return siteAnswer{}, wait(ch.between("site", 100*time.Millisecond, 8*time.Second), c.gone)
	}
	arrives := ch.between("site", 5*time.Millisecond, 300*time.Millisecond)
	if ch.meets(siteLate) {
		arrives = ch.between("site", 3*time.Second, 45*time.Second)
	}
	answers := make(chan siteAnswer, 2)
	deliver := func(after time.Duration) {
		w.background.Go(func() { wait(after); answers <- w.website(c.p, act) })
	}
	deliver(arrives)
	if ch.meets(siteRequestTwice) {
		// The connection broke, and Chromium made the request again.
		if !received(answers, c.gone) {
			return siteAnswer{}, false
		}
		c.p.story("Chromium makes the request twice")
		deliver(ch.between("site", 5*time.Millisecond, 3*time.Second))
	}
	var got siteAnswer
	select {
	case got = <-answers:
	case <-c.gone:
		return siteAnswer{}, false
	}
	if !wait(ch.between("site", 5*time.Millisecond, 300*time.Millisecond), c.gone) {
		return siteAnswer{}, false
	}
	if ch.meets(siteAnswerLost) {
		return siteAnswer{}, true
	}
	return got, true
}

func received(answers <-chan siteAnswer, gone <-chan struct{}) bool {
	select {
	case <-answers:
		return true
	case <-gone:
		return false
	}
}

// website answers a browser's request.
func (w *world) website(p *process, act int) siteAnswer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chance.meetsAt(siteError, 0.5) {
		return siteAnswer{status: http.StatusInternalServerError}
	}
	status, ref := w.company.site(p.session.ID(), act)
	if w.chance.meetsAt(siteErrorDone, 0.5) {
		return siteAnswer{status: http.StatusBadGateway}
	}
	return siteAnswer{status, ref}
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
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if !t.c.control {
		return nil, nil
	}
	return []browser.AXNode{{ID: "1", Node: 1}}, nil
}

// Call answers the functions that package browser calls in a page.
func (t *tab) Call(_ context.Context, function string, result any, args ...any) error {
	c := t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return errGone
	}
	var value any = true
	switch {
	case strings.Contains(function, "(path, need, mark"):
		if path, mark := args[0], args[2].(int); path == nil && mark != 0 && mark == c.marked {
			value = map[string]any{"found": c.cont, "matches": 1, "shown": 1, "x": atContinue, "y": 1, "control": map[string]string{"tag": "button", "role": "button", "name": "Continue", "type": "submit"}}
			break
		}
		value = map[string]any{"found": c.control, "reason": "no match", "x": atControl, "y": 1, "page": "https://shop.test/order", "form": map[string]string{"order_id": "ord_1"},
			"control": map[string]string{"tag": "button", "role": "button", "name": "Exchange", "type": "submit"}}
		if c.control {
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

// joined is a joined browser context. Whoever acts in it takes its turn here first: a mutex, as the real one's, would
// stop the time of a bubble.
type joined struct {
	*browser.Context
	c    *chrome
	turn chan struct{}
}

func (j *joined) Again(ctx context.Context, m *browser.Made, h browser.Held, permit func(browser.How) error) (browser.How, error) {
	j.turn <- struct{}{}
	defer func() { <-j.turn }()
	return j.Context.Again(ctx, m, h, permit)
}

func (j *joined) Refused(m *browser.Made) (method, url string, refused bool) {
	j.turn <- struct{}{}
	defer func() { <-j.turn }()
	return j.Context.Refused(m)
}

// do makes an act of the User's.
func (j *joined) do(ctx context.Context, act browser.Act, number int) error {
	j.turn <- struct{}{}
	defer func() { <-j.turn }()
	j.c.mu.Lock()
	j.c.act = number
	j.c.mu.Unlock()
	j.c.doing.Store(true)
	defer j.c.doing.Store(false)
	_, err := j.Context.Do(ctx, act)
	return err
}
