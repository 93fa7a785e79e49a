// Package join joins a browser context to a Session: it has the browser post a signed assertion as a form to the
// Company's join endpoint, follows where that leads, and says whether the browser is joined (PROTOCOL 1.0, section 9,
// shape A).
package join

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
)

var (
	// ErrRefused is returned when the join endpoint answered with an error: the browser is not joined.
	ErrRefused = errors.New("the Company refused the join")
	// ErrUnclear is returned when neither a refusal nor a page of the Company's came. Another join, with another
	// assertion, may be tried once.
	ErrUnclear = errors.New("the join led to no page of the Company's")
	// ErrReposts is returned when the endpoint answered with a redirect that would have posted the assertion again.
	ErrReposts = errors.New("the join endpoint would have sent the assertion elsewhere")
)

// Form submits a form in a browser context; *browser.Context does.
type Form interface {
	// SubmitForm posts the fields to action from a blank document and returns where that led; see [browser.Context].
	SubmitForm(ctx context.Context, action string, fields []browser.Field) (browser.Landing, error)
}

// Join joins the browser context behind form to s, signed out, and returns the URL of the page it ended on. The
// assertion is made for this one try and is good for a minute; it is in no URL and no history. When the try was
// unclear Join makes one more, with a new assertion. Errors are of the families above, or browser's.
func Join(ctx context.Context, form Form, c *company.Company, s *session.Session, p profile.Profile) (string, error) {
	landed, err := try(ctx, form, c, s, p)
	if errors.Is(err, ErrUnclear) && ctx.Err() == nil {
		landed, err = try(ctx, form, c, s, p)
	}
	return landed, err
}

func try(ctx context.Context, form Form, c *company.Company, s *session.Session, p profile.Profile) (string, error) {
	assertion, token, err := s.Assertion(ctx, c.JoinEndpoint, "https://"+c.Domain+"/")
	if err != nil {
		return "", fmt.Errorf("the browser assertion: %w", err)
	}
	fields := []browser.Field{{Name: p.JoinAssertionField, Value: assertion}}
	if !token.Empty() {
		fields = append(fields, browser.Field{Name: p.JoinTokenField, Value: token})
	}
	if c.OperationsListed && p.JoinExtensionsField != "" {
		// The browser's later requests declare what its join declared (Operations v3, section 2).
		fields = append(fields, browser.Field{Name: p.JoinExtensionsField, Value: secret.New(p.Extensions())})
	}
	l, err := form.SubmitForm(ctx, c.JoinEndpoint, fields)
	switch {
	case errors.Is(err, browser.ErrRepost):
		return "", fmt.Errorf("%w: it answered with status %d", ErrReposts, l.Last)
	case errors.Is(err, browser.ErrGone), err != nil && ctx.Err() != nil:
		return "", err
	case l.First >= http.StatusBadRequest:
		return "", fmt.Errorf("%w: the join endpoint answered with status %d", ErrRefused, l.First)
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrUnclear, err)
	case l.Last < 200 || l.Last > 299, l.Last == http.StatusNoContent, l.Last == http.StatusResetContent:
		// No content is no page: the tab stays on the blank document.
		return "", fmt.Errorf("%w: its redirects ended with status %d", ErrUnclear, l.Last)
	case !onSite(l.URL, c):
		return "", fmt.Errorf("%w: its redirects ended on another site", ErrUnclear)
	}
	return l.URL, nil
}

// onSite reports whether an https address is the Company's.
func onSite(address string, c *company.Company) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && c.Holds(u.Host)
}
