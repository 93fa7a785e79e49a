package chromedpdriver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/papaver-agent/papaver/browser"
)

func (t *tab) Go(ctx context.Context, by int) (string, error) {
	history, err := cdp.Call(ctx, t.target, page.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		return "", t.wrap(err)
	}
	at := int(history.CurrentIndex) + by
	if at < 0 || at >= len(history.Entries) {
		return "", browser.ErrNoHistory
	}
	entry := history.Entries[at]
	_, err = cdp.Call(ctx, t.target, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: entry.ID})
	return entry.URL, t.wrap(err)
}

// networkConditions are of a command that cdproto has left out: what is there in its place does not slow a request down.
type networkConditions struct {
	Offline  bool    `json:"offline"`
	Latency  float64 `json:"latency"`
	Download float64 `json:"downloadThroughput"`
	Upload   float64 `json:"uploadThroughput"`
}

var emulateNetworkConditions = cdp.Command[networkConditions, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

func (t *tab) EmulateNetwork(ctx context.Context, n browser.Network) error {
	t.mu.Lock()
	t.slow = n != browser.Network{}
	t.mu.Unlock()
	_, err := cdp.Call(ctx, t.target, emulateNetworkConditions, networkConditions{n.Offline, n.Latency, unlimited(n.Download), unlimited(n.Upload)})
	return t.wrap(err)
}

// unlimited is how CDP says that there is no limit.
func unlimited(rate float64) float64 {
	if rate == 0 {
		return -1
	}
	return rate
}

func (t *tab) AnswerDialog(ctx context.Context, accept bool, text string) error {
	_, err := cdp.Call(ctx, t.target, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: accept, PromptText: text})
	return t.wrap(err)
}

func (t *tab) Screenshot(ctx context.Context, clip *browser.Clip) ([]byte, error) {
	p := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}
	if clip != nil {
		beyond := true
		p.CaptureBeyondViewport, p.Clip = &beyond, &page.Viewport{X: clip.X, Y: clip.Y, Width: clip.Width, Height: clip.Height, Scale: 1}
	}
	res, err := cdp.Call(ctx, t.target, page.CaptureScreenshot, p)
	return res.Data, t.wrap(err)
}

// Evaluate finds the page's own world by an element of the document, which is in that one unless another is named.
func (t *tab) Evaluate(ctx context.Context, frame browser.TargetID, function string, result any) error {
	node, err := t.Element(ctx, frame, `() => document.documentElement`)
	if err != nil {
		return err
	}
	s, _, err := t.world(ctx, frame)
	if err != nil {
		return err
	}
	root, err := cdp.Call(ctx, s, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: cdp.BackendNodeID(node), ObjectGroup: objects})
	if err != nil {
		return t.wrapIn(frame, err)
	}
	yes := true
	res, err := cdp.Call(ctx, s, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: function, ObjectID: root.Object.ObjectID, ReturnByValue: &yes, AwaitPromise: &yes, ObjectGroup: objects,
	})
	switch {
	case err != nil:
		return t.wrapIn(frame, err)
	case res.ExceptionDetails != nil:
		return thrown(res.ExceptionDetails)
	case res.Result == nil || len(res.Result.Value) == 0:
		return errors.New("no value came back")
	}
	return json.Unmarshal(res.Result.Value, result)
}

// thrown is what a script threw: page text.
func thrown(e *runtime.ExceptionDetails) error {
	if e.Exception != nil && e.Exception.Description != "" {
		return errors.New(e.Exception.Description)
	}
	return errors.New(e.Text)
}

func (t *tab) SetFiles(ctx context.Context, frame browser.TargetID, node browser.Node, files []string) error {
	s, _, err := t.world(ctx, frame)
	if err != nil {
		return err
	}
	_, err = cdp.Call(ctx, s, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: files, BackendNodeID: cdp.BackendNodeID(node)})
	return t.wrapIn(frame, err)
}
