package signin_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

// An Account Token in an answer that can't be used otherwise must not stay good with nobody to have it, in whichever way
// it came.
func TestATokenBesideAnUnusableAnswerIsRevoked(t *testing.T) {
	t.Parallel()
	for _, kind := range signin.Types() {
		synctest.Test(t, func(t *testing.T) {
			b := deviceBench(t, says("authorization_pending"), unusable("stray"))
			if kind == signin.Direct {
				b.server.script = b.server.script[1:]
			}
			b.user.callbacks = func(address string) []string { return []string{back(address, nil)} }
			b.session.handler = &endpoint{t: t, answers: []string{complete}}
			b.user.given, b.server.unread = map[string]string{"email": "dana@example.org", "password": "p"}, "stray"
			_, err := b.signIn(t, kind, "poppy:read")
			if !errors.Is(err, session.ErrUnreadable) || !slices.Equal(b.server.revoked, []string{"stray"}) {
				t.Errorf("%s: %v, revoked %q", kind, err, b.server.revoked)
			}
			if _, err := b.kept(t); !errors.Is(err, account.ErrNone) {
				t.Errorf("%s: kept all the same: %v", kind, err)
			}
		})
	}
}

// Who gives up while the answer is on its way has signed nobody in, here and at the Company.
func TestASignInThatIsGivenUpLeavesNothingAtTheCompany(t *testing.T) {
	t.Parallel()
	for _, kind := range []signin.Type{signin.Direct, signin.Device} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			b := deviceBench(t, func() session.Grant {
				cancel()
				return granted("account", "poppy:read")
			})
			b.user.callbacks = func(address string) []string { return []string{back(address, nil)} }
			_, err := signin.SignIn(ctx, b.Config, kind, []string{"poppy:read"})
			if lost, ok := errors.AsType[*account.LostError](err); ok || !errors.Is(err, context.Canceled) || !slices.Equal(b.server.revoked, []string{"account"}) {
				t.Errorf("%s: %v, %v, revoked %q", kind, err, lost, b.server.revoked)
			}
			if _, err := b.kept(t); !errors.Is(err, account.ErrNone) {
				t.Errorf("%s: kept all the same: %v", kind, err)
			}
		})
	}
}

// Access that is kept is no failed sign-in, also when its Session is there no more.
func TestAccessThatIsKeptIsToldThoughItsSessionHasGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.session.refuses = session.ErrOtherSession
	b.server.script = []any{granted("account", "poppy:read")}
	b.user.callbacks = func(address string) []string { return []string{back(address, nil)} }
	r, err := b.signIn(t, signin.Direct, "poppy:read")
	if err != nil || !errors.Is(r.Unused, session.ErrOtherSession) || len(b.server.revoked) != 0 {
		t.Errorf("%+v, %v, revoked %q", r, err, b.server.revoked)
	}
	if a, err := b.kept(t); err != nil || !a.Covers([]string{"poppy:read"}) {
		t.Errorf("kept %+v, %v", a, err)
	}
}
