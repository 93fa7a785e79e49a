package main

import (
	"context"
	"errors"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/session"
)

// spoken adds the flag that forces a version of the protocol.
func (f *flags) spoken() *profileFlag {
	return f.addProfile("speak this protocol `VERSION` (1.0, 0.2 or 0.1); without it the newest that the Company offers")
}

// openHome is the home and its accounts.
func (f *flags) openHome(e env) (home.Home, *account.Store, error) {
	dir, err := f.homeDir(e)
	if err != nil {
		return home.Home{}, nil, err
	}
	h, err := home.Open(dir)
	if err != nil {
		return home.Home{}, nil, err
	}
	accounts, err := account.Open(account.Config{Dir: h.Accounts(), Keyring: account.OSKeyring(e.getenv), Now: e.now})
	return h, accounts, err
}

// unlocked is at, with the passphrase of a home that has a lock asked for on the terminal before.
func (f *flags) unlocked(ctx context.Context, e env, given *wayFlags, spoken *profileFlag, where company.Address, undone string) (*agent.Access, error) {
	dir, err := f.homeDir(e)
	if err != nil {
		return nil, err
	}
	key, err := openLock(ctx, dir, false)
	if err != nil {
		return nil, err
	}
	return f.at(ctx, e, key, given, spoken, where, undone)
}

// at is what the home, with its lock open by key, may do at the Company, which is read for it. undone says what has not been
// done when that fails.
func (f *flags) at(ctx context.Context, e env, key *lock.Key, given *wayFlags, spoken *profileFlag, where company.Address, undone string) (*agent.Access, error) {
	dir, err := f.homeDir(e)
	if err != nil {
		return nil, err
	}
	a, err := agent.OpenAccess(ctx, agent.AccessConfig{
		Home: dir, Key: key, ConnectTo: given.connectTo, CACerts: given.cacerts, Profile: spoken.forced, Keyring: account.OSKeyring(e.getenv), Now: e.now,
	}, where.Origin())
	_, unfit := errors.AsType[*company.DocumentError](err)
	switch {
	case errors.Is(err, session.ErrNoIdentity):
		return nil, noIdentityTrouble(undone)
	case errors.Is(err, session.ErrNotOffered):
		return nil, noSignInTrouble(where, undone)
	case unfit, errors.Is(err, company.ErrNothingPublished):
		return nil, unreadableTrouble(ctx, where, err, undone)
	}
	return a, err
}

func noIdentityTrouble(undone string) error {
	return &trouble.Error{
		What: "this home has no identity to sign in with", Done: "nothing", Undone: undone,
		Next: "run papaver identity init --client-id URL --name NAME, and publish what it writes",
	}
}

func unreadableTrouble(ctx context.Context, where company.Address, err error, undone string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t := &trouble.Error{Err: err, Done: "nothing", Undone: undone}
	switch {
	case errors.Is(err, company.ErrNothingPublished):
		t.What = where.Domain() + " is an ordinary site: it publishes no poppy.json, so there is nothing an agent could sign in to"
		t.Err, t.Next = nil, "check the address"
	case errors.Is(err, company.ErrUnreachable):
		t.What = where.Domain() + " could not be reached"
		t.Next = "check the address and the network; a Company without a public name needs --connect-to and --cacert"
	default:
		t.What = "what " + where.Domain() + " publishes can't be used"
		t.Next = "only the Company can mend this; papaver discover " + where.Domain() + " shows every rule"
	}
	return t
}

func noSignInTrouble(where company.Address, undone string) error {
	return &trouble.Error{
		What: where.Domain() + " offers no sign-in", Done: "what it publishes was read", Undone: undone,
		Next: "it can be used signed out; papaver discover " + where.Domain() + " shows what it offers",
	}
}
