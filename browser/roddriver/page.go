package roddriver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/go-rod/rod/lib/proto"

	"github.com/papaver-agent/papaver/browser"
)

func (t *tab) Go(ctx context.Context, by int) (string, error) {
	history, err := proto.PageGetNavigationHistory{}.Call(t.on(ctx))
	if err != nil {
		return "", wrap(err)
	}
	at := history.CurrentIndex + by
	if at < 0 || at >= len(history.Entries) {
		return "", browser.ErrNoHistory
	}
	entry := history.Entries[at]
	return entry.URL, wrap(proto.PageNavigateToHistoryEntry{EntryID: entry.ID}.Call(t.on(ctx)))
}

func (t *tab) EmulateNetwork(ctx context.Context, n browser.Network) error {
	t.mu.Lock()
	t.slow = n != browser.Network{}
	t.mu.Unlock()
	return wrap(proto.NetworkEmulateNetworkConditions{
		Offline: n.Offline, Latency: n.Latency, DownloadThroughput: unlimited(n.Download), UploadThroughput: unlimited(n.Upload),
	}.Call(t.on(ctx)))
}

// unlimited is how CDP says that there is no limit.
func unlimited(rate float64) float64 {
	if rate == 0 {
		return -1
	}
	return rate
}

func (t *tab) AnswerDialog(ctx context.Context, accept bool, text string) error {
	return wrap(proto.PageHandleJavaScriptDialog{Accept: accept, PromptText: text}.Call(t.on(ctx)))
}

func (t *tab) Screenshot(ctx context.Context, clip *browser.Clip) ([]byte, error) {
	shot := proto.PageCaptureScreenshot{Format: proto.PageCaptureScreenshotFormatPng, FromSurface: true}
	if clip != nil {
		shot.CaptureBeyondViewport = true
		shot.Clip = &proto.PageViewport{X: clip.X, Y: clip.Y, Width: clip.Width, Height: clip.Height, Scale: 1}
	}
	res, err := shot.Call(t.on(ctx))
	if err != nil {
		return nil, wrap(err)
	}
	return res.Data, nil
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
	root, err := proto.DOMResolveNode{BackendNodeID: proto.DOMBackendNodeID(node), ObjectGroup: objects}.Call(s)
	if err != nil {
		return t.wrapIn(frame, err)
	}
	answer, err := s.Call(ctx, string(s.id), proto.RuntimeCallFunctionOn{}.ProtoReq(), proto.RuntimeCallFunctionOn{
		FunctionDeclaration: function, ObjectID: root.Object.ObjectID, ReturnByValue: true, AwaitPromise: true, ObjectGroup: objects,
	})
	if err != nil {
		return t.wrapIn(frame, err)
	}
	var res struct {
		Result    remote `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	err = json.Unmarshal(answer, &res)
	switch {
	case err != nil:
		return err
	case res.Exception != nil && res.Exception.Exception.Description != "":
		return errors.New(res.Exception.Exception.Description) // page text
	case res.Exception != nil:
		return errors.New(res.Exception.Text)
	case len(res.Result.Value) == 0:
		return errors.New("no value came back")
	}
	return json.Unmarshal(res.Result.Value, result)
}

func (t *tab) SetFiles(ctx context.Context, frame browser.TargetID, node browser.Node, files []string) error {
	s, _, err := t.world(ctx, frame)
	if err != nil {
		return err
	}
	return t.wrapIn(frame, proto.DOMSetFileInputFiles{Files: files, BackendNodeID: proto.DOMBackendNodeID(node)}.Call(s))
}
