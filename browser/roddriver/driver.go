// Package roddriver drives Chromium through rod's protocol client, over a pipe: no debugging port is opened, and Chromium
// ends with us.
//
// Of rod it uses the client and the protocol's types, and neither its launcher nor its Browser and Page: those start
// Chromium with site isolation off and a helper program beside it, wait for animation frames that a tab in the back does
// not draw, and panic on what they did not expect.
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
	"github.com/papaver-agent/papaver/internal/quietstart"
)

func init() { quietstart.RodDone() }

const (
	politeTimeout  = 5 * time.Second // for a Chromium to end by itself
	disposeTimeout = 5 * time.Second // the end of what was begun and is not wanted
	endTimeout     = 5 * time.Second // the same for a Chromium that did not start
)

// Driver is the rod driver. Its zero value works.
type Driver struct{}

var _ browser.Driver = Driver{}

// Start implements [browser.Driver].
func (Driver) Start(ctx context.Context, p browser.Process, paused func(browser.Paused)) (browser.Engine, error) {
	process, err := start(p)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	e := &engine{process: process, life: life, sent: p.Sent, dialog: p.Dialog, console: p.Console, opened: p.Opened, closed: p.Closed, tabs: make(map[proto.TargetSessionID]*tab)}
	e.client = cdp.New().Logger(quiet{}).Start(process.pipe)
	e.reading.Go(func() {
		e.dispatch(paused) // until rod's client has ended, with the pipe
	})
	e.reading.Go(func() {
		<-process.pipe.gone
		end(errLost)
	})
	if err := e.hold(ctx, p.Guard); err != nil {
		lost := errors.Is(err, errLost)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		err = errors.Join(err, e.Close(ctx))
		if lost { // it says why itself
			err = fmt.Errorf("%w\n%s", err, process.output.String())
		}
		return nil, err
	}
	return e, nil
}

// quiet is the logger of rod's client, whose own prints whole messages when it is told to: a form of ours would be there.
type quiet struct{}

func (quiet) Println(...any) {}

// engine implements [browser.Engine].
type engine struct {
	process *process
	client  *cdp.Client
	life    context.Context // ends with the pipe, its cause is errLost
	version string
	sent    func(browser.SentRequest)                      // Process.Sent
	dialog  func(browser.Tab, browser.Dialog)              // Process.Dialog
	console func(browser.TargetID, browser.ConsoleMessage) // Process.Console
	opened  func(browser.Target)                           // Process.Opened
	closed  func(browser.TargetID)                         // Process.Closed
	reading sync.WaitGroup

	mu       sync.Mutex
	tabs     map[proto.TargetSessionID]*tab
	closing  bool // nothing is watched any more
	watching sync.WaitGroup
}

// watch runs f, which Close waits for. It does nothing when the Chromium is being closed.
func (e *engine) watch(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closing {
		e.watching.Go(f)
	}
}

// session is where a call of rod's protocol types goes: the browser when id is empty, else a tab. It carries the call's
// context, as those types have it.
type session struct {
	engine *engine
	ctx    context.Context
	id     proto.TargetSessionID
	gone   context.Context // ends with what is called
}

var (
	_ proto.Client      = session{}
	_ proto.Contextable = session{}
	_ proto.Sessionable = session{}
)

func (e *engine) on(ctx context.Context) session { return session{e, ctx, "", e.life} }

func (s session) GetContext() context.Context         { return s.ctx }
func (s session) GetSessionID() proto.TargetSessionID { return s.id }

