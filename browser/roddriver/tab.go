package roddriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"

	"github.com/papaver-agent/papaver/browser"
)

// world is the name of the isolated world our functions run in.
const world = "papaver"

const dialogTimeout = 5 * time.Second // the answer to a page's dialog

// noSession is the code of Chromium's answer to a call on a session that has ended.
const noSession = -32001

// NewTab implements [browser.Engine].
func (e *engine) NewTab(ctx context.Context, id browser.ContextID) (browser.Tab, error) {
	type opened struct {
		tab *tab
		err error
	}
	done := make(chan opened)
	e.watch(func() {
		t, err := e.open(e.life, id) // its life is the Chromium's, so ctx is not given to it
		select {
		case done <- opened{t, err}:
		case <-ctx.Done(): // nobody waits any more, and it would be nobody's
			if err == nil {
				closing, cancel := context.WithTimeout(e.life, disposeTimeout)
				defer cancel()
				_, _ = proto.TargetCloseTarget{TargetID: t.id}.Call(e.on(closing)) // it is gone with its context at the latest
			}
		case <-e.life.Done():
		}
	})
	select {
	case o := <-done:
		if o.err != nil {
			return nil, o.err
		}
		return o.tab, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-e.life.Done():
		return nil, errLost
	}
}

// open opens a tab and attaches to it. One that cannot be attached to is closed again.
func (e *engine) open(ctx context.Context, id browser.ContextID) (*tab, error) {
	target, err := proto.TargetCreateTarget{URL: "about:blank", BrowserContextID: proto.BrowserBrowserContextID(id), NewWindow: true}.Call(e.on(ctx))
	if err != nil {
		return nil, err
	}
	t := &tab{engine: e, id: target.TargetID, activity: browser.NewActivity(), parts: make(map[proto.TargetSessionID]*part)}
	t.gone, t.end = context.WithCancelCause(e.life)
	if err := t.attach(ctx); err != nil {
		t.end(browser.ErrTabGone)
		_, closeErr := proto.TargetCloseTarget{TargetID: t.id}.Call(e.on(ctx))
		return nil, errors.Join(err, closeErr)
	}
	return t, nil
}

// tab implements [browser.Tab].
type tab struct {
	engine   *engine
	id       proto.TargetTargetID
	session  proto.TargetSessionID // written before the tab is anybody's
	gone     context.Context       // ends with the tab, its cause is ErrTabGone, or with the Chromium
	end      context.CancelCauseFunc
	activity *browser.Activity

	mu     sync.Mutex
	parts  map[proto.TargetSessionID]*part            // the processes it has frames in; its own is not among them
	places map[browser.TargetID]proto.TargetSessionID // of each frame, when they were last listed
}

// attach opens the tab's session and has it tell what happens in it.
func (t *tab) attach(ctx context.Context) error {
	attached, err := proto.TargetAttachToTarget{TargetID: t.id, Flatten: true}.Call(t.engine.on(ctx))
	if err != nil {
		return err
	}
	t.session = attached.SessionID
	t.engine.mu.Lock()
	t.engine.tabs[t.session] = t
	t.engine.mu.Unlock()
	return errors.Join(
		proto.PageEnable{}.Call(t.on(ctx)),
		proto.NetworkEnable{}.Call(t.on(ctx)),
	)
}

func (t *tab) on(ctx context.Context) session { return session{t.engine, ctx, t.session, t.gone} }

