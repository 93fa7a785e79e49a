package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/papaver-agent/papaver/session"
)

// Refresher is what a Session refreshes with ([session.Config]): it has the account's token exchanged, for the Session
// that asks and for scope (nil for all of it). key gives that Session's key. Without a sign-in, and when it has ended,
// the error says so in the way that lets the Session go on signed out; ended, which may be nil, is then told why, once.
func (s *Store) Refresher(k Key, server Server, scope []string, key func() *session.ProofKey, ended func(error)) func(ctx context.Context, sessionID string) (session.Grant, error) {
	return func(ctx context.Context, sessionID string) (session.Grant, error) {
		grant, err := s.Refresh(ctx, k, server, Request{SessionID: sessionID, Scope: scope, Key: key()})
		_, gone := errors.AsType[*EndedError](err)
		if ended != nil && (gone || errors.Is(err, ErrNone)) {
			ended(err)
		}
		if errors.Is(err, ErrNone) {
			return session.Grant{}, fmt.Errorf("%w: %w", session.ErrSignInRequired, err)
		}
		return grant, err
	}
}
