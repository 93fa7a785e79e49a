package browser

import (
	"context"
	"errors"
	"time"
)

// Point is a place in CSS pixels.
type Point struct{ X, Y float64 }

// Pointer is how an element is pointed at. Its zero value is one press of the mouse's primary button in the middle.
type Pointer struct {
	Device Device // the mouse when empty
	Button Button // the primary one when empty
	// Offset is from the element's upper left corner. Nil is its middle, and so is an offset that lies outside of the
	// element: it was measured in another layout.
	Offset   *Point
	Count    int           // presses in a row; 1 when 0
	Duration time.Duration // between down and up
}

// point makes an act of a pointer.
func (c *Context) point(ctx context.Context, m *Made) (bool, error) {
	if err := c.front(ctx); err != nil {
		return false, err
	}
	seen, err := c.find(ctx, m)
	if err != nil {
		return false, err
	}
	c.begin(m)
	return true, c.press(ctx, m.Act, seen.X, seen.Y)
}

// press does with the pointer at a point what the act says. What it presses it releases, also after an error.
func (c *Context) press(ctx context.Context, act Act, x, y float64) error {
	p, in, count := act.Pointer, c.tab.tab, max(act.Pointer.Count, 1)
	if act.Kind == DoubleClick {
		count = 2
	}
	if p.Button == "" {
		p.Button = Primary
	}
	ev := MouseEvent{X: x, Y: y, Modifiers: c.keyboard.modifiers(), Pen: p.Device == Pen}
	if p.Device != Touch || act.Kind == Hover {
		if err := in.Mouse(ctx, ev); err != nil || act.Kind == Hover {
			return err
		}
	}
	for i := range count {
		down := func(ctx context.Context) error {
			if p.Device == Touch {
				return in.Touch(ctx, TouchEvent{Down: true, X: x, Y: y, Modifiers: ev.Modifiers})
			}
			ev.Action, ev.Button, ev.Count = Pressed, p.Button, i+1
			return in.Mouse(ctx, ev)
		}
		up := func(ctx context.Context) error {
			if p.Device == Touch {
				return in.Touch(ctx, TouchEvent{Modifiers: ev.Modifiers})
			}
			ev.Action = Released
			return in.Mouse(ctx, ev)
		}
		if err := c.hold(ctx, down, up, p.Duration); err != nil {
			return err
		}
	}
	return nil
}

// hold presses something for a time. A tab that goes away meanwhile is what the press did, and no error.
func (c *Context) hold(ctx context.Context, down, up func(context.Context) error, long time.Duration) error {
	err := down(ctx)
	if err == nil && long > 0 {
		timer := time.NewTimer(long)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	switch {
	case errors.Is(err, ErrTabGone):
		return nil
	case errors.Is(context.Cause(ctx), ErrDialogOpen):
		// The page stands still with the button down. It is released when the dialog was answered.
		c.afterDialog = up
		return err
	case ctx.Err() != nil:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), releaseKeysTimeout)
		defer cancel()
	}
	if e := up(ctx); err == nil && !errors.Is(e, ErrTabGone) {
		err = e
	}
	return err
}
