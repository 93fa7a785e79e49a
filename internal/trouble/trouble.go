// Package trouble is the form in which an error reaches a person: what happened, what had been done, what had not,
// and what to do next. The terminal UI, the `error` event of `--json` and standard error all print these four.
package trouble

import "errors"

// Error is an error with the words a person needs. Its texts are ours; text from a Company or a page is put in only
// after it went through the sanitiser.
type Error struct {
	What   string // what happened, one sentence without a full stop
	Done   string // what had been done before it
	Undone string // what had not been done
	Next   string // what the person can do
	Err    error  // the cause, for errors.Is and errors.As; may be nil
}

// Error implements the error interface with the first sentence and its cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Of returns the [Error] in err's chain, or makes one that says honestly that nothing more is known.
func Of(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{
		What:   err.Error(),
		Done:   "nothing that is not in the ledger",
		Undone: "everything after it",
		Next:   "run papaver doctor, then try again",
		Err:    err,
	}
}
