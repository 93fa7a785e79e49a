package roddriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	return e.tab(ctx, func() (*tab, error) { return e.open(e.life, id) }) // its life is the Chromium's, so ctx is not given to it
}

// Attach implements [browser.Engine].
func (e *engine) Attach(ctx context.Context, id browser.TargetID) (browser.Tab, error) {
	return e.tab(ctx, func() (*tab, error) { return e.attach(e.life, proto.TargetTargetID(id)) })
}

// tab is the tab that open opens, unless ctx ends before that.
func (e *engine) tab(ctx context.Context, open func() (*tab, error)) (browser.Tab, error) {
	type opened struct {
		tab *tab
		err error
	}
	done := make(chan opened)
	e.watch(func() {
		t, err := open()
		select {
		case done <- opened{t, err}:
		case <-ctx.Done(): // nobody waits any more, and it would be nobody's
			if err == nil {
				closing, cancel := context.WithTimeout(e.life, disposeTimeout)
				defer cancel()
				_ = e.CloseTab(closing, t.ID()) // it is gone with its context at the latest
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
	t, err := e.attach(ctx, target.TargetID)
	if err != nil {
		return nil, errors.Join(err, e.CloseTab(ctx, browser.TargetID(target.TargetID)))
	}
	return t, nil
}

// attach attaches to a tab that is there.
func (e *engine) attach(ctx context.Context, id proto.TargetTargetID) (*tab, error) {
	t := &tab{engine: e, id: id, activity: browser.NewActivity(), parts: make(map[proto.TargetSessionID]*part)}
	t.gone, t.end = context.WithCancelCause(e.life)
	if err := t.attach(ctx); err != nil {
		t.end(browser.ErrTabGone)
		return nil, err
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
	telling  sync.Mutex // held while the Network domain is switched on or off

	mu     sync.Mutex
	slow   bool                                       // its network is emulated, which ends when its requests are not told of
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
		proto.RuntimeEnable{}.Call(t.on(ctx)), // for the console
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
		Request   struct {
			Method string `json:"method"`
			URL    string `json:"url"`
		} `json:"request"`
		Type    string            `json:"type"` // of a request or of a dialog
		FrameID proto.PageFrameID `json:"frameId"`
		Frame   struct {
			ID       proto.PageFrameID `json:"id"`
			LoaderID string            `json:"loaderId"`
			URL      string            `json:"url"`
			Fragment string            `json:"urlFragment"`
		} `json:"frame"`
		URL     string `json:"url"`     // of a document, or of the frame that asks
		Message string `json:"message"` // these two are a dialog's
		Default string `json:"defaultPrompt"`
	}
	if json.Unmarshal(params, &ev) != nil {
		return
	}
	main := ev.FrameID == proto.PageFrameID(t.id)
	switch method {
	case "Network.requestWillBeSent":
		if t.engine.sent != nil {
			t.engine.sent(browser.SentRequest{
				Tab: t.ID(), Frame: browser.TargetID(ev.FrameID), ID: ev.RequestID, Method: ev.Request.Method, URL: ev.Request.URL, Busy: t.activity.Busy(),
			})
		}
		if t.activity.Sent(ev.RequestID, ev.LoaderID, ev.Type, main) {
			t.engine.watch(t.unfollow)
		}
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
			t.activity.Committed(ev.Frame.LoaderID, ev.Frame.URL+ev.Frame.Fragment)
		}
	case "Page.navigatedWithinDocument":
		if main {
			t.activity.Moved(ev.URL)
		}
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
		t.said(session, params)
	case "Page.javascriptDialogOpening":
		d := browser.Dialog{Type: ev.Type, Message: ev.Message, Default: ev.Default, URL: ev.URL}
		if t.engine.dialog != nil {
			t.engine.dialog(t, d)
			return
		}
		t.engine.watch(func() {
			ctx, cancel := context.WithTimeout(t.gone, dialogTimeout)
			defer cancel()
			_ = t.AnswerDialog(ctx, d.Type == string(proto.PageDialogTypeBeforeunload), "") // it may be gone
		})
	}
}

// said hands a message of the tab's console on.
func (t *tab) said(session proto.TargetSessionID, params []byte) {
	type part struct {
		Value       json.RawMessage `json:"value"`
		Description string          `json:"description"`
		Type        string          `json:"type"`
	}
	var ev struct {
		Level     string `json:"type"`
		Args      []part `json:"args"`
		Exception *struct {
			Text      string `json:"text"`
			Exception *part  `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if t.engine.console == nil || session != t.session || json.Unmarshal(params, &ev) != nil {
		return
	}
	if x := ev.Exception; x != nil {
		ev.Level, ev.Args = "error", []part{{Description: x.Text}}
		if x.Exception != nil {
			ev.Args = append(ev.Args, *x.Exception)
		}
	}
	var words []string
	for _, p := range ev.Args {
		words = append(words, browser.ConsoleWord(p.Value, p.Description, p.Type))
	}
	t.engine.console(t.ID(), browser.ConsoleMessage{Level: ev.Level, Text: strings.Join(words, " ")})
}

// unfollow has Chromium tell of requests no more, since there are too many.
func (t *tab) unfollow() {
	t.telling.Lock()
	defer t.telling.Unlock()
	t.mu.Lock()
	keep := t.slow
	t.mu.Unlock()
	if keep || !t.activity.Flooded() {
		return
	}
	ctx, cancel := context.WithTimeout(t.gone, frameTimeout)
	defer cancel()
	_ = t.network(ctx, func(s session) error { return proto.NetworkDisable{}.Call(s) }) // else they are told of, which costs time and nothing else
}

// Follow implements [browser.Tab].
func (t *tab) Follow(ctx context.Context) error {
	t.telling.Lock()
	defer t.telling.Unlock()
	if !t.activity.Follow() {
		return nil
	}
	return t.network(ctx, func(s session) error { return proto.NetworkEnable{}.Call(s) })
}

// network gives a command of the Network domain to each process of the tab. telling is held.
func (t *tab) network(ctx context.Context, command func(session) error) error {
	t.mu.Lock()
	parts := slices.Collect(maps.Keys(t.parts))
	t.mu.Unlock()
	for _, id := range parts {
		_ = command(t.in(ctx, id)) // a frame that has gone says nothing of the tab
	}
	return wrap(command(t.on(ctx)))
}

func (t *tab) Activity() (int, <-chan struct{}) { return t.activity.Count() }
func (t *tab) Document() string                 { return t.activity.Document() }
func (t *tab) URL() string                      { return t.activity.URL() }
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
