package browser

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
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

// Again has the browser make the request of h again, which m caused: in the first way of [How] that fits. permit is
// called with the way before anything is done, and what it refuses is not done. Again returns when the requests of it
// are answered, at most 15 s later: of a refused document as soon as another one answers its request, which may still load
// then, see [Context.Arrived]. It makes no request by itself: the page's own is made again, with nothing in it changed.
//
// The document that got the refusal decides: that of the tab, of a frame in it, or of a window that a page opened.
func (c *Context) Again(ctx context.Context, m *Made, h Held, permit func(How) error) (How, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	at := c.receiverOf(ctx, m, h)
	defer c.inTab(at.tab)()
	if at.busy() && !c.pageRepeats(m, h, at) {
		// The page may be about to make the request again by itself.
		if err := c.quiet(ctx, quietLimit); err != nil {
			return "", err
		}
	}
	how, do, err := c.wayToRepeat(ctx, m, h, at)
	if err != nil {
		return "", c.browser.gone(err)
	}
	if err := permit(how); err != nil {
		return how, err
	}
	ctx, cancel := c.browser.within(ctx, replayLimit, context.DeadlineExceeded)
	defer cancel()
	c.begin(&Made{
		Act: m.Act, Page: m.Page, Control: m.Control, Form: m.Form, Again: m,
		frame: m.frame, document: m.document, mark: m.mark, continues: m.continues,
	})
	left := at.tab.tab.Document()
	err = do(ctx)
	if gone := c.settleAgain(ctx, h, c.leaves(at.tab, left)); err == nil {
		err = gone
	}
	return how, c.browser.gone(err)
}

// settleAgain is settle for an act that was made again. It ends too when the request of a refused document got its answer:
// what became of the operation can be asked from then on, while the page loads.
func (c *Context) settleAgain(ctx context.Context, h Held, left *string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := c.browser.answers.answered(h.paused)
	settled := make(chan error, 1)
	go func() { settled <- c.settle(ctx, replayLimit, left) }()
	select {
	case err := <-settled:
		return err
	case <-answered:
		cancel()
		<-settled // it reads the tab, so it is awaited
		return nil
	}
}

// receiver is the document of a tab of ours that got a refusal.
type receiver struct {
	tab   *tabState
	frame Frame
	found bool // it is known which it is; else tab is the one of the act
}

// receiverOf finds where a refusal came to. What a shared or service worker asked for is of the act's own document. A window
// that a page has just opened can be refused before it is one of our tabs, and is waited for.
func (c *Context) receiverOf(ctx context.Context, m *Made, h Held) receiver {
	ctx, cancel := context.WithTimeout(ctx, attachLimit)
	defer cancel()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	of := c.tabOf(m)
	for {
		at, coming := c.lookForReceiver(ctx, of, h.paused.Frame)
		if !coming {
			return at
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return at
		}
	}
}

// lookForReceiver is receiverOf at this moment. coming is whether it is not found, but may be when a window is one of our tabs.
func (c *Context) lookForReceiver(ctx context.Context, of *tabState, frame TargetID) (at receiver, coming bool) {
	at = receiver{tab: of, frame: Frame{ID: of.tab.ID(), Document: of.tab.Document()}}
	if at.found = frame == of.tab.ID(); at.found {
		return at, false
	}
	asked, cancel := context.WithTimeout(ctx, framesTimeout)
	targets, err := c.browser.engine.Targets(asked) // before the tabs: what becomes one meanwhile is looked for again
	cancel()
	tabs := c.tabsFrom(of)
	for _, t := range targets {
		isTab := func(s *tabState) bool { return s.tab.ID() == t.ID }
		switch {
		case err != nil || t.Context != c.id:
		case t.ID == frame && strings.HasSuffix(t.Type, "worker"):
			at.found = true
			return at, false
		case t.Type == "page" && !slices.ContainsFunc(tabs, isTab):
			coming = true
		}
	}
	for _, t := range tabs {
		if frame == t.tab.ID() {
			return receiver{t, Frame{ID: t.tab.ID(), Document: t.tab.Document()}, true}, false
		}
	}
	for _, t := range tabs {
		asked, cancel := context.WithTimeout(ctx, framesTimeout)
		frames, err := t.tab.Frames(asked)
		cancel()
		if i := slices.IndexFunc(frames, func(f Frame) bool { return f.ID == frame }); err == nil && i >= 0 {
			return receiver{t, frames[i], true}, false
		}
	}
	return at, coming
}

