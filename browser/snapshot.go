package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	defaultSnapshotLines = 1000
	maxSnapshotLines     = 10_000
	defaultSnapshotBytes = 64 << 10
	maxSnapshotBytes     = 1 << 20
	maxSnapshotElements  = 100_000 // of one document
	maxSnapshotFrames    = 50
)

// ErrTooLarge is returned when a page has more elements than a snapshot takes. Nothing of it is shown.
var ErrTooLarge = errors.New("the page is too large for a snapshot")

// SnapshotOptions bound a snapshot. Its zero value is the whole page, as much as one answer holds.
type SnapshotOptions struct {
	// Ref is the element whose part of the page alone is wanted: a reference of an earlier snapshot.
	Ref string
	// Offset leaves out so many lines at the beginning: Next of an earlier, cut snapshot.
	Offset int
	// Lines and Bytes are the most of the text; 1000 and 64 KiB when 0, at most 10 000 and 1 MiB. A line is never cut.
	Lines, Bytes int
}

// Snapshot is the accessibility tree of a page as text. All of it is page content and not sanitised.
type Snapshot struct {
	URL   string // of the page
	Title string // of the page
	// Text has a line for each element, indented below the one that it is in:
	//
	//	- button "Exchange" [ref=e12]
	//
	// in the form that users of Playwright's MCP server know. Values of password fields and what was entered as a secret are
	// left out.
	Text string
	// Lines is how many the whole has, and Next the Offset of what follows: 0 when nothing does. Then Text ends with a
	// line that says so.
	Lines, Next int
	// LeftOut is how many frames are not shown: those that do not answer, and those beyond the 50th.
	LeftOut int
}

// Snapshot describes the page in the tab with all frames in it. The references in it are for [Act] and later snapshots;
// they expire with the document of their frame. ErrNoAnswer when the page is busy with a script of its own.
func (c *Context) Snapshot(ctx context.Context, o SnapshotOptions) (Snapshot, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	ctx, cancel := c.browser.within(ctx, answerTimeout, ErrNoAnswer)
	defer cancel()
	s, err := c.snapshot(ctx, o)
	if err != nil && errors.Is(context.Cause(ctx), ErrNoAnswer) {
		err = fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return s, c.browser.gone(err)
}

func (c *Context) snapshot(ctx context.Context, o SnapshotOptions) (Snapshot, error) {
	t := c.tab.tab
	frames, err := t.Frames(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	c.refs.forget(t.ID(), frames)
	var s Snapshot
	if err := t.Call(ctx, `() => ({URL: location.href, Title: document.title})`, &s); err != nil {
		return Snapshot{}, err
	}
	p := &painter{c: c, tab: t.ID(), trees: make(map[TargetID]*tree), below: make(map[ref]TargetID)}
	if o.Ref != "" {
		if p.only, err = c.subtree(o.Ref, frames); err != nil {
			return Snapshot{}, err
		}
	}
	s.LeftOut = max(len(frames)-maxSnapshotFrames, 0)
	for _, f := range frames[:len(frames)-s.LeftOut] {
		if err := p.read(ctx, f); err != nil && f.Parent == "" {
			return Snapshot{}, err
		} else if err != nil {
			s.LeftOut++
		}
	}
	if p.only.node == 0 {
		p.frame(frames[0].ID, 0)
	} else {
		p.sub()
	}
	s.page(p.lines, o)
	return s, nil
}

// subtree is the element of a reference, while its document is there.
func (c *Context) subtree(name string, frames []Frame) (ref, error) {
	of, known := c.refs.byName[name]
	s := seen{Reason: Unknown}
	switch {
	case known && of.tab == c.tab.tab.ID() && slices.ContainsFunc(frames, func(f Frame) bool { return f.ID == of.frame }):
		return of, nil // forget has seen to the document
	case known || c.refs.given(name):
		s.Reason = Expired
	}
	return ref{}, Act{Ref: name}.notFound(s, nil)
}

// page takes as many lines as fit, and says what follows.
func (s *Snapshot) page(lines []string, o SnapshotOptions) {
	most, bytes := o.Lines, o.Bytes
	if most <= 0 {
		most = defaultSnapshotLines
	}
	if bytes <= 0 {
		bytes = defaultSnapshotBytes
	}
	most, bytes = min(most, maxSnapshotLines), min(bytes, maxSnapshotBytes)
	s.Lines = len(lines)
	at := min(max(o.Offset, 0), len(lines))
	var text strings.Builder
	for at < len(lines) && most > 0 && (text.Len() == 0 || text.Len()+len(lines[at]) < bytes) {
		text.WriteString(lines[at] + "\n")
		at++
		most--
	}
	if at < len(lines) {
		s.Next = at
		fmt.Fprintf(&text, "# %d more lines, from offset %d on\n", len(lines)-at, at)
	}
	s.Text = text.String()
}

// tree is the accessibility tree of one document.
type tree struct {
	frame Frame
	root  string
	nodes map[string]AXNode
}

// painter turns trees into lines.
type painter struct {
	c     *Context
	tab   TargetID
	only  ref // the element whose part alone is wanted
	trees map[TargetID]*tree
	below map[ref]TargetID // the frame that an element holds
	lines []string
}

// read gets a frame's tree, and which element of its parent's document holds it.
func (p *painter) read(ctx context.Context, f Frame) error {
	t := p.c.tab.tab
	ctx, cancel := context.WithTimeout(ctx, answerTimeout/2)
	defer cancel()
	var elements int
	if err := t.CallIn(ctx, f.ID, `() => document.getElementsByTagName('*').length`, &elements); err != nil {
		return err
	}
	if elements > maxSnapshotElements {
		return fmt.Errorf("%w: %d elements, and %d are the most", ErrTooLarge, elements, maxSnapshotElements)
	}
	if f.Parent != "" {
		owner, err := t.Owner(ctx, f)
		if err != nil {
			return err
		}
		holder := p.trees[f.Parent]
		if holder == nil {
			return ErrFrameGone
		}
		p.below[ref{p.tab, f.Parent, holder.frame.Document, owner}] = f.ID
	}
	list, err := t.Accessible(ctx, f.ID, nil)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return ErrNoAnswer
	}
	read := &tree{frame: f, root: list[0].ID, nodes: make(map[string]AXNode, len(list))}
	for _, n := range list {
		read.nodes[n.ID] = n
	}
	p.trees[f.ID] = read
	return nil
}

// frame draws the document of a frame.
func (p *painter) frame(id TargetID, depth int) {
	if t := p.trees[id]; t != nil {
		p.children(t, t.nodes[t.root], depth)
	}
}

// sub draws the one element that is wanted.
func (p *painter) sub() {
	t := p.trees[p.only.frame]
	if t == nil {
		return
	}
	for _, n := range t.nodes {
		if n.Node == p.only.node {
			p.node(t, n, 0)
			return
		}
	}
}
