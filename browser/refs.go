package browser

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// maxRefs is how many references of a context are remembered. When there are more all of them expire.
const maxRefs = 100_000

// ref is an element that a snapshot named.
type ref struct {
	tab, frame TargetID
	document   string
	node       Node
}

// refs are the references of a context's snapshots. A number is given once and for one element; the same element of the
// same document keeps it in later snapshots.
type refs struct {
	last   int
	byName map[string]ref
	names  map[ref]string
	frames map[TargetID]int // the number of each frame below a main one
}

func newRefs() *refs {
	return &refs{byName: make(map[string]ref), names: make(map[ref]string), frames: make(map[TargetID]int)}
}

// name returns the reference of an element: e12, or f1e12 in a frame below the main one.
func (r *refs) name(of ref) string {
	if name, ok := r.names[of]; ok {
		return name
	}
	r.last++
	name := fmt.Sprintf("e%d", r.last)
	if of.frame != of.tab {
		if r.frames[of.frame] == 0 {
			r.frames[of.frame] = len(r.frames) + 1
		}
		name = fmt.Sprintf("f%d", r.frames[of.frame]) + name
	}
	r.names[of], r.byName[name] = name, of
	return name
}

// forget drops the references into documents of a tab that are gone.
func (r *refs) forget(tab TargetID, frames []Frame) {
	full := len(r.names) > maxRefs
	maps.DeleteFunc(r.byName, func(_ string, of ref) bool {
		gone := of.tab == tab && !slices.ContainsFunc(frames, func(f Frame) bool { return f.ID == of.frame && f.Document == of.document })
		if gone || full {
			delete(r.names, of)
		}
		return gone || full
	})
}

// given reports whether a snapshot ever gave that reference.
func (r *refs) given(name string) bool {
	var frame, n int
	if _, err := fmt.Sscanf(name, "f%de%d", &frame, &n); err != nil {
		if _, err := fmt.Sscanf(name, "e%d", &n); err != nil {
			return false
		}
	}
	return n > 0 && n <= r.last && frame <= len(r.frames) && (name == fmt.Sprintf("e%d", n) || name == fmt.Sprintf("f%de%d", frame, n))
}

// lookUp looks at the element of a reference. It has expired when its document is gone.
func (c *Context) lookUp(ctx context.Context, act Act, n need, mark int) (seen, error) {
	of, known := c.refs.byName[act.Ref]
	if !known {
		if c.refs.given(act.Ref) {
			return seen{Reason: Expired}, nil
		}
		return seen{Reason: Unknown}, nil
	}
	t := c.tab.tab
	if of.tab != t.ID() {
		return seen{Reason: Expired}, nil
	}
	in := Frame{ID: t.ID(), Document: t.Document()}
	var frames []Frame
	if of.frame != of.tab {
		var err error
		if frames, err = t.Frames(ctx); err != nil {
			return seen{}, err
		}
		at := slices.IndexFunc(frames, func(f Frame) bool { return f.ID == of.frame })
		if at < 0 {
			return seen{Reason: Expired}, nil
		}
		in = frames[at]
	}
	if in.Document != of.document {
		return seen{Reason: Expired}, nil
	}
	var s seen
	err := t.CallIn(ctx, in.ID, findFunction, &s, []any{1}, n, mark, act.offset(), of.node)
	switch {
	case errors.Is(err, ErrNoNode):
		return seen{Reason: Detached}, nil
	case err != nil:
		return seen{}, err
	case s.Reason == NoMatch:
		s.Reason = Detached // it is in no document
	}
	s.frame, s.mark = in, mark
	return c.place(ctx, s, in, frames, n)
}
