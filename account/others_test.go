package account_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/session"
)

// stranger is the issuer as another agent asks it.
type stranger struct{ remote }

func (stranger) ClientID() string { return "https://new.example/agent.json" }

// A token is used by the agent that it was issued to. The Company would refuse it from another, which looks like the end
// of a sign-in that stands.
func TestAnotherAgentsTokenIsNeitherSentNorRemoved(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "good")
	s := open(t, account.Config{})
	keep(t, s, signedIn(home), "good", remote{i.URL})
	other := stranger{remote{i.URL}}
	var told []error
	of := s.RefresherFor(home, other, nil, func() *session.ProofKey { return nil }, func(err error) { told = append(told, err) })
	_, refreshed := s.Refresh(t.Context(), home, other, account.Request{})
	_, signedOut := s.SignOut(t.Context(), home, other)
	_, asked := of(t.Context(), "ses_1", company.API{Type: "mcp", URL: "https://mcp.example.com/mcp"})
	for name, err := range map[string]error{"refresh": refreshed, "sign-out": signedOut, "an API": asked} {
		if others, ok := errors.AsType[*account.OtherAgentError](err); !ok || others.ClientID != other.ClientID() || others.Account.ClientID != agentID {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !errors.Is(asked, session.ErrSignInRequired) || len(told) != 1 {
		t.Errorf("a Session hears %v, told %d times", asked, len(told))
	}
	if len(i.used())+len(i.revoked) != 0 {
		t.Errorf("%q were sent, %q revoked", i.used(), i.revoked)
	}
	if _, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{}); err != nil {
		t.Errorf("the agent that it is for: %v", err)
	}
}

// A new agent's sign-in takes the place of the old one's, whose token it can't have revoked; that is said.
func TestAnotherAgentsTokenThatIsReplacedIsSaidToStand(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "old", "new")
	s := open(t, account.Config{})
	keep(t, s, signedIn(home), "old", remote{i.URL})
	a := signedIn(home)
	other := stranger{remote{i.URL}}
	a.ClientID = other.ClientID()
	kept := keep(t, s, a, "new", other)
	unrevoked, ok := errors.AsType[*account.UnrevokedError](kept.Unrevoked)
	if _, others := errors.AsType[*account.OtherAgentError](kept.Unrevoked); !ok || !others || unrevoked.Account.ClientID != agentID || kept.Account.Unrevoked != 0 || len(i.revoked) != 0 {
		t.Errorf("%+v, revoked %q", kept, i.revoked)
	}
	if _, err := s.Refresh(t.Context(), home, other, account.Request{}); err != nil || !slices.Equal(i.used(), []string{"new"}) {
		t.Errorf("%v, %q were sent", err, i.used())
	}
}
