package account_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/internal/pace"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/session"
)

// After a refresh that was put off nothing says that a token may have been lost.
func TestARefreshThatWasNotSentLeavesNoMark(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]error{
		"held":    fmt.Errorf("example.com: %w", pace.ErrHeld),
		"unsent":  fmt.Errorf("token endpoint: %w", session.ErrNotSent),
		"limited": &session.RateLimited{Status: 429, After: time.Minute},
		"offered": fmt.Errorf("refreshing: %w", session.ErrNotOffered),
		"paused":  fmt.Errorf("%w: %w", session.ErrNotSent, &session.RateLimited{Status: 503, After: time.Minute}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t, "good")
			s := open(t, account.Config{})
			keep(t, s, signedIn(home), "good", remote{i.URL})
			if _, err := s.Refresh(t.Context(), home, putOff{why}, account.Request{}); !errors.Is(err, why) {
				t.Errorf("error %v", err)
			}
			if a, err := s.Find(home); err != nil || !a.Interrupted.IsZero() {
				t.Errorf("afterwards: %+v, %v", a, err)
			}
		})
	}
}

// A Company that is not available may have exchanged the token all the same, also where it says when to come back.
func TestARefreshThatWasAnsweredWith503LeavesTheMark(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "good")
	s := open(t, account.Config{})
	keep(t, s, signedIn(home), "good", remote{i.URL})
	limited := &session.RateLimited{Status: 503, After: time.Minute}
	if _, err := s.Refresh(t.Context(), home, putOff{limited}, account.Request{}); !errors.Is(err, limited) {
		t.Errorf("error %v", err)
	}
	if a, err := s.Find(home); err != nil || a.Interrupted.IsZero() {
		t.Errorf("afterwards: %+v, %v", a, err)
	}
}

// putOff is a server that is asked for nothing.
type putOff struct{ why error }

func (p putOff) Refresh(context.Context, secret.Text, string, []string, *session.ProofKey) (session.Grant, error) {
	return session.Grant{}, p.why
}

func (putOff) ClientID() string { return agentID }

func (p putOff) Revoke(context.Context, secret.Text) error { return p.why }
