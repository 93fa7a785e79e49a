package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/signin"
	"github.com/papaver-agent/papaver/tui"
)

// tuiAccounts is the home's accounts for the terminal UI.
type tuiAccounts struct {
	e       env
	flags   *flags
	way     *wayFlags
	version *profileFlag
}

// Known implements tui.Accounts.
func (t *tuiAccounts) Known(context.Context) ([]tui.Known, error) {
	all, err := t.flags.gather(t.e)
	var known []tui.Known
	for _, k := range all {
		known = append(known, tui.Known{Domain: k.domain, Issuer: k.issuer, Name: k.name, UserID: k.user, Accounts: k.accounts})
	}
	return known, err
}

// open makes ready what is needed at the Company.
func (t *tuiAccounts) open(ctx context.Context, key *lock.Key, address, undone string) (*agent.Access, error) {
	where, err := company.ParseAddress(address)
	if err != nil {
		return nil, &trouble.Error{What: err.Error(), Done: "nothing", Undone: undone, Next: "type it as shop.example or https://shop.example"}
	}
	a, err := t.flags.at(ctx, t.e, key, t.way, t.version, where, undone)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, signInTrouble(err)
	}
	return a, err
}

// Offers implements tui.Accounts.
func (t *tuiAccounts) Offers(ctx context.Context, key *lock.Key, address, label string) (tui.Offers, error) {
	a, err := t.open(ctx, key, address, nobodySignedIn)
	if err != nil {
		return tui.Offers{}, err
	}
	defer a.Close()
	c := a.Company()
	out := tui.Offers{Domain: c.Domain, Name: c.Name, Scopes: c.SignIn.Scopes}
	before, err := a.Find(label)
	if err != nil && !errors.Is(err, account.ErrNone) {
		return tui.Offers{}, err
	}
	for _, o := range signin.Offers(c) {
		offered := tui.OfferedType{Type: o.Type, Scopes: o.Scopes, Suggested: before.Scope}
		if len(before.Scope) == 0 {
			_, offered.Suggested, _ = signin.Choose(c, o.Type, nil, true) // none where none is clearly the least
		}
		out.Types = append(out.Types, offered)
	}
	if !desktop(t.e) { // no browser at hand: a link that opens anywhere comes first
		slices.SortStableFunc(out.Types, func(a, b tui.OfferedType) int { return elsewhere(b.Type) - elsewhere(a.Type) })
	}
	return out, nil
}

// elsewhere is 1 for the type that needs no browser on this machine.
func elsewhere(t signin.Type) int {
	if t == signin.Device {
		return 1
	}
	return 0
}

// SignIn implements tui.Accounts.
func (t *tuiAccounts) SignIn(ctx context.Context, key *lock.Key, c tui.Choice, ui signin.UI) (signin.Result, error) {
	a, err := t.open(ctx, key, c.Address, nobodySignedIn)
	if err != nil {
		return signin.Result{}, err
	}
	defer a.Close()
	_, err = a.Find(c.Account)
	had := err == nil
	if err != nil && !errors.Is(err, account.ErrNone) {
		return signin.Result{}, err
	}
	result, err := a.SignIn(ctx, agent.SignIn{Type: c.Type, Scope: c.Scope, Account: c.Account, UI: ui})
	if errors.Is(err, context.Canceled) {
		return result, err
	}
	if err != nil {
		return result, signInTrouble(&signInError{company: a.Company(), kind: c.Type, stands: had, err: err, onScreen: true})
	}
	return result, nil
}

// SignOut implements tui.Accounts.
func (t *tuiAccounts) SignOut(ctx context.Context, key *lock.Key, address, label string) error {
	where, err := company.ParseAddress(address)
	if err != nil {
		return err
	}
	_, store, err := t.flags.openHome(t.e)
	if err != nil {
		return err
	}
	kept, err := keptAt(store, where, label)
	if err != nil {
		return err
	}
	err = t.flags.signOut(ctx, t.e, key, t.way, t.version, where, kept)
	if err == nil {
		return nil
	}
	said, ok := errors.AsType[*trouble.Error](err)
	if !ok {
		said = &trouble.Error{What: "the sign-out failed", Err: err, Done: "nothing", Undone: nobodySignedOut, Next: "run papaver doctor"}
	}
	said.Next = onScreen(said.Next, where.Domain())
	return said
}

// browse opens a page in the User's own browser.
func browse(_ context.Context, address string) error {
	cmd := exec.Command("xdg-open", address) // outlives us, and our context with us
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err := cmd.Start()
	if err == nil {
		err = cmd.Process.Release()
	}
	if err != nil {
		return fmt.Errorf("open the page: %w", err)
	}
	return nil
}

// desktop reports whether there is one where this runs.
func desktop(e env) bool { return e.getenv("DISPLAY") != "" || e.getenv("WAYLAND_DISPLAY") != "" }

// onScreen is what to do next, for the terminal UI: its keys in place of commands.
func onScreen(next, domain string) string {
	return strings.NewReplacer(
		"run papaver signin "+domain+" again", "press s to try again",
		"run papaver signin again", "press s to try again",
		"another --type", "another type",
		", and name scopes that it lists with --scope", ", and mark scopes that it lists",
		"run papaver signout again", "press o to try again",
		"papaver signout --forget", "papaver signout "+domain+" --forget",
		"--forget drops", "papaver signout "+domain+" --forget drops",
		"--keyring=false keeps", "papaver signin "+domain+" --keyring=false keeps",
	).Replace(next)
}