// tabsFrom lists the context's tabs, that one first.
func (c *Context) tabsFrom(first *tabState) []*tabState {
	list := []*tabState{first}
	c.browser.mu.Lock()
	defer c.browser.mu.Unlock()
	for _, t := range slices.Collect(maps.Values(c.browser.tabs)) {
		if t.context == c.id && t != first {
			list = append(list, t)
		}
	}
	return list
}

// wayToRepeat picks the way, without doing anything.
func (c *Context) wayToRepeat(ctx context.Context, m *Made, h Held, at receiver) (How, func(context.Context) error, error) {
	byPage := func(context.Context) error { return nil }
	if c.pageRepeats(m, h, at) {
		return ByPage, byPage, nil
	}
	document := h.paused.Resource == "Document" && at.found
	last := c.browser.answers.document(h.paused.Frame)
	reload := func(ctx context.Context) error { return c.reload(ctx, at.frame) }
	if document && last.failedLike(h.paused) {
		// An error page stands for the act's own request, and loading it again makes that request again [measured].
		return ByReload, reload, nil
	}
	refused := document && last.ID == h.paused.ID // the refusal is the page in the frame
	same := h.paused.Resource != "Document" && c.stillIn(ctx, m)
	if !refused && !same {
		return "", nil, fmt.Errorf("%w: the tab has left the page it was made on", ErrCannotRepeat)
	}
	if at.found {
		control, err := c.findContinue(ctx, at.frame.ID)
		if err != nil {
			return "", nil, cannotRepeat(err)
		}
		// One that was there before the refusal did not come with it. A refused document is new in all that it has.
		if control.Found && (refused || c.isNew(m, h, at)) {
			return ByContinue, func(ctx context.Context) error { return c.pressContinue(ctx, at.frame.ID) }, nil
		}
	}
	if refused {
		return ByReload, reload, nil
	}
	if m.Act.Kind != Click && m.Act.Kind != DoubleClick {
		return "", nil, fmt.Errorf("%w: a %s is no control that could be pressed again", ErrCannotRepeat, m.Act.Kind)
	}
	defer c.inTabOf(m)()
	ctx, cancel := c.browser.within(ctx, defaultTimeout, context.DeadlineExceeded)
	defer cancel()
	if _, err := c.lookAgain(ctx, m); err != nil {
		return "", nil, cannotRepeat(err)
	}
	if c.pageRepeats(m, h, at) {
		// The page did it while the control was looked for, as when it is disabled until then.
		return ByPage, byPage, nil
	}
	return ByRepeat, func(ctx context.Context) error {
		own := c.tabOf(m)
		aside := own != c.tab
		defer c.inTab(own)()
		now, err := c.lookAgain(ctx, m) // where it is by now
		if err != nil {
			return err
		}
		if err := c.press(ctx, m.Act, now.X, now.Y); err != nil || !aside {
			return err
		}
		return c.settle(ctx, replayLimit, nil)
	}, nil
}

// reload loads the document of a frame again. That of a form's POST posts the form again.
func (c *Context) reload(ctx context.Context, f Frame) error {
	if f.Parent == "" {
		return c.tab.tab.Reload(ctx)
	}
	return c.tab.tab.CallIn(ctx, f.ID, `() => { location.reload(); return true }`, new(bool))
}

// stillIn reports whether the document that an act was made in is still there.
func (c *Context) stillIn(ctx context.Context, m *Made) bool {
	t := c.tabOf(m).tab
	if m.frame == "" || m.frame == t.ID() {
		return t.Document() == m.document
	}
	frames, err := t.Frames(ctx)
	return err == nil && slices.ContainsFunc(frames, func(f Frame) bool { return f.ID == m.frame && f.Document == m.document })
}

