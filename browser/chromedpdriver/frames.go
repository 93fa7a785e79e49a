package chromedpdriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/papaver-agent/papaver/browser"
)

// frameTimeout is how long a frame's process has to say what is in it. One that does not is left out.
const frameTimeout = 2 * time.Second

// objects is the group of the page's objects that a call of ours holds. They are let go when it ends.
const objects = "papaver"

// part is a frame of a tab that lives in a process of its own, and those below it there.
type part struct {
	target   *chromedp.Target
	requests map[browser.RequestID]bool // sent by it and not answered yet; guarded by the tab's mu
}

// watchParts tells of parts that are gone.
func (e *engine) watchParts() {
	events, cancel := e.browser.Subscribe(target.DetachedFromTarget.Method)
	e.watch(func() {
		defer cancel()
		for {
			select {
			case raw, ok := <-events:
				if !ok {
					return
				}
				var ev struct {
					Session target.SessionID `json:"sessionId"`
				}
				if json.Unmarshal(raw, &ev) != nil {
					continue
				}
				e.mu.Lock()
				lost := e.parts[ev.Session]
				delete(e.parts, ev.Session)
				e.mu.Unlock()
				if lost != nil {
					lost()
				}
			case <-e.browser.LostConnection:
				return
			}
		}
	})
}

// attach attaches to a target that is there. The life of that is the Chromium's; detach ends it and leaves the target.
func (e *engine) attach(ctx context.Context, id browser.TargetID, listener func(any)) (_ *chromedp.Target, detach func(), err error) {
	attached, cancel := chromedp.NewContext(e.root, chromedp.WithTargetID(target.ID(id)), chromedp.WithDetachOnCancel(), chromedp.WithListener(listener))
	detach = func() { e.watch(cancel) }
	done := make(chan error, 1)
	e.watch(func() { done <- chromedp.Do(attached) })
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	case <-e.root.Done():
		err = e.root.Err()
	}
	if err != nil {
		detach()
		return nil, nil, err
	}
	return chromedp.FromContext(attached).Target, detach, nil
}

// partOf returns the part that the target of a frame is, and attaches to it when nobody has.
func (t *tab) partOf(ctx context.Context, id browser.TargetID) (*part, error) {
	t.mu.Lock()
	p := t.parts[id]
	t.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p = &part{requests: make(map[browser.RequestID]bool)}
	attached, detach, err := t.engine.attach(ctx, id, func(ev any) {
		t.event(ev)
		t.note(p, ev)
	})
	if err != nil {
		return nil, err
	}
	p.target = attached
	t.mu.Lock()
	if t.parts == nil {
		t.parts = make(map[browser.TargetID]*part)
	}
	t.parts[id] = p
	t.mu.Unlock()
	t.engine.mu.Lock()
	t.engine.parts[attached.SessionID] = func() {
		t.lost(id, p)
		detach()
	}
	t.engine.mu.Unlock()
	return p, nil
}

// note keeps the requests of a part that are under way.
func (t *tab) note(p *part, ev any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		p.requests[browser.RequestID(ev.RequestID)] = true
	case *network.EventResponseReceived:
		delete(p.requests, browser.RequestID(ev.RequestID))
	case *network.EventLoadingFinished:
		delete(p.requests, browser.RequestID(ev.RequestID))
	case *network.EventLoadingFailed:
		delete(p.requests, browser.RequestID(ev.RequestID))
	}
}

// lost forgets a part that is gone, and its requests: nobody will hear of an answer.
func (t *tab) lost(id browser.TargetID, p *part) {
	t.mu.Lock()
	if t.parts[id] == p {
		delete(t.parts, id)
	}
	requests := maps.Clone(p.requests)
	t.mu.Unlock()
	for r := range requests {
		t.activity.Answered(r)
	}
}

// Frames implements [browser.Documents].
func (t *tab) Frames(ctx context.Context) ([]browser.Frame, error) {
	list, err := tree(ctx, t.target, "")
	if err != nil {
		return nil, t.wrap(err)
	}
	places := make(map[browser.TargetID]*chromedp.Target)
	for _, f := range list {
		places[f.ID] = t.target
	}
	targets, err := t.engine.Targets(ctx)
	if err != nil {
		return nil, err
	}
	for found := true; found; { // a part can be in a part
		found = false
		for _, target := range targets {
			_, known := places[target.ID]
			_, ours := places[target.Parent]
			if target.Type != "iframe" || known || !ours {
				continue
			}
			places[target.ID] = nil // one that does not answer isn't asked twice
			ctx, cancel := context.WithTimeout(ctx, frameTimeout)
			p, err := t.partOf(ctx, target.ID)
			var below []browser.Frame
			if err == nil {
				below, err = tree(ctx, p.target, target.Parent)
			}
			cancel()
			if err != nil {
				continue
			}
			for _, f := range below {
				places[f.ID] = p.target
			}
			list = append(list, below...)
			found = true
		}
	}
	maps.DeleteFunc(places, func(_ browser.TargetID, s *chromedp.Target) bool { return s == nil })
	t.mu.Lock()
	t.places = places
	t.mu.Unlock()
	return list, nil
}

// tree lists the frames that live in the process of a session.
func tree(ctx context.Context, s *chromedp.Target, parent browser.TargetID) ([]browser.Frame, error) {
	res, err := cdp.Call(ctx, s, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return nil, err
	}
	var list []browser.Frame
	var walk func(*page.FrameTree, browser.TargetID)
	walk = func(f *page.FrameTree, parent browser.TargetID) {
		if f == nil || f.Frame == nil {
			return
		}
		id := browser.TargetID(f.Frame.ID)
		list = append(list, browser.Frame{
			ID: id, Parent: parent, Document: string(f.Frame.LoaderID), URL: f.Frame.URL + f.Frame.URLFragment, Apart: len(list) == 0 && parent != "",
		})
		for _, child := range f.ChildFrames {
			walk(child, id)
		}
	}
	walk(res.FrameTree, parent)
	return list, nil
}

