package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/signin"
)

// A token that the access from before gave and that could not be kept is not told as a sign-in.
func TestATokenThatIsLostWhileTheAccessIsCheckedIsToldAsSuch(t *testing.T) {
	t.Parallel()
	lost := &account.LostError{Account: account.Account{Domain: "shop.example"}, Err: errors.New("no space left on device")}
	for kind, want := range map[signin.Type]string{"": "a new token for the access you have", signin.Device: "you signed in"} {
		said := signInTrouble(&signInError{company: &company.Company{Domain: "shop.example"}, kind: kind, stands: true, err: lost})
		if !strings.Contains(said.What, want) || !strings.Contains(said.Error(), "no space left") {
			t.Errorf("%q: %q", kind, said.Error())
		}
		if kind == "" && (strings.Contains(said.Undone, "stands") || strings.Contains(said.Done, "revoke")) {
			t.Errorf("done %q, undone %q", said.Done, said.Undone)
		}
	}
}
