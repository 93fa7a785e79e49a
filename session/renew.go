package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/profile"
)

const (
	tokenLeeway = time.Minute      // before its end a token is had anew, or a quarter of its life where that is less
	renewalRest = 10 * time.Second // after a renewal that failed while the old token still holds
)

// held is a token that the Session has.
type held struct {
	grant Grant
	rests time.Time // no renewal before this
}

// fresh reports whether the token is far enough from its end.
func (h held) fresh(now time.Time) bool {
	return !h.grant.AccessToken.Empty() && now.Before(h.grant.Expires.Add(-min(tokenLeeway, h.grant.lived/4)))
}

// usable reports whether the token holds, if not for long.
func (h held) usable(now time.Time) bool {
	return !h.grant.AccessToken.Empty() && now.Before(h.grant.Expires)
}

// flight is a renewal under way. Whoever began it ends it.
type flight struct {
	done      chan struct{}
	api       company.API
	err       error
	abandoned bool // err is its beginner's own, who gave up waiting
}

// token returns the Session's newest token for an API, or for everything else, had anew when it nears its end: by one
// caller at a time, while the others wait. Signed out in 1.0 there is none.
func (s *Session) token(ctx context.Context, api company.API) (held, error) {
	for flown := 0; ; {
		s.mu.Lock()
		h, now := s.tokens[api], s.speaker.now()
		right := h.grant.SignedIn == s.account
		switch {
		case s.profile.Start == profile.StartNamed && !s.account:
			s.mu.Unlock()
			return held{}, nil
		case right && (h.fresh(now) || h.usable(now) && (flown > 0 || now.Before(h.rests))):
			s.mu.Unlock()
			return h, nil
		case flown > 2:
			s.mu.Unlock()
			return held{}, fmt.Errorf("%w: its tokens end before they can be used", ErrUnreadable)
		}
		if f := s.flight; f != nil {
			s.mu.Unlock()
			select {
			case <-f.done:
			case <-ctx.Done():
				return held{}, fmt.Errorf("wait for the Session's token: %w", ctx.Err())
			}
			if f.err != nil && f.api == api && !f.abandoned {
				return s.last(api, f.err)
			}
			continue
		}
		f := &flight{done: make(chan struct{}), api: api}
		s.flight = f
		s.mu.Unlock()

		f.err = s.renew(ctx, api)
		f.abandoned = f.err != nil && ctx.Err() != nil
		s.mu.Lock()
		s.flight = nil
		s.mu.Unlock()
		close(f.done)
		if f.err != nil {
			return s.last(api, f.err)
		}
		flown++
	}
}

// last returns the old token while it holds, for a renewal failed that may work later.
func (s *Session) last(api company.API, err error) (held, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, now := s.tokens[api], s.speaker.now()
	if !h.usable(now) || h.grant.SignedIn != s.account {
		return held{}, err
	}
	h.rests = now.Add(renewalRest)
	s.tokens[api] = h
	return h, nil
}

// renew has a token anew: from the account while signed in, else by our own assertion. A Session that has ended,
// or came to belong to another account (draft 0.1, section 4.4), is replaced by a new one, once.
func (s *Session) renew(ctx context.Context, api company.API) error {
	for restarted, learned := false, false; ; {
		s.mu.Lock()
		id, account, known, began := s.id, s.account, s.tokens[general].grant.SignedIn, s.next()
		s.mu.Unlock()
		if !account && s.profile.Start == profile.StartNamed {
			return nil // signed out there is no token
		}
		if id == "" {
			if err := s.begin(ctx); err != nil || api == general && !account {
				return err
			}
			continue
		}
		var grant Grant
		var err error
		if account {
			grant, err = s.fromAccount(ctx, id, api)
		} else {
			grant, err = s.signedOut(ctx, id, api)
		}
		switch {
		case (errors.Is(err, ErrInvalidSession) || account && errors.Is(err, ErrAccountMismatch)) && !restarted:
			restarted = true
			if err := s.Restart(id); err != nil {
				return err
			}
			continue
		case account && errors.Is(err, ErrSignInRequired) && api != general && !known && !learned:
			// It may be that there is no access to the account at all, which only the general token tells.
			learned = true
			if err := s.renew(ctx, general); err != nil {
				return err
			}
			continue
		case account && (errors.Is(err, ErrInvalidGrant) || errors.Is(err, ErrSignInRequired) && api == general):
			// The access to the account has ended; the Session goes on without (draft 0.1, section 4.8).
			s.mu.Lock()
			if s.id == id {
				s.signOut()
			}
			s.mu.Unlock()
			return nil
		case err != nil:
			return err
		}
		s.mu.Lock()
		err = s.keep(api, grant, began)
		given := s.id != id
		s.mu.Unlock()
		if errors.Is(err, ErrOtherSession) && given {
			return nil // the Session was given up meanwhile
		}
		return err
	}
}

// begin starts the Session, signed out, even where an Account Token could start it signed in: not every Company knows
// that way.
func (s *Session) begin(ctx context.Context) error {
	grant, err := s.signedOut(ctx, "", general)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case slices.Contains(s.ended, grant.SessionID):
		return fmt.Errorf("%w: it named a Session that has ended", ErrUnreadable)
	case s.id != "":
		return nil // a sign-in was faster
	case s.account:
		// Its token says that nobody is signed in. It is used if there is no access to the account.
		s.id, s.newest, s.tokens[general] = grant.SessionID, grant.order, held{grant: grant}
		return nil
	}
	return s.keep(general, grant, 0)
}

func (s *Session) signedOut(ctx context.Context, id string, api company.API) (Grant, error) {
	if s.server == nil {
		return Grant{}, fmt.Errorf("a signed-out token: %w", ErrNotOffered)
	}
	if api != general {
		return s.server.ForAPI(ctx, api, secret.Text{}, id, nil, s.key)
	}
	return s.server.start(ctx, id, "", s.key)
}

// fromAccount asks the account for a token.
func (s *Session) fromAccount(ctx context.Context, id string, api company.API) (Grant, error) {
	switch {
	case api == general && s.cfg.Refresh != nil:
		return s.cfg.Refresh(ctx, id)
	case api != general && s.cfg.RefreshFor != nil:
		return s.cfg.RefreshFor(ctx, id, api)
	default:
		return Grant{}, ErrSignInRequired
	}
}

// drop forgets a token that the Company refused, unless a newer one is there already.
func (s *Session) drop(api company.API, grant Grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens[api].grant.order == grant.order {
		delete(s.tokens, api)
	}
}
