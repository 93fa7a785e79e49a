package browser

import (
	"context"
	"fmt"
	"time"
)

const cookiesTimeout = 5 * time.Second

// Cookie is what may be known of a cookie: that it is there, and for whom. Its value is the Company's own, and nobody
// asks for it.
type Cookie struct {
	Name     string `json:"name"`
	Domain   string `json:"domain"`
	Path     string `json:"path"`
	SameSite string `json:"sameSite"` // Strict, Lax or None; empty when the site did not say
	HTTPOnly bool   `json:"httpOnly"` // no script of a page can read or remove it
}

// Cookies lists the cookies of the context.
func (c *Context) Cookies(ctx context.Context) ([]Cookie, error) {
	ctx, cancel := context.WithTimeout(ctx, cookiesTimeout)
	defer cancel()
	cookies, err := c.browser.engine.Cookies(ctx, c.id)
	if err != nil {
		return nil, c.browser.gone(fmt.Errorf("the context's cookies: %w", err))
	}
	return cookies, nil
}
