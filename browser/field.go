package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/papaver-agent/papaver/internal/secret"
)

//go:embed change.js
var changeFunction string

// ErrNotTaken is the family of errors of an act whose element did not take what the act gave it. The error says why.
var ErrNotTaken = errors.New("it was not taken")

// field is what change.js answers.
type field struct {
	Kind    string `json:"kind"`
	Why     string `json:"why"`
	On      bool   `json:"on"`      // checked
	End     bool   `json:"end"`     // the caret is to be brought to the end by its key
	Count   int    `json:"count"`   // of files
	Missing *int   `json:"missing"` // which of the options is not there
}

// fill makes an act that gives a field its value.
func (c *Context) fill(ctx context.Context, m *Made) (bool, error) {
	act := m.Act
	files, err := c.uploads(act)
	if err != nil {
		return false, err
	}
	if err := c.front(ctx); err != nil {
		return false, err
	}
	at, err := c.locate(ctx, m)
	if err != nil {
		return false, err
	}
	if act.Private {
		c.private.add(act.Value)
	}
	switch act.Kind {
	case Check, Uncheck:
		return c.check(ctx, m, at)
	case Select:
		c.begin(m)
		return true, errors.Join(c.tell(ctx, act, at, "select"), c.tell(ctx, act, at, "selected"))
	case Upload:
		if err := c.tell(ctx, act, at, "files"); err != nil {
			return false, err
		}
		c.begin(m)
		if err := c.tab.tab.SetFiles(ctx, at.frame, at.node, files); err != nil {
			return true, err
		}
		return true, nil
	case Type:
		c.begin(m)
		return true, c.append(ctx, act, at)
	default: // Change, Clear
		if act.Kind == Clear {
			act.Value = secret.Text{}
		}
		c.begin(m)
		return true, c.change(ctx, act, at)
	}
}

// ask runs change.js.
func (c *Context) askField(ctx context.Context, act Act, at place, phase string) (field, error) {
	options := act.Options
	if act.Kind == Upload {
		options = act.Files
	}
	if options == nil {
		options = []string{}
	}
	var f field
	if err := c.tab.tab.CallIn(ctx, at.frame, changeFunction, &f, at.node, phase, act.Value.Reveal(), options); err != nil {
		return field{}, err
	}
	switch {
	case f.Missing != nil && act.Kind == Select && *f.Missing >= 0 && *f.Missing < len(options):
		return field{}, fmt.Errorf("%w: %s: %s", ErrNotTaken, f.Why, quote(options[*f.Missing]))
	case f.Why != "":
		return field{}, fmt.Errorf("%w: %s", ErrNotTaken, f.Why)
	}
	return f, nil
}

// tell is askField where nothing but an error is of interest.
func (c *Context) tell(ctx context.Context, act Act, at place, phase string) error {
	_, err := c.askField(ctx, act, at, phase)
	return err
}

// change sets a field's value, as typing or choosing would, and checks that it was taken.
func (c *Context) change(ctx context.Context, act Act, at place) error {
	before, err := c.askField(ctx, act, at, "begin")
	if err != nil {
		return err
	}
	if before.Kind == "text" && !act.Value.Empty() {
		if err := c.tab.tab.Type(ctx, act.Value.Reveal()); err != nil {
			return err
		}
	}
	return c.tell(ctx, act, at, "end")
}

// append types behind what a field holds.
func (c *Context) append(ctx context.Context, act Act, at place) error {
	before, err := c.askField(ctx, act, at, "append")
	if err != nil {
		return err
	}
	if end, ok := findKey("End"); ok && before.End {
		if err := c.keyboard.stroke(ctx, c.tab.tab, end); err != nil {
			return err
		}
	}
	return c.keyboard.enter(ctx, c.tab.tab, act.Value.Reveal())
}

// check presses what is to be checked, unless it is as it should be already.
func (c *Context) check(ctx context.Context, m *Made, at place) (bool, error) {
	act := Act{Kind: Click}
	before, err := c.askField(ctx, act, at, "checkable")
	on := m.Act.Kind == Check
	if err != nil || before.On == on {
		return false, err
	}
	if before.Kind == "radio" && !on {
		return false, fmt.Errorf("%w: a radio button is unchecked by checking another one", ErrNotTaken)
	}
	c.begin(m)
	if err := c.press(ctx, act, at.x, at.y); err != nil {
		return true, err
	}
	after, err := c.askField(ctx, act, at, "checkable")
	switch {
	case err != nil && c.tab.tab.Document() != m.document, errors.Is(err, ErrNoNode), errors.Is(err, ErrTabGone):
		return true, nil // the page went on because of it
	case err == nil && after.On != on:
		err = fmt.Errorf("%w: it stayed as it was", ErrNotTaken)
	}
	return true, err
}
