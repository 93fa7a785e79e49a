package browser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/papaver-agent/papaver/internal/secret"
)

// Kind says what an act does.
type Kind string

// The acts.
const (
	Navigate Kind = "navigate"
	Click    Kind = "click"
	Change   Kind = "change"
	Wait     Kind = "waitForElement"
	Viewport Kind = "setViewport"
)

const (
	defaultTimeout = 10 * time.Second      // of one act, without the wait for its requests
	lookAgain      = 50 * time.Millisecond // between two looks for an element

	// emptyRefusal is how Chromium calls a 4xx or 5xx without a body.
	emptyRefusal = "net::ERR_HTTP_RESPONSE_CODE_FAILURE"
)

// Act is one thing to do in the page.
type Act struct {
	Kind Kind
	URL  string // Navigate
	// Selectors are alternatives, tried in order; each is a path through shadow roots. Their syntax is that of Chrome
	// DevTools' Recorder: CSS, `aria/NAME`, `text/TEXT`, `xpath/EXPRESSION`, `pierce/CSS`.
	Selectors [][]string
	Value     secret.Text   // Change: the new value. What is typed can be private, so it is never printed.
	Private   bool          // Change: the value is a secret, which is kept out of what the act gave
	Timeout   time.Duration // how long to look for the element; 10 s when 0
	// Width and Height are of the page's view, in CSS pixels: Viewport.
	Width, Height int
}

// Control is what identifies the element an act was done to.
type Control struct {
	Tag  string `json:"tag"`
	Role string `json:"role"`
	Name string `json:"name"` // its accessible name: page text
	Type string `json:"type"`
}

// Made is an act that was made, recorded so that it can be made again. It is immutable once Do has returned it.
type Made struct {
	Number  int // counts from 1 in its context
	Act     Act
	Began   time.Time
	Page    string            // the URL of the page before the act
	Control Control           // Click, Change
	Form    map[string]string // the named fields of the control's form as they were, passwords left out
	Again   *Made             // the act that this one makes again; nil for a first one

	tab       TargetID
	document  string // the document the act was made in
	continues int    // visible Continue controls before it
}

// ErrNotFound is the family of errors of an act whose element was not there in time. The error says what was seen.
var ErrNotFound = errors.New("the element was not found")

// Do makes an act, waits until the requests it caused are answered (at most 5 s), and returns what was made. The
// record is returned beside an error when the act had begun: its requests may have left.
func (c *Context) Do(ctx context.Context, act Act) (*Made, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	m := &Made{Act: act}
	begun, err := c.do(ctx, m)
	if !begun && err != nil {
		return nil, c.browser.gone(err)
	}
	if begun && err == nil {
		err = c.settle(ctx, quietLimit)
	}
	return m, c.browser.gone(err)
}

// Quiet waits until the requests of the context's tab are answered, at most 5 s.
func (c *Context) Quiet(ctx context.Context) {
	c.acting.Lock()
	defer c.acting.Unlock()
	_ = c.settle(ctx, quietLimit) // the next act says that Chromium is gone
}

// settle lets the page's own reaction to an act begin, then waits for it to end, at most limit long. Its one error is
// ErrGone.
func (c *Context) settle(ctx context.Context, limit time.Duration) error {
	ctx, cancel := c.browser.within(ctx, limit, ErrNoAnswer) // a page whose script runs for ever answers no call
	defer cancel()
	// A call answers after the page handled the input before it, so that what the handler began is counted.
	_ = c.tab.tab.Call(ctx, `() => true`, new(bool)) // a page that is going away cannot answer, and that is activity too
	return c.quiet(ctx, limit)
}

// quiet waits until no request of the tab is under way, at most limit long. Its one error is ErrGone.
func (c *Context) quiet(ctx context.Context, limit time.Duration) error {
	return c.quietIn(ctx, c.tab, limit)
}

func (c *Context) quietIn(ctx context.Context, in *tabState, limit time.Duration) error {
	ctx, cancel := c.browser.within(ctx, limit, ErrNoAnswer)
	defer cancel()
	if !in.quiet(ctx, limit) && errors.Is(context.Cause(ctx), ErrGone) {
		return ErrGone
	}
	return nil
}

func (c *Context) do(ctx context.Context, m *Made) (begun bool, err error) {
	timeout := m.Act.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := c.browser.within(ctx, timeout, context.DeadlineExceeded)
	defer cancel()
	m.document = c.tab.tab.Document()
	switch m.Act.Kind {
	case Navigate:
		if err := checkNavigation(m.Act.URL); err != nil {
			return false, err
		}
		c.begin(m)
		err := c.tab.tab.Navigate(ctx, m.Act.URL)
		if load, ok := errors.AsType[*LoadError](err); ok && load.Text == emptyRefusal {
			err = nil // a response came, and Chromium shows a page of its own for it
		}
		return true, err
	case Click:
		seen, err := c.find(ctx, m)
		if err != nil {
			return false, err
		}
		c.begin(m)
		return true, c.tab.tab.Click(ctx, seen.X, seen.Y, 1)
	case Change:
		if _, err := c.find(ctx, m); err != nil {
			return false, err
		}
		if m.Act.Private {
			c.private = append(c.private, m.Act.Value)
		}
		c.begin(m)
		return true, c.change(ctx, m.Act)
	case Wait:
		_, err := c.find(ctx, m)
		return false, err
	case Viewport:
		return false, c.tab.tab.SetViewport(ctx, m.Act.Width, m.Act.Height)
	default:
		return false, fmt.Errorf("act %q is not known", m.Act.Kind)
	}
}
