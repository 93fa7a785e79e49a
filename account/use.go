package account

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/pace"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/session"
)

// Server is the Company's authorization server, as far as Account Tokens go there. *[session.Server] is one.
type Server interface {
	// ClientID is the agent that it is asked for. A token that was issued to another is not sent to it.
	ClientID() string
	// Refresh exchanges the Account Token for a token of the Session. Once it was sent its answer is waited for, within
	// a time of the server's own, even when ctx ends: it may hold the only Account Token that is still good.
	Refresh(ctx context.Context, accountToken secret.Text, sessionID string, scope []string, key *session.ProofKey) (session.Grant, error)
	// Revoke ends the Account Token (RFC 7009).
	Revoke(ctx context.Context, accountToken secret.Text) error
}

// APIServer is a Server that also exchanges the Account Token for a token for one API alone. *[session.Server] is one.
type APIServer interface {
	Server
	// ForAPI exchanges the Account Token for a token of the Session for one API.
	ForAPI(ctx context.Context, api company.API, accountToken secret.Text, sessionID string, scope []string, key *session.ProofKey) (session.Grant, error)
}

// Request is what a Session asks of an account.
type Request struct {
	SessionID string            // of the Session to sign in; empty where the profile's Sessions have no part in it
	Scope     []string          // fewer scopes than were granted; nil for all
	Key       *session.ProofKey // the Session's key; nil for a Bearer token
}

// Refresh exchanges the account's token for one of the Session (draft 0.1, section 4.8). When the Company gives a new
// Account Token with it, that is on disk when Refresh returns; the grant that is returned has none.
//
// Errors: ErrNone; *[ScopeError] and *[OtherAgentError], with nothing sent; *[EndedError] when the Company no longer accepts the token, which
// is then removed; *[LostError]; *[KeyringError]; else the server's own, such as account_mismatch, after which the
// token stands as before.
func (s *Store) Refresh(ctx context.Context, k Key, server Server, req Request) (session.Grant, error) {
	return s.exchange(ctx, k, server, req, req.Scope == nil, func(token secret.Text) (session.Grant, error) {
		return server.Refresh(ctx, token, req.SessionID, req.Scope, req.Key)
	})
}

// exchange is Refresh by any request that uses the Account Token. whole says that what is granted is what the account
// reaches now: the User may have taken some back.
func (s *Store) exchange(ctx context.Context, k Key, server Server, req Request, whole bool, ask func(secret.Text) (session.Grant, error)) (session.Grant, error) {
	unlock, err := s.lock(ctx, k)
	if err != nil {
		return session.Grant{}, err
	}
	defer unlock()
	r, err := s.load(k)
	if err != nil {
		return session.Grant{}, err
	}
	before := r.account()
	if err := issued(before, server); err != nil {
		return session.Grant{}, err
	}
	if missing := before.missing(req.Scope); len(missing) > 0 {
		return session.Grant{}, &ScopeError{Account: before, Missing: missing}
	}
	t, err := s.reveal(ctx, r)
	if err != nil {
		return session.Grant{}, err
	}
	r.begin(s.cfg.Now())
	if err := s.mark(r); err != nil {
		return session.Grant{}, err
	}
	grant, refused := ask(t.current)
	if !grant.AccountToken.Empty() { // also beside an error: the answer was unusable but for this
		t.current = grant.AccountToken
		r.expire(grant.AccountExpires) // the old one's end says nothing of it
	} else if refused != nil {
		return session.Grant{}, s.refused(ctx, r, t, server, before, refused)
	}
	r.end()
	if refused == nil && grant.Scope != nil && whole {
		r.Scope = grant.Scope
	}
	if err := s.save(context.WithoutCancel(ctx), r, t); err != nil {
		return session.Grant{}, &LostError{Account: before, Err: err}
	}
	if refused != nil {
		return session.Grant{}, refused
	}
	grant.AccountToken = secret.Text{}
	return grant, nil
}

// issued is an error for an account that server's agent has no part in.
func issued(a Account, server Server) error {
	if id := server.ClientID(); id != a.ClientID {
		return &OtherAgentError{Account: a, ClientID: id}
	}
	return nil
}

// refused says what a refresh's error means for the token. The mark that one was sent stays while it is not known
// whether the Company exchanged it.
func (s *Store) refused(ctx context.Context, r *record, t tokens, server Server, before Account, err error) error {
	if errors.Is(err, session.ErrInvalidGrant) {
		ended := &EndedError{Account: before, Interrupted: before.Interrupted, Err: err}
		errs := []error{ended}
		for _, old := range t.replaced { // nothing is kept to try it again with
			if err := server.Revoke(context.WithoutCancel(ctx), old); err != nil {
				ended.Unrevoked++
				errs = append(errs, &UnrevokedError{Account: before, Err: err})
			}
		}
		return errors.Join(append(errs, s.remove(context.WithoutCancel(ctx), r))...)
	}
	answer, answered := errors.AsType[*session.ServerError](err)
	limit, limited := errors.AsType[*session.RateLimited](err)
	limited = limited && limit.Status < 500 // a 503 may come after the exchange, whenever it asks to be back
	unsent := errors.Is(err, session.ErrNotOffered) || errors.Is(err, session.ErrNotSent) || errors.Is(err, pace.ErrHeld)
	if (answered && answer.Status < 500 || limited || unsent) && before.Interrupted.IsZero() {
		r.end() // nothing was exchanged
		return errors.Join(err, s.mark(r))
	}
	return err
}

