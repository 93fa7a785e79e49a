package agent

import (
	"context"
	"errors"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/session"
)

// newSession makes a Session at c for this home's agent and User: signed in where that is asked for, with the account's
// tokens, which the home keeps. ended is told when the Company no longer accepts them.
func (a *Agent) newSession(ctx context.Context, c *company.Company, ended func(error)) (*session.Session, error) {
	identity, err := session.Load(a.home.Identity())
	if err != nil {
		return nil, identityTrouble(err)
	}
	user, err := userAt(ctx, a.home, c, a.cfg.Rand)
	if err != nil {
		return nil, err
	}
	a.own.add(identity.ClientID(), c)
	server, err := session.NewServer(session.ServerConfig{
		Company: c, Identity: identity, UserID: user, Client: a.client, Now: a.cfg.Now, Rand: a.cfg.Rand,
	})
	if err != nil {
		return nil, err
	}
	cfg := session.Config{
		Identity: identity, UserID: user, Company: c, Server: server, Now: a.cfg.Now, Rand: a.cfg.Rand,
	}
	var s *session.Session
	if a.cfg.SignedIn {
		// The Session's key is made with it, and is asked for when it is used.
		cfg.Refresh, err = a.refresher(c, server, func() *session.ProofKey { return s.Key() }, ended)
		if err != nil {
			return nil, err
		}
	}
	s, err = session.New(cfg)
	return s, err
}

// refresher is what a signed-in Session has its tokens from. Without a sign-in to begin with it is an error.
func (a *Agent) refresher(c *company.Company, server account.Server, key func() *session.ProofKey, ended func(error)) (func(context.Context, string) (session.Grant, error), error) {
	accounts, err := account.Open(account.Config{Dir: a.home.Accounts(), Keyring: a.cfg.Keyring, Now: a.cfg.Now, Rand: a.cfg.Rand})
	if err != nil {
		return nil, err
	}
	which := account.Key{Issuer: c.Issuer, Label: a.cfg.Account}
	switch _, err := accounts.Find(which); {
	case errors.Is(err, account.ErrNone):
		return nil, notSignedInTrouble(c, a.cfg.Account)
	case err != nil:
		return nil, err
	}
	return accounts.Refresher(which, server, nil, key, ended), nil
}
