package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Elements is how many elements must match for a wait to end, and what they must be.
type Elements struct {
	Operator string // >= when empty, else == or <=
	Count    int    // of the first alternative that matches anything; Counted says that 0 is meant
	Counted  bool
	// Unseen counts those that are not visible too, as the Recorder does.
	Unseen bool
	// Hidden turns the whole of it around: what is waited for is that it is not so (the Recorder's visible: false).
	Hidden     bool
	Properties map[string]json.RawMessage // each element has them, with these values
	Attributes map[string]string          // the same of attributes
}

// Text is a text of the page, white space aside.
type Text struct {
	Is   string
	Gone bool // it is not there any more
}

// Response is a response to a request of the page since the last act.
type Response struct {
	URL    string // in which * stands for anything; empty for any
	Method string // empty for any
	Status int    // 0 for any
}

// Navigation is a page that an act leads to. What is empty is not looked at; * stands for anything.
type Navigation struct {
	URL   string
	Title string
}

// ErrNotSeen is the family of errors of a wait whose end did not come in time. The error says what was there instead.
var ErrNotSeen = errors.New("what was waited for did not come")

// NavigationError is returned when an act was made and the navigation it should lead to did not come.
type NavigationError struct {
	Kind       Kind
	Want       Navigation
	URL, Title string // of the page that is there instead; the title is page text
	Cause      error
}

// Error implements error.
func (e *NavigationError) Error() string {
	return fmt.Sprintf("the %s was made, and the navigation to %s did not come: the page is %s, titled %s", e.Kind, e.Want, quote(e.URL), quote(e.Title))
}

// Unwrap returns what ended the wait.
func (e *NavigationError) Unwrap() error { return e.Cause }

// String is the navigation as an error names it.
func (n Navigation) String() string {
	switch {
	case n == Navigation{}:
		return "another page"
	case n.Title == "":
		return quote(n.URL)
	case n.URL == "":
		return "a page titled " + quote(n.Title)
	}
	return quote(n.URL) + ", titled " + quote(n.Title)
}

func (e Elements) validate() error {
	switch {
	case e.Operator != "" && e.Operator != "==" && e.Operator != ">=" && e.Operator != "<=":
		return fmt.Errorf("operator %s is none of ==, >=, <=", quote(e.Operator))
	case e.Count < 0:
		return errors.New("the count is below 0")
	}
	return nil
}

// fits reports whether so many elements, which are as they should be or not, are what is waited for.
func (e Elements) fits(n int, alike bool) bool {
	count := e.Count
	if count == 0 && !e.Counted {
		count = 1
	}
	var so bool
	switch e.Operator {
	case "==":
		so = n == count
	case "<=":
		so = n <= count
	default:
		so = n >= count
	}
	return (so && alike) != e.Hidden
}

