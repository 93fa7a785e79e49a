package account_test

import (
	"context"
	"errors"
	"testing"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/internal/secret"
)

// stuck is a keyring that gives nothing up.
type stuck struct{ *ring }

func (stuck) Delete(context.Context, string) error {
	return &account.KeyringError{Err: errors.New("it is locked")}
}

// A token that the Company revoked and that can't be removed here is not told as one that was not revoked.
func TestARevokedTokenThatStaysIsToldApart(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "first-token")
	s := open(t, account.Config{Keyring: stuck{&ring{entries: map[string]secret.Text{}}}})
	keep(t, s, inKeyring(signedIn(home)), "first-token", remote{i.URL})
	_, err := s.SignOut(t.Context(), home, remote{i.URL})
	left, ok := errors.AsType[*account.LeftError](err)
	if _, unrevoked := errors.AsType[*account.UnrevokedError](err); !ok || unrevoked || left.Account.Key != home || len(i.revoked) != 1 {
		t.Errorf("SignOut = %v; revoked %q", err, i.revoked)
	}
	if _, ok := errors.AsType[*account.KeyringError](err); !ok {
		t.Errorf("the cause is lost: %v", err)
	}
	if _, err := s.Find(home); !errors.Is(err, account.ErrNone) {
		t.Errorf("it is still listed: %v", err)
	}
}
