package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

// signInError is a sign-in that came to nothing.
type signInError struct {
	company *company.Company
	kind    signin.Type // empty before one was begun
	stands  bool        // there is an access from before
	err     error
	// onScreen says that the terminal UI tells it, whose keys take the place of commands.
	onScreen bool
}

// Error implements error.
func (e *signInError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *signInError) Unwrap() error { return e.err }

// inputError is what is wrong with the JSON that was given. It quotes no value.
type inputError struct{ what string }

// Error implements error.
func (e inputError) Error() string { return e.what }

// endOfSignIn is the exit status of an error whose words this command says itself.
func endOfSignIn(err error) (exitCode, bool) {
	switch {
	case err == nil || errors.Is(err, errUsage):
		return 0, false
	case errors.Is(err, context.Canceled):
		return exitInterrupted, true
	case errors.Is(err, signin.ErrDeclined):
		return exitRefused, true
	case errors.Is(err, signin.ErrExpired):
		return exitExpired, true
	default:
		return exitError, true
	}
}

// signInTrouble says what happened, what was and was not done, and what to do.
func signInTrouble(err error) *trouble.Error {
	failed, ok := errors.AsType[*signInError](err)
	if !ok {
		if errors.Is(err, context.Canceled) {
			return &trouble.Error{What: "interrupted", Done: "nothing", Undone: nobodySignedIn, Next: "run papaver signin again"}
		}
		if t, ok := errors.AsType[*trouble.Error](err); ok {
			return t
		}
		return &trouble.Error{What: "the sign-in could not begin", Err: err, Done: "nothing", Undone: nobodySignedIn, Next: "run papaver doctor"}
	}
	t := &trouble.Error{Err: failed.err, Done: "the sign-in was begun", Undone: nobodySignedIn, Next: "run papaver signin " + failed.company.Domain + " again"}
	if failed.kind == "" {
		t.Done = "what the Company publishes was read"
	}
	if failed.stands {
		t.Undone += "; the access from before stands"
	}
	failed.say(t)
	if failed.onScreen {
		t.Next = onScreen(t.Next, failed.company.Domain)
	}
	return t
}

// say fills in the words for what is known.
func (e *signInError) say(t *trouble.Error) {
	domain := e.company.Domain
	locked, isLocked := errors.AsType[*signin.LockedError](e.err)
	limited, isLimited := errors.AsType[*session.RateLimited](e.err)
	refused, isRefused := errors.AsType[*session.ServerError](e.err)
	input, isInput := errors.AsType[inputError](e.err)
	lost, isLost := errors.AsType[*account.LostError](e.err)
	_, isKeyring := errors.AsType[*account.KeyringError](e.err)
	switch {
	case errors.Is(e.err, context.Canceled):
		t.What, t.Err = "interrupted before you had signed in", nil
		t.Next = "run papaver signin again; the page and the code that were shown lead to nothing any more"
	case errors.Is(e.err, signin.ErrDeclined):
		t.What, t.Err = "the sign-in was declined on "+domain+"'s page", nil
	case errors.Is(e.err, signin.ErrExpired):
		t.What, t.Err = "the sign-in was not finished in time", nil
		t.Next += "; the page and the code that were shown lead to nothing any more"
	case errors.Is(e.err, signin.ErrFailed):
		t.What, t.Err = domain+" did not take what you gave", nil
		t.Done = "it was sent to " + domain + " and not kept"
		t.Next += "; companies lock accounts after a few wrong attempts"
	case isLocked:
		t.What, t.Err = domain+" takes no more attempts for now", nil
		if locked.Wait > 0 {
			t.What += "; it may be tried again in " + locked.Wait.String()
		}
		t.Next = "wait, then run papaver signin again; another --type may work now"
	case isLimited:
		t.What = domain + " limits how often it is asked"
		t.Next = "wait " + limited.After.String() + ", then run papaver signin again"
	case isLost && e.kind == "": // of the access from before, when it was used
		t.What, t.Err = domain+" gave a new token for the access you have, and it could not be kept", lost.Err
		t.Undone = nobodySignedIn + "; the access from before may be worth nothing now"
		t.Next = "mend the cause above, then run papaver signin again"
	case isLost:
		t.What = "you signed in, and the token that came of it could not be kept"
		t.Done = "the Company was asked to revoke it"
		t.Next = "mend the cause above, then run papaver signin again"
	case isKeyring:
		t.What = "the account's token can't be kept in the keyring"
		t.Done = "what the Company publishes was read"
		t.Undone += "; nothing was put in a file instead"
		t.Next = "unlock the keyring or run this in your desktop session; --keyring=false keeps the token in a file of the home, mode 0600"
		if e.kind == "" {
			t.What = "the account's token can't be read from the keyring"
			t.Next = "unlock the keyring or run this in your desktop session; --again signs in anew, with --keyring=false for a file of the home, mode 0600"
		}
	case errors.Is(e.err, signin.ErrUnsafeLink):
		t.What = domain + " gave a link that leads elsewhere than to itself, which was not shown"
		t.Next = "only the Company can mend this; another --type may work"
	case isInput:
		t.What, t.Err = "what was given as input can't be used: "+input.Error(), nil
		t.Done = "nothing of it was sent"
	case errors.Is(e.err, errNoWay):
		t.What = "nothing can give the callback address any more: standard input has ended, and there is no terminal"
		t.Err = nil
		t.Next = "run it on a terminal, or with --type device, which needs no callback address"
	case isRefused && refused.Code == "invalid_client":
		t.What = domain + " does not accept this agent"
		t.Next = "run papaver identity check: what is published at the client id must be what this home has; a wrong clock is another cause"
	case isRefused && refused.Code == "invalid_scope":
		t.What = domain + " does not grant these scopes"
		t.Next = "run papaver discover " + domain + ", and name scopes that it lists with --scope"
	case errors.Is(e.err, session.ErrNoAnswer), errors.Is(e.err, session.ErrNotSent):
		t.What = domain + "'s authorization server did not answer"
		t.Next = "check the network, then run papaver signin again"
	case errors.Is(e.err, signin.ErrNoAccountToken):
		t.What, t.Err = domain+" granted access, and gave no account token that could be kept", nil
		t.Next = "only the Company can mend this"
	default:
		t.What = "the sign-in at " + domain + " failed"
	}
	if isRefused && refused.Description != "" {
		t.What += "; it says " + plaintext.Quote(refused.Description).String()
	}
}

// chooseTrouble says what could be chosen.
func chooseTrouble(c *company.Company, err error) error {
	t := &trouble.Error{What: plaintext.Whole(err.Error()).String(), Done: "what it publishes was read", Undone: nobodySignedIn}
	offers := signin.Offers(c)
	if len(offers) == 0 {
		t.Next = "it can be used signed out"
		return t
	}
	var list []string
	for _, o := range offers {
		list = append(list, fmt.Sprintf("--type %s grants %s", o.Type, strings.Join(safe(o.Scopes), " ")))
	}
	t.Next = strings.Join(list, "; ")
	return t
}
