package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"
)

// answerTimeout is how long a page has to answer a question about itself.
const answerTimeout = 10 * time.Second

// ErrNoAnswer is returned when a page does not answer in time.
var ErrNoAnswer = errors.New("the page does not answer: a script of it may run for ever")

// Location is the URL of the page in the tab. ErrNoAnswer when the page is busy with a script of its own.
func (c *Context) Location(ctx context.Context) (string, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	if err := c.comeBack(ctx); err != nil {
		return "", err
	}
	var location string
	err := c.ask(ctx, `() => location.href`, &location)
	return location, err
}

// maxText is how much of a page's text is read, in UTF-16's units.
const maxText = 1 << 20

// Text is the visible text of the page in the tab, its first million characters. It is page content, not sanitised. ErrNoAnswer when the page is busy
// with a script of its own.
func (c *Context) Text(ctx context.Context) (string, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	if err := c.comeBack(ctx); err != nil {
		return "", err
	}
	var text string
	err := c.ask(ctx, `(most) => document.body ? document.body.innerText.slice(0, most) : ''`, &text, maxText)
	return text, err
}

// ask calls a function of ours in the page, which answers within answerTimeout or not at all.
func (c *Context) ask(ctx context.Context, function string, result any, args ...any) error {
	return c.askIn(ctx, c.tab.tab.ID(), function, result, args...)
}

// askIn is ask in a frame. A page whose dialog is open does not answer.
func (c *Context) askIn(ctx context.Context, in TargetID, function string, result any, args ...any) error {
	if _, open := c.Dialog(); open {
		return ErrDialogOpen
	}
	ctx, cancel := c.browser.within(ctx, answerTimeout, ErrNoAnswer)
	defer cancel()
	err := c.tab.tab.CallIn(ctx, in, function, result, args...)
	if err != nil && errors.Is(context.Cause(ctx), ErrNoAnswer) {
		err = fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return c.browser.gone(err)
}
