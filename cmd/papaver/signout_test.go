package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/internal/trouble"
)

// A sign-out says what became of the access: an interrupt that came after it changes nothing, and a token that the Company
// revoked is not said to be kept for another try.
func TestASignOutSaysWhatBecameOfTheAccess(t *testing.T) {
	t.Parallel()
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	ring := &account.KeyringError{Err: errors.New("it is locked")}
	if err := signOutTrouble(interrupted, "shop.example", nil); err != nil {
		t.Errorf("interrupted when it was done: %v", err)
	}
	for name, tc := range map[string]struct {
		ctx           context.Context
		err           error
		undone, never string
	}{
		"interrupted":                {interrupted, &account.UnrevokedError{Err: context.Canceled}, "the token is kept here", "worth nothing"},
		"revoked, the entry stays":   {t.Context(), &account.LeftError{Err: ring}, "worth nothing any more", "nothing was revoked"},
		"the same, then interrupted": {interrupted, &account.LeftError{Err: ring}, "worth nothing any more", "kept here"},
		"a keyring that is locked":   {t.Context(), ring, "nothing was revoked", "worth nothing"},
	} {
		said := trouble.Of(signOutTrouble(tc.ctx, "shop.example", tc.err))
		if !strings.Contains(said.Undone, tc.undone) || strings.Contains(said.Undone, tc.never) || strings.Contains(said.Next, "--keyring") || said.Next == "" {
			t.Errorf("%s: undone %q, next %q", name, said.Undone, said.Next)
		}
	}
}
