package chromedpdriver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/papaver-agent/papaver/browser"
)

// world is the name of the isolated world our functions run in.
const world = "papaver"

const (
	dialogTimeout  = 5 * time.Second // the answer to a page's dialog
	disposeTimeout = 5 * time.Second // the end of what was begun and is not wanted
)

// NewTab implements [browser.Engine].
func (e *engine) NewTab(ctx context.Context, id browser.ContextID) (browser.Tab, error) {
	return e.tab(ctx, chromedp.WithExistingBrowserContext(cdp.BrowserContextID(id)))
}

// Attach implements [browser.Engine].
func (e *engine) Attach(ctx context.Context, id browser.TargetID) (browser.Tab, error) {
	return e.tab(ctx, chromedp.WithTargetID(target.ID(id)))
}

// tab is a new tab, or one that is there, as option says.
func (e *engine) tab(ctx context.Context, option chromedp.ContextOption) (browser.Tab, error) {
	t := &tab{engine: e, sent: e.sent, activity: browser.NewActivity()}
	tabCtx, closeTab := chromedp.NewContext(e.root, option, chromedp.WithListener(t.event))
	opened := make(chan error, 1)
	go func() { opened <- chromedp.Do(tabCtx) }() // its life is the browser's, so ctx cannot be given to it
	select {
	case err := <-opened:
		if err != nil {
			closeTab()
			return nil, err
		}
	case <-ctx.Done():
		// The tab may come yet, and would be nobody's. It can be closed when it is there, and not before.
		e.watch(func() {
			<-opened
			closeTab()
		})
		return nil, ctx.Err()
	}
	c := chromedp.FromContext(tabCtx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.target = c.Target
	t.main = cdp.FrameID(c.Target.TargetID)
	t.dialogs = func(d browser.Dialog) {
		if e.dialog != nil {
			e.dialog(t, d)
			return
		}
		e.watch(func() {
			ctx, cancel := context.WithTimeout(tabCtx, dialogTimeout)
			defer cancel()
			_ = t.AnswerDialog(ctx, d.Type == string(page.DialogTypeBeforeunload), "") // it may be gone
		})
	}
	e.watch(func() { t.calmDown(tabCtx) })
	if early := t.early; early != nil {
		e.watch(func() { t.dialogs(*early) })
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tabs[t.ID()] = c.Target
	e.parts[c.Target.SessionID] = func() {
		e.mu.Lock()
		delete(e.tabs, t.ID())
		e.mu.Unlock()
		e.watch(closeTab) // what chromedp keeps of it goes with it
	}
	return t, nil
}

// calmDown switches off what chromedp has every tab tell of and nobody here wants to know: Chromium and we would work on
// it with each navigation.
func (t *tab) calmDown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, disposeTimeout)
	defer cancel()
	for _, method := range []string{log.Disable.Method, css.Disable.Method, dom.Disable.Method} {
		_ = t.target.Call(ctx, method, cdp.Empty{}, nil) // else it is told of, which costs time and nothing else
	}
	_ = t.target.Call(ctx, page.SetLifecycleEventsEnabled.Method, page.SetLifecycleEventsEnabledParams{}, nil)
}

// tab implements [browser.Tab].
type tab struct {
	engine   *engine
	target   *chromedp.Target // written before the tab is anybody's
	sent     func(browser.SentRequest)
	activity *browser.Activity
	telling  sync.Mutex // held while the Network domain is switched on or off

	mu      sync.Mutex
	ours    isolated                              // our world in the main frame's document
	slow    bool                                  // its network is emulated, which ends when its requests are not told of
	early   *browser.Dialog                       // one that opened before that
	dialogs func(browser.Dialog)                  // has a dialog answered; nil until the tab is there
	main    cdp.FrameID                           // empty until then
	parts   map[browser.TargetID]*part            // the processes it has frames in, by their first frame; its own is not among them
	places  map[browser.TargetID]*chromedp.Target // where each frame lives, as it was when they were last listed
}

