package account

import "fmt"

// LeftError says that the Company revoked an account's token, and that what is kept of it here could not all be removed.
type LeftError struct {
	Account Account
	Err     error
}

// Error names the account.
func (e *LeftError) Error() string {
	return fmt.Sprintf("the token for %s was revoked and could not be removed: %v", e.Account.Domain, e.Err)
}

// Unwrap returns the cause.
func (e *LeftError) Unwrap() error { return e.Err }