// await makes an act that waits. It does nothing in the page, but for an expression of the caller's.
func (c *Context) await(ctx context.Context, m *Made) error {
	act := m.Act
	switch act.Kind {
	case Wait:
		err := c.until(ctx, func() (bool, string, error) { return c.elements(ctx, act) })
		if errors.Is(err, ErrNotSeen) {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return err
	case WaitExpression:
		return c.until(ctx, func() (bool, string, error) { return c.expression(ctx, act) })
	case WaitText:
		return c.until(ctx, func() (bool, string, error) { return c.text(ctx, act) })
	case WaitURL:
		return c.until(ctx, func() (bool, string, error) {
			page, err := c.page(ctx)
			return err == nil && matches(act.URL, page.URL), "the page is " + quote(page.URL), err
		})
	}
	return c.until(ctx, func() (bool, string, error) {
		found, last := c.tab.responded(act.Response)
		if last.Method == "" {
			return found, "no response came since the last act", nil
		}
		return found, fmt.Sprintf("the last response is %d to %s %s", last.Status, last.Method, quote(last.URL)), nil
	})
}

// until looks again and again until what is waited for is there. An error is of a document that is going away, mostly: only
// that of a tab that has gone ends the wait.
func (c *Context) until(ctx context.Context, look func() (found bool, instead string, err error)) error {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	instead := "the page did not answer"
	for {
		found, now, err := look()
		switch {
		case err == nil && found:
			return nil
		case err == nil:
			instead = now
		case errors.Is(err, ErrTabGone), errors.Is(err, ErrAct):
			return err
		case ctx.Err() == nil && now != "":
			instead = now
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if cause := context.Cause(ctx); errors.Is(cause, ErrGone) || errors.Is(cause, ErrDialogOpen) {
				return cause
			}
			return fmt.Errorf("%w: %s: %w", ErrNotSeen, instead, ctx.Err())
		}
	}
}

// document is what a page says of itself.
type document struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// page asks the page where and what it is.
func (c *Context) page(ctx context.Context) (document, error) {
	var d document
	err := c.tab.tab.Call(ctx, `() => ({url: location.href, title: document.title})`, &d)
	return d, err
}

// expression evaluates an expression of the caller's in the page's own world, as the Recorder means it. A page that would
// fool us can: all that it wins is that we go on.
func (c *Context) expression(ctx context.Context, act Act) (bool, string, error) {
	frame, err := c.frameOf(ctx, act)
	if err != nil {
		return false, "", err
	}
	var true_ bool
	err = c.tab.tab.Evaluate(ctx, frame, "async () => !!(await ("+act.Expression+"\n))", &true_)
	if err != nil {
		return false, "it cannot be evaluated: " + quote(err.Error()), err
	}
	return true_, "the expression is not true", nil
}

// textFunction looks for a text among what is visible, through open shadow roots.
const textFunction = `(text) => {
  const clean = (s) => (s || '').replace(/\s+/g, ' ').trim();
  const parts = [document.body?.innerText];
  const walk = (root) => {
    for (const el of root.querySelectorAll('*')) {
      if (!el.shadowRoot) continue;
      for (const child of el.shadowRoot.children) parts.push(child.innerText);
      walk(el.shadowRoot);
    }
  };
  walk(document);
  const all = clean(parts.join(' '));
  return {found: all.includes(clean(text)), all: all.slice(0, 200)};
}`

func (c *Context) text(ctx context.Context, act Act) (bool, string, error) {
	frame, err := c.frameOf(ctx, act)
	if err != nil {
		return false, "", err
	}
	var answer struct {
		Found bool   `json:"found"`
		All   string `json:"all"`
	}
	if err := c.tab.tab.CallIn(ctx, frame, textFunction, &answer, act.Text.Is); err != nil {
		return false, "", err
	}
	instead := "the page says " + quote(answer.All)
	if answer.Found {
		instead = "the text is there"
	}
	return answer.Found != act.Text.Gone, instead, nil
}

// responded reports whether such a response came since the last act began, and which came last.
func (t *tabState) responded(want Response) (found bool, last Paused) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.recent[len(t.recent)-min(t.since, len(t.recent)):] {
		last = p
		found = found || (want.URL == "" || matches(want.URL, p.URL)) && (want.Method == "" || strings.EqualFold(want.Method, p.Method)) &&
			p.Status != 0 && (want.Status == 0 || want.Status == p.Status)
	}
	return found, last
}

// Arrived waits until the page that came when an act was made again has loaded, at most 5 s, and for the navigation that the
// act was to lead to, as Do does itself unless a 403 came first: the page then goes on only when the act was made again. Its
// error is a *[NavigationError].
func (c *Context) Arrived(ctx context.Context, m *Made) error {
	c.acting.Lock()
	defer c.acting.Unlock()
	defer c.inTabOf(m)()
	c.tab.loaded(ctx, quietLimit)
	return c.browser.gone(c.arrive(ctx, m))
}

func (c *Context) arrive(ctx context.Context, m *Made) error {
	want := m.Act.Expect
	if want == nil {
		return nil
	}
	ctx, cancel := c.browser.within(ctx, m.Act.limit(), context.DeadlineExceeded)
	defer cancel()
	var last document
	err := c.until(ctx, func() (bool, string, error) {
		now, err := c.page(ctx)
		if err != nil {
			return false, "", err
		}
		last = now
		fits := (want.URL == "" || matches(want.URL, now.URL)) && (want.Title == "" || matches(want.Title, now.Title))
		// The same page is what was wanted only when it came anew.
		return fits && (now.URL != m.Page || c.tab.tab.Document() != m.document), "", nil
	})
	if err == nil || errors.Is(err, ErrDialogOpen) {
		return err
	}
	return &NavigationError{Kind: m.Act.Kind, Want: *want, URL: c.private.leftOut(last.URL), Title: c.private.leftOut(last.Title), Cause: err}
}

// refusedNow reports whether the act that is made met a 403, so that its page does not come before it was made again.
func (c *Context) refusedNow() bool {
	_, refused := c.tab.refused()
	return refused
}
