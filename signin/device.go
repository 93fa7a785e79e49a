package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/papaver-agent/papaver/session"
)

// slowDown is what each slow_down adds to the pauses (RFC 8628, section 3.5).
const slowDown = 5 * time.Second

// Ours.
const (
	maxInterval = time.Minute      // between two questions, whatever was asked for or failed
	maxDevice   = 30 * time.Minute // for the User, whatever the Company allows
	pollWait    = 30 * time.Second // for one question
)

// device is the device authorization grant: show the link and the code, ask from time to time whether the User has
// finished (draft 0.1, section 4.6; RFC 8628).
func (f *flow) device(ctx context.Context) (session.Grant, error) {
	// The Session is there before the User goes to the page.
	if _, err := f.Session.Start(ctx); err != nil {
		return session.Grant{}, err
	}
	began := f.Now()
	d, err := f.Server.Device(ctx, f.scope)
	if err != nil {
		return session.Grant{}, said(err)
	}
	if !f.hosts(d.VerificationURI) {
		return session.Grant{}, fmt.Errorf("verification_uri: %w", ErrUnsafeLink)
	}
	p := CodePrompt{Party: f.party(), URL: d.VerificationURI, UserCode: d.UserCode, Ends: d.Expires}
	if latest := began.Add(maxDevice); p.Ends.IsZero() || p.Ends.After(latest) {
		p.Ends = latest
	}
	if d.VerificationURIComplete != "" && f.hosts(d.VerificationURIComplete) {
		p.Complete = d.VerificationURIComplete
	}
	if err := f.UI.Code(ctx, p); err != nil {
		return session.Grant{}, err
	}
	return f.poll(ctx, d, p.Ends)
}

// poll asks until there is an answer. Times are those of the wall clock: a machine that slept does not wait longer.
func (f *flow) poll(ctx context.Context, d session.DeviceAuthorization, ends time.Time) (session.Grant, error) {
	interval := d.Interval
	pause := interval
	for {
		if err := f.rest(ctx, min(pause, ends.Sub(f.Now()))); err != nil {
			return session.Grant{}, err
		}
		if !f.Now().Before(ends) {
			return session.Grant{}, ErrExpired
		}
		grant, err := f.ask(ctx, d)
		if err == nil {
			return grant, nil
		}
		answer, _ := errors.AsType[*session.ServerError](err)
		limited, _ := errors.AsType[*session.RateLimited](err)
		switch {
		case ctx.Err() != nil:
			return grant, ctx.Err()
		case answer != nil && answer.Code == "authorization_pending":
			pause = interval
		case answer != nil && answer.Code == "slow_down":
			interval = min(interval+slowDown, maxInterval)
			pause = interval
			f.UI.Waiting(Waiting{Pause: pause})
		case limited != nil:
			pause = max(pause, limited.After)
			f.UI.Waiting(Waiting{Err: err, Pause: pause})
		case errors.Is(err, session.ErrNoAnswer), errors.Is(err, session.ErrNotSent), answer != nil && answer.Status >= http.StatusInternalServerError:
			pause = min(pause*2, maxInterval) // RFC 8628, section 3.5
			f.UI.Waiting(Waiting{Err: err, Pause: pause})
		default:
			return grant, err
		}
	}
}

func (f *flow) ask(ctx context.Context, d session.DeviceAuthorization) (session.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, pollWait)
	defer cancel()
	return f.token(ctx, url.Values{
		"grant_type":  {session.GrantDevice},
		"device_code": {d.DeviceCode.Reveal()},
	})
}

// rest waits.
func (f *flow) rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
