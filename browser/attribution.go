package browser

import "slices"

// A response belongs to the act that was present when its request was sent, however long the answer takes: by then we may
// have made another act. A request belongs to the last act for some seconds, and while the tab has had requests under way
// since, but not for ever: a request that hangs does not make all that a page does later ours.

// asked is a request that was sent.
type asked struct {
	act *Made // by which; nil for one of the page's own
	tab TargetID
}

// sent notes which act a request that a tab sends now belongs to. A redirect's belongs to the first one's.
func (c *Context) sent(tab TargetID, id RequestID, busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.asked[id]; known || id == "" {
		return
	}
	c.asked[id] = asked{c.presentLocked(busy), tab}
	c.order = append(c.order, id)
	if len(c.order) > maxAsked {
		delete(c.asked, c.order[0])
		c.order = slices.Delete(c.order, 0, 1)
	}
}

// senderOf is the tab that sent a request, itself or for a frame in its process.
func (c *Context) senderOf(id RequestID) (TargetID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, known := c.asked[id]
	return a.tab, known
}

// actOf is the act that a response which comes now belongs to; nil when it is the page's own doing.
func (c *Context) actOf(id RequestID) *Made {
	c.mu.Lock()
	tab := c.tab.tab
	c.mu.Unlock()
	n, _ := tab.Activity() // asked without mu: a tab tells of its requests while it counts them
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, known := c.asked[id]; known {
		return a.act
	}
	return c.presentLocked(n > 0)
}

// presentLocked is the act that what happens now belongs to: the last one for some seconds, and longer while its requests
// are under way.
func (c *Context) presentLocked(busy bool) *Made {
	if c.present == nil {
		return nil
	}
	since := c.browser.cfg.Now().Sub(c.began)
	if since > actLimit || (since > actWindow && !busy) {
		return nil
	}
	return c.present
}
