package browser

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// travel makes an act that brings another document into the tab.
func (c *Context) travel(ctx context.Context, m *Made) (bool, error) {
	in := c.tab.tab
	m.Page = in.URL()
	c.begin(m)
	switch m.Act.Kind {
	case Navigate:
		return true, c.navigate(ctx, m.Act.URL)
	case Reload:
		return true, in.Reload(ctx)
	default:
		by := -1
		if m.Act.Kind == Forward {
			by = 1
		}
		there, err := in.Go(ctx, by)
		if err != nil {
			return !errors.Is(err, ErrNoHistory), fmt.Errorf("%s: %w", m.Act.Kind, err)
		}
		return true, c.gone(ctx, m.document, there)
	}
}

// navigate opens a page. A response without a page of its own, which Chromium then makes one for, is no error.
func (c *Context) navigate(ctx context.Context, url string) error {
	err := c.tab.tab.Navigate(ctx, url)
	if load, ok := errors.AsType[*LoadError](err); ok && load.Text == emptyRefusal {
		return nil
	}
	return err
}

// gone waits until the tab has left a document, or has gone on in it to the entry of its history that has that URL.
func (c *Context) gone(ctx context.Context, document, url string) error {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		if c.tab.tab.Document() != document || c.tab.tab.URL() == url {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("the page before did not come: %w", context.Cause(ctx))
		}
	}
}
