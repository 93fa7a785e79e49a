package browser

import "context"

// place is the element an act is done to, and where in the viewport it is pressed.
type place struct {
	frame TargetID
	node  Node
	x, y  float64
}

func (k Kind) purpose() string {
	switch k {
	case Click, DoubleClick, Check, Uncheck:
		return "click"
	case Scroll, Wait, Upload:
		return "wait"
	default:
		return "change"
	}
}

func (c *Context) locate(ctx context.Context, m *Made) (place, error) {
	s, err := c.find(ctx, m)
	if err != nil {
		return place{}, err
	}
	p := place{frame: c.tab.tab.ID(), x: s.X, y: s.Y}
	p.node, err = c.tab.tab.Element(ctx, p.frame, `() => globalThis.found`)
	return p, err
}

func (c *Context) frameOf(context.Context, Act) (TargetID, error) { return c.tab.tab.ID(), nil }

func (c *Context) elements(context.Context, Act) (bool, string, error) { return false, "", nil }
