package roddriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"

	"github.com/papaver-agent/papaver/browser"
)

// frameTimeout is how long a frame's process has to say what is in it. One that does not is left out.
const frameTimeout = 2 * time.Second

// objects is the group of the page's objects that a call of ours holds. They are let go when it ends.
const objects = "papaver"

// part is a frame of a tab that lives in a process of its own, and those below it there.
type part struct {
	frame    browser.TargetID
	session  proto.TargetSessionID
	gone     context.Context // ends with it, its cause is ErrFrameGone
	end      context.CancelCauseFunc
	requests map[browser.RequestID]bool // sent by it and not answered yet; guarded by the tab's mu
}

func (t *tab) sentBy(id proto.TargetSessionID, r browser.RequestID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.parts[id]; p != nil {
		p.requests[r] = true
	}
}

func (t *tab) answeredTo(id proto.TargetSessionID, r browser.RequestID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.parts[id]; p != nil {
		delete(p.requests, r)
	}
}

// lost forgets a part that is gone, and its requests: nobody will hear of an answer.
func (t *tab) lost(id proto.TargetSessionID) {
	t.mu.Lock()
	p := t.parts[id]
	delete(t.parts, id)
	t.mu.Unlock()
	if p == nil {
		return
	}
	p.end(browser.ErrFrameGone)
	for r := range p.requests {
		t.activity.Answered(r)
	}
}

// prune forgets the parts that are no target any more.
func (t *tab) prune(targets []browser.Target) {
	t.mu.Lock()
	var gone []proto.TargetSessionID
	for id, p := range t.parts {
		if !slices.ContainsFunc(targets, func(target browser.Target) bool { return target.ID == p.frame }) {
			gone = append(gone, id)
		}
	}
	t.mu.Unlock()
	for _, id := range gone {
		t.lost(id)
	}
}

// partOf returns the part that the target of a frame is, and attaches to it when nobody has.
func (t *tab) partOf(ctx context.Context, target browser.Target) (*part, error) {
	t.mu.Lock()
	for _, p := range t.parts {
		if p.frame == target.ID {
			t.mu.Unlock()
			return p, nil
		}
	}
	t.mu.Unlock()
	attached, err := proto.TargetAttachToTarget{TargetID: proto.TargetTargetID(target.ID), Flatten: true}.Call(t.engine.on(ctx))
	if err != nil {
		return nil, err
	}
	p := &part{frame: target.ID, session: attached.SessionID, requests: make(map[browser.RequestID]bool)}
	p.gone, p.end = context.WithCancelCause(t.gone)
	t.mu.Lock()
	t.parts[p.session] = p
	t.mu.Unlock()
	t.engine.mu.Lock()
	t.engine.tabs[p.session] = t
	t.engine.mu.Unlock()
	return p, proto.NetworkEnable{}.Call(t.in(ctx, p.session))
}

// in is where a call in the tab or in one of its parts goes.
func (t *tab) in(ctx context.Context, id proto.TargetSessionID) session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.parts[id]; p != nil {
		return session{t.engine, ctx, p.session, p.gone}
	}
	return t.on(ctx)
}

// Frames implements [browser.Documents].
func (t *tab) Frames(ctx context.Context) ([]browser.Frame, error) {
	list, err := t.tree(ctx, t.session, "")
	if err != nil {
		return nil, wrap(err)
	}
	places := make(map[browser.TargetID]proto.TargetSessionID)
	for _, f := range list {
		places[f.ID] = t.session
	}
	targets, err := t.engine.Targets(ctx)
	if err != nil {
		return nil, err
	}
	t.prune(targets)
	for found := true; found; { // a part can be in a part
		found = false
		for _, target := range targets {
			_, known := places[target.ID]
			_, ours := places[target.Parent]
			if target.Type != "iframe" || known || !ours {
				continue
			}
			places[target.ID] = "" // one that does not answer isn't asked twice
			ctx, cancel := context.WithTimeout(ctx, frameTimeout)
			p, err := t.partOf(ctx, target)
			var below []browser.Frame
			if err == nil {
				below, err = t.tree(ctx, p.session, target.Parent)
			}
			cancel()
			if err != nil {
				continue
			}
			for _, f := range below {
				places[f.ID] = p.session
			}
			list = append(list, below...)
			found = true
		}
	}
	maps.DeleteFunc(places, func(_ browser.TargetID, id proto.TargetSessionID) bool { return id == "" })
	t.mu.Lock()
	t.places = places
	t.mu.Unlock()
	return list, nil
}

// tree lists the frames that live in the process of a session.
func (t *tab) tree(ctx context.Context, id proto.TargetSessionID, parent browser.TargetID) ([]browser.Frame, error) {
	return tree(t.in(ctx, id), parent)
}

