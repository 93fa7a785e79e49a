package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/opsweb"
)

// The exit statuses.
const (
	exitDone        = 0   // finished, and every operation performed
	exitError       = 1   // an error
	exitUsage       = 2   // wrong usage
	exitRefused     = 3   // the User refused or the Company declined
	exitExpired     = 4   // an operation expired unanswered
	exitUnknown     = 5   // an outcome is unknown
	exitInterrupted = 130 // interrupted; an open question stays open
)

// exitCode is an error whose words have been said already.
type exitCode int

// Error implements error.
func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// errUsage is the family of wrong usage.
var errUsage = errors.New("wrong usage")

type usageError struct{ what string }

func (e usageError) Error() string        { return e.what }
func (e usageError) Is(target error) bool { return target == errUsage }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// ending is how a run ended: its exit status, and the word for it in `finished`.
type ending struct {
	status int
	word   string
}

// endings holds what each outcome of an operation makes of a run, the weightiest first.
var endings = []struct {
	outcome opsweb.Outcome
	ending
}{
	{opsweb.Unknown, ending{exitUnknown, "unknown"}},
	{opsweb.Failed, ending{exitError, "error"}},
	{opsweb.Expired, ending{exitExpired, "expired"}},
	{opsweb.Refused, ending{exitRefused, "refused"}},
	{opsweb.Declined, ending{exitRefused, "declined"}},
	{opsweb.Performed, ending{exitDone, "performed"}},
}

// endingOf weighs a run's outcomes and its error: the first of 5, 1, 4, 3 and 0 that applies.
func endingOf(outcomes []opsweb.Outcome, err error) ending {
	got := make(map[opsweb.Outcome]bool)
	for _, o := range outcomes {
		got[o] = true
	}
	if err != nil && !got[opsweb.Unknown] {
		return ending{exitError, "error"}
	}
	for _, e := range endings {
		if got[e.outcome] {
			return e.ending
		}
	}
	return ending{exitDone, "done"}
}

// printError says an error as a person needs it. Nothing of another's text in it can move a cursor.
func printError(w io.Writer, err error) {
	t, ok := errors.AsType[*trouble.Error](err)
	if !ok {
		printLines(w, "papaver: error: ", err.Error())
		return
	}
	printLines(w, "papaver: error: ", t.Error())
	printLines(w, "  done:     ", t.Done)
	printLines(w, "  not done: ", t.Undone)
	printLines(w, "  next:     ", t.Next)
}

func printLines(w io.Writer, label, text string) {
	for _, line := range plaintext.Block(text) {
		fmt.Fprintln(w, label+line.String())
	}
}
