package browser

import "context"

// Scrolling is where an element, or the page, is scrolled to.
type Scrolling struct {
	X, Y float64
	By   bool // X and Y are how far, and not to where
}

// scrollFunction scrolls an element or, without one, the page.
const scrollFunction = `(x, y, by, el) => {
  const what = el || window;
  const how = {left: x, top: y, behavior: 'instant'};
  by ? what.scrollBy(how) : what.scrollTo(how);
  return true;
}`

// scroll makes an act that scrolls. The page's own handlers may send requests for that.
func (c *Context) scroll(ctx context.Context, m *Made) (bool, error) {
	s := m.Act.Scrolling
	if len(m.Act.Selectors) == 0 && m.Act.Ref == "" {
		frame, err := c.frameOf(ctx, m.Act)
		if err != nil {
			return false, err
		}
		c.begin(m)
		return true, c.tab.tab.CallIn(ctx, frame, scrollFunction, new(bool), s.X, s.Y, s.By, nil)
	}
	at, err := c.locate(ctx, m)
	if err != nil {
		return false, err
	}
	c.begin(m)
	return true, c.tab.tab.CallIn(ctx, at.frame, scrollFunction, new(bool), s.X, s.Y, s.By, at.node)
}
