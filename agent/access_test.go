package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/signin"
	"github.com/papaver-agent/papaver/testsite"
)

// Signed in, checked, narrowed by the Company's page, signed out: without a browser of ours, in every version.
//
// Clauses: S01-4.9.01
func TestAccessIsHadCheckedAndGivenBack(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.0", "0.2", "0.1"} {
		w := newWorldOf(t, testsite.Config{Profile: version, Control: "127.0.0.1:0"})
		w.signIn(1)
		access, err := agent.OpenAccess(t.Context(), agent.AccessConfig{Home: w.home, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.cacert}}, w.site.Company())
		if err != nil {
			t.Fatal(err)
		}
		had, err := access.Check(t.Context(), "")
		if err != nil || !slices.Equal(had.Scope, []string{"poppy:read", "poppy:write"}) || had.Profile != version {
			t.Errorf("%s: Check = %+v, %v", version, had, err)
		}
		if _, err := access.Find("business"); !errors.Is(err, account.ErrNone) {
			t.Errorf("%s: Find of another account = %v", version, err)
		}
		if _, err := access.SignOut(t.Context(), ""); err != nil {
			t.Errorf("%s: SignOut = %v", version, err)
		}
		if _, err := access.Check(t.Context(), ""); !errors.Is(err, account.ErrNone) {
			t.Errorf("%s: Check after the sign-out = %v", version, err)
		}
		if _, err := access.SignOut(t.Context(), ""); !errors.Is(err, account.ErrNone) {
			t.Errorf("%s: a second SignOut = %v", version, err)
		}
		w.signIn(1)
		w.control("disconnect", map[string]any{"client_id": access.ClientID(), "account": "acct_dana_business"})
		_, err = access.Check(t.Context(), "")
		if _, ended := errors.AsType[*account.EndedError](err); !ended {
			t.Errorf("%s: Check after the User disconnected the agent = %v", version, err)
		}
		access.Close()
		for _, broken := range w.site.Broken() {
			t.Errorf("%s: a broken rule: %+v", version, broken)
		}
	}
}

// errAsked is what asked gives.
var errAsked = errors.New("the User was asked")

// asked is a User who is shown the Company's page and leaves.
type asked struct{ dana }

func (asked) Address(context.Context, signin.AddressPrompt) error { return errAsked }

// A token goes where the account's is, else where the home says, and a place that can't be used is found before the User
// takes any trouble.
func TestASignInFindsThePlaceOfItsToken(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, testsite.Config{Control: "127.0.0.1:0"})
	w.signIn(0)
	if err := os.WriteFile(filepath.Join(w.home, "accounts", "place"), []byte("keyring\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	access, err := agent.OpenAccess(t.Context(), agent.AccessConfig{Home: w.home, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.cacert}}, w.site.Company())
	if err != nil {
		t.Fatal(err)
	}
	defer access.Close()
	for name, tc := range map[string]struct {
		label string
		place account.Place
		asked bool
	}{
		"where the account's is": {"", "", true},
		"where the home says":    {"work", "", false},
		"a file, as said now":    {"work", account.PlaceFile, true},
		"a keyring, as said now": {"", account.PlaceKeyring, false},
	} {
		_, err := access.SignIn(t.Context(), agent.SignIn{Type: signin.Direct, Scope: []string{"poppy:read"}, Account: tc.label, Place: tc.place, UI: asked{}})
		if _, refused := errors.AsType[*account.KeyringError](err); errors.Is(err, errAsked) != tc.asked || refused == tc.asked {
			t.Errorf("%s: %v", name, err)
		}
	}
}