// Call implements [proto.Client]: it returns soon after ctx ends, and at once when what is called is gone.
func (s session) Call(ctx context.Context, id, method string, params any) ([]byte, error) {
	if s.gone.Err() != nil {
		return nil, context.Cause(s.gone)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(s.gone, cancel)
	defer stop()
	result, err := s.engine.client.Call(ctx, id, method, params)
	if err != nil && s.gone.Err() != nil && errors.Is(err, ctx.Err()) {
		err = context.Cause(s.gone)
	}
	return result, err
}

// hold switches interception on.
func (e *engine) hold(ctx context.Context, guard []string) error {
	version, err := proto.BrowserGetVersion{}.Call(e.on(ctx))
	if err != nil {
		return fmt.Errorf("version: %w", err)
	}
	e.version = version.Product
	patterns := []*proto.FetchRequestPattern{{URLPattern: "*", RequestStage: proto.FetchRequestStageResponse}}
	for _, p := range guard {
		patterns = append(patterns, &proto.FetchRequestPattern{URLPattern: p, RequestStage: proto.FetchRequestStageRequest})
	}
	if err := (proto.FetchEnable{Patterns: patterns}).Call(e.on(ctx)); err != nil {
		return fmt.Errorf("responses cannot be held: %w", err)
	}
	if err := (proto.TargetSetDiscoverTargets{Discover: true}).Call(e.on(ctx)); err != nil {
		return fmt.Errorf("new tabs cannot be seen: %w", err)
	}
	return nil
}

// dispatch hands events on, in the order in which Chromium sent them, until the client ends. Nothing that is called here
// may block or call Chromium: answers come after the events before them.
func (e *engine) dispatch(paused func(browser.Paused)) {
	for ev := range e.client.Event() {
		switch {
		case ev.SessionID != "":
			e.mu.Lock()
			t := e.tabs[proto.TargetSessionID(ev.SessionID)]
			e.mu.Unlock()
			if t != nil {
				t.event(proto.TargetSessionID(ev.SessionID), ev.Method, ev.Params)
			}
		case ev.Method == "Fetch.requestPaused":
			if p, ok := decodePaused(ev.Params); ok {
				paused(p)
			}
		case ev.Method == "Target.detachedFromTarget":
			e.detached(ev.Params)
		case ev.Method == "Target.targetCreated":
			var created struct {
				Info targetInfo `json:"targetInfo"`
			}
			if json.Unmarshal(ev.Params, &created) == nil && e.opened != nil {
				e.opened(targetOf(&created.Info))
			}
		case ev.Method == "Target.targetDestroyed":
			var destroyed struct {
				ID browser.TargetID `json:"targetId"`
			}
			if json.Unmarshal(ev.Params, &destroyed) == nil && destroyed.ID != "" && e.closed != nil {
				e.closed(destroyed.ID)
			}
		}
	}
}

// detached ends the calls of a tab that is gone, or that we are no longer attached to.
func (e *engine) detached(params []byte) {
	var ev struct {
		SessionID proto.TargetSessionID `json:"sessionId"`
	}
	if json.Unmarshal(params, &ev) != nil {
		return
	}
	e.mu.Lock()
	t := e.tabs[ev.SessionID]
	delete(e.tabs, ev.SessionID)
	e.mu.Unlock()
	switch {
	case t == nil:
	case t.session == ev.SessionID:
		t.end(browser.ErrTabGone)
	default:
		t.lost(ev.SessionID)
	}
}

// decodePaused reads the members we need and no others, so that a value a later Chromium adds elsewhere in the event
// costs no sighting. rod's own type has them all.
func decodePaused(params []byte) (browser.Paused, bool) {
	var ev struct {
		RequestID browser.PausedID  `json:"requestId"`
		NetworkID browser.RequestID `json:"networkId"`
		Request   struct {
			URL    string `json:"url"`
			Method string `json:"method"`
		} `json:"request"`
		FrameID  browser.TargetID `json:"frameId"`
		Resource string           `json:"resourceType"`
		Status   int              `json:"responseStatusCode"`
		Failure  string           `json:"responseErrorReason"`
		Headers  []browser.Header `json:"responseHeaders"`
	}
	if err := json.Unmarshal(params, &ev); err != nil || ev.RequestID == "" {
		return browser.Paused{}, false
	}
	return browser.Paused{
		ID: ev.RequestID, Request: ev.NetworkID, Frame: ev.FrameID, Resource: ev.Resource,
		Method: ev.Request.Method, URL: ev.Request.URL, Status: ev.Status, Headers: ev.Headers,
		// A pause is of the response when it has a status or the reason why there is none.
		Leaving: ev.Status == 0 && ev.Failure == "",
	}, true
}

func (e *engine) Version() string { return e.version }

func (e *engine) Gone() <-chan struct{} { return e.process.pipe.gone }

func (e *engine) NewContext(ctx context.Context) (browser.ContextID, error) {
	res, err := proto.TargetCreateBrowserContext{DisposeOnDetach: true}.Call(e.on(ctx))
	if err != nil {
		return "", err
	}
	id := browser.ContextID(res.BrowserContextID)
	// A download that nobody asked for is refused.
	err = proto.BrowserSetDownloadBehavior{
		Behavior: proto.BrowserSetDownloadBehaviorBehaviorDeny, BrowserContextID: res.BrowserContextID,
	}.Call(e.on(ctx))
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), disposeTimeout)
		defer cancel()
		return "", errors.Join(fmt.Errorf("downloads cannot be refused: %w", err), e.CloseContext(ctx, id))
	}
	return id, nil
}