// Kept is what became of a new sign-in.
type Kept struct {
	Account  Account
	Replaced bool // an older token was there, and the new one stands in its place
	// Unrevoked is why a replaced token could not be revoked; nil when all are. As many as Account.Unrevoked says are
	// tried again at the next sign-in and at sign-out; the rest, another agent's and those
	// that can't be read, can't be.
	Unrevoked error
}

// Keep puts a new sign-in in place of what was kept of its account, and then has the Company revoke the token that it
// replaces (draft 0.1, section 4.4). The new token is on disk first. Without an answer from the Company the old token
// is kept beside it, for another try. Its error says that the new token could not be kept; what was kept then stands.
func (s *Store) Keep(ctx context.Context, a Account, token secret.Text, server Server) (Kept, error) {
	unlock, err := s.lock(ctx, a.Key)
	if err != nil {
		return Kept{}, &LostError{Account: a, Err: err}
	}
	defer unlock()
	r, t := recordOf(a), tokens{current: token}
	old, err := s.load(a.Key)
	replaced := err == nil
	var unrevocable error
	if replaced {
		t.replaced, unrevocable = s.replaces(ctx, old, a, token)
		if old.Place == r.Place {
			r.Entry = old.Entry
		}
	} else if !errors.Is(err, ErrNone) {
		return Kept{}, &LostError{Account: a, Err: err}
	}
	if err := s.save(context.WithoutCancel(ctx), r, t); err != nil {
		return Kept{}, &LostError{Account: a, Err: err}
	}
	kept := Kept{Replaced: replaced, Unrevoked: unrevocable}
	if replaced && old.Place != r.Place {
		kept.Unrevoked = errors.Join(kept.Unrevoked, s.removeEntry(ctx, old))
	}
	kept.Unrevoked = errors.Join(kept.Unrevoked, s.revokeReplaced(ctx, r, &t, server))
	kept.Account = r.account()
	return kept, nil
}

// replaces are the tokens of old that are to be revoked when a takes its place. Those that can't be, being another
// agent's or not to be read, must not keep the User from signing in; the error says why they stand.
func (s *Store) replaces(ctx context.Context, old *record, a Account, token secret.Text) ([]secret.Text, error) {
	if old.ClientID != a.ClientID {
		return nil, &UnrevokedError{Account: old.account(), Err: &OtherAgentError{Account: old.account(), ClientID: a.ClientID}}
	}
	before, err := s.reveal(ctx, old)
	if err != nil {
		return nil, &UnrevokedError{Account: old.account(), Err: err}
	}
	return slices.DeleteFunc(append(before.replaced, before.current), func(o secret.Text) bool { return o.Reveal() == token.Reveal() }), nil
}

// revokeReplaced has the tokens revoked that were replaced, and keeps those that were not.
func (s *Store) revokeReplaced(ctx context.Context, r *record, t *tokens, server Server) error {
	var errs []error
	var left []secret.Text
	for _, old := range t.replaced {
		if err := server.Revoke(ctx, old); err != nil {
			left = append(left, old)
			errs = append(errs, &UnrevokedError{Account: r.account(), Err: err})
		}
	}
	if len(left) == len(t.replaced) {
		return errors.Join(errs...)
	}
	t.replaced = left
	return errors.Join(append(errs, s.save(context.WithoutCancel(ctx), r, *t))...)
}

// SignOut has the Company revoke the account's token and then removes it (draft 0.1, section 4.9). When the Company
// does not, the token is kept and the error is *[UnrevokedError]; when only its removal failed, *[LeftError]. Sessions are not ended by it: the Company signs them
// out.
func (s *Store) SignOut(ctx context.Context, k Key, server Server) (Account, error) {
	unlock, err := s.lock(ctx, k)
	if err != nil {
		return Account{}, err
	}
	defer unlock()
	r, err := s.load(k)
	if err != nil {
		return Account{}, err
	}
	if err := issued(r.account(), server); err != nil {
		return r.account(), err
	}
	t, err := s.reveal(ctx, r)
	if err != nil {
		return r.account(), err
	}
	if err := s.revokeReplaced(ctx, r, &t, server); err != nil {
		return r.account(), err
	}
	if err := server.Revoke(ctx, t.current); err != nil {
		return r.account(), &UnrevokedError{Account: r.account(), Err: err}
	}
	if err := s.remove(context.WithoutCancel(ctx), r); err != nil {
		return r.account(), &LeftError{Account: r.account(), Err: err}
	}
	return r.account(), nil
}

// Forget removes what is kept of an account and asks nobody: at the Company the access stays until it ends there. A
// damaged file is removed too; the Account that is returned is then empty.
func (s *Store) Forget(ctx context.Context, k Key) (Account, error) {
	unlock, err := s.lock(ctx, k)
	if err != nil {
		return Account{}, err
	}
	defer unlock()
	r, err := s.load(k)
	switch {
	case errors.Is(err, ErrNone):
		return Account{}, err
	case err != nil:
		return Account{}, os.Remove(s.path(k))
	}
	return r.account(), s.remove(context.WithoutCancel(ctx), r)
}
