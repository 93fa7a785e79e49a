package chromedpdriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/papaver-agent/papaver/browser"
)

// isolated is our world in a document. Its unique name is of no other context, whatever process comes to have the tab, so a
// function that is called in it runs there or nowhere.
type isolated struct {
	name     string
	document string
}

// worldMade notes our world in the main frame's document, for the calls after the one that had it made.
func (t *tab) worldMade(c *runtime.ExecutionContextDescription) {
	var in struct {
		Frame browser.TargetID `json:"frameId"`
	}
	if c == nil || c.Name != world || json.Unmarshal(c.AuxData, &in) != nil {
		return
	}
	document := t.activity.Document()
	t.mu.Lock()
	defer t.mu.Unlock()
	if in.Frame == browser.TargetID(t.main) && t.main != "" {
		t.ours = isolated{c.UniqueID, document}
	}
}

// inOurWorld calls a function in our world in the main frame's document, when that is there already. done is whether it
// was called.
func (t *tab) inOurWorld(ctx context.Context, c call) (res runtime.CallFunctionOnResult, done bool, err error) {
	document := t.activity.Document()
	t.mu.Lock()
	ours := t.ours
	t.mu.Unlock()
	if ours.name == "" || ours.document != document {
		return res, false, nil
	}
	c.UniqueContextID = ours.name
	res, err = cdp.Call(ctx, t.target, callFunctionOn, c)
	var answer *cdproto.Error
	if errors.As(err, &answer) && strings.Contains(answer.Message, "uniqueContextId not found") {
		return res, false, nil // nothing ran
	}
	return res, true, err
}

// argument is a value for a function of ours, or an object. cdproto's own leaves out a value that is empty.
type argument struct {
	Value    json.RawMessage        `json:"value,omitzero"`
	ObjectID runtime.RemoteObjectID `json:"objectId,omitzero"`
}

type call struct {
	runtime.CallFunctionOnParams
	Arguments []argument `json:"arguments"`
}

var callFunctionOn = cdp.Command[call, runtime.CallFunctionOnResult]{Method: runtime.CommandCallFunctionOn}

// run calls a function of ours in a frame and hands on what it returned, in the session it is in.
func (t *tab) run(ctx context.Context, frame browser.TargetID, function string, byValue bool, args []any, use func(*chromedp.Target, *runtime.RemoteObject) error) error {
	awaited := true
	c := call{CallFunctionOnParams: runtime.CallFunctionOnParams{FunctionDeclaration: function, ReturnByValue: &byValue, AwaitPromise: &awaited, ObjectGroup: objects}}
	c.Arguments = make([]argument, len(args))
	nodes := make(map[int]browser.Node)
	for i, a := range args {
		node, ok := a.(browser.Node)
		if ok {
			nodes[i] = node
			continue
		}
		var err error
		if c.Arguments[i].Value, err = json.Marshal(a); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
	}
	if frame == t.ID() && byValue && len(nodes) == 0 {
		if res, done, err := t.inOurWorld(ctx, c); done {
			return t.used(frame, t.target, res, err, use)
		}
	}
	s, w, err := t.world(ctx, frame)
	if err != nil {
		return err
	}
	if !byValue || len(nodes) > 0 {
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), frameTimeout)
			defer cancel()
			_, _ = cdp.Call(ctx, s, runtime.ReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: objects}) // what is left goes with its document
		}()
	}
	for i, node := range nodes {
		res, err := cdp.Call(ctx, s, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: cdp.BackendNodeID(node), ObjectGroup: objects, ExecutionContextID: w})
		var answer *cdproto.Error
		if errors.As(err, &answer) {
			return fmt.Errorf("%w: %w", browser.ErrNoNode, err)
		}
		if err != nil {
			return t.wrapIn(frame, err)
		}
		c.Arguments[i].ObjectID = res.Object.ObjectID
	}
	c.ExecutionContextID = w
	res, err := cdp.Call(ctx, s, callFunctionOn, c)
	return t.used(frame, s, res, err, use)
}

// used has what a function returned used.
func (t *tab) used(frame browser.TargetID, s *chromedp.Target, res runtime.CallFunctionOnResult, err error, use func(*chromedp.Target, *runtime.RemoteObject) error) error {
	switch {
	case err != nil:
		return t.wrapIn(frame, err)
	case res.ExceptionDetails != nil:
		return errors.New("the page could not be asked: " + res.ExceptionDetails.Text)
	case res.Result == nil:
		return errors.New("the page could not be asked: no value came back")
	}
	return t.wrapIn(frame, use(s, res.Result))
}
