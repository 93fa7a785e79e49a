package browser

import (
	"context"
	"encoding/json"
	"errors"
)

// Documents is what can be asked of the documents in the frames of a tab: of the main frame, of those in its process and of
// those in processes of their own alike. A frame is named by its id, which is one of those that Frames has listed.
type Documents interface {
	// Frames lists the frames: the main one first, and each after the one it is in.
	Frames(ctx context.Context) ([]Frame, error)
	// CallIn is Call in a frame. A [Node] among the arguments is the element itself to the function. What the function
	// promises is waited for.
	CallIn(ctx context.Context, frame TargetID, function string, result any, args ...any) error
	// Element calls a function that returns an element of the frame's document, and names it. Zero: it returned none.
	Element(ctx context.Context, frame TargetID, function string, args ...any) (Node, error)
	// Evaluate calls a function in the page's own world, where the page's scripts can make anything of it.
	Evaluate(ctx context.Context, frame TargetID, function string, result any) error
	// SetFiles puts files into a field for them, by their paths.
	SetFiles(ctx context.Context, frame TargetID, node Node, files []string) error
	// Owner is the element that holds a frame, in the document of the frame's parent.
	Owner(ctx context.Context, frame Frame) (Node, error)
	// Accessible lists the accessibility tree of the frame's document, without those of the frames in it. A query asks for
	// those nodes alone that fit, in the document's order.
	Accessible(ctx context.Context, frame TargetID, q *AXQuery) ([]AXNode, error)
}

// Frame is a frame of a tab, as it was when it was listed.
type Frame struct {
	ID       TargetID // the main frame's is the tab's
	Parent   TargetID // the frame that it is in; empty for the main frame
	Document string   // identifies its document; it changes when a navigation commits
	URL      string   // of its document: page content
	Apart    bool     // it is in a process of its own
}

// Node names an element of a document: CDP's DOM.BackendNodeId. In another frame it means nothing.
type Node int64

// ErrFrameGone is what a call in a frame that no longer exists returns, wrapped.
var ErrFrameGone = errors.New("the frame is gone")

// ErrNoNode is what a call with a node that is not in the document any more returns, wrapped.
var ErrNoNode = errors.New("the element is gone")

// AXQuery asks for nodes of an accessibility tree: with that role, and with that name or, when it is empty, any.
type AXQuery struct {
	Name string
	Role string
}

// AXNode is a node of Chromium's accessibility tree: the members we need of CDP's Accessibility.AXNode.
type AXNode struct {
	ID         string       `json:"nodeId"`
	Ignored    bool         `json:"ignored"`
	Role       AXValue      `json:"role"`
	Name       AXValue      `json:"name"`
	Value      AXValue      `json:"value"`
	Properties []AXProperty `json:"properties"`
	Children   []string     `json:"childIds"`
	Node       Node         `json:"backendDOMNodeId"`
}

// AXProperty is a state or an attribute of an [AXNode].
type AXProperty struct {
	Name  string  `json:"name"`
	Value AXValue `json:"value"`
}

// AXValue is a value of any JSON type.
type AXValue struct {
	Value json.RawMessage `json:"value"`
}

// Text is the value as text: a string's own, another value's JSON, and nothing for none.
func (v AXValue) Text() string {
	var s string
	if json.Unmarshal(v.Value, &s) == nil {
		return s
	}
	return string(v.Value)
}
