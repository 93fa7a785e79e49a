package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/signin"
)

const nobodySignedIn = "nothing was signed in"

// signInFlags are the words of a sign-in.
type signInFlags struct {
	*flags
	way     *wayFlags
	version *profileFlag
	kind    string
	scope   string
	label   string
	keyring bool
	again   bool
	open    bool
	input   int

	asked []string        // of --scope
	given map[string]bool // the flags that were given
}

func newSignInFlags() *signInFlags {
	f := &signInFlags{flags: newFlags("signin"), given: make(map[string]bool)}
	f.way, f.version = f.addWay(), f.spoken()
	f.StringVar(&f.kind, "type", "", "direct, device or mediated (`TYPE`; default: the first of those that the Company offers)")
	f.StringVar(&f.scope, "scope", "", "what the access is for (`SCOPES`, separated by spaces; default: the least, to read)")
	f.StringVar(&f.label, "account", "", "your own word (`NAME`) for this account, when you have several at the Company")
	f.BoolVar(&f.keyring, "keyring", false, "keep the account token in the desktop's keyring, and not in a file of the home")
	f.BoolVar(&f.again, "again", false, "sign in also when the access is there already")
	f.BoolVar(&f.open, "open", false, "open the Company's page in your browser (done by itself where there is a desktop)")
	f.IntVar(&f.input, "input-fd", -1, "read what would be asked from file descriptor `N`: for mediated sign-in a JSON object, for direct the callback address")
	return f
}

// check finds wrong usage before anything is done.
func (f *signInFlags) check() error {
	f.Visit(func(given *flag.Flag) { f.given[given.Name] = true })
	if f.kind != "" && !slices.Contains(signin.Types(), signin.Type(f.kind)) {
		return usagef("--type %s: the types are direct, device and mediated", f.kind)
	}
	var err error
	if f.asked, err = signin.ParseScope(f.scope); err != nil {
		return usageError{err.Error()}
	}
	if f.given["scope"] && len(f.asked) == 0 {
		return usagef("--scope names no scope")
	}
	if f.given["input-fd"] && (f.input < 0 || f.input == 1 || f.input == 2) {
		return usagef("--input-fd %d: it is a file descriptor to read from", f.input)
	}
	return f.way.check()
}

func runSignIn(ctx context.Context, e env, args []string) error {
	f := newSignInFlags()
	words, err := f.parse(e, args, 1, 1)
	if err != nil {
		return err
	}
	where, err := company.ParseAddress(words[0])
	if err != nil {
		return usageError{err.Error()}
	}
	if err := f.check(); err != nil {
		return err
	}
	out := &lines{w: e.stdout}
	if !f.json {
		out = &lines{w: io.Discard}
	}
	err = f.signIn(ctx, e, where, out)
	if code, ok := endOfSignIn(err); ok {
		t := signInTrouble(err)
		out.write(errorLine{Time: e.now(), Event: "error", Error: t.Said()})
		printError(e.stderr, t)
		return code
	}
	return errors.Join(err, out.failed())
}

// signIn is the command, its flags read.
func (f *signInFlags) signIn(ctx context.Context, e env, where company.Address, out *lines) error {
	a, err := f.unlocked(ctx, e, f.way, f.version, where, nobodySignedIn)
	if err != nil {
		return err
	}
	defer a.Close()
	before, err := a.Find(f.label)
	switch {
	case errors.Is(err, account.ErrLabel):
		return usagef("--account %q: %v", f.label, err)
	case err != nil && !errors.Is(err, account.ErrNone):
		return err
	}
	had := err == nil
	stands := had
	if had && !f.again {
		if before, stands, err = f.stands(ctx, e, a, before, out); err != nil || stands && before.Covers(f.asked) {
			return err
		}
	}
	ui := newSignInUI(e, f, out)
	defer ui.close()
	kind, scope, err := f.choose(a.Company(), before.Scope, stands, ui.handy())
	if err != nil {
		return chooseTrouble(a.Company(), err)
	}
	result, err := a.SignIn(ctx, agent.SignIn{Type: kind, Scope: scope, Account: f.label, Place: f.place(), UI: ui})
	if err != nil {
		return &signInError{company: a.Company(), kind: kind, stands: stands, err: err}
	}
	f.tell(e, result, out)
	return nil
}

// place is where the token is to be kept, as said now; else empty.
func (f *signInFlags) place() account.Place {
	switch {
	case f.keyring:
		return account.PlaceKeyring
	case f.given["keyring"]:
		return account.PlaceFile
	default:
		return ""
	}
}

