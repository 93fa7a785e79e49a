package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/papaver-agent/papaver/internal/secret"
)

//go:embed find.js
var findFunction string

// answerTimeout is how long a page has to answer a question about itself.
const answerTimeout = 10 * time.Second

// ErrNoAnswer is returned when a page does not answer in time.
var ErrNoAnswer = errors.New("the page does not answer: a script of it may run for ever")

// seen is what find.js answers.
type seen struct {
	Found   bool              `json:"found"`
	X       float64           `json:"x"`
	Y       float64           `json:"y"`
	Page    string            `json:"page"`
	Form    map[string]string `json:"form"`
	Control Control           `json:"control"`
	Why     string            `json:"why"`
	Wrong   string            `json:"wrong"`
}

// find looks for the act's element until it is there, visible, enabled and not covered, and notes in m what it is.
func (c *Context) find(ctx context.Context, m *Made) (seen, error) {
	s, err := c.look(ctx, m.Act.Selectors, m.Act.Kind.purpose())
	if err != nil {
		return seen{}, err
	}
	for name, value := range s.Form {
		if slices.ContainsFunc(c.private, func(p secret.Text) bool { return p.Reveal() == value }) {
			delete(s.Form, name)
		}
	}
	m.Page, m.Control, m.Form, m.document = s.Page, s.Control, s.Form, c.tab.tab.Document()
	if m.Act.Kind == Click {
		before, err := c.findContinue(ctx, false)
		if err != nil {
			return seen{}, err
		}
		m.continues = before.Count
	}
	return s, nil
}

func (c *Context) look(ctx context.Context, selectors [][]string, purpose string) (seen, error) {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	var s seen
	for {
		next := seen{}
		err := c.tab.tab.Call(ctx, findFunction, &next, selectors, purpose)
		switch {
		case errors.Is(err, ErrTabGone):
			return seen{}, err
		case err == nil && next.Wrong != "":
			return seen{}, fmt.Errorf("%w: %q is not a selector", ErrNotFound, next.Wrong)
		case err == nil && next.Found:
			return next, nil
		case err == nil:
			s = next
		}
		// Another error is a document that went away under the call: look again in the next one.
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), ErrGone) {
				return seen{}, ErrGone
			}
			why := s.Why
			if why == "" {
				why = "the page did not answer"
			}
			return seen{}, fmt.Errorf("%w: %v: %s: %w", ErrNotFound, selectors, why, ctx.Err())
		case <-ticker.C:
		}
	}
}

// Location is the URL of the page in the tab. ErrNoAnswer when the page is busy with a script of its own.
func (c *Context) Location(ctx context.Context) (string, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	var location string
	err := c.ask(ctx, `() => location.href`, &location)
	return location, err
}

// Text is the visible text of the page in the tab. It is page content, not sanitised. ErrNoAnswer when the page is busy
// with a script of its own.
func (c *Context) Text(ctx context.Context) (string, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	var text string
	err := c.ask(ctx, `() => document.body ? document.body.innerText : ''`, &text)
	return text, err
}

// ask calls a function of ours in the page, which answers within answerTimeout or not at all.
func (c *Context) ask(ctx context.Context, function string, result any, args ...any) error {
	ctx, cancel := c.browser.within(ctx, answerTimeout, ErrNoAnswer)
	defer cancel()
	err := c.tab.tab.Call(ctx, function, result, args...)
	if err != nil && errors.Is(context.Cause(ctx), ErrNoAnswer) {
		err = fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return c.browser.gone(err)
}
