package browser

import (
	"context"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/internal/secret"
)

const (
	submitTimeout = 30 * time.Second       // a form and the redirects after it
	freshTimeout  = 10 * time.Second       // a new tab in the place of one whose form went wrong
	quietLimit    = 5 * time.Second        // how long an act waits for the requests it caused
	replayLimit   = 15 * time.Second       // the same for an act that is made again
	calmFor       = 100 * time.Millisecond // without a request under way: quiet
	actWindow     = 5 * time.Second        // how long after it a request may still be of an act
	actLimit      = 30 * time.Second       // the same while others of its requests are under way without a break
	maxAsked      = 4096                   // requests whose act is remembered
)

// Context is one browser context: cookies and storage of its own, empty at first, and the tab we act in. There is one
// for each Session, so that what a context receives is its Session's. Its methods are safe for concurrent use and run
// one after another.
type Context struct {
	browser *Browser
	id      ContextID

	acting sync.Mutex // held by whoever acts in the tab
	tab    *tabState  // changed under acting and mu, so that either is enough to read it

	opening sync.Mutex // held while a tab of our own is being opened

	private private // what was entered as secrets

	// These are guarded by acting.
	marks       int // elements that were looked for, each remembered in its document under its number
	refs        *refs
	keyboard    keyboard                    // what is held of it
	uploadFrom  []string                    // folders, see AllowUploads
	afterDialog func(context.Context) error // releases what was down when a dialog opened

	mu         sync.Mutex
	main       *tabState               // MainTab; changed under acting too
	tabs       []*tabState             // the open ones, the oldest first
	adopting   int                     // tabs that pages opened and that are not ours yet
	closedTabs []TargetID              // the last ones
	dialogs    Dialogs                 // what becomes of dialogs
	askedLimit time.Duration           // how long one that is to be handled stays open
	during     Dialogs                 // the same in the act that is being made; empty for no difference
	open       *openDialog             // the dialog that is to be handled
	interrupt  context.CancelCauseFunc // ends the act that is being made, when a dialog opens
	present    *Made                   // the last act
	began      time.Time
	made       int
	asked      map[RequestID]asked // the last requests
	order      []RequestID         // of asked, oldest first
}

// NewContext opens an empty browser context with one tab on about:blank.
func (b *Browser) NewContext(ctx context.Context) (*Context, error) {
	id, err := b.engine.NewContext(ctx)
	if err != nil {
		return nil, b.gone(fmt.Errorf("a browser context: %w", err))
	}
	c := &Context{browser: b, id: id, askedLimit: askedLimit, asked: make(map[RequestID]asked), refs: newRefs()}
	if err := c.openTab(ctx); err != nil {
		return nil, errors.Join(err, b.engine.CloseContext(context.WithoutCancel(ctx), id))
	}
	b.mu.Lock()
	b.contexts[id] = c
	b.mu.Unlock()
	return c, nil
}

// newTab opens a tab of the context and watches it.
func (c *Context) newTab(ctx context.Context) (*tabState, error) {
	b := c.browser
	c.opening.Lock()
	defer c.opening.Unlock()
	tab, err := b.engine.NewTab(ctx, c.id)
	if err != nil {
		return nil, b.gone(fmt.Errorf("a tab: %w", err))
	}
	state := newTabState(tab, c.id)
	b.mu.Lock()
	b.tabs[tab.ID()] = state
	b.mu.Unlock()
	return state, nil
}

