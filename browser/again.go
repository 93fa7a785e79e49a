package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// How says in which way an act's request was made again.
type How string

// The ways, in the order they are tried.
const (
	// ByPage: the page has made the request again by itself.
	ByPage How = "page"
	// ByContinue: the one Continue control that came with the refusal was pressed.
	ByContinue How = "continue"
	// ByReload: the refused document was loaded again, a form's POST with it.
	ByReload How = "reload"
	// ByRepeat: the same control was pressed again, in the same document.
	ByRepeat How = "repeat"
)

// ErrCannotRepeat is the family of errors of an act whose page is not there any more, so that its request cannot be
// made again by the browser. Nothing was done.
var ErrCannotRepeat = errors.New("the act cannot be made again")

//go:embed continue.js
var continueFunction string

// Again has the browser make the request of h again, which m caused: in the first way of [How] that fits. permit is
// called with the way before anything is done, and what it refuses is not done. Again returns when the requests of it
// are answered, at most 15 s later. It makes no request by itself: the page's own is made again, with nothing in it changed.
func (c *Context) Again(ctx context.Context, m *Made, h Held, permit func(How) error) (How, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	if n, _ := c.tab.tab.Activity(); n > 0 {
		// The page may be making the request again by itself just now.
		if err := c.quiet(ctx, quietLimit); err != nil {
			return "", err
		}
	}
	how, do, err := c.wayToRepeat(ctx, m, h)
	if err != nil {
		return "", c.browser.gone(err)
	}
	if err := permit(how); err != nil {
		return how, err
	}
	ctx, cancel := c.browser.within(ctx, replayLimit, context.DeadlineExceeded)
	defer cancel()
	c.begin(&Made{Act: m.Act, Page: m.Page, Control: m.Control, Form: m.Form, Again: m})
	err = do(ctx)
	if gone := c.settle(ctx, replayLimit); err == nil {
		err = gone
	}
	return how, c.browser.gone(err)
}

// wayToRepeat picks the way, without doing anything.
func (c *Context) wayToRepeat(ctx context.Context, m *Made, h Held) (How, func(context.Context) error, error) {
	tab := c.tab.tab
	if !c.hasRepeated(m) && c.tab.repeated(h.paused) {
		return ByPage, func(context.Context) error { return nil }, nil
	}
	last := c.tab.lastDocument()
	if h.MainDocument() && last.failedLike(h.paused) {
		// An error page stands for the act's own request, and loading it again makes that request again [measured].
		return ByReload, tab.Reload, nil
	}
	refused := h.MainDocument() && last.ID == h.paused.ID     // the refusal is the page in the tab
	same := !h.MainDocument() && tab.Document() == m.document // the act's own page is still in the tab
	if !refused && !same {
		return "", nil, fmt.Errorf("%w: the tab has left the page it was made on", ErrCannotRepeat)
	}
	control, err := c.findContinue(ctx, true)
	if err != nil {
		return "", nil, cannotRepeat(err)
	}
	if control.Open && (refused || m.continues == 0 && c.got(ctx, h)) {
		return ByContinue, c.pressContinue, nil
	}
	if refused {
		return ByReload, tab.Reload, nil
	}
	if m.Act.Kind != Click && m.Act.Kind != DoubleClick {
		return "", nil, fmt.Errorf("%w: a %s is no control that could be pressed again", ErrCannotRepeat, m.Act.Kind)
	}
	ctx, cancel := c.browser.within(ctx, defaultTimeout, context.DeadlineExceeded)
	defer cancel()
	there, err := c.look(ctx, m.Act.Selectors, "click")
	if err != nil {
		return "", nil, cannotRepeat(err)
	}
	if c.tab.repeated(h.paused) {
		// The page did it while the control was looked for, as when it is disabled until then.
		return ByPage, func(context.Context) error { return nil }, nil
	}
	if there.Control != m.Control {
		return "", nil, fmt.Errorf("%w: another control stands where it was", ErrCannotRepeat)
	}
	return ByRepeat, func(ctx context.Context) error {
		now, err := c.look(ctx, m.Act.Selectors, "click") // where it is by now
		if err != nil {
			return err
		}
		if now.Control != m.Control {
			return errors.New("another control stands where it was")
		}
		return c.press(ctx, m.Act, now.X, now.Y)
	}, nil
}

// got reports whether the document in the tab is the one that got h: it asked itself, or a worker did.
func (c *Context) got(ctx context.Context, h Held) bool {
	if h.paused.Frame == c.tab.tab.ID() {
		return true
	}
	targets, err := c.browser.engine.Targets(ctx)
	return err == nil && slices.ContainsFunc(targets, func(t Target) bool {
		return t.ID == h.paused.Frame && t.Context == c.id && strings.HasSuffix(t.Type, "worker")
	})
}

// pressContinue looks for the Continue control once more, since the page may have moved it, and presses it.
func (c *Context) pressContinue(ctx context.Context) error {
	control, err := c.findContinue(ctx, true)
	if err != nil {
		return err
	}
	if !control.Open {
		return errors.New("the Continue control is not there any more")
	}
	return c.press(ctx, Act{Kind: Click}, control.X, control.Y)
}

// cannotRepeat says that err is why the act cannot be made again, unless it is that Chromium is gone: another process
// may find a way yet.
func cannotRepeat(err error) error {
	if errors.Is(err, ErrGone) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCannotRepeat, err)
}

// hasRepeated reports whether the last act was m, made again: what came since is then not the page's own doing.
func (c *Context) hasRepeated(m *Made) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present != nil && c.present.Again == m
}

// continueControl is what continue.js answers: how many Continue controls are visible, and, to press the only one, where
// it is and whether nothing covers it there.
type continueControl struct {
	Count int     `json:"count"`
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Open  bool    `json:"open"`
}

// findContinue leaves the page where it is unless the control is to be pressed.
func (c *Context) findContinue(ctx context.Context, press bool) (continueControl, error) {
	var control continueControl
	err := c.ask(ctx, continueFunction, &control, press)
	return control, err
}
