package browser

import (
	"context"
	"fmt"
	"time"
)

const (
	maxShot     = 16384 // CSS pixels of a picture's height and width; Chromium draws no more
	shotTimeout = 20 * time.Second
)

// Shot says what a picture is of: the viewport, unless it says more.
type Shot struct {
	Target string // as in [Act]
	// Frame, Selectors and Ref are of an element, as in [Act].
	Frame     []int
	Selectors [][]string
	Ref       string
	Whole     bool // the whole page, at most 16384 CSS pixels of it either way
}

// Screenshot is a picture of the page in the tab, as PNG. It is page content. An element is brought into view for it.
func (c *Context) Screenshot(ctx context.Context, s Shot) ([]byte, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	var png []byte
	err := c.untilDialog(ctx, false, func(ctx context.Context) error {
		leave, path, err := c.enter(ctx, Act{Target: s.Target})
		if err != nil {
			return err
		}
		defer leave()
		s.Frame = append(path, s.Frame...)
		ctx, cancel := c.browser.within(ctx, shotTimeout, ErrNoAnswer)
		defer cancel()
		png, err = c.shoot(ctx, s)
		return err
	})
	if err == nil && png == nil {
		err = ErrDialogOpen
	}
	return png, c.browser.gone(err)
}

func (c *Context) shoot(ctx context.Context, s Shot) ([]byte, error) {
	if err := c.front(ctx); err != nil {
		return nil, err
	}
	in := c.tab.tab
	switch {
	case len(s.Selectors) > 0 || s.Ref != "":
		at, err := c.locate(ctx, &Made{Act: Act{Kind: Scroll, Frame: s.Frame, Selectors: s.Selectors, Ref: s.Ref}})
		if err != nil {
			return nil, err
		}
		clip, err := c.boxOf(ctx, at)
		if err != nil {
			return nil, err
		}
		return in.Screenshot(ctx, &clip)
	case s.Whole:
		var clip Clip
		err := in.Call(ctx, `() => ({Width: document.documentElement.scrollWidth, Height: document.documentElement.scrollHeight})`, &clip)
		if err != nil {
			return nil, fmt.Errorf("the page's size: %w", err)
		}
		clip.Width, clip.Height = min(max(clip.Width, 1), maxShot), min(max(clip.Height, 1), maxShot)
		return in.Screenshot(ctx, &clip)
	}
	return in.Screenshot(ctx, nil)
}

// boxOf is where in its document an element is.
func (c *Context) boxOf(ctx context.Context, at place) (Clip, error) {
	var clip Clip
	err := c.tab.tab.CallIn(ctx, at.frame, `(el) => {
	  const box = el.getBoundingClientRect();
	  return {X: box.x, Y: box.y, Width: box.width, Height: box.height};
	}`, &clip, at.node)
	if err != nil {
		return Clip{}, fmt.Errorf("where the element is: %w", err)
	}
	// In the document of the main frame: the pressed point lies in the middle of it.
	var scrolled Point
	if err := c.tab.tab.Call(ctx, `() => ({X: scrollX, Y: scrollY})`, &scrolled); err != nil {
		return Clip{}, fmt.Errorf("where the page is: %w", err)
	}
	clip.Width, clip.Height = min(max(clip.Width, 1), maxShot), min(max(clip.Height, 1), maxShot)
	clip.X, clip.Y = at.x-clip.Width/2+scrolled.X, at.y-clip.Height/2+scrolled.Y
	return clip, nil
}
