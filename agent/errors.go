package agent

import (
	"context"
	"errors"
	"strings"
)

// What a caller decides by, beside the errors of the packages below: see the package documentation.
var (
	// ErrClosed is that the agent was closed. It matches context.Canceled too.
	ErrClosed error = closedError{}
	// ErrSiteRefused is a step that the Company's website answered with 403 without an operation that could be approved.
	ErrSiteRefused = errors.New("the website refused, and named no operation to approve")
	// ErrForgotten is a step that the website met as a stranger's: it no longer knew the Session. The browser has been joined
	// anew since.
	ErrForgotten = errors.New("the website no longer knew the Session")
	// ErrResting is a Company that asks to be left alone for longer than a run waits (429, or 503 with Retry-After).
	ErrResting = errors.New("the Company asks to be left alone")
	// ErrOpen is the family of [*OpenError].
	ErrOpen = errors.New("an operation of this visit is not settled")
)

type closedError struct{}

// Error implements error.
func (closedError) Error() string { return "the agent is closed" }

// Is reports that it is a context.Canceled too.
func (closedError) Is(target error) bool { return target == context.Canceled }

// OpenError is a step that was not begun, since an operation is open that needs the page as it is: when the User has approved
// it, the browser makes its act again there.
type OpenError struct {
	Rounds []*Round // that are open
}

// Error names the operations.
func (e *OpenError) Error() string {
	var ids []string
	for _, r := range e.Rounds {
		ids = append(ids, r.ID())
	}
	return ErrOpen.Error() + ", and the step could take its page away: " + strings.Join(ids, ", ")
}

// Is reports that every OpenError is of the family ErrOpen.
func (*OpenError) Is(target error) bool { return target == ErrOpen }
