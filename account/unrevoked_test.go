package account_test

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/account"
)

// A token that can't be read is replaced, and nobody is told that it was revoked.
func TestAReplacedTokenThatCannotBeReadIsSaidToStand(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "old", "new")
	dir := filepath.Join(t.TempDir(), "accounts")
	s := open(t, account.Config{Dir: dir})
	keep(t, s, signedIn(home), "old", remote{i.URL})
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[0], []byte(strings.Replace(string(data), `"current":"old"`, `"current":7`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := keep(t, s, signedIn(home), "new", remote{i.URL})
	if _, ok := errors.AsType[*account.UnrevokedError](kept.Unrevoked); !kept.Replaced || !ok || len(i.revoked) != 0 || kept.Account.Unrevoked != 0 {
		t.Errorf("%+v, revoked %q", kept, i.revoked)
	}
}

// With the sign-in that has ended go the tokens that it replaced: their revocation is tried a last time.
func TestTheTokensThatAnEndedSignInReplacedAreRevoked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		left    int
		revoked []string
	}{"revoked": {0, []string{"old"}}, "not revoked": {1, nil}} {
		i := newIssuer(t, "old")
		s := open(t, account.Config{})
		keep(t, s, signedIn(home), "old", remote{i.URL})
		i.set(func(i *issuer) { i.answer = fails(503, "") })
		keep(t, s, signedIn(home), "dead", remote{i.URL})
		i.set(func(i *issuer) {
			i.answer = func(w http.ResponseWriter, form url.Values) bool {
				return tc.left > 0 && form.Get("token") == "old" && fails(503, "")(w, form)
			}
		})
		_, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{})
		ended, ok := errors.AsType[*account.EndedError](err)
		if !ok || ended.Unrevoked != tc.left || strings.Contains(ended.Error(), "stands") != (tc.left > 0) || !slices.Equal(i.revoked, tc.revoked) {
			t.Errorf("%s: %v, revoked %q", name, err, i.revoked)
		}
	}
}
