// Package account keeps the sign-ins of a home: which of the User's accounts at which Company the agent has access to,
// with which scopes, and the Account Token behind it (draft 0.1, section 4.8). One file an account, 0600, in
// HOME/accounts; the token itself stands in that file or, where the User chose it, in the operating system's keyring.
// There is no way from one to the other by itself: a keyring that can't be used is an error.
//
// A token is used under its account's lock, by one process at a time, and read anew each time, so that nobody sends a
// token that another has already exchanged. A rotated token is on disk before it is used. That a refresh is under way
// is on disk before it is sent: when its end is lost with the process, the next refresh knows that the token may have
// been exchanged, and says so if the Company then refuses it.
//
// What this does not promise: a token that the Company sent and that could not be written, or was on its way when the
// process died, is lost, and the User signs in again. Who can read the home as its user can use its tokens together
// with its keys, unless they are in the keyring and that is locked.
package account

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

var (
	// ErrNone is returned when nothing is kept of an account: the User has not signed in, or has signed out.
	ErrNone = errors.New("no sign-in is kept")
	// ErrLabel is returned for a label that is none.
	ErrLabel = errors.New("a label is 1 to 32 lower-case letters, digits and hyphens, and begins with a letter or digit")
)

// maxLabel is how long a label may be, in bytes.
const maxLabel = 32

// Key names one account of the User: at whose issuer, and which of several there. The protocol does not tell the agent
// which account a token is for, so the label is the User's own word for it; it is empty for the only one.
type Key struct {
	Issuer string
	Label  string
}

func (k Key) check() error {
	if k.Issuer == "" {
		return errors.New("account: an issuer is required")
	}
	if k.Label != "" && (len(k.Label) > maxLabel || k.Label[0] == '-' || strings.ContainsFunc(k.Label, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})) {
		return ErrLabel
	}
	return nil
}

// Place is where an Account Token is kept.
type Place string

// The places.
const (
	PlaceFile    Place = "file"    // in the account's own file, 0600
	PlaceKeyring Place = "keyring" // in the operating system's keyring
)

// Account is what is known of one sign-in. It holds no token and may be shown.
type Account struct {
	Key
	Domain   string    // the company domain
	Name     string    // what the Company calls itself; its own text, not sanitised
	ClientID string    // the agent that the token was issued to: no other can use it
	Profile  string    // the protocol version it was made in
	Type     string    // direct, device or mediated
	Scope    []string  // what was granted; the Company's own words, not sanitised
	Since    time.Time // of the sign-in
	Expires  time.Time // zero when the Company set no end
	Place    Place
	// Interrupted is when a refresh was sent whose end is not known; zero when there is none.
	Interrupted time.Time
	// Unrevoked is how many replaced tokens the Company has not yet revoked.
	Unrevoked int
}

// Covers reports whether all of scope was granted.
func (a Account) Covers(scope []string) bool { return len(a.missing(scope)) == 0 }

func (a Account) missing(scope []string) []string {
	var missing []string
	for _, s := range scope {
		if !slices.Contains(a.Scope, s) {
			missing = append(missing, s)
		}
	}
	return missing
}

// EndedError says that the Company no longer accepts the Account Token: it expired, was revoked, or the User
// disconnected the agent. It has been removed; the Session goes on signed out, and the User signs in again when a task
// needs the account.
type EndedError struct {
	Account Account
	// Interrupted is when an earlier refresh was cut short, which is then the likely reason; else zero.
	Interrupted time.Time
	// Unrevoked is how many tokens that it had replaced the Company did not revoke, and are kept no longer.
	Unrevoked int
	Err       error
}

// Error says what happened to which account.
func (e *EndedError) Error() string {
	s := "the sign-in at " + e.Account.Domain + " has ended: the Company no longer accepts it"
	if !e.Interrupted.IsZero() {
		s += fmt.Sprintf("; a refresh was cut short at %s, and the token that came of it was lost", e.Interrupted.UTC().Format(time.RFC3339))
	}
	if e.Unrevoked > 0 {
		s += fmt.Sprintf("; older access of it (%d) was not revoked and stands until you end it at the Company", e.Unrevoked)
	}
	return s
}

// Unwrap returns the Company's answer.
func (e *EndedError) Unwrap() error { return e.Err }

// OtherAgentError says that an account's token was issued to another agent than the one that would use it. Nothing was
// sent: the Company would refuse it, and the token stands.
type OtherAgentError struct {
	Account  Account
	ClientID string // of the agent that would use it
}

// Error names both agents.
func (e *OtherAgentError) Error() string {
	return fmt.Sprintf("the sign-in at %s belongs to the agent %s, and this is %s", e.Account.Domain, e.Account.ClientID, e.ClientID)
}

// ScopeError says that a refresh asked for more than was granted. Nothing was sent: only a new sign-in can widen it.
type ScopeError struct {
	Account Account
	Missing []string
}

// Error names the account.
func (e *ScopeError) Error() string {
	return fmt.Sprintf("the sign-in at %s does not reach: %d of the scopes asked for were not granted", e.Account.Domain, len(e.Missing))
}

// UnrevokedError says that the Company did not revoke a token. Sign-out keeps it.
type UnrevokedError struct {
	Account Account
	Err     error
}

// Error names the account.
func (e *UnrevokedError) Error() string {
	return fmt.Sprintf("the token for %s was not revoked: %v", e.Account.Domain, e.Err)
}

// Unwrap returns the cause.
func (e *UnrevokedError) Unwrap() error { return e.Err }

// LostError says that the Company gave a token that could not be kept. The one before it may be worth nothing now.
type LostError struct {
	Account Account
	Err     error
}

// Error names the account.
func (e *LostError) Error() string {
	return fmt.Sprintf("%s gave a new token that could not be kept: %v", e.Account.Domain, e.Err)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }
