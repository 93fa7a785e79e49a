package signin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

// postbox reaches the User by messages, without a terminal. It offers Device Sign-In alone, so it need not fill the
// interface's other methods.
type postbox struct {
	signin.UI
	out io.Writer
}

func (p postbox) Code(_ context.Context, c signin.CodePrompt) error {
	_, err := fmt.Fprintf(p.out, "%s asks you to sign in for %q: open %s and type %s\n",
		plaintext.Domain(c.Domain), c.Scope, c.URL, plaintext.Whole(c.UserCode))
	return err
}

func (p postbox) Waiting(signin.Waiting) {}

// An agent of your own signs its User in by messages, and its Sessions have their tokens from what is kept.
func Example() {
	signInByMessage := func(ctx context.Context, c *company.Company, identity *session.Identity, server *session.Server, s *session.Session, accounts *account.Store) error {
		kind, scope, err := signin.Choose(c, signin.Device, []string{"poppy:read"}, false)
		if err != nil {
			return err
		}
		result, err := signin.SignIn(ctx, signin.Config{
			Company: c, Server: server, Session: s, Client: http.DefaultClient, Accounts: accounts, Place: account.PlaceFile,
			ClientID: identity.ClientID(), Redirect: identity.RedirectURI(), UI: postbox{out: os.Stdout},
		}, kind, scope)
		if err != nil {
			return err
		}
		fmt.Println("not granted:", result.Missing())
		return nil
	}
	_ = signInByMessage // needs a Company
}
