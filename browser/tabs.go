package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MainTab is the Target of the tab that a context had first, as in a flow of Chrome DevTools' Recorder.
const MainTab = "main"

const (
	maxTabs       = 32               // of a context; a page's further ones are closed as they open
	maxClosedTabs = 64               // of a context whose late responses are still known to be its own
	attachLimit   = 15 * time.Second // one that is not there by then is closed, and a busy machine is slow
	tabsLimit     = 5 * time.Second  // the list of them
)

// ErrNoTab is the family of errors of an act whose tab was not there in time. The error says which are.
var ErrNoTab = errors.New("the tab was not found")

// TabInfo is one tab of a context.
type TabInfo struct {
	ID      TargetID
	URL     string
	Title   string // page text, not sanitised
	Current bool   // acts without a Target are made in it
	Main    bool   // it is [MainTab]
}

// Tabs lists the context's tabs, the oldest first.
func (c *Context) Tabs(ctx context.Context) ([]TabInfo, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	if err := c.comeBack(ctx); err != nil {
		return nil, err
	}
	return c.list(ctx)
}

func (c *Context) list(ctx context.Context) ([]TabInfo, error) {
	ctx, cancel := c.browser.within(ctx, tabsLimit, ErrNoAnswer)
	defer cancel()
	targets, err := c.browser.engine.Targets(ctx)
	if err != nil {
		return nil, c.browser.gone(fmt.Errorf("the context's tabs: %w", err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []TabInfo
	for _, t := range c.tabs {
		at := slices.IndexFunc(targets, func(target Target) bool { return target.ID == t.tab.ID() })
		if at < 0 {
			continue // it is going away
		}
		list = append(list, TabInfo{ID: t.tab.ID(), URL: targets[at].URL, Title: targets[at].Title, Current: t == c.tab, Main: t == c.main})
	}
	return list, nil
}

// onOpened takes a new tab, frame or worker from the driver. It does not block.
func (b *Browser) onOpened(target Target) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if target.Context != "" {
		b.spots.note(target.ID, spot{target.Context, target.ID})
	}
	if target.Type != "page" {
		return
	}
	if c := b.contexts[target.Context]; c != nil && !b.closing {
		b.holding.Go(func() { c.adopt(target) })
	}
}

// onClosed takes the end of a tab from the driver. It does not block.
func (b *Browser) onClosed(id TargetID) {
	b.mu.Lock()
	t := b.tabs[id]
	var c *Context
	if t != nil {
		c = b.contexts[t.context]
	}
	b.mu.Unlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	t.closed = true
	c.tabs = slices.DeleteFunc(c.tabs, func(other *tabState) bool { return other == t })
	c.closedTabs = append(c.closedTabs, id)
	var forgotten TargetID
	if len(c.closedTabs) > maxClosedTabs {
		forgotten, c.closedTabs = c.closedTabs[0], slices.Delete(c.closedTabs, 0, 1)
	}
	c.mu.Unlock()
	if forgotten != "" {
		b.mu.Lock()
		delete(b.tabs, forgotten)
		b.mu.Unlock()
	}
}

// adopt makes a tab that a page opened one of the context's. One that cannot be driven, or that is one too many, is closed.
func (c *Context) adopt(target Target) {
	b := c.browser
	c.opening.Lock() // one that we open is known when this is over
	b.mu.Lock()
	_, known := b.tabs[target.ID]
	b.mu.Unlock()
	c.opening.Unlock()
	if known {
		return
	}
	ctx, cancel := context.WithTimeout(b.life, attachLimit)
	defer cancel()
	c.mu.Lock()
	c.adopting++
	full := len(c.tabs)+c.adopting > maxTabs
	c.mu.Unlock()
	var tab Tab
	var err error
	if !full {
		tab, err = b.engine.Attach(ctx, target.ID)
	}
	c.mu.Lock()
	c.adopting--
	c.mu.Unlock()
	if full || err != nil {
		ctx, cancel := context.WithTimeout(b.life, attachLimit)
		defer cancel()
		_ = b.engine.CloseTab(ctx, target.ID) // it may be gone already
		return
	}
	state := newTabState(tab, c.id)
	state.opener = target.Opener
	b.mu.Lock()
	b.tabs[tab.ID()] = state
	b.mu.Unlock()
	c.mu.Lock()
	c.tabs = append(c.tabs, state)
	c.mu.Unlock()
}

// front brings the tab that is acted in to the front: one in the back may not draw, and what is pressed there would wait
// for that.
func (c *Context) front(ctx context.Context) error {
	c.mu.Lock()
	alone := len(c.tabs) <= 1
	c.mu.Unlock()
	if alone {
		return nil
	}
	return c.tab.tab.Front(ctx)
}

// comeBack goes, when the tab that is acted in was closed, to the one that opened it, else to another one, else to a
// fresh, blank one.
func (c *Context) comeBack(ctx context.Context) error {
	c.mu.Lock()
	if !c.tab.closed {
		c.mu.Unlock()
		return nil
	}
	next := c.main
	for _, t := range c.tabs {
		if next.closed || t.tab.ID() == c.tab.opener {
			next = t
		}
	}
	if !next.closed {
		c.tab = next
		if c.main.closed {
			c.main = next
		}
	}
	c.mu.Unlock()
	if next.closed {
		return c.openTab(ctx)
	}
	return nil
}

// enter goes into the tab that the act names, and returns how to leave it again. When a frame is named, path leads to it.
func (c *Context) enter(ctx context.Context, act Act) (leave func(), path []int, err error) {
	if err := c.comeBack(ctx); err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	c.during = act.Dialogs
	before := c.tab
	c.mu.Unlock()
	leave = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.during = ""
		if act.Kind != NewTab && act.Kind != SwitchTab {
			c.tab = before
		}
	}
	if act.Target == "" {
		return leave, nil, nil
	}
	there, path, err := c.waitForTab(ctx, act)
	if err != nil {
		leave()
		return nil, nil, err
	}
	c.mu.Lock()
	c.tab = there
	c.mu.Unlock()
	return leave, path, nil
}

// inTabOf goes into the tab that an act was made in, and returns how to leave it again.
func (c *Context) inTabOf(m *Made) (leave func()) { return c.inTab(c.tabOf(m)) }

// inTab goes into a tab, and returns how to leave it again.
func (c *Context) inTab(t *tabState) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.tab
	c.tab = t
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tab = before
	}
}

