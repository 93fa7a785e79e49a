package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

// AccessConfig says how a Company's authorization server is reached, and from which home. Home is required.
type AccessConfig struct {
	Home string // the folder of `--home`
	// ConnectTo and CACerts are how named hosts are reached, as --connect-to and --cacert spell it.
	ConnectTo []string
	CACerts   []string
	Profile   *profile.Profile // forces a version of the protocol; nil: the newest of ours that the Company offers
	Keyring   account.Keyring  // nil: accounts that are kept there can't be used
	Key       *lock.Key        // the home's lock, open; without it a home that has one is [lock.ErrLocked]
	Now       func() time.Time
	Rand      io.Reader
}

// Access is what a home may do with the User's accounts at one Company. It starts no browser. Its methods run one after
// another.
type Access struct {
	cfg      AccessConfig
	company  *company.Company
	identity *session.Identity
	user     string
	client   *http.Client
	server   *session.Server
	accounts *account.Store
}

// OpenAccess reads what the Company at address publishes, and makes ready what is needed to ask its authorization server.
// The caller closes it. A Company without one is [session.ErrNotOffered]; other errors are of company, session and home.
func OpenAccess(ctx context.Context, cfg AccessConfig, address string) (*Access, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	where, err := company.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	h, err := home.Open(cfg.Home)
	if err != nil {
		return nil, err
	}
	seals := lock.SealsOf(h.Answers(), cfg.Key)
	if _, err := seals.Lock(); err != nil {
		return nil, lockTrouble(err)
	}
	a := &Access{cfg: cfg}
	if a.accounts, err = account.Open(account.Config{Dir: h.Accounts(), Keyring: cfg.Keyring, Seals: seals, Now: cfg.Now, Rand: cfg.Rand}); err != nil {
		return nil, err
	}
	if a.identity, err = session.Load(h.Identity()); err != nil {
		return nil, err
	}
	a.identity = a.identity.With(seals)
	way, err := reach.New(reach.Config{ConnectTo: cfg.ConnectTo, CACerts: cfg.CACerts})
	if err != nil {
		return nil, err
	}
	a.client = way.Client(requestTimeout)
	var cache *company.Cache // none for test hosts: their documents must not stand for the real ones later
	if len(cfg.ConnectTo) == 0 {
		if cache, err = company.OpenCache(h.Companies(), cfg.Now); err != nil {
			return nil, err
		}
	}
	if a.company, err = company.Discover(ctx, a.client, where, company.Options{Profile: cfg.Profile, Cache: cache}); err != nil {
		return nil, err
	}
	if a.company.Issuer == "" || a.company.Server.Token == "" {
		return nil, fmt.Errorf("an authorization server at %s: %w", a.company.Domain, session.ErrNotOffered)
	}
	if a.user, err = userAt(ctx, h, a.company, cfg.Rand); err != nil {
		return nil, err
	}
	a.server, err = session.NewServer(session.ServerConfig{
		Company: a.company, Identity: a.identity, UserID: a.user, Client: a.client, Now: cfg.Now, Rand: cfg.Rand,
	})
	return a, err
}

// userAt is the User's ID at c, made when there is none.
func userAt(ctx context.Context, h home.Home, c *company.Company, random io.Reader) (string, error) {
	unlock, err := h.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	return session.UserID(h.Identity(), c.Issuer, c.Profile, random)
}

// Company is what the Company publishes.
func (a *Access) Company() *company.Company { return a.company }

// ClientID is the agent that signs in.
func (a *Access) ClientID() string { return a.identity.ClientID() }

// Accounts are those of the home, of all Companies.
func (a *Access) Accounts() *account.Store { return a.accounts }

// Close lets go of the connections.
func (a *Access) Close() { a.client.CloseIdleConnections() }

// Session makes a new Session at the Company, signed out.
func (a *Access) Session() (*session.Session, error) {
	return session.New(session.Config{
		Identity: a.identity, UserID: a.user, Company: a.company, Server: a.server, Now: a.cfg.Now, Rand: a.cfg.Rand,
	})
}

func (a *Access) key(label string) account.Key {
	return account.Key{Issuer: a.company.Issuer, Label: label}
}

// Find returns what is kept of one of the User's accounts there, label being empty for the only one, without asking the
// Company. Without a sign-in it is [account.ErrNone].
func (a *Access) Find(label string) (account.Account, error) { return a.accounts.Find(a.key(label)) }

// Check uses the access that is kept, so that the Company says whether it still stands, and returns what it now reaches.
// When it has ended the error is *[account.EndedError], and nothing is kept of it any more.
func (a *Access) Check(ctx context.Context, label string) (account.Account, error) {
	s, err := a.Session()
	if err != nil {
		return account.Account{}, err
	}
	id, err := s.Start(ctx)
	if err != nil {
		return account.Account{}, err
	}
	if _, err := a.accounts.Refresh(ctx, a.key(label), a.server, account.Request{SessionID: id, Key: s.Key()}); err != nil {
		return account.Account{}, err
	}
	return a.Find(label)
}

// SignIn is how the User is signed in. UI is required.
type SignIn struct {
	Type    signin.Type // see [signin.Choose]
	Scope   []string
	Account string        // the User's word for the account; empty for the only one
	Place   account.Place // where the token is kept; empty: where the account's is now, else as the home says
	UI      signin.UI
}

// SignIn signs the User in and keeps the access, in place of what was kept of that account. Errors are those of
// [signin.SignIn], and *[account.KeyringError], before the User was asked anything, when the token could not be kept; what
// was kept before then stands.
func (a *Access) SignIn(ctx context.Context, how SignIn) (signin.Result, error) {
	place, err := a.place(how)
	if err != nil {
		return signin.Result{}, err
	}
	if err := a.accounts.Check(ctx, place); err != nil {
		return signin.Result{}, err
	}
	s, err := a.Session()
	if err != nil {
		return signin.Result{}, err
	}
	return signin.SignIn(ctx, signin.Config{
		Company: a.company, Server: a.server, Session: s, Client: a.client, Accounts: a.accounts, Label: how.Account,
		Place: place, ClientID: a.identity.ClientID(), Redirect: a.identity.RedirectURI(), UI: how.UI,
		Now: a.cfg.Now, Rand: a.cfg.Rand,
	}, how.Type, how.Scope)
}

// place is where the token is to be kept.
func (a *Access) place(how SignIn) (account.Place, error) {
	if how.Place != "" {
		return how.Place, nil
	}
	before, err := a.Find(how.Account)
	if errors.Is(err, account.ErrNone) {
		return a.accounts.Preferred()
	}
	return before.Place, err
}

// SignOut has the Company revoke the access and then drops it. When the Company does not, it is kept, and the error is
// *[account.UnrevokedError].
func (a *Access) SignOut(ctx context.Context, label string) (account.Account, error) {
	if _, err := a.Find(label); errors.Is(err, account.ErrNone) {
		return account.Account{}, &trouble.Error{
			Err: err, What: "no sign-in at " + a.company.Domain + " is kept in this home", Done: "nothing", Undone: "nothing was revoked",
			Next: "run papaver companies to see where you are signed in",
		}
	}
	return a.accounts.SignOut(ctx, a.key(label), a.server)
}
