package browser

import "time"

// SetAskedLimit shortens how long a dialog that is to be handled stays open.
func (c *Context) SetAskedLimit(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.askedLimit = d
}
