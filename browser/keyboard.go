package browser

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// releaseKeysTimeout bounds the release of keys and buttons that an act left down.
const releaseKeysTimeout = 2 * time.Second

// keyboard is what is held down of a context's keyboard, whichever tab the keys were pressed in.
type keyboard struct{ down []key }

func (k *keyboard) modifiers() Modifiers {
	var m Modifiers
	for _, d := range k.down {
		m |= d.modifier()
	}
	return m
}

// press presses a key, and counts it as held from before the event on: after an error it may be.
func (k *keyboard) press(ctx context.Context, in Tab, what key) error {
	if !k.holds(what) {
		k.down = append(k.down, what)
	}
	return in.Key(ctx, what.event(true, k.modifiers()))
}

func (k *keyboard) release(ctx context.Context, in Tab, what key) error {
	k.down = slices.DeleteFunc(k.down, what.is)
	return in.Key(ctx, what.event(false, k.modifiers()))
}

func (k *keyboard) holds(what key) bool {
	return slices.ContainsFunc(k.down, what.is)
}

// stroke presses keys one after another and releases them the other way round, also after an error. Those that are held
// already stay so.
func (k *keyboard) stroke(ctx context.Context, in Tab, keys ...key) (err error) {
	var ours []key
	for _, what := range keys {
		if k.holds(what) {
			continue
		}
		ours = append(ours, what)
		if err = k.press(ctx, in, what); err != nil {
			break
		}
	}
	if err != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), releaseKeysTimeout)
		defer cancel()
	}
	for _, what := range slices.Backward(ours) {
		if e := k.release(ctx, in, what); err == nil {
			err = e
		}
	}
	return err
}

// releaseAll releases everything that is held.
func (k *keyboard) releaseAll(ctx context.Context, in Tab) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseKeysTimeout)
	defer cancel()
	for len(k.down) > 0 {
		_ = k.release(ctx, in, k.down[len(k.down)-1]) // the tab may be gone, and the keys with it
	}
}

// enter types text at the caret, key by key, as far as the keyboard has its characters; the others are entered as an input
// method would.
func (k *keyboard) enter(ctx context.Context, in Tab, text string) error {
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		var err error
		if what, ok := findKey(string(r)); ok {
			err = k.stroke(ctx, in, what)
		} else {
			err = in.Type(ctx, string(r))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// strike makes an act of the keyboard.
func (c *Context) strike(ctx context.Context, m *Made) (bool, error) {
	if err := c.front(ctx); err != nil {
		return false, err
	}
	if m.Act.Kind == Press && (len(m.Act.Selectors) > 0 || m.Act.Ref != "") {
		if _, err := c.find(ctx, m); err != nil {
			return false, err
		}
	}
	c.begin(m)
	in := c.tab.tab
	var err error
	switch what, _ := findKey(m.Act.Key); m.Act.Kind {
	case KeyDown:
		err = c.keyboard.press(ctx, in, what)
	case KeyUp:
		err = c.keyboard.release(ctx, in, what)
	default:
		keys, _ := chord(m.Act.Key) // Validate has read both
		err = c.keyboard.stroke(ctx, in, keys...)
	}
	if errors.Is(err, ErrTabGone) {
		err = nil // that is what the key did
	}
	return true, err
}

// ReleaseKeys releases every key that acts hold down. [Context.Close] does so too.
func (c *Context) ReleaseKeys(ctx context.Context) {
	c.acting.Lock()
	defer c.acting.Unlock()
	c.keyboard.releaseAll(ctx, c.tab.tab)
}