// tabOf is the tab that an act was made in; the present one when it is not known any more.
func (c *Context) tabOf(m *Made) *tabState {
	c.browser.mu.Lock()
	defer c.browser.mu.Unlock()
	if t := c.browser.tabs[m.tab]; t != nil {
		return t
	}
	return c.tab
}

// waitForTab waits for a tab that the act's Target names, or a frame of the main one in a process of its own, which the
// Recorder names so too. Of several tabs the newest is taken.
func (c *Context) waitForTab(ctx context.Context, act Act) (*tabState, []int, error) {
	if act.Target == MainTab {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.main, nil, nil // comeBack has seen to it that there is one
	}
	ctx, cancel := c.browser.within(ctx, act.limit(), context.DeadlineExceeded)
	defer cancel()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	var list []TabInfo
	for {
		now, err := c.list(ctx)
		switch {
		case err == nil:
			list = now
		case ctx.Err() == nil:
			return nil, nil, err
		}
		for _, info := range slices.Backward(now) {
			if matches(act.Target, info.URL) || act.Target == string(info.ID) {
				c.browser.mu.Lock()
				there := c.browser.tabs[info.ID]
				c.browser.mu.Unlock()
				return there, nil, nil
			}
		}
		if act.Kind != CloseTab && act.Kind != SwitchTab {
			if path, err := c.frameAt(ctx, act.Target); err == nil && path != nil {
				return c.main, path, nil
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			var urls []string
			for _, info := range list {
				urls = append(urls, quote(info.URL))
			}
			return nil, nil, fmt.Errorf("%w: %s, but %s: %w", ErrNoTab, quote(act.Target), strings.Join(urls, ", "), context.Cause(ctx))
		}
	}
}

// frameAt finds a frame of the main tab that has a process and, as its document's, such a URL of its own. It returns which
// child of the page it is in, which child of that one, and so on; nil when there is none.
func (c *Context) frameAt(ctx context.Context, url string) ([]int, error) {
	defer c.inTab(c.main)()
	frames, err := c.main.tab.Frames(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(frames, func(f Frame) bool { return f.Apart && matches(url, f.URL) })
	if at < 0 {
		return nil, nil
	}
	var path []int
	for here := frames[at]; here.Parent != ""; {
		parent := slices.IndexFunc(frames, func(f Frame) bool { return f.ID == here.Parent })
		if parent < 0 {
			return nil, ErrFrameGone
		}
		children, err := c.children(ctx, frames[parent], frames)
		n := slices.IndexFunc(children, func(f Frame) bool { return f.ID == here.ID })
		if err != nil || n < 0 {
			return nil, err
		}
		path = slices.Insert(path, 0, n)
		here = frames[parent]
	}
	return path, nil
}

// matches reports whether a text is what a pattern says, in which * stands for anything.
func matches(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return s == pattern
	}
	s, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		at := strings.Index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return strings.HasSuffix(s, parts[last])
}

// manage makes an act that opens, closes or changes to a tab.
func (c *Context) manage(ctx context.Context, m *Made) (bool, error) {
	switch m.Act.Kind {
	case SwitchTab:
		return false, c.tab.tab.Front(ctx) // enter has gone there
	case CloseTab:
		c.begin(m)
		return true, c.closeTab(ctx)
	}
	main := c.main
	err := c.openTab(ctx)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	c.main = main
	c.mu.Unlock()
	m.document = c.tab.tab.Document()
	c.begin(m)
	if m.Act.URL == "" {
		return true, nil
	}
	return true, c.navigate(ctx, m.Act.URL)
}

// closeTab closes the tab that is acted in and waits for its end. A context is never without a tab: one takes the place
// of the last.
func (c *Context) closeTab(ctx context.Context) error {
	closing := c.tab
	c.mu.Lock()
	last := len(c.tabs) <= 1
	c.mu.Unlock()
	if last {
		return c.freshTab(ctx)
	}
	if err := closing.tab.Close(ctx); err != nil && !errors.Is(err, ErrTabGone) {
		return err
	}
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		c.mu.Lock()
		closed := closing.closed
		c.mu.Unlock()
		if closed {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("the tab does not close: %w", context.Cause(ctx))
		}
	}
}