// lookAgain finds the control of an act in the document that the act was made in: the very element or, when the page has
// put another one in its place, that one when nothing else there is like it. Where it stands says nothing.
func (c *Context) lookAgain(ctx context.Context, m *Made) (seen, error) {
	n := m.Act.needs()
	act := m.Act
	act.Ref = ""
	s, err := c.lookUntil(ctx, m.Act, func(ctx context.Context, mark int) (seen, error) {
		in, frames, err := c.frameAgain(ctx, m)
		if err != nil {
			return seen{}, err
		}
		var s seen
		if err := c.tab.tab.CallIn(ctx, in.ID, findFunction, &s, nil, n, m.mark, act.offset()); err != nil {
			return seen{}, err
		}
		s.frame, s.mark = in, m.mark
		if s.Matches > 0 {
			return c.place(ctx, s, in, frames, n)
		}
		alone := n
		alone.One = true
		like, err := c.lookIn(ctx, in, []string{m.Control.selector()}, alone, mark, act.offset())
		if err != nil {
			return seen{}, err
		}
		if len(act.Selectors) > 0 {
			if s, err = c.lookOnce(ctx, act, n, mark); err != nil || !s.Found {
				return s, err
			}
			// What else is like it must be told apart by what it would send.
			if like.Reason == Several && (len(m.Form) == 0 || !maps.Equal(s.Form, m.Form)) {
				return like, nil
			}
			if s.Control == m.Control || !like.Found {
				return s, nil
			}
			// Another one stands where it was, and it stands elsewhere.
		}
		return c.place(ctx, like, in, frames, alone)
	})
	if err == nil && s.Control != m.Control {
		return seen{}, errors.New("another control stands where it was")
	}
	return s, err
}

// selector finds a control by its role and name.
func (c Control) selector() string {
	return fmt.Sprintf(`aria/[name="%s"][role="%s"]`, strings.ReplaceAll(c.Name, `"`, ""), c.Role)
}

// frameAgain is the frame that an act was made in, and all frames when it is not the main one.
func (c *Context) frameAgain(ctx context.Context, m *Made) (Frame, []Frame, error) {
	t := c.tab.tab
	if m.frame == "" || m.frame == t.ID() {
		return Frame{ID: t.ID(), Document: t.Document()}, nil, nil
	}
	frames, err := t.Frames(ctx)
	if err != nil {
		return Frame{}, nil, err
	}
	i := slices.IndexFunc(frames, func(f Frame) bool { return f.ID == m.frame })
	if i < 0 {
		return Frame{}, nil, ErrFrameGone
	}
	return frames[i], frames, nil
}

// isNew reports whether a Continue control came with a refusal: none was there when the act was made, or when the refusal
// came and the page had not seen it yet.
func (c *Context) isNew(m *Made, h Held, at receiver) bool {
	if h.continues != nil {
		return *h.continues == 0
	}
	own := m.frame
	if own == "" {
		own = m.tab
	}
	return m.continues == 0 && at.frame.ID == own
}

// pressContinue looks for the Continue control once more, since the page may have moved it, and presses it.
func (c *Context) pressContinue(ctx context.Context, in TargetID) error {
	control, err := c.findContinue(ctx, in)
	if err != nil {
		return err
	}
	if !control.Found {
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

// busy reports whether something is under way in the tab.
func (r receiver) busy() bool {
	n, _ := r.tab.tab.Activity()
	return n > 0
}

// pageRepeats reports whether the page has made the request of a refusal again by itself, answered or not.
func (c *Context) pageRepeats(m *Made, h Held, at receiver) bool {
	return !c.hasRepeated(m) && c.browser.answers.repeated(h.paused, at.busy())
}

// hasRepeated reports whether the last act was m, made again: what came since is then not the page's own doing.
func (c *Context) hasRepeated(m *Made) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present != nil && c.present.Again == m
}
