package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/session"
)

// Refresher is what a Session refreshes with ([session.Config]): it has the account's token exchanged, for the Session
// that asks and for scope (nil for all of it). key gives that Session's key. Without a sign-in, and when it has ended,
// the error says so in the way that lets the Session go on signed out; ended, which may be nil, is then told why, each time.
func (s *Store) Refresher(k Key, server Server, scope []string, key func() *session.ProofKey, ended func(error)) func(ctx context.Context, sessionID string) (session.Grant, error) {
	return func(ctx context.Context, sessionID string) (session.Grant, error) {
		grant, err := s.Refresh(ctx, k, server, Request{SessionID: sessionID, Scope: scope, Key: key()})
		return grant, forSession(err, ended)
	}
}

// RefresherFor is Refresher for the APIs that need a token of their own (draft 0.1, section 4.3). The scopes of such a
// token are the API's, and change nothing about what is known of the account. Where the Company gives none for the
// account's sign-in, the error is session.ErrNotOffered or the Company's.
func (s *Store) RefresherFor(k Key, server APIServer, scope []string, key func() *session.ProofKey, ended func(error)) func(ctx context.Context, sessionID string, api company.API) (session.Grant, error) {
	return func(ctx context.Context, sessionID string, api company.API) (session.Grant, error) {
		req := Request{SessionID: sessionID, Scope: scope, Key: key()}
		grant, err := s.exchange(ctx, k, server, req, false, func(token secret.Text) (session.Grant, error) {
			return server.ForAPI(ctx, api, token, req.SessionID, req.Scope, req.Key)
		})
		return grant, forSession(err, ended)
	}
}

// forSession is a refresh's error as a Session understands it. ended is told of access that is there no more, also where
// that of another agent took its place.
func forSession(err error, ended func(error)) error {
	_, gone := errors.AsType[*EndedError](err)
	_, others := errors.AsType[*OtherAgentError](err)
	none := others || errors.Is(err, ErrNone)
	if ended != nil && (gone || none) {
		ended(err)
	}
	if none {
		return fmt.Errorf("%w: %w", session.ErrSignInRequired, err)
	}
	return err
}
