package session

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// What a Company refuses with. A [*ServerError] unwraps to the one its code names.
var (
	// ErrInvalidSession says that the Session has ended: a new one is started with [Session.Restart], and the browser
	// joins it.
	ErrInvalidSession = errors.New("the Session has ended")
	// ErrSignInRequired says that the request needs the User's account and the Session is signed out.
	ErrSignInRequired = errors.New("the Company wants the User to sign in")
	// ErrInsufficientScope says that the User's sign-in does not cover the request.
	ErrInsufficientScope = errors.New("the sign-in does not cover this")
	// ErrAccountMismatch says that the Session is signed in to another account, and must not switch (draft 0.1, section
	// 4.4).
	ErrAccountMismatch = errors.New("the Session belongs to another account")
	// ErrExtensionRequired says that the Company serves the request only with an extension that we do not offer. Neither
	// a repeat nor a sign-in changes that.
	ErrExtensionRequired = errors.New("the Company requires an extension")
	// ErrInvalidToken says that the Company refused a token even after it was had anew.
	ErrInvalidToken = errors.New("the Company refused the token")
	// ErrInvalidGrant says that the token endpoint refused what was exchanged: an Account Token that has expired or was
	// revoked, a spent code.
	ErrInvalidGrant = errors.New("the Company refused the grant")
)

var (
	// ErrElsewhere is returned for a request that would carry the Session to a place that is not in its Company's
	// documents. Nothing was sent.
	ErrElsewhere = errors.New("not a place of the Session's Company")
	// ErrCredentials is returned for a request that has credentials already. Nothing was sent.
	ErrCredentials = errors.New("the request has credentials already")
	// ErrNotOffered is returned when the Company's documents do not name the endpoint that is needed.
	ErrNotOffered = errors.New("the Company does not offer it")
	// ErrNoAnswer is the family of requests to the authorization server whose answer did not come, or not whole, within
	// its time: whether the Company acted on them is not known.
	ErrNoAnswer = errors.New("the authorization server did not answer")
	// ErrNotSent is the family of requests to the authorization server that never left: no connection came about, or what
	// they need could not be had. The Company did not act on them.
	ErrNotSent = errors.New("the request was not sent")
	// ErrUnreadable is the family of answers of the authorization server that are not what they should be.
	ErrUnreadable = errors.New("the authorization server's answer cannot be used")
	// ErrOtherSession is returned by [Session.Use] for a token of another Session.
	ErrOtherSession = errors.New("the token is another Session's")
	// ErrOtherServer is returned by [Session.Use] for a token that was not had through the Session's own [Server]: there
	// is no telling whether it was asked for before a sign-out.
	ErrOtherServer = errors.New("the token was not had through the Session's own Server")
)

// ServerError is a Company's refusal: an error answer of its authorization server (RFC 6749, section 5.2), or of an API
// (RFC 6750, RFC 9449; draft 0.1, section 6). It unwraps to the sentinel that its code names, if there is one.
type ServerError struct {
	Status int
	// Code is the error code, of letters, digits and ._- alone; empty when there was none that can be read.
	Code string
	// Description is the Company's own text, not sanitised; it is not part of Error.
	Description string
	// Scope are the scopes that the Company names.
	Scope []string
	// Extension is the extension that the Company names; its own text, not sanitised.
	Extension string
	// RetryAfter is how long the Company asks to wait; 0 when it does not say.
	RetryAfter time.Duration
}

// Error names the status and the code.
func (e *ServerError) Error() string {
	switch {
	case e.Status >= 300 && e.Status < 400:
		return fmt.Sprintf("the Company answered with a redirect (status %d), which is never followed", e.Status)
	case e.Code == "":
		return fmt.Sprintf("the Company refused with status %d", e.Status)
	default:
		return fmt.Sprintf("the Company refused with status %d (%s)", e.Status, e.Code)
	}
}

// Unwrap returns the sentinel for the code, or nil.
func (e *ServerError) Unwrap() error {
	switch e.Code {
	case codeInvalidSession:
		return ErrInvalidSession
	case codeSignInRequired:
		return ErrSignInRequired
	case codeInsufficientScope:
		return ErrInsufficientScope
	case codeAccountMismatch:
		return ErrAccountMismatch
	case codeExtensionRequired:
		return ErrExtensionRequired
	case codeInvalidToken:
		return ErrInvalidToken
	case codeInvalidGrant:
		return ErrInvalidGrant
	default:
		return nil
	}
}

// The codes that we act on (draft 0.1, sections 3.3, 4 and 6; RFC 9449).
const (
	codeInvalidSession    = "invalid_session"
	codeSignInRequired    = "sign_in_required"
	codeInsufficientScope = "insufficient_scope"
	codeAccountMismatch   = "account_mismatch"
	codeExtensionRequired = "extension_required"
	codeInvalidToken      = "invalid_token"
	codeInvalidGrant      = "invalid_grant"
	codeUseNonce          = "use_dpop_nonce"
)

// RateLimited says that the Company asks to wait (draft 0.1, section 4.3). Until then nothing more is sent to the place
// that said so.
type RateLimited struct {
	// Status is 429, or 503 with a Retry-After.
	Status int
	// After is how long to wait from now, at most a day.
	After time.Duration
}

// Error says how long to wait.
func (e *RateLimited) Error() string {
	what := "the Company limits how often it is asked"
	if e.Status == http.StatusServiceUnavailable {
		what = "the Company is not available"
	}
	return fmt.Sprintf("%s: it may be asked again in %v", what, e.After.Round(time.Second))
}
