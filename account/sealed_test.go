package account_test

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/lock"
)

// Who copies the home gets no token that is good for anything; who has the lock open uses it as before.
func TestTheTokensOfALockedHomeAreSealed(t *testing.T) {
	t.Parallel()
	answers := filepath.Join(t.TempDir(), "answers")
	k, err := lock.Make(answers, secret.New("alpine start 4am"), 2, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := newIssuer(t, "first-token")
	dir := filepath.Join(t.TempDir(), "accounts")
	unlocked := open(t, account.Config{Dir: dir})
	keep(t, unlocked, signedIn(home), "first-token", remote{i.URL})
	keep(t, unlocked, signedIn(work), "another-token", remote{i.URL})

	seals := lock.SealsOf(answers, k)
	if err := unlocked.Reseal(t.Context(), seals); err != nil {
		t.Fatal(err)
	}
	if text := fileText(t, dir); strings.Contains(text, "-token") {
		t.Errorf("a token stands in the folder:\n%s", text)
	}
	for name, s := range map[string]*account.Store{"unlocked": unlocked, "not open": open(t, account.Config{Dir: dir, Seals: lock.SealsOf(answers, nil)})} {
		if _, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{SessionID: "ses_1"}); !errors.Is(err, lock.ErrLocked) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if used := i.used(); len(used) != 0 {
		t.Errorf("tokens were sent: %v", used)
	}
	locked := open(t, account.Config{Dir: dir, Seals: seals})
	for range 2 {
		if _, err := locked.Refresh(t.Context(), home, remote{i.URL}, account.Request{SessionID: "ses_1"}); err != nil {
			t.Fatal(err)
		}
	}
	if used := i.used(); len(used) != 2 || used[0] != "first-token" {
		t.Errorf("tokens sent: %v", used)
	}
	if text := fileText(t, dir); strings.Contains(text, "-token") || strings.Contains(text, i.used()[1]) {
		t.Errorf("a token stands in the folder:\n%s", text)
	}
	if err := locked.Reseal(t.Context(), lock.Seals{}); err != nil {
		t.Fatal(err)
	}
	if _, err := unlocked.Refresh(t.Context(), home, remote{i.URL}, account.Request{SessionID: "ses_1"}); err != nil {
		t.Errorf("unlocked again: %v", err)
	}
}
