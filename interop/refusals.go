package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

// refusals are the ways in which the peer's Company, or its User, says no.
func (j *journeys) refusals(ctx context.Context) {
	key := account.Key{Issuer: j.company.Issuer, Label: "refused"}
	fresh := func(label string) (*session.Session, account.Key) {
		key.Label = label
		s, err := j.newSession(j.server, key)
		if err != nil {
			j.t.fail(label, err.Error())
		}
		return s, key
	}
	refused := func(name string, kind signin.Type, u *user, want error) {
		s, k := fresh("refused")
		_, err := j.signIn(ctx, s, k, kind, u)
		j.t.check(name, wanted(err, want))
		_, err = j.accounts.Find(k)
		j.t.check(name+": nothing is kept", wanted(err, account.ErrNone))
	}
	refused("device: the User declines", signin.Device, &user{control: j.control, decline: true}, signin.ErrDeclined)
	refused("mediated: a wrong password", signin.Mediated, &user{email: danaEmail, password: wrongWord}, signin.ErrFailed)
	refused("mediated: three wrong codes", signin.Mediated,
		&user{email: danaEmail, password: danaPassword, codes: []string{wrongCode, wrongCode, wrongCode}}, signin.ErrFailed)

	j.t.check("partial consent is told", j.partialConsent(ctx, fresh))
	j.t.check("a disconnected agent goes on signed out", j.disconnected(ctx, fresh))
	j.t.check("another account is not taken into the Session", j.mismatch(ctx, fresh))
	j.t.check("a 429 is obeyed", j.rateLimited(ctx, fresh))
}

type freshSession func(label string) (*session.Session, account.Key)

// partialConsent has the User approve one of two scopes.
func (j *journeys) partialConsent(ctx context.Context, fresh freshSession) error {
	s, key := fresh("partial")
	u := &user{control: j.control, account: dana, scopes: asked[:1]}
	result, err := j.signIn(ctx, s, key, signin.Direct, u)
	if err != nil {
		return err
	}
	if !slices.Equal(result.Missing(), asked[1:]) || !slices.Equal(s.Scope(), asked[:1]) {
		return fmt.Errorf("missing %q of the Session's %q", result.Missing(), s.Scope())
	}
	if err := j.callAPI(ctx, s); err != nil {
		return err
	}
	_, err = j.accounts.SignOut(ctx, key, j.server)
	return err
}

// disconnected has the User end the agent's access at the Company.
func (j *journeys) disconnected(ctx context.Context, fresh freshSession) error {
	s, key := fresh("disconnected")
	if _, err := j.signIn(ctx, s, key, signin.Direct, &user{control: j.control, account: dana}); err != nil {
		return err
	}
	if err := control(ctx, j.control, "disconnect", map[string]any{"client_id": ourClientID, "account": dana}, nil); err != nil {
		return err
	}
	if err := wanted(j.callAPI(ctx, s), session.ErrSignInRequired); err != nil {
		return err
	}
	if s.SignedIn() {
		return errors.New("the Session still says that it is signed in")
	}
	if _, err := j.accounts.Find(key); !errors.Is(err, account.ErrNone) {
		return fmt.Errorf("the account is still kept: %v", err)
	}
	return nil
}

// mismatch signs a Session in to one account and then to another.
func (j *journeys) mismatch(ctx context.Context, fresh freshSession) error {
	s, key := fresh("first")
	if _, err := j.signIn(ctx, s, key, signin.Direct, &user{control: j.control, account: dana}); err != nil {
		return err
	}
	other := account.Key{Issuer: key.Issuer, Label: "second"}
	_, err := j.signIn(ctx, s, other, signin.Direct, &user{control: j.control, account: danaBusiness})
	if err := wanted(err, signin.ErrAccountMismatch); err != nil {
		return err
	}
	if err := j.callAPI(ctx, s); err != nil {
		return fmt.Errorf("the Session lost its own account: %w", err)
	}
	_, err = j.accounts.SignOut(ctx, key, j.server)
	return err
}

// rateLimited has the Company answer 429 once; a second call before the time is up must not leave.
func (j *journeys) rateLimited(ctx context.Context, fresh freshSession) error {
	s, _ := fresh("limited")
	if _, err := s.Start(ctx); err != nil {
		return err
	}
	const wait = 30
	if err := control(ctx, j.control, "rate-limit", map[string]any{"times": 1, "retry_after": wait}, nil); err != nil {
		return err
	}
	for _, which := range []string{"first", "second"} {
		limited, ok := errors.AsType[*session.RateLimited](j.callAPI(ctx, s))
		if !ok || limited.After <= (wait-5)*time.Second || limited.After > wait*time.Second {
			return fmt.Errorf("the %s call's answer: %+v", which, limited)
		}
	}
	j.skew.Add(int64(wait * time.Second))
	if err := control(ctx, j.control, "advance", map[string]any{"seconds": wait}, nil); err != nil {
		return err
	}
	return wanted(j.callAPI(ctx, s), session.ErrSignInRequired)
}
