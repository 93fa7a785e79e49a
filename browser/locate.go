package browser

import (
	"context"
	"fmt"
)

// place is the element an act is done to, and where in the viewport it is pressed.
type place struct {
	frame TargetID
	node  Node
	x, y  float64
}

// markedFunction returns the element that find.js remembers under a mark.
const markedFunction = `(mark) => globalThis.marked?.get(mark)?.deref() ?? null`

// locate is find for an act that needs the element itself.
func (c *Context) locate(ctx context.Context, m *Made) (place, error) {
	s, err := c.find(ctx, m)
	if err != nil {
		return place{}, err
	}
	p := place{frame: s.frame.ID, x: s.X, y: s.Y}
	if p.node, err = c.tab.tab.Element(ctx, p.frame, markedFunction, s.mark); err == nil && p.node == 0 {
		err = m.Act.notFound(seen{Reason: Detached}, nil)
	}
	return p, err
}

// frameOf is the frame in which an act looks.
func (c *Context) frameOf(ctx context.Context, act Act) (TargetID, error) {
	in, _, err := c.frame(ctx, act.Frame)
	if err == nil && in.ID == "" {
		err = act.notFound(seen{Reason: NoFrame}, nil)
	}
	return in.ID, err
}

// elements reports whether the elements that an act waits for are there, and what is there instead.
func (c *Context) elements(ctx context.Context, act Act) (bool, string, error) {
	s, err := c.lookOnce(ctx, act, need{Visible: !act.Elements.Unseen, Properties: act.Elements.Properties, Attributes: act.Elements.Attributes}, c.nextMark())
	if err != nil {
		return false, "", err
	}
	if s.final(act) {
		return false, "", fmt.Errorf("%w: %w", ErrAct, act.notFound(s, nil))
	}
	n, which := s.Shown, "visible elements"
	if act.Elements.Unseen {
		n, which = s.Matches, "elements"
	}
	instead := fmt.Sprintf("%d %s match", n, which)
	if s.Unlike != "" {
		instead += ", and of one " + quote(s.Unlike) + " is another"
	}
	return act.Elements.fits(n, s.Unlike == ""), instead, nil
}

// nextMark is a number under which an element is remembered in its document.
func (c *Context) nextMark() int {
	c.marks++
	return c.marks
}
