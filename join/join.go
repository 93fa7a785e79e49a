// Package join joins a browser context to a Session: it has the browser post a signed assertion as a form to the
// Company's join endpoint, follows where that leads, and says whether the browser is joined (PROTOCOL 1.0, section 9,
// shape A; draft 0.1, section 5).
package join

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/session"
)

var (
	// ErrRefused is returned when the join endpoint answered with an error: the browser is not joined. A
	// *[RefusedError] says with which.
	ErrRefused = errors.New("the Company refused the join")
	// ErrUnclear is returned when neither a refusal nor a page of the Company's came. Another join, with another
	// assertion, may be tried once.
	ErrUnclear = errors.New("the join led to no page of the Company's")
	// ErrReposts is returned when the endpoint answered with a redirect that would have posted the assertion again.
	ErrReposts = errors.New("the join endpoint would have sent the assertion elsewhere")
	// ErrReturnTo is returned for a page to return to that is not an https URL on the Company's domain. Nothing was sent.
	ErrReturnTo = errors.New("the page to return to is not the Company's")
	// ErrNoAssertion is returned when there was nothing to post: the Session could not be started, or its token not be had.
	// The browser was not used.
	ErrNoAssertion = errors.New("no assertion could be made")
	// ErrNoCookie is returned when the join led to a page of the Company's and set no cookie: no later request of the
	// browser can be known for the Session's.
	ErrNoCookie = errors.New("the join set no cookie")
)

// RefusedError is the answer of a join endpoint that refused. It unwraps to ErrRefused.
type RefusedError struct{ Status int }

// Error names the status.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v: the join endpoint answered with status %d", ErrRefused, e.Status)
}

// Unwrap returns ErrRefused.
func (e *RefusedError) Unwrap() error { return ErrRefused }

// Page is what a join needs of a browser context; *browser.Context is one.
type Page interface {
	// SubmitForm posts the fields to action from a blank document and returns where that led; see [browser.Context].
	SubmitForm(ctx context.Context, action string, fields []browser.Field) (browser.Landing, error)
	// Cookies lists the context's cookies, without their values.
	Cookies(ctx context.Context) ([]browser.Cookie, error)
}

// Joined is a browser that is joined to a Session.
type Joined struct {
	URL string // of the page it ended on
	// SID is the Session it is joined to: what the Session was called when the assertion was made.
	SID string
	// SignedIn reports whether the join was made for a Session that was signed in.
	SignedIn bool
	// Cookies are those that the context has after the join and had not before. When one of them is gone the site may no
	// longer know the Session. One that was replaced is not among them.
	Cookies []browser.Cookie
	// All are those that the context has after the join.
	All []browser.Cookie
}

// Same reports whether two cookies are one, whatever their values.
func Same(a, b browser.Cookie) bool {
	return a.Name == b.Name && a.Domain == b.Domain && a.Path == b.Path
}

// Strict returns the names of the cookies when all of them are SameSite=Strict, which a join's cookie must not be
// (draft 0.1, section 5): the browser did not send them with the page that the join led to, so that page is a
// stranger's. They go with what is navigated to from now on.
func (j Joined) Strict() []string { return strict(j.All) }

func strict(cookies []browser.Cookie) []string {
	var names []string
	for _, c := range cookies {
		if c.SameSite != "Strict" {
			return nil
		}
		names = append(names, c.Name)
	}
	return names
}

// Join joins the browser context behind page to s, at its Company c, signed in where s is, and starts s where that is
// needed, and has the Company send it on to returnTo, a page of the Company's; its front page when returnTo is empty. The
// assertion is made for this one try and is good for a minute; neither it nor the access token beside it is in a URL or
// in the history. When the try was unclear Join makes one more, with a new assertion. Errors are of the families above,
// a *[session.ServerError] or another of session's when there was nothing to join, or browser's.
func Join(ctx context.Context, page Page, c *company.Company, s *session.Session, returnTo string) (Joined, error) {
	if returnTo == "" {
		returnTo = "https://" + c.Domain + "/"
	}
	if !onSite(returnTo, c) {
		return Joined{}, ErrReturnTo
	}
	joined, err := try(ctx, page, c, s, returnTo)
	if errors.Is(err, ErrUnclear) && ctx.Err() == nil {
		joined, err = try(ctx, page, c, s, returnTo)
	}
	return joined, err
}

