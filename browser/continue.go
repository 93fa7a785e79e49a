package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"
)

//go:embed continue.js
var continueFunction string

// findContinue looks for the one visible Continue control of a frame's document, brings it into view and says where it is.
// It is not found when there is none, or another one, or when something covers it.
func (c *Context) findContinue(ctx context.Context, in TargetID) (seen, error) {
	mark := c.nextMark()
	var n int
	err := c.askIn(ctx, in, continueFunction, &n, mark)
	if err != nil || n != 1 {
		return seen{}, err
	}
	frame, frames := Frame{ID: in}, []Frame(nil)
	if in != c.tab.tab.ID() {
		if frames, err = c.tab.tab.Frames(ctx); err != nil {
			return seen{}, err
		}
		i := slices.IndexFunc(frames, func(f Frame) bool { return f.ID == in })
		if i < 0 {
			return seen{}, fmt.Errorf("the Continue control: %w", ErrFrameGone)
		}
		frame = frames[i]
	}
	var s seen
	press := Act{Kind: Click}.needs()
	if err = c.askIn(ctx, in, findFunction, &s, nil, press, mark, nil); err != nil {
		return seen{}, err
	}
	s, err = c.place(ctx, s, frame, frames, press)
	if errors.Is(err, ErrFrameGone) || errors.Is(err, ErrNoNode) {
		return seen{}, nil
	}
	return s, err
}

// countLimit is how long a page has to say how many Continue controls it shows while a response of its own is held.
const countLimit = 500 * time.Millisecond

// continuesBefore counts the Continue controls of the document that is about to get a refusal, when that is another one than
// the act's own: there they were counted before the act. Nil: it is not asked, or the page did not say.
func (b *Browser) continuesBefore(ctx context.Context, h Held) *int {
	if h.act == nil || h.paused.Resource == "Document" {
		return nil
	}
	if own := h.paused.Frame == h.act.tab && h.act.frame == "" || h.paused.Frame == h.act.frame; own && h.act.continues >= 0 {
		return nil
	}
	b.mu.Lock()
	t := b.tabs[h.target]
	if t == nil { // it is in a process of its own
		t = b.tabs[h.act.tab]
	}
	b.mu.Unlock()
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	var n int
	if err := t.tab.CallIn(ctx, h.paused.Frame, continueFunction, &n, 0); err != nil {
		return nil
	}
	return &n
}
