package agent

import (
	"context"
	"errors"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/session"
)

// newSession makes a Session at c for this home's agent and User: signed in where that is asked for, with the account's
// tokens, which the home keeps. ended is told when the Company no longer accepts them.
func (a *Agent) newSession(ctx context.Context, c *company.Company, ended func(error)) (*session.Session, error) {
	return a.sessionAs(ctx, c, a.cfg.SignedIn, a.cfg.Account, ended)
}

// sessionAs is newSession, signed in or not, and to the account with that label.
func (a *Agent) sessionAs(ctx context.Context, c *company.Company, signedIn bool, label string, ended func(error)) (*session.Session, error) {
	identity, err := session.Load(a.home.Identity())
	if err != nil {
		return nil, identityTrouble(err)
	}
	identity = identity.With(a.seals)
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
	if signedIn {
		// The Session's key is made with it, and is asked for when it is used.
		if err := a.signedIn(&cfg, label, func() *session.ProofKey { return s.Key() }, ended); err != nil {
			return nil, err
		}
	}
	s, err = session.New(cfg)
	return s, err
}

// signedIn says what a signed-in Session has its tokens from. Without a sign-in to begin with it is an error.
func (a *Agent) signedIn(cfg *session.Config, label string, key func() *session.ProofKey, ended func(error)) error {
	accounts, err := account.Open(account.Config{Dir: a.home.Accounts(), Keyring: a.cfg.Keyring, Seals: a.seals, Now: a.cfg.Now, Rand: a.cfg.Rand})
	if err != nil {
		return err
	}
	which := account.Key{Issuer: cfg.Company.Issuer, Label: label}
	switch kept, err := accounts.Find(which); {
	case errors.Is(err, account.ErrNone):
		return notSignedInTrouble(cfg.Company, label)
	case err != nil:
		return err
	case kept.ClientID != cfg.Identity.ClientID():
		return othersSignInTrouble(cfg.Company, &account.OtherAgentError{Account: kept, ClientID: cfg.Identity.ClientID()})
	}
	cfg.Refresh = accounts.Refresher(which, cfg.Server, nil, key, ended)
	cfg.RefreshFor = accounts.RefresherFor(which, cfg.Server, nil, key, ended)
	return nil
}

// othersSignInTrouble is a run that is to be signed in where the sign-in that is kept is another agent's.
func othersSignInTrouble(c *company.Company, err error) error {
	return &trouble.Error{
		What: "the sign-in at " + c.Domain + " that is kept in this home is another agent's", Err: err,
		Done: "what the Company publishes was read", Undone: "no page was opened, no Session was joined, and the token was not sent",
		Next: "run papaver signin " + c.Domain + " to sign in as this agent, or leave --signed-in out",
	}
}