// stands finds out whether the access that is kept is still good, by using it, and says so when it suffices. The account
// is returned as it is known then: the User may have taken scopes back at the Company.
func (f *signInFlags) stands(ctx context.Context, e env, a *agent.Access, before account.Account, out *lines) (account.Account, bool, error) {
	if before.ClientID != a.ClientID() {
		fmt.Fprintf(e.stderr, "The access that is kept belongs to the agent %s, and this home is now %s: you sign in anew.\n",
			plaintext.Whole(before.ClientID), plaintext.Whole(a.ClientID()))
		return before, false, nil
	}
	now, err := a.Check(ctx, before.Label) // the Company may have changed what it reaches
	if ended, ok := errors.AsType[*account.EndedError](err); ok {
		fmt.Fprintf(e.stderr, "%s. You sign in anew.\n", plaintext.Whole(ended.Error()))
		return before, false, nil
	}
	if err != nil {
		return before, false, &signInError{company: a.Company(), stands: true, err: err}
	}
	if !now.Covers(f.asked) {
		return now, true, nil
	}
	if f.json {
		out.write(signedInLine{Time: e.now(), Event: "signed_in", accountLine: lineOfAccount(now), Already: true, Missing: []string{}})
	} else {
		fmt.Fprintf(e.stdout, "already signed in at %s\n", plaintext.Domain(now.Domain))
		printAccount(e, now)
		fmt.Fprintln(e.stdout, "  nothing was done; --again signs in anew, --scope asks for more")
	}
	return now, true, nil
}

// choose picks type and scopes. Without --scope what was granted before is asked for again. While that access stands,
// more is asked for together with it, since the new access takes its place; --again asks for --scope alone.
func (f *signInFlags) choose(c *company.Company, before []string, stands, handy bool) (signin.Type, []string, error) {
	t := signin.Type(f.kind)
	switch {
	case f.asked == nil && len(before) > 0:
		if kind, scope, err := signin.Choose(c, t, before, handy); err == nil {
			return kind, scope, nil
		}
		return signin.Choose(c, t, nil, handy) // the Company grants something else now
	case f.asked == nil, !stands, f.again:
		return signin.Choose(c, t, f.asked, handy)
	}
	scope := slices.Clone(before)
	for _, s := range f.asked {
		if !slices.Contains(scope, s) {
			scope = append(scope, s)
		}
	}
	return signin.Choose(c, t, scope, handy)
}

// errorLine, signedInLine and those of signinui.go are the events of `signin --json`.
type errorLine struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
	*trouble.Error
}

type signedInLine struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
	accountLine
	Missing   []string `json:"missing"`   // asked for and not granted
	Replaced  bool     `json:"replaced"`  // an older access
	Already   bool     `json:"already"`   // nothing was done
	Unrevoked string   `json:"unrevoked"` // why the older access could not be revoked; empty when it was
}

// tell says what came of it.
func (f *signInFlags) tell(e env, r signin.Result, out *lines) {
	a, unrevoked := r.Kept.Account, ""
	if err := r.Kept.Unrevoked; err != nil {
		unrevoked = plaintext.Whole(err.Error()).String()
	}
	if f.json {
		out.write(signedInLine{
			Time: e.now(), Event: "signed_in", accountLine: lineOfAccount(a), Missing: wholeAll(r.Missing()), Replaced: r.Kept.Replaced, Unrevoked: unrevoked,
		})
	} else {
		fmt.Fprintf(e.stdout, "signed in at %s\n", plaintext.Domain(a.Domain))
		printAccount(e, a)
	}
	if missing := r.Missing(); len(missing) > 0 {
		fmt.Fprintf(e.stderr, "Not granted, though it was asked for: %s\n", strings.Join(safe(missing), " "))
	}
	if r.Kept.Replaced && unrevoked == "" {
		fmt.Fprintln(e.stderr, "The access from before was revoked; this one takes its place.")
	}
	if unrevoked != "" {
		fmt.Fprintf(e.stderr, "This access takes the place of the one from before, which the Company has not revoked yet: %s\nIt is tried again when you sign in or out the next time.\n", unrevoked)
	}
}

// safe is a list of a Company's words for people, with nothing in it that could move a cursor, and long ones cut; an event
// tells them by wholeAll, to their end. It is never nil.
func safe(words []string) []string {
	shown := make([]string, 0, len(words))
	for _, w := range words {
		shown = append(shown, plaintext.Line(w, 60).String())
	}
	return shown
}
