// Package chromedpdriver drives Chromium through chromedp, over a pipe: no debugging port is opened, and Chromium ends
// with us.
package chromedpdriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	protocol "github.com/chromedp/cdproto/browser"

	"github.com/papaver-agent/papaver/browser"
)

const politeTimeout = 5 * time.Second // for a Chromium to end by itself

// Driver is the chromedp driver. Its zero value works; Logger, when set, gets chromedp's own complaints, which never
// hold a message of the protocol.
type Driver struct {
	Logger *slog.Logger
}

var _ browser.Driver = Driver{}

// Start implements [browser.Driver].
func (d Driver) Start(ctx context.Context, p browser.Process, paused func(browser.Paused)) (browser.Engine, error) {
	logger := d.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	quiet := func(format string, _ ...any) { logger.Debug("chromedp", "format", format) }

	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(p.Bin),
		chromedp.UserDataDir(p.ProfileDir),
		// chromedp switches the sandbox off by itself as root, unless the flag is there. We never do.
		chromedp.Flag("no-sandbox", false),
		chromedp.NoInheritEnv,
		chromedp.Env(p.Env...),
		chromedp.ModifyCmdFunc(browser.Own),
	}
	for _, f := range p.Flags {
		options = append(options, chromedp.Flag(f.Name, flagValue(f)))
	}

	// chromedp keeps what it needs in contexts, and the first one it is given owns the browser's life. So the engine
	// makes one of its own, which ends with Close and not with a caller's deadline.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	allocated, _ := chromedp.NewExecAllocator(life, options...)
	root, _ := chromedp.NewContext(allocated, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet), chromedp.WithDebugf(func(string, ...any) {}))
	e := &engine{root: root, end: end, sent: p.Sent, dialog: p.Dialog, console: p.Console, tabs: make(map[browser.TargetID]*chromedp.Target), parts: make(map[target.SessionID]func())}

	started := make(chan error, 1)
	go func() {
		// Not chromedp.Do: it waits for a first window, and there need not be one.
		_, err := chromedp.CallBrowser(root, target.SetDiscoverTargets, target.SetDiscoverTargetsParams{Discover: true})
		started <- err
	}()
	select {
	case err := <-started:
		if err != nil {
			end()
			return nil, err
		}
	case <-ctx.Done():
		end()
		<-started // it ends soon: its context has
		return nil, ctx.Err()
	}
	e.browser = chromedp.FromContext(root).Browser
	e.watchTabs(p)
	e.watchParts()
	if err := e.hold(ctx, p.Guard, paused); err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	return e, nil
}

func flagValue(f browser.Flag) any {
	if f.Value == "" {
		return true
	}
	return f.Value
}

