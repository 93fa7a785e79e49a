package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/session"
)

// signInTimeout bounds one request to a Company's authorization server, its answer included.
const signInTimeout = 60 * time.Second

// spoken adds the flag that forces a version of the protocol.
func (f *flags) spoken() *profileFlag {
	return f.addProfile("speak this protocol `VERSION` (1.0, 0.2 or 0.1); without it the newest that the Company offers")
}

// companyUse is a Company that was discovered, and what of the home is for it.
type companyUse struct {
	env      env
	home     home.Home
	company  *company.Company
	identity *session.Identity
	user     string
	client   *http.Client
	server   *session.Server
	accounts *account.Store
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

// at discovers the Company and makes ready what is needed to speak to its authorization server. undone says what has not
// been done when that fails.
func (f *flags) at(ctx context.Context, e env, given *wayFlags, spoken *profileFlag, where company.Address, undone string) (*companyUse, error) {
	h, accounts, err := f.openHome(e)
	if err != nil {
		return nil, err
	}
	u := &companyUse{env: e, home: h, accounts: accounts}
	if u.identity, err = session.Load(h.Identity()); err != nil {
		return nil, noIdentityTrouble(err, undone)
	}
	way, err := reach.New(reach.Config{ConnectTo: given.connectTo, CACerts: given.cacerts})
	if err != nil {
		return nil, err
	}
	u.client = way.Client(signInTimeout)
	var cache *company.Cache // none for test hosts: their documents must not stand for the real ones later
	if len(given.connectTo) == 0 {
		if cache, err = company.OpenCache(h.Companies(), e.now); err != nil {
			return nil, err
		}
	}
	if u.company, err = company.Discover(ctx, u.client, where, company.Options{Profile: spoken.forced, Cache: cache}); err != nil {
		return nil, unreadableTrouble(ctx, where, err, undone)
	}
	if u.company.Issuer == "" || u.company.Server.Token == "" {
		return nil, noSignInTrouble(u.company, undone)
	}
	if u.user, err = u.userID(ctx); err != nil {
		return nil, err
	}
	u.server, err = session.NewServer(session.ServerConfig{
		Company: u.company, Identity: u.identity, UserID: u.user, Client: u.client, Now: e.now, Rand: rand.Reader,
	})
	return u, err
}

func (u *companyUse) userID(ctx context.Context) (string, error) {
	unlock, err := u.home.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	return session.UserID(u.home.Identity(), u.company.Issuer, u.company.Profile, rand.Reader)
}

// newSession is a Session of this process's own, signed out.
func (u *companyUse) newSession() (*session.Session, error) {
	return session.New(session.Config{
		Identity: u.identity, Company: u.company, UserID: u.user, Server: u.server, Now: u.env.now, Rand: rand.Reader,
	})
}

func (u *companyUse) close() { u.client.CloseIdleConnections() }

func noIdentityTrouble(err error, undone string) error {
	t := &trouble.Error{What: "the agent's identity can't be used", Err: err, Done: "nothing", Undone: undone, Next: "run papaver doctor"}
	if errors.Is(err, session.ErrNoIdentity) {
		t.What, t.Err = "this home has no identity to sign in with", nil
		t.Next = "run papaver identity init --client-id URL --name NAME, and publish what it writes"
	}
	return t
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

func noSignInTrouble(c *company.Company, undone string) error {
	return &trouble.Error{
		What: c.Domain + " offers no sign-in", Done: "what it publishes was read", Undone: undone,
		Next: "it can be used signed out; papaver discover " + c.Domain + " shows what it offers",
	}
}
