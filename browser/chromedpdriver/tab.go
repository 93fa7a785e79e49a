package chromedpdriver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
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
	t := &tab{engine: e, sent: e.sent, activity: browser.NewActivity()}
	tabCtx, closeTab := chromedp.NewContext(e.root, chromedp.WithExistingBrowserContext(cdp.BrowserContextID(id)), chromedp.WithListener(t.event))
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
	t.dialogs = func(accept bool) {
		e.watch(func() {
			ctx, cancel := context.WithTimeout(tabCtx, dialogTimeout)
			defer cancel()
			_, _ = cdp.Call(ctx, c.Target, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: accept})
		})
	}
	return t, nil
}

// tab implements [browser.Tab].
type tab struct {
	engine   *engine
	target   *chromedp.Target // written before the tab is anybody's
	sent     func(browser.TargetID, browser.RequestID, bool)
	activity *browser.Activity

	mu      sync.Mutex
	dialogs func(accept bool)                     // answers a dialog; nil until the tab is there
	main    cdp.FrameID                           // empty until then
	parts   map[browser.TargetID]*part            // the processes it has frames in, by their first frame; its own is not among them
	places  map[browser.TargetID]*chromedp.Target // where each frame lives, as it was when they were last listed
}

// event keeps count of what is under way. chromedp calls it on the goroutine that reads the tab's messages, in their
// order; it must not block or call the browser.
func (t *tab) event(ev any) {
	t.mu.Lock()
	main, dialogs := t.main, t.dialogs
	t.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		id := browser.RequestID(ev.RequestID)
		if main != "" && t.sent != nil {
			t.sent(browser.TargetID(main), id, t.activity.Busy())
		}
		t.activity.Sent(id, string(ev.LoaderID), string(ev.Type), ev.FrameID == main)
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
			t.activity.Committed(string(ev.Frame.LoaderID))
		}
	case *page.EventJavascriptDialogOpening:
		if dialogs != nil {
			dialogs(ev.Type == page.DialogTypeBeforeunload)
		}
	}
}

func (t *tab) Activity() (int, <-chan struct{}) { return t.activity.Count() }
func (t *tab) Document() string                 { return t.activity.Document() }

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

func (t *tab) Click(ctx context.Context, x, y float64, count int) error {
	for _, ev := range []struct {
		kind    input.DispatchMouseEventType
		button  input.MouseButton
		buttons int64
	}{
		{chromedp.MouseMoved, input.MouseButtonNone, 0},
		{chromedp.MousePressed, input.MouseButtonLeft, 1},
		{chromedp.MouseReleased, input.MouseButtonLeft, 0},
	} {
		_, err := cdp.Call(ctx, t.target, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: ev.kind, X: x, Y: y, Button: ev.button, Buttons: ev.buttons, ClickCount: int64(count),
		})
		if err != nil {
			return t.wrap(err)
		}
	}
	return nil
}

func (t *tab) Type(ctx context.Context, text string) error {
	_, err := cdp.Call(ctx, t.target, input.InsertText, input.InsertTextParams{Text: text})
	return t.wrap(err)
}

func (t *tab) SetViewport(ctx context.Context, width, height int) error {
	_, err := cdp.Call(ctx, t.target, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(width), Height: int64(height),
	})
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