// openTab opens a tab to act in. It is the main one when there is none.
func (c *Context) openTab(ctx context.Context) error {
	state, err := c.newTab(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tab = state
	c.tabs = append(c.tabs, state)
	if c.main == nil || c.main.closed {
		c.main = state
	}
	return nil
}

// freshTab puts a new, blank tab in the place of the one we act in: no script of an earlier page can reach into it. The
// old one is closed and not forgotten: an answer to its form that is on its way is still looked at.
func (c *Context) freshTab(ctx context.Context) error {
	old := c.tab
	if err := c.openTab(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	old.closed = true
	c.tabs = slices.DeleteFunc(c.tabs, func(t *tabState) bool { return t == old })
	if c.main == old {
		c.main = c.tab
	}
	c.mu.Unlock()
	if err := old.tab.Close(ctx); !errors.Is(err, ErrTabGone) {
		return c.browser.gone(err)
	}
	return nil
}

// ID names the context.
func (c *Context) ID() ContextID { return c.id }

// Close releases the keys that are held, closes the tabs and forgets the context's cookies and storage.
func (c *Context) Close(ctx context.Context) error {
	c.acting.Lock()
	defer c.acting.Unlock()
	c.keyboard.releaseAll(ctx, c.tab.tab)
	b := c.browser
	b.mu.Lock()
	delete(b.contexts, c.id)
	maps.DeleteFunc(b.tabs, func(_ TargetID, t *tabState) bool { return t.context == c.id })
	maps.DeleteFunc(b.frames, func(_ TargetID, t *tabState) bool { return t.context == c.id })
	b.mu.Unlock()
	return b.gone(b.engine.CloseContext(ctx, c.id))
}

// Field is one field of a form.
type Field struct {
	Name  string
	Value secret.Text
}

// Landing is where a submitted form led.
type Landing struct {
	First int    // the status of the form's own response
	URL   string // of the page at the end of the redirects
	Last  int    // its status
}

// ErrRepost is returned when the answer to a submitted form was a 307 or 308. It was broken off: it would have posted
// the fields again, to wherever it said.
var ErrRepost = errors.New("the form's answer was a redirect that posts it again, and was broken off")

// SubmitForm posts fields to action as a form of a fresh, blank document: its Origin is null, nothing of it is in a URL,
// and no entry of the history holds it. It follows 301, 302 and 303 with the browser and returns where that ended. When
// no page came, Landing is what is known and the error says so. After any error the tab we act in is a fresh, blank one:
// the form could still be in the old one, or on its way.
func (c *Context) SubmitForm(ctx context.Context, action string, fields []Field) (Landing, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	ctx, cancel := c.browser.within(ctx, submitTimeout, context.DeadlineExceeded)
	defer cancel()
	var l Landing
	var err error
	if c.tab.used() {
		err = c.freshTab(ctx)
	}
	if err == nil {
		l, err = c.submit(ctx, c.tab, action, fields)
	}
	if err == nil || errors.Is(err, ErrGone) {
		return l, err
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), freshTimeout)
	defer cancel()
	return l, errors.Join(err, c.freshTab(ctx))
}

// SubmitAside is SubmitForm in a tab of its own, which is closed again: the page in the tab we act in stays as it is. What
// the form's answer sets, such as a cookie, is the context's.
func (c *Context) SubmitAside(ctx context.Context, action string, fields []Field) (Landing, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	ctx, cancel := c.browser.within(ctx, submitTimeout, context.DeadlineExceeded)
	defer cancel()
	aside, err := c.newTab(ctx)
	if err != nil {
		return Landing{}, err
	}
	l, err := c.submit(ctx, aside, action, fields)
	if errors.Is(err, ErrGone) {
		return l, err
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), freshTimeout)
	defer cancel()
	return l, errors.Join(err, c.browser.gone(errors.Join(aside.tab.Close(ctx), c.tab.tab.Front(ctx))))
}

// submit posts the fields from a tab and follows where that leads.
func (c *Context) submit(ctx context.Context, in *tabState, action string, fields []Field) (Landing, error) {
	in.expect()
	defer in.submitted()
	left := in.tab.Document()
	if err := in.tab.SetDocument(ctx, formDocument(action, fields)); err != nil {
		return Landing{}, c.browser.gone(fmt.Errorf("the form's document: %w", err))
	}
	// The document is written and not loaded, so its form is sent by us and not by a script of its own.
	if err := in.tab.Call(ctx, `() => { document.forms[0].submit(); return true }`, new(bool)); err != nil {
		return Landing{}, c.browser.gone(fmt.Errorf("the form was not sent: %w", err))
	}
	hops, err := in.landing(ctx)
	var l Landing
	if len(hops) > 0 {
		last := hops[len(hops)-1]
		l = Landing{First: hops[0].Status, URL: last.URL, Last: last.Status}
	}
	switch {
	case err != nil:
		return l, c.browser.gone(fmt.Errorf("no page came after the form: %w", err))
	case l.Last == http.StatusTemporaryRedirect || l.Last == http.StatusPermanentRedirect:
		return l, ErrRepost
	case l.Last == 0:
		return l, errors.New("no page came after the form: the connection failed")
	}
	return l, c.quietIn(ctx, in, quietLimit, &left)
}

// formDocument is the whole document of a form. It names no character set, sends no referrer and loads nothing.
func formDocument(action string, fields []Field) string {
	var b strings.Builder
	b.WriteString(`<!doctype html><meta name="referrer" content="no-referrer"><form method="post" action="`)
	b.WriteString(html.EscapeString(action) + `">`)
	for _, f := range fields {
		b.WriteString(`<input type="hidden" name="` + html.EscapeString(f.Name) + `" value="` + html.EscapeString(f.Value.Reveal()) + `">`)
	}
	b.WriteString(`</form>`)
	return b.String()
}

// begin notes that an act begins, and with it the time in which responses belong to it.
func (c *Context) begin(m *Made) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	m.Number, m.tab, m.Began = c.made, c.tab.tab.ID(), c.browser.cfg.Now()
	c.present, c.began = m, m.Began
	c.tab.acts()
}

// Refused returns method and URL of the first request of m's page that was answered with 403 since m began, and false when
// there is none: only navigations of the page itself and its requests that may change something count. It is false
// too when another act was made since, unless that made m again.
func (c *Context) Refused(m *Made) (method, url string, refused bool) {
	c.acting.Lock()
	defer c.acting.Unlock()
	c.mu.Lock()
	last := c.present
	c.mu.Unlock()
	if m == nil || last == nil || (last != m && last.Again != m) {
		return "", "", false
	}
	p, refused := c.tabOf(last).refused()
	return p.Method, p.URL, refused
}