func try(ctx context.Context, page Page, c *company.Company, s *session.Session, returnTo string) (Joined, error) {
	joined, fields, err := form(ctx, c, s, returnTo)
	if err != nil {
		return Joined{}, fmt.Errorf("%w: %w", ErrNoAssertion, err)
	}
	before, err := page.Cookies(ctx)
	if err != nil {
		return Joined{}, err
	}
	landing, err := page.SubmitForm(ctx, c.JoinEndpoint, fields)
	if err := landed(ctx, c, landing, err); errors.Is(err, ErrUnclear) {
		return Joined{}, because(ctx, page, err)
	} else if err != nil {
		return Joined{}, err
	}
	joined.URL = landing.URL
	if joined.All, err = page.Cookies(ctx); err != nil {
		return Joined{}, err
	}
	if len(joined.All) == 0 {
		return Joined{}, ErrNoCookie
	}
	for _, has := range joined.All {
		if !slices.ContainsFunc(before, func(had browser.Cookie) bool { return Same(has, had) }) {
			joined.Cookies = append(joined.Cookies, has)
		}
	}
	return joined, nil
}

// form is what the browser posts, and what it joins. A Session that is replaced meanwhile is asked once more, so that the
// assertion is that of the Session that is told.
func form(ctx context.Context, c *company.Company, s *session.Session, returnTo string) (joined Joined, fields []browser.Field, err error) {
	p := c.Profile
	for range 3 {
		if joined.SID, err = s.Start(ctx); err != nil {
			return Joined{}, nil, err
		}
		assertion, token, err := s.Assertion(ctx, c.JoinEndpoint, returnTo)
		if err != nil {
			return Joined{}, nil, err
		}
		joined.SignedIn = s.SignedIn()
		if p.JoinTokenField != "" {
			joined.SignedIn = !token.Empty()
		}
		fields = []browser.Field{{Name: p.JoinAssertionField, Value: assertion}}
		if !token.Empty() {
			fields = append(fields, browser.Field{Name: p.JoinTokenField, Value: token})
		}
		if s.ID() == joined.SID {
			break
		}
	}
	if c.OperationsListed && p.JoinExtensionsField != "" {
		// The browser's later requests declare what its join declared (Operations v3, section 2).
		fields = append(fields, browser.Field{Name: p.JoinExtensionsField, Value: secret.New(p.Extensions())})
	}
	return joined, fields, nil
}

// landed judges where the form led.
func landed(ctx context.Context, c *company.Company, l browser.Landing, err error) error {
	switch {
	case errors.Is(err, browser.ErrRepost):
		return fmt.Errorf("%w: it answered with status %d", ErrReposts, l.Last)
	case errors.Is(err, browser.ErrGone), err != nil && ctx.Err() != nil:
		return err
	case l.First >= http.StatusBadRequest:
		return &RefusedError{Status: l.First}
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnclear, err)
	case l.Last < 200 || l.Last > 299, l.Last == http.StatusNoContent, l.Last == http.StatusResetContent:
		// No content is no page: the tab stays on the blank document.
		return fmt.Errorf("%w: its redirects ended with status %d", ErrUnclear, l.Last)
	case !onSite(l.URL, c):
		return fmt.Errorf("%w: its redirects ended on another site", ErrUnclear)
	}
	return nil
}

// because adds to an unclear join what its cookies say of it: a page that needs one that the browser did not send is a
// likely cause.
func because(ctx context.Context, page Page, err error) error {
	cookies, failed := page.Cookies(ctx)
	names := strict(cookies)
	if failed != nil || len(names) == 0 {
		return err
	}
	quoted := make([]string, len(names))
	for i, name := range slices.Sorted(slices.Values(names)) {
		quoted[i] = strconv.Quote(name)
	}
	return fmt.Errorf("%w; its cookie %s is SameSite=Strict, so the browser does not send it after the join's redirect",
		err, strings.Join(quoted, ", "))
}

// onSite reports whether an https address is the Company's.
func onSite(address string, c *company.Company) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && c.Holds(u.Host)
}
