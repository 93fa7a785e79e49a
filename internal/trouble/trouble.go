// Package trouble is the form in which an error reaches a person: what happened, what had been done, what had not,
// and what to do next. The terminal UI, the `error` event of `--json` and standard error all print these four.
package trouble

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Error is an error with the words a person needs. Its texts are ours; text from a Company or a page is put in only
// after it went through the sanitiser.
type Error struct {
	What   string `json:"what"`   // what happened, one sentence without a full stop
	Done   string `json:"done"`   // what had been done before it
	Undone string `json:"undone"` // what had not been done
	Next   string `json:"next"`   // what the person can do
	Err    error  `json:"-"`      // the cause, for errors.Is and errors.As; may be nil
	Kind   error  `json:"-"`      // what errors.Is finds beside Err, whose words What has already; may be nil
}

// Said is e in words alone, its cause among them: the form in which it leaves the process.
func (e *Error) Said() *Error {
	return &Error{What: e.Error(), Done: e.Done, Undone: e.Undone, Next: e.Next}
}

// Error implements the error interface with the first sentence and its cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + e.Err.Error()
}

// Unwrap returns the cause and the kind.
func (e *Error) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Err, e.Kind}, func(err error) bool { return err == nil })
}

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

// Quoted is a text from outside as an error repeats it: between quotes, with what moves a cursor as escapes, and no more than
// most bytes of it.
func Quoted(s string, most int) string {
	if len(s) > most {
		return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
	}
	return strconv.Quote(s)
}