// FramesIn implements [browser.Engine].
func (e *engine) FramesIn(ctx context.Context, id browser.TargetID) ([]browser.TargetID, error) {
	e.mu.Lock()
	attached := e.tabs[id]
	e.mu.Unlock()
	if attached == nil {
		var detach func()
		var err error
		if attached, detach, err = e.attach(ctx, id, func(any) {}); err != nil {
			return nil, err
		}
		defer detach()
	}
	list, err := tree(ctx, attached, "")
	ids := make([]browser.TargetID, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	return ids, err
}

// world returns our world in a frame, and the session it is in. A frame that was never listed, or that moved to another
// process since, is looked for once.
func (t *tab) world(ctx context.Context, frame browser.TargetID) (*chromedp.Target, runtime.ExecutionContextID, error) {
	for again := false; ; again = true {
		t.mu.Lock()
		s, known := t.places[frame]
		t.mu.Unlock()
		if frame == t.ID() {
			s, known = t.target, true
		}
		err := browser.ErrFrameGone
		if known {
			var w page.CreateIsolatedWorldResult
			w, err = cdp.Call(ctx, s, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: cdp.FrameID(frame), WorldName: world})
			if err == nil {
				return s, w.ExecutionContextID, nil
			}
		}
		if again || frame == t.ID() {
			return nil, 0, t.wrapIn(frame, err)
		}
		if _, err := t.Frames(ctx); err != nil {
			return nil, 0, err
		}
	}
}

// wrapIn is wrap for a call in a frame.
func (t *tab) wrapIn(frame browser.TargetID, err error) error {
	var answer *cdproto.Error
	switch {
	case err == nil || frame == t.ID() || errors.Is(err, browser.ErrFrameGone):
		return t.wrap(err)
	case errors.Is(err, chromedp.ErrTargetDetached), errors.As(err, &answer) && strings.HasPrefix(answer.Message, "No frame"):
		return fmt.Errorf("%w: %w", browser.ErrFrameGone, err)
	}
	return err
}

// Call implements [browser.Tab].
func (t *tab) Call(ctx context.Context, function string, result any, args ...any) error {
	return t.CallIn(ctx, t.ID(), function, result, args...)
}

// CallIn implements [browser.Documents].
func (t *tab) CallIn(ctx context.Context, frame browser.TargetID, function string, result any, args ...any) error {
	return t.run(ctx, frame, function, true, args, func(_ *chromedp.Target, r *runtime.RemoteObject) error {
		if len(r.Value) == 0 {
			return errors.New("the page could not be asked: no value came back")
		}
		return json.Unmarshal(r.Value, result)
	})
}

// Element implements [browser.Documents].
func (t *tab) Element(ctx context.Context, frame browser.TargetID, function string, args ...any) (browser.Node, error) {
	var node browser.Node
	err := t.run(ctx, frame, function, false, args, func(s *chromedp.Target, r *runtime.RemoteObject) error {
		if r.ObjectID == "" {
			return nil
		}
		res, err := cdp.Call(ctx, s, describeNode, dom.DescribeNodeParams{ObjectID: r.ObjectID})
		node = res.Node.ID
		return err
	})
	return node, err
}

// describeNode is DOM.describeNode, of which we need one member.
var describeNode = cdp.Command[dom.DescribeNodeParams, struct {
	Node struct {
		ID browser.Node `json:"backendNodeId"`
	} `json:"node"`
}]{Method: dom.CommandDescribeNode}

// Owner implements [browser.Documents].
func (t *tab) Owner(ctx context.Context, frame browser.Frame) (browser.Node, error) {
	s, _, err := t.world(ctx, frame.Parent)
	if err != nil {
		return 0, err
	}
	res, err := cdp.Call(ctx, s, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: cdp.FrameID(frame.ID)})
	var answer *cdproto.Error
	if errors.As(err, &answer) {
		return 0, fmt.Errorf("%w: %w", browser.ErrFrameGone, err)
	}
	return browser.Node(res.BackendNodeID), t.wrapIn(frame.Parent, err)
}

// axNodes is what both commands below answer, as far as we need it: what a later Chromium adds costs nothing.
type axNodes struct {
	Nodes []browser.AXNode `json:"nodes"`
}

var (
	getFullAXTree = cdp.Command[accessibility.GetFullAXTreeParams, axNodes]{Method: accessibility.CommandGetFullAXTree}
	queryAXTree   = cdp.Command[accessibility.QueryAXTreeParams, axNodes]{Method: accessibility.CommandQueryAXTree}
)

// Accessible implements [browser.Documents].
func (t *tab) Accessible(ctx context.Context, frame browser.TargetID, q *browser.AXQuery) (nodes []browser.AXNode, err error) {
	if q == nil {
		s, _, err := t.world(ctx, frame)
		if err != nil {
			return nil, err
		}
		res, err := cdp.Call(ctx, s, getFullAXTree, accessibility.GetFullAXTreeParams{FrameID: cdp.FrameID(frame)})
		return res.Nodes, t.wrapIn(frame, err)
	}
	err = t.run(ctx, frame, `() => document`, false, nil, func(s *chromedp.Target, document *runtime.RemoteObject) error {
		res, err := cdp.Call(ctx, s, queryAXTree, accessibility.QueryAXTreeParams{ObjectID: document.ObjectID, AccessibleName: q.Name, Role: q.Role})
		nodes = res.Nodes
		return err
	})
	return nodes, err
}