// event keeps count of what is under way. It is called in the order of the events, and must not block or call Chromium.
func (t *tab) event(session proto.TargetSessionID, method string, params []byte) {
	if method == "Network.dataReceived" { // the most frequent one, and it says nothing of that
		return
	}
	var ev struct {
		RequestID browser.RequestID `json:"requestId"`
		LoaderID  string            `json:"loaderId"`
		Type      string            `json:"type"` // of a request or of a dialog
		FrameID   proto.PageFrameID `json:"frameId"`
		Frame     struct {
			ID       proto.PageFrameID `json:"id"`
			LoaderID string            `json:"loaderId"`
		} `json:"frame"`
	}
	if json.Unmarshal(params, &ev) != nil {
		return
	}
	main := ev.FrameID == proto.PageFrameID(t.id)
	switch method {
	case "Network.requestWillBeSent":
		if t.engine.sent != nil {
			t.engine.sent(t.ID(), ev.RequestID, t.activity.Busy())
		}
		t.activity.Sent(ev.RequestID, ev.LoaderID, ev.Type, main)
		t.sentBy(session, ev.RequestID)
	case "Network.responseReceived", "Network.loadingFinished", "Network.loadingFailed":
		t.activity.Answered(ev.RequestID)
		t.answeredTo(session, ev.RequestID)
	case "Page.frameRequestedNavigation":
		if main {
			t.activity.Coming()
		}
	case "Page.frameStartedLoading":
		if main {
			t.activity.Loading()
		}
	case "Page.frameStoppedLoading":
		if main {
			t.activity.Loaded()
		}
	case "Page.frameNavigated":
		if ev.Frame.ID == proto.PageFrameID(t.id) {
			t.activity.Committed(ev.Frame.LoaderID)
		}
	case "Page.javascriptDialogOpening":
		t.engine.watch(func() {
			ctx, cancel := context.WithTimeout(t.gone, dialogTimeout)
			defer cancel()
			_ = proto.PageHandleJavaScriptDialog{Accept: ev.Type == string(proto.PageDialogTypeBeforeunload)}.Call(t.on(ctx)) // it may be gone
		})
	}
}

func (t *tab) Activity() (int, <-chan struct{}) { return t.activity.Count() }
func (t *tab) Document() string                 { return t.activity.Document() }
func (t *tab) ID() browser.TargetID             { return browser.TargetID(t.id) }

func (t *tab) Navigate(ctx context.Context, url string) error {
	res, err := proto.PageNavigate{URL: url}.Call(t.on(ctx))
	if err != nil {
		return wrap(err)
	}
	if res.ErrorText != "" {
		return &browser.LoadError{URL: url, Text: res.ErrorText}
	}
	return nil
}

func (t *tab) Reload(ctx context.Context) error { return wrap(proto.PageReload{}.Call(t.on(ctx))) }

func (t *tab) SetDocument(ctx context.Context, html string) error {
	return wrap(proto.PageSetDocumentContent{FrameID: proto.PageFrameID(t.id), HTML: html}.Call(t.on(ctx)))
}

// Click does not use rod's own click, which waits for ever for a tab in the back to draw.
func (t *tab) Click(ctx context.Context, x, y float64, count int) error {
	none, left := 0, 1
	for _, ev := range []proto.InputDispatchMouseEvent{
		{Type: proto.InputDispatchMouseEventTypeMouseMoved, Button: proto.InputMouseButtonNone, Buttons: &none},
		{Type: proto.InputDispatchMouseEventTypeMousePressed, Button: proto.InputMouseButtonLeft, Buttons: &left},
		{Type: proto.InputDispatchMouseEventTypeMouseReleased, Button: proto.InputMouseButtonLeft, Buttons: &none},
	} {
		ev.X, ev.Y, ev.ClickCount = x, y, count
		if err := ev.Call(t.on(ctx)); err != nil {
			return wrap(err)
		}
	}
	return nil
}

func (t *tab) Type(ctx context.Context, text string) error {
	return wrap(proto.InputInsertText{Text: text}.Call(t.on(ctx)))
}

func (t *tab) SetViewport(ctx context.Context, width, height int) error {
	return wrap(proto.EmulationSetDeviceMetricsOverride{Width: width, Height: height}.Call(t.on(ctx)))
}

func (t *tab) Front(ctx context.Context) error { return wrap(proto.PageBringToFront{}.Call(t.on(ctx))) }
func (t *tab) Close(ctx context.Context) error { return wrap(proto.PageClose{}.Call(t.on(ctx))) }

// wrap says of Chromium's own answer for a tab that is gone that it is.
func wrap(err error) error {
	var answer *cdp.Error
	if errors.As(err, &answer) && answer.Code == noSession {
		return fmt.Errorf("%w: %w", browser.ErrTabGone, err)
	}
	return err
}
