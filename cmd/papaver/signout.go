package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/session"
)

const nobodySignedOut = "you are still signed in: nothing was revoked and nothing removed"

// signedOutLine is the last line of `signout --json`.
type signedOutLine struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
	Company string    `json:"company"`
	Account string    `json:"account"`
	Revoked bool      `json:"revoked"` // by the Company; false with --forget
}

func runSignOut(ctx context.Context, e env, args []string) error {
	f := newFlags("signout")
	err := f.leave(ctx, e, args)
	_, said := errors.AsType[exitCode](err)
	if f.json && err != nil && !said && !errors.Is(err, errUsage) {
		out := lines{w: e.stdout}
		out.write(errorLine{Time: e.now(), Event: "error", Error: trouble.Of(err).Said()})
	}
	return err
}

// leave is the command.
func (f *flags) leave(ctx context.Context, e env, args []string) error {
	given, version := f.addWay(), f.spoken()
	label := f.String("account", "", "your own word (`NAME`) for the account, when you have several at the Company")
	forget := f.Bool("forget", false, "drop the token here without asking the Company, which then keeps the access until it ends there")
	words, err := f.parse(e, args, 1, 1)
	if err != nil {
		return err
	}
	where, err := company.ParseAddress(words[0])
	if err != nil {
		return usageError{err.Error()}
	}
	if err := given.check(); err != nil {
		return err
	}
	_, store, err := f.openHome(e)
	if err != nil {
		return err
	}
	kept, err := keptAt(store, where, *label)
	if err != nil {
		return err
	}
	if *forget {
		_, err = store.Forget(ctx, kept.Key)
	} else {
		err = f.signOutAsking(ctx, e, given, version, where, kept)
	}
	if err != nil {
		return err
	}
	if f.json {
		out := lines{w: e.stdout}
		out.write(signedOutLine{Time: e.now(), Event: "signed_out", Company: kept.Domain, Account: kept.Label, Revoked: !*forget})
		return out.failed()
	}
	domain := plaintext.Domain(kept.Domain)
	if *forget {
		fmt.Fprintf(e.stdout, "forgot the sign-in at %s\n  the Company was not asked: there the access stays until it ends, or until you\n  disconnect this agent in your account at %s\n", domain, domain)
		return nil
	}
	fmt.Fprintf(e.stdout, "signed out at %s\n  the Company has revoked the access\n", domain)
	fmt.Fprintln(e.stdout, "  what stays: the Company may keep the Session without your account (a cart, a\n  conversation), and knows you again by the User ID that papaver companies shows")
	return nil
}

// keptAt finds the sign-in that is meant, without asking anybody.
func keptAt(store *account.Store, where company.Address, label string) (account.Account, error) {
	all, damaged := store.List()
	var others []string
	for _, a := range all {
		if a.Domain != where.Domain() && "www."+a.Domain != where.Domain() {
			continue
		}
		if a.Label == label {
			return a, nil
		}
		if a.Label == "" {
			others = append(others, "no --account")
		} else {
			others = append(others, "--account "+a.Label)
		}
	}
	t := &trouble.Error{What: "you are not signed in at " + where.Domain(), Err: damaged, Done: "nothing", Undone: "nothing was revoked", Next: "run papaver companies to see where you are"}
	if len(others) > 0 {
		t.What += " under that name"
		t.Next = "say which account is meant: " + strings.Join(others, " or ")
	}
	return account.Account{}, t
}

// signOutAsking is signOut, with the passphrase of a home that has a lock asked for on the terminal before.
func (f *flags) signOutAsking(ctx context.Context, e env, given *wayFlags, version *profileFlag, where company.Address, kept account.Account) error {
	dir, err := f.homeDir(e)
	if err != nil {
		return err
	}
	key, err := openLock(ctx, dir, false)
	if err != nil {
		return err
	}
	return f.signOut(ctx, e, key, given, version, where, kept)
}

// signOut has the Company revoke the access.
func (f *flags) signOut(ctx context.Context, e env, key *lock.Key, given *wayFlags, version *profileFlag, where company.Address, kept account.Account) error {
	a, err := f.at(ctx, e, key, given, version, where, nobodySignedOut)
	if err != nil {
		if t, ok := errors.AsType[*trouble.Error](err); ok {
			t.Next += "; --forget drops the token here without asking the Company"
		}
		return err
	}
	defer a.Close()
	if kept.Issuer != a.Company().Issuer {
		return &trouble.Error{
			What: "the sign-in is for another issuer than the one " + where.Domain() + " names now", Done: "what the Company publishes was read",
			Undone: nobodySignedOut, Next: "the token goes to no other issuer; --forget drops it here",
		}
	}
	_, err = a.SignOut(ctx, kept.Label)
	return signOutTrouble(ctx, where.Domain(), err)
}

// signOutTrouble says what a sign-out came to that did not end well.
func signOutTrouble(ctx context.Context, domain string, err error) error {
	left, isLeft := errors.AsType[*account.LeftError](err)
	_, isKeyring := errors.AsType[*account.KeyringError](err)
	unrevoked, isUnrevoked := errors.AsType[*account.UnrevokedError](err)
	switch {
	case err == nil:
		return nil
	case isLeft:
		return &trouble.Error{
			What: "the Company revoked the access, and what is kept of it could not be removed", Err: left.Err,
			Done: "you are signed out at " + domain, Undone: "the token stays here, and is worth nothing any more",
			Next: "mend the cause above; where papaver companies still lists the sign-in, papaver signout --forget removes it",
		}
	case ctx.Err() != nil:
		return &trouble.Error{What: "interrupted", Err: ctx.Err(), Done: "the Company may have been asked", Undone: "the token is kept here", Next: "run papaver signout again"}
	case isUnrevoked && errors.Is(err, session.ErrNotOffered):
		return &trouble.Error{
			What: domain + " lists no place where access can be revoked", Done: "nothing", Undone: "the token is kept here",
			Next: "disconnect this agent in your account there, then run papaver signout --forget",
		}
	case isUnrevoked:
		return &trouble.Error{
			What: domain + " did not revoke the access", Err: unrevoked.Err, Done: "the Company was asked", Undone: "the token is kept here, so that it can be tried again",
			Next: "run papaver signout again later; --forget drops the token here, and the access then stays at the Company",
		}
	case isKeyring:
		return &trouble.Error{
			What: "the account's token can't be read from the keyring", Err: err, Done: "what the Company publishes was read", Undone: nobodySignedOut,
			Next: "unlock the keyring or run this in your desktop session, then run papaver signout again",
		}
	default:
		return err
	}
}