func tree(s session, parent browser.TargetID) ([]browser.Frame, error) {
	res, err := proto.PageGetFrameTree{}.Call(s)
	if err != nil {
		return nil, err
	}
	var list []browser.Frame
	var walk func(*proto.PageFrameTree, browser.TargetID)
	walk = func(f *proto.PageFrameTree, parent browser.TargetID) {
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
func (e *engine) FramesIn(ctx context.Context, target browser.TargetID) ([]browser.TargetID, error) {
	in := session{e, ctx, e.sessionOf(target), e.life}
	if in.id == "" {
		attached, err := proto.TargetAttachToTarget{TargetID: proto.TargetTargetID(target), Flatten: true}.Call(e.on(ctx))
		if err != nil {
			return nil, err
		}
		in.id = attached.SessionID
		defer func() {
			ctx, cancel := context.WithTimeout(e.life, disposeTimeout)
			defer cancel()
			_ = proto.TargetDetachFromTarget{SessionID: attached.SessionID}.Call(e.on(ctx)) // it may be gone
		}()
	}
	list, err := tree(in, "")
	ids := make([]browser.TargetID, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	return ids, err
}

// sessionOf is that of a tab that is attached to; empty when there is none.
func (e *engine) sessionOf(id browser.TargetID) proto.TargetSessionID {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s, t := range e.tabs {
		if t.ID() == id && t.session == s {
			return s
		}
	}
	return ""
}

// world returns our world in a frame, and the session it is in. A frame that was never listed, or that moved to another
// process since, is looked for once.
func (t *tab) world(ctx context.Context, frame browser.TargetID) (session, proto.RuntimeExecutionContextID, error) {
	for again := false; ; again = true {
		t.mu.Lock()
		id, known := t.places[frame]
		t.mu.Unlock()
		if frame == t.ID() {
			id, known = t.session, true
		}
		err := browser.ErrFrameGone
		if known {
			s := t.in(ctx, id)
			var w *proto.PageCreateIsolatedWorldResult
			if w, err = (proto.PageCreateIsolatedWorld{FrameID: proto.PageFrameID(frame), WorldName: world}).Call(s); err == nil {
				return s, w.ExecutionContextID, nil
			}
		}
		if again || frame == t.ID() {
			return session{}, 0, t.wrapIn(frame, err)
		}
		if _, err := t.Frames(ctx); err != nil {
			return session{}, 0, err
		}
	}
}

// wrapIn is wrap for a call in a frame.
func (t *tab) wrapIn(frame browser.TargetID, err error) error {
	var answer *cdp.Error
	switch {
	case err == nil || frame == t.ID() || errors.Is(err, browser.ErrFrameGone):
		return wrap(err)
	case errors.As(err, &answer) && (answer.Code == noSession || strings.HasPrefix(answer.Message, "No frame")):
		return fmt.Errorf("%w: %w", browser.ErrFrameGone, err)
	}
	return err
}

// argument is a value for a function of ours, and call its call. rod's own types would decode values and encode them anew.
type argument struct {
	Value  json.RawMessage `json:"value,omitempty"`
	Object string          `json:"objectId,omitempty"`
}

type call struct {
	FunctionDeclaration string                          `json:"functionDeclaration"`
	ExecutionContextID  proto.RuntimeExecutionContextID `json:"executionContextId"`
	Arguments           []argument                      `json:"arguments"`
	ReturnByValue       bool                            `json:"returnByValue"`
	AwaitPromise        bool                            `json:"awaitPromise"`
	ObjectGroup         string                          `json:"objectGroup,omitempty"`
}

// remote is what a function of ours returned.
type remote struct {
	Object  proto.RuntimeRemoteObjectID `json:"objectId"`
	Subtype string                      `json:"subtype"`
	Value   json.RawMessage             `json:"value"`
}

// run calls a function of ours in a frame and hands on what it returned, in the session it is in.
func (t *tab) run(ctx context.Context, frame browser.TargetID, function string, byValue bool, args []any, use func(session, remote) error) error {
	s, w, err := t.world(ctx, frame)
	if err != nil {
		return err
	}
	held := !byValue
	c := call{FunctionDeclaration: function, ExecutionContextID: w, Arguments: make([]argument, len(args)), ReturnByValue: byValue, AwaitPromise: true, ObjectGroup: objects}
	defer func() {
		if held {
			ctx, cancel := context.WithTimeout(t.gone, frameTimeout)
			defer cancel()
			s.ctx = ctx
			_ = proto.RuntimeReleaseObjectGroup{ObjectGroup: objects}.Call(s) // what is left goes with its document
		}
	}()
	for i, a := range args {
		if node, ok := a.(browser.Node); ok {
			held = true
			object, err := resolve(s, w, node)
			if err != nil {
				return t.wrapIn(frame, err)
			}
			c.Arguments[i].Object = object
			continue
		}
		if c.Arguments[i].Value, err = json.Marshal(a); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
	}
	answer, err := s.Call(ctx, string(s.id), proto.RuntimeCallFunctionOn{}.ProtoReq(), c)
	if err != nil {
		return t.wrapIn(frame, err)
	}
	var res struct {
		Result    remote `json:"result"`
		Exception *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	if err := json.Unmarshal(answer, &res); err != nil {
		return fmt.Errorf("the page's answer: %w", err)
	}
	if res.Exception != nil {
		return errors.New("the page could not be asked: " + res.Exception.Text)
	}
	return t.wrapIn(frame, use(s, res.Result))
}

// resolve returns the object that a node is in a world.
func resolve(s session, w proto.RuntimeExecutionContextID, node browser.Node) (string, error) {
	params := struct {
		Node  browser.Node                    `json:"backendNodeId"`
		World proto.RuntimeExecutionContextID `json:"executionContextId"`
		Group string                          `json:"objectGroup"`
	}{node, w, objects}
	answer, err := s.Call(s.ctx, string(s.id), proto.DOMResolveNode{}.ProtoReq(), params)
	var cdpErr *cdp.Error
	if errors.As(err, &cdpErr) && cdpErr.Code != noSession {
		return "", fmt.Errorf("%w: %w", browser.ErrNoNode, err)
	}
	if err != nil {
		return "", err
	}
	var res struct {
		Object remote `json:"object"`
	}
	err = json.Unmarshal(answer, &res)
	return string(res.Object.Object), err
}

// Call implements [browser.Tab].
func (t *tab) Call(ctx context.Context, function string, result any, args ...any) error {
	return t.CallIn(ctx, t.ID(), function, result, args...)
}

// CallIn implements [browser.Documents].
func (t *tab) CallIn(ctx context.Context, frame browser.TargetID, function string, result any, args ...any) error {
	return t.run(ctx, frame, function, true, args, func(_ session, r remote) error {
		if len(r.Value) == 0 {
			return errors.New("the page could not be asked: no value came back")
		}
		return json.Unmarshal(r.Value, result)
	})
}

// Element implements [browser.Documents].
func (t *tab) Element(ctx context.Context, frame browser.TargetID, function string, args ...any) (browser.Node, error) {
	var node browser.Node
	err := t.run(ctx, frame, function, false, args, func(s session, r remote) error {
		if r.Object == "" {
			return nil
		}
		res, err := proto.DOMDescribeNode{ObjectID: r.Object}.Call(s)
		if err == nil {
			node = browser.Node(res.Node.BackendNodeID)
		}
		return err
	})
	return node, err
}

// Owner implements [browser.Documents].
func (t *tab) Owner(ctx context.Context, frame browser.Frame) (browser.Node, error) {
	s, _, err := t.world(ctx, frame.Parent)
	if err != nil {
		return 0, err
	}
	res, err := proto.DOMGetFrameOwner{FrameID: proto.PageFrameID(frame.ID)}.Call(s)
	var answer *cdp.Error
	if errors.As(err, &answer) {
		return 0, fmt.Errorf("%w: %w", browser.ErrFrameGone, err)
	}
	if err != nil {
		return 0, err
	}
	return browser.Node(res.BackendNodeID), nil
}

// Accessible implements [browser.Documents].
func (t *tab) Accessible(ctx context.Context, frame browser.TargetID, q *browser.AXQuery) ([]browser.AXNode, error) {
	var res struct {
		Nodes []browser.AXNode `json:"nodes"`
	}
	ask := func(s session, method string, params any) error {
		answer, err := s.Call(ctx, string(s.id), method, params)
		if err == nil {
			err = json.Unmarshal(answer, &res)
		}
		return t.wrapIn(frame, err)
	}
	if q == nil {
		s, _, err := t.world(ctx, frame)
		if err == nil {
			err = ask(s, proto.AccessibilityGetFullAXTree{}.ProtoReq(), proto.AccessibilityGetFullAXTree{FrameID: proto.PageFrameID(frame)})
		}
		return res.Nodes, err
	}
	err := t.run(ctx, frame, `() => document`, false, nil, func(s session, document remote) error {
		return ask(s, proto.AccessibilityQueryAXTree{}.ProtoReq(), proto.AccessibilityQueryAXTree{ObjectID: document.Object, AccessibleName: q.Name, Role: q.Role})
	})
	return res.Nodes, err
}