func (e *engine) CloseContext(ctx context.Context, id browser.ContextID) error {
	return proto.TargetDisposeBrowserContext{BrowserContextID: proto.BrowserBrowserContextID(id)}.Call(e.on(ctx))
}

// Cookies does not decode the cookies' values.
func (e *engine) Cookies(ctx context.Context, id browser.ContextID) ([]browser.Cookie, error) {
	params := proto.StorageGetCookies{BrowserContextID: proto.BrowserBrowserContextID(id)}
	answer, err := e.on(ctx).Call(ctx, "", params.ProtoReq(), params)
	if err != nil {
		return nil, err
	}
	var res struct {
		Cookies []browser.Cookie `json:"cookies"`
	}
	err = json.Unmarshal(answer, &res)
	return res.Cookies, err
}

func (e *engine) Targets(ctx context.Context) ([]browser.Target, error) {
	// An entry that excludes nothing asks for every type, workers and frames too.
	params := proto.TargetGetTargets{Filter: proto.TargetTargetFilter{{}}}
	answer, err := e.on(ctx).Call(ctx, "", params.ProtoReq(), params)
	if err != nil {
		return nil, err
	}
	// rod's own type does not have a frame's parent.
	var res struct {
		Infos []targetInfo `json:"targetInfos"`
	}
	if err := json.Unmarshal(answer, &res); err != nil {
		return nil, err
	}
	targets := make([]browser.Target, 0, len(res.Infos))
	for _, info := range res.Infos {
		targets = append(targets, targetOf(&info))
	}
	return targets, nil
}

// targetInfo is CDP's Target.TargetInfo.
type targetInfo struct {
	ID      browser.TargetID  `json:"targetId"`
	Type    string            `json:"type"`
	Context browser.ContextID `json:"browserContextId"`
	Parent  browser.TargetID  `json:"parentFrameId"`
	Opener  browser.TargetID  `json:"openerId"`
	URL     string            `json:"url"`
	Title   string            `json:"title"`
}

func targetOf(info *targetInfo) browser.Target {
	return browser.Target{
		ID: info.ID, Type: info.Type, Context: info.Context, Parent: info.Parent, Opener: info.Opener, URL: info.URL, Title: info.Title,
	}
}

func (e *engine) CloseTab(ctx context.Context, id browser.TargetID) error {
	_, err := proto.TargetCloseTarget{TargetID: proto.TargetTargetID(id)}.Call(e.on(ctx))
	return err
}

func (e *engine) Release(ctx context.Context, id browser.PausedID) error {
	return proto.FetchContinueRequest{RequestID: proto.FetchRequestID(id)}.Call(e.on(ctx))
}

func (e *engine) Fail(ctx context.Context, id browser.PausedID) error {
	return proto.FetchFailRequest{RequestID: proto.FetchRequestID(id), ErrorReason: proto.NetworkErrorReasonBlockedByClient}.Call(e.on(ctx))
}

// Close ends the Chromium politely within 5 s, and then kills it. It returns when the process was waited for, and those of
// its group that are our children by then, and when every goroutine of ours and of rod's client has ended.
func (e *engine) Close(ctx context.Context) error {
	polite, cancel := context.WithTimeout(ctx, politeTimeout)
	defer cancel()
	_ = proto.BrowserClose{}.Call(e.on(polite)) // when it does not it is killed
	select {
	case <-e.process.ended:
	case <-polite.Done():
	}
	err := e.process.kill(ctx)
	e.mu.Lock()
	e.closing = true
	e.mu.Unlock()
	e.watching.Wait()
	if err == nil {
		e.reading.Wait()
	}
	return err
}