// event keeps count of what is under way. chromedp calls it on the goroutine that reads the tab's messages, in their
// order; it must not block or call the browser.
func (t *tab) event(ev any) {
	t.mu.Lock()
	main := t.main
	t.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		id := browser.RequestID(ev.RequestID)
		if main != "" && t.sent != nil {
			r := browser.SentRequest{Tab: browser.TargetID(main), Frame: browser.TargetID(ev.FrameID), ID: id, Busy: t.activity.Busy()}
			if ev.Request != nil {
				r.Method, r.URL = ev.Request.Method, ev.Request.URL
			}
			t.sent(r)
		}
		if t.activity.Sent(id, string(ev.LoaderID), string(ev.Type), ev.FrameID == main) {
			t.engine.watch(t.unfollow)
		}
	case *network.EventResponseReceived:
		t.activity.Answered(browser.RequestID(ev.RequestID))
	case *network.EventLoadingFinished:
		t.activity.Answered(browser.RequestID(ev.RequestID))
	case *network.EventLoadingFailed:
		t.activity.Answered(browser.RequestID(ev.RequestID))
	case *page.EventFrameRequestedNavigation:
		if ev.FrameID == main {
			t.activity.Coming()
		}
	case *page.EventFrameStartedLoading:
		if ev.FrameID == main {
			t.activity.Loading()
		}
	case *page.EventFrameStoppedLoading:
		if ev.FrameID == main {
			t.activity.Loaded()
		}
	case *page.EventFrameNavigated:
		if ev.Frame.ID == main {
			t.activity.Committed(string(ev.Frame.LoaderID), ev.Frame.URL+ev.Frame.URLFragment)
		}
	case *page.EventNavigatedWithinDocument:
		if ev.FrameID == main {
			t.activity.Moved(ev.URL)
		}
	case *runtime.EventExecutionContextCreated:
		t.worldMade(ev.Context)
	case *runtime.EventConsoleAPICalled:
		t.said(string(ev.Type), ev.Args...)
	case *runtime.EventExceptionThrown:
		if d := ev.ExceptionDetails; d != nil {
			t.said("error", &runtime.RemoteObject{Description: d.Text}, d.Exception)
		}
	case *page.EventJavascriptDialogOpening:
		d := browser.Dialog{Type: string(ev.Type), Message: ev.Message, Default: ev.DefaultPrompt, URL: ev.URL}
		t.mu.Lock()
		dialogs := t.dialogs
		if dialogs == nil {
			t.early = &d
		}
		t.mu.Unlock()
		if dialogs != nil {
			dialogs(d)
		}
	}
}

// unfollow has Chromium tell of requests no more, since there are too many.
func (t *tab) unfollow() {
	t.telling.Lock()
	defer t.telling.Unlock()
	t.mu.Lock()
	keep := t.slow || t.main == ""
	t.mu.Unlock()
	if keep || !t.activity.Flooded() {
		return
	}
	ctx, cancel := context.WithTimeout(t.engine.root, disposeTimeout)
	defer cancel()
	_ = t.network(ctx, network.Disable) // else they are told of, which costs time and nothing else
}

// Follow implements [browser.Tab].
func (t *tab) Follow(ctx context.Context) error {
	t.telling.Lock()
	defer t.telling.Unlock()
	if !t.activity.Follow() {
		return nil
	}
	return t.network(ctx, cdp.Command[cdp.Empty, cdp.Empty]{Method: network.Enable.Method})
}

// network gives a command of the Network domain to each process of the tab. telling is held.
func (t *tab) network(ctx context.Context, command cdp.Command[cdp.Empty, cdp.Empty]) error {
	t.mu.Lock()
	targets := []*chromedp.Target{t.target}
	for _, p := range t.parts {
		targets = append(targets, p.target)
	}
	t.mu.Unlock()
	var err error
	for i, target := range targets {
		if _, e := cdp.Call(ctx, target, command, cdp.Empty{}); i == 0 {
			err = t.wrap(e) // a frame that has gone says nothing of the tab
		}
	}
	return err
}

// said hands a message of the tab's console on.
func (t *tab) said(level string, parts ...*runtime.RemoteObject) {
	t.mu.Lock()
	main := t.main
	t.mu.Unlock()
	if t.engine.console == nil || main == "" {
		return
	}
	var words []string
	for _, p := range parts {
		if p != nil {
			words = append(words, browser.ConsoleWord([]byte(p.Value), p.Description, string(p.Type)))
		}
	}
	t.engine.console(browser.TargetID(main), browser.ConsoleMessage{Level: level, Text: strings.Join(words, " ")})
}

func (t *tab) Activity() (int, <-chan struct{}) { return t.activity.Count() }
func (t *tab) Document() string                 { return t.activity.Document() }
func (t *tab) URL() string                      { return t.activity.URL() }

func (t *tab) ID() browser.TargetID { return browser.TargetID(t.target.TargetID) }

func (t *tab) Navigate(ctx context.Context, url string) error {
	res, err := cdp.Call(ctx, t.target, page.Navigate, page.NavigateParams{URL: url})
	if err != nil {
		return t.wrap(err)
	}
	if res.ErrorText != "" {
		return &browser.LoadError{URL: url, Text: res.ErrorText}
	}
	return nil
}

func (t *tab) Reload(ctx context.Context) error {
	_, err := cdp.Call(ctx, t.target, page.Reload, page.ReloadParams{})
	return t.wrap(err)
}

func (t *tab) SetDocument(ctx context.Context, html string) error {
	_, err := cdp.Call(ctx, t.target, page.SetDocumentContent, page.SetDocumentContentParams{FrameID: t.main, HTML: html})
	return t.wrap(err)
}

func (t *tab) Front(ctx context.Context) error {
	_, err := cdp.Call(ctx, t.target, page.BringToFront, cdp.Empty{})
	return t.wrap(err)
}

func (t *tab) Close(ctx context.Context) error {
	_, err := cdp.Call(ctx, t.target, page.Close, cdp.Empty{})
	return t.wrap(err)
}

func (t *tab) wrap(err error) error {
	if errors.Is(err, chromedp.ErrTargetDetached) {
		return fmt.Errorf("%w: %w", browser.ErrTabGone, err)
	}
	return err
}