// engine implements [browser.Engine].
type engine struct {
	root    context.Context // chromedp's own, see Start
	end     context.CancelFunc
	browser *chromedp.Browser
	version string
	sent    func(browser.SentRequest)                      // Process.Sent
	dialog  func(browser.Tab, browser.Dialog)              // Process.Dialog
	console func(browser.TargetID, browser.ConsoleMessage) // Process.Console

	mu       sync.Mutex
	closing  bool                                  // guarded by mu; nothing is watched any more
	tabs     map[browser.TargetID]*chromedp.Target // guarded by mu; that are attached to
	parts    map[target.SessionID]func()           // guarded by mu; what is done when the part with that session is gone
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

// hold switches interception on and begins to hand paused responses on.
func (e *engine) hold(ctx context.Context, guard []string, paused func(browser.Paused)) error {
	version, err := cdp.Call(ctx, e.browser, protocol.GetVersion, cdp.Empty{})
	if err != nil {
		return fmt.Errorf("version: %w", err)
	}
	e.version = version.Product

	events, cancel := e.browser.Subscribe(fetch.RequestPaused.Method)
	e.watch(func() {
		defer cancel()
		for {
			select {
			case raw, ok := <-events:
				if !ok {
					return
				}
				if p, ok := decodePaused(raw); ok {
					paused(p)
				}
			case <-e.browser.LostConnection:
				return
			}
		}
	})
	patterns := []*fetch.RequestPattern{{URLPattern: "*", RequestStage: fetch.RequestStageResponse}}
	for _, p := range guard {
		patterns = append(patterns, &fetch.RequestPattern{URLPattern: p, RequestStage: fetch.RequestStageRequest})
	}
	_, err = cdp.Call(ctx, e.browser, fetch.Enable, fetch.EnableParams{Patterns: patterns})
	if err != nil {
		return fmt.Errorf("responses cannot be held: %w", err)
	}
	return nil
}

// watchTabs tells of tabs that come and go, which Start has Chromium report.
func (e *engine) watchTabs(p browser.Process) {
	created, noneCreated := e.browser.Subscribe(target.TargetCreated.Method)
	destroyed, noneDestroyed := e.browser.Subscribe(target.TargetDestroyed.Method)
	e.watch(func() {
		defer noneCreated()
		defer noneDestroyed()
		for {
			select {
			case raw := <-created:
				var ev struct {
					Info target.Info `json:"targetInfo"`
				}
				if json.Unmarshal(raw, &ev) == nil && p.Opened != nil {
					p.Opened(targetOf(&ev.Info))
				}
			case raw := <-destroyed:
				var ev struct {
					ID browser.TargetID `json:"targetId"`
				}
				if json.Unmarshal(raw, &ev) == nil && ev.ID != "" && p.Closed != nil {
					p.Closed(ev.ID)
				}
			case <-e.browser.LostConnection:
				return
			}
		}
	})
}

// decodePaused reads the members we need and no others, so that a value a later Chromium adds elsewhere in the event
// costs no sighting.
func decodePaused(raw []byte) (browser.Paused, bool) {
	var ev struct {
		RequestID string `json:"requestId"`
		NetworkID string `json:"networkId"`
		Request   struct {
			URL    string `json:"url"`
			Method string `json:"method"`
		} `json:"request"`
		FrameID  string `json:"frameId"`
		Resource string `json:"resourceType"`
		Status   int    `json:"responseStatusCode"`
		Failure  string `json:"responseErrorReason"`
		Headers  []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"responseHeaders"`
	}
	// What is not decoded would stay paused, so whatever Chromium writes is taken.
	if err := jsonv2.Unmarshal(raw, &ev, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil || ev.RequestID == "" {
		return browser.Paused{}, false
	}
	p := browser.Paused{
		ID: browser.PausedID(ev.RequestID), Request: browser.RequestID(ev.NetworkID), Frame: browser.TargetID(ev.FrameID), Resource: ev.Resource,
		Method: ev.Request.Method, URL: ev.Request.URL, Status: ev.Status,
		// A pause is of the response when it has a status or the reason why there is none.
		Leaving: ev.Status == 0 && ev.Failure == "",
	}
	for _, h := range ev.Headers {
		p.Headers = append(p.Headers, browser.Header{Name: h.Name, Value: h.Value})
	}
	return p, true
}

func (e *engine) Version() string { return e.version }

// Gone is chromedp's own channel, which it closes before the first call fails for that reason.
func (e *engine) Gone() <-chan struct{} { return e.browser.LostConnection }

func (e *engine) NewContext(ctx context.Context) (browser.ContextID, error) {
	dispose := true
	res, err := cdp.Call(ctx, e.browser, target.CreateBrowserContext, target.CreateBrowserContextParams{DisposeOnDetach: &dispose})
	if err != nil {
		return "", err
	}
	// A download that nobody asked for is refused.
	_, err = cdp.Call(ctx, e.browser, protocol.SetDownloadBehavior, protocol.SetDownloadBehaviorParams{
		Behavior: protocol.SetDownloadBehaviorBehaviorDeny, BrowserContextID: res.BrowserContextID,
	})
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), disposeTimeout)
		defer cancel()
		return "", errors.Join(fmt.Errorf("downloads cannot be refused: %w", err), e.CloseContext(ctx, browser.ContextID(res.BrowserContextID)))
	}
	return browser.ContextID(res.BrowserContextID), nil
}

func (e *engine) CloseContext(ctx context.Context, id browser.ContextID) error {
	_, err := cdp.Call(ctx, e.browser, target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: cdp.BrowserContextID(id)})
	return err
}

// getCookies is Storage.getCookies without the values: they are not even decoded.
var getCookies = cdp.Command[storage.GetCookiesParams, struct {
	Cookies []browser.Cookie `json:"cookies"`
}]{Method: storage.CommandGetCookies}

func (e *engine) Cookies(ctx context.Context, id browser.ContextID) ([]browser.Cookie, error) {
	res, err := cdp.Call(ctx, e.browser, getCookies, storage.GetCookiesParams{BrowserContextID: cdp.BrowserContextID(id)})
	return res.Cookies, err
}

func (e *engine) Targets(ctx context.Context) ([]browser.Target, error) {
	// An entry that excludes nothing asks for every type, workers and frames too.
	res, err := cdp.Call(ctx, e.browser, target.GetTargets, target.GetTargetsParams{Filter: target.Filter{{}}})
	if err != nil {
		return nil, err
	}
	targets := make([]browser.Target, 0, len(res.TargetInfos))
	for _, info := range res.TargetInfos {
		targets = append(targets, targetOf(info))
	}
	return targets, nil
}

func targetOf(info *target.Info) browser.Target {
	return browser.Target{
		ID: browser.TargetID(info.TargetID), Type: info.Type, Context: browser.ContextID(info.BrowserContextID),
		Opener: browser.TargetID(info.OpenerID), URL: info.URL, Title: info.Title,
		Parent: browser.TargetID(info.ParentFrameID),
	}
}

func (e *engine) CloseTab(ctx context.Context, id browser.TargetID) error {
	_, err := cdp.Call(ctx, e.browser, target.CloseTarget, target.CloseTargetParams{TargetID: target.ID(id)})
	return err
}

func (e *engine) Release(ctx context.Context, id browser.PausedID) error {
	_, err := cdp.Call(ctx, e.browser, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: fetch.RequestID(id)})
	return err
}

func (e *engine) Fail(ctx context.Context, id browser.PausedID) error {
	_, err := cdp.Call(ctx, e.browser, fetch.FailRequest, fetch.FailRequestParams{RequestID: fetch.RequestID(id), ErrorReason: network.ErrorReasonBlockedByClient})
	return err
}

// Close ends the Chromium politely within 5 s, and then kills it. It returns when the process was waited for, and those
// of its group that are our children by then.
func (e *engine) Close(ctx context.Context) error {
	var err error
	select {
	case <-e.browser.LostConnection:
	default:
		polite, cancel := context.WithCancel(e.root)
		within, giveUp := context.WithTimeout(ctx, politeTimeout)
		defer giveUp()
		stop := context.AfterFunc(within, cancel)
		if err = chromedp.Cancel(polite); errors.Is(err, context.Canceled) {
			err = nil // it was gone already, or had to be killed
		}
		stop()
		cancel()
	}
	e.end()
	e.mu.Lock()
	e.closing = true
	e.mu.Unlock()
	e.watching.Wait()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		chromedp.FromContext(e.root).Allocator.Wait() // its process was killed, at the latest, when root ended
	}()
	select {
	case <-ended:
		return errors.Join(err, browser.ReapGroup(ctx, e.browser.Process().Pid))
	case <-ctx.Done():
		return errors.Join(err, errors.New("chromium's process does not end"))
	}
}
