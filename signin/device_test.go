package signin_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

const deviceCode = "device-code-value"

// deviceBench is a Device Sign-In at a Company that answers as scripted. It must be made in the bubble that it runs in.
func deviceBench(t *testing.T, script ...any) *bench {
	t.Helper()
	b := newBench(t)
	b.server.script = script
	b.server.code = session.DeviceAuthorization{
		DeviceCode: secret.New(deviceCode), UserCode: "WDJB-MJHT", VerificationURI: "https://auth.example.com/device",
		VerificationURIComplete: "https://auth.example.com/device?user_code=WDJB-MJHT", Expires: time.Now().Add(10 * time.Minute),
		Interval: 5 * time.Second,
	}
	return b
}

func says(code string) error { return &session.ServerError{Status: 400, Code: code} }

// gaps are the pauses before each token request.
func (s *server) gaps(began time.Time) []time.Duration {
	var gaps []time.Duration
	for _, at := range s.at {
		gaps = append(gaps, at.Sub(began))
		began = at
	}
	return gaps
}

// The User is shown the Company, the link and the code; the device code is for the token endpoint alone.
//
// Clauses: S01-4.6.01, S01-4.6.03, S01-4.6.05, S01-4.4.09
func TestDeviceSignInAsksUntilTheUserHasFinished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := deviceBench(t, says("authorization_pending"), says("authorization_pending"), granted("account", "poppy:read"))
		began := time.Now()
		r, err := b.signIn(t, signin.Device, "poppy:read")
		if err != nil {
			t.Fatal(err)
		}
		if got := b.server.gaps(began); !slices.Equal(got, []time.Duration{5 * time.Second, 5 * time.Second, 5 * time.Second}) {
			t.Errorf("pauses %v", got)
		}
		p := b.user.shown[0]
		if p.Domain != "example.com" || p.URL != "https://auth.example.com/device" || p.UserCode != "WDJB-MJHT" ||
			p.Complete != "https://auth.example.com/device?user_code=WDJB-MJHT" || !p.Ends.Equal(b.server.code.Expires) {
			t.Errorf("shown %+v", p)
		}
		if text := fmt.Sprintf("%+v %+v %+v", b.user, r, b.session); strings.Contains(text, deviceCode) {
			t.Error("the device code left the sign-in")
		}
		want := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {deviceCode}, "session_id": {"ses_1"}}
		for _, form := range b.server.forms {
			if form.Encode() != want.Encode() {
				t.Errorf("sent %v, want %v", form, want)
			}
		}
		if len(b.server.scopes) != 1 || !slices.Equal(b.server.scopes[0], []string{"poppy:read"}) {
			t.Errorf("asked for %q", b.server.scopes)
		}
		if a, err := b.kept(t); err != nil || a.Type != "device" || len(b.session.used) != 1 {
			t.Errorf("kept %+v, %v", a, err)
		}
	})
}

// slow_down makes every later pause 5 s longer (field report 78).
//
// Clauses: S01-4.6.07
func TestDeviceSignInSlowsDownWhenItIsAskedTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := deviceBench(t, says("slow_down"), says("authorization_pending"), says("slow_down"), granted("account", "poppy:read"))
		began := time.Now()
		if _, err := b.signIn(t, signin.Device, "poppy:read"); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{5 * time.Second, 10 * time.Second, 10 * time.Second, 15 * time.Second}
		if got := b.server.gaps(began); !slices.Equal(got, want) {
			t.Errorf("pauses %v, want %v", got, want)
		}
		if len(b.user.waiting) != 2 || b.user.waiting[0].Err != nil || b.user.waiting[1].Pause != 15*time.Second {
			t.Errorf("told %+v", b.user.waiting)
		}
	})
}

// A network that is away for a while, and a Company in trouble, are survived; the pauses grow and come back.
func TestDeviceSignInSurvivesHiccups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := fmt.Errorf("token endpoint: %w: connection refused", session.ErrNoAnswer)
		b := deviceBench(t, gone, gone, &session.ServerError{Status: 502}, says("authorization_pending"),
			&session.RateLimited{Status: 429, After: 90 * time.Second}, granted("account", "poppy:read"))
		began := time.Now()
		if _, err := b.signIn(t, signin.Device, "poppy:read"); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 5 * time.Second, 90 * time.Second}
		if got := b.server.gaps(began); !slices.Equal(got, want) {
			t.Errorf("pauses %v, want %v", got, want)
		}
		if len(b.user.waiting) != 4 || !errors.Is(b.user.waiting[0].Err, session.ErrNoAnswer) {
			t.Errorf("told %+v", b.user.waiting)
		}
	})
}

// After a refusal and at its end the asking stops, and what was kept before stands.
//
// Clauses: S01-4.6.07, S01-4.4.13
func TestDeviceSignInStopsAtItsEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		last any
		want error
	}{
		"declined":         {says("access_denied"), signin.ErrDeclined},
		"expired":          {says("expired_token"), signin.ErrExpired},
		"refused":          {says("invalid_grant"), session.ErrInvalidGrant},
		"another account":  {says("account_mismatch"), signin.ErrAccountMismatch},
		"an odd answer":    {session.ErrUnreadable, session.ErrUnreadable},
		"nobody signs in":  {says("authorization_pending"), signin.ErrExpired},
		"the network away": {session.ErrNoAnswer, signin.ErrExpired},
		"nothing sent":     {session.ErrNotSent, signin.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := deviceBench(t, says("authorization_pending"), tc.last)
				old := account.Account{Key: account.Key{Issuer: b.Company.Issuer}, Domain: "example.com", Place: account.PlaceFile, Scope: []string{"before"}}
				if _, err := b.Accounts.Keep(t.Context(), old, secret.New("before"), b.server); err != nil {
					t.Fatal(err)
				}
				if _, err := b.signIn(t, signin.Device, "poppy:read"); !errors.Is(err, tc.want) {
					t.Errorf("error %v, want %v", err, tc.want)
				}
				n := len(b.server.at)
				<-time.After(time.Hour) // of the bubble's clock: whatever still asks would do it now
				if len(b.server.at) != n || b.server.at[n-1].After(b.server.code.Expires) {
					t.Errorf("asked %d times, %d after the end", n, len(b.server.at)-n)
				}
				if a, err := b.kept(t); err != nil || !a.Covers([]string{"before"}) || len(b.server.revoked)+len(b.session.used) != 0 {
					t.Errorf("kept %+v, %v, revoked %q", a, err, b.server.revoked)
				}
			})
		})
	}
}

// A link that leads elsewhere is not shown, also not to a domain that the issuer alone names as its Company's; a complete
// one that does is left out, and the other shown (field report 83).
func TestOnlyLinksToTheCompanyAreShown(t *testing.T) {
	t.Parallel()
	for link, good := range map[string]bool{
		"https://auth.example.com/device":             true,
		"https://login.auth.example.com/device":       true,
		"https://example.com/device":                  true,
		"https://www.example.com/device":              true,
		"https://AUTH.example.com:443/device":         true,
		"https://example.co.uk/device":                false,
		"https://id.example.net/device":               true,
		"https://myid.example.net/device":             false,
		"https://myexample.co.uk/device":              false,
		"https://example.net/device":                  false,
		"https://example.com.evil.example/device":     false,
		"https://evilexample.com/device":              false,
		"https://evil.example/device":                 false,
		"http://auth.example.com/device":              false,
		"https://auth.example.com@evil.example/":      false,
		"https://auth.example.com:443@evil.example/":  false,
		"https://auth.example.com\\@evil.example/":    false,
		"https://auth.example.com/\x1b[2Kdevice":      false,
		"https://auth.example.com/dev ice":            false,
		"javascript:alert(1)//https://example.com":    false,
		"https://127.0.0.1/device":                    false,
		"https://\u0430uth.example.com/device":        false,
		"https://auth.example.com.:443.evil.example/": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := deviceBench(t, granted("account", "poppy:read"))
			elsewhere := func() {
				b.Company.Domains = []string{"example.com", "example.co.uk", ""}
				if strings.Contains(link, "example.net") {
					b.Company.Issuer = "https://id.example.net"
				}
			}
			elsewhere()
			b.server.code.VerificationURI = link
			if _, err := b.signIn(t, signin.Device, "poppy:read"); errors.Is(err, signin.ErrUnsafeLink) == good || good && err != nil {
				t.Errorf("%q: %v", link, err)
			}
			if len(b.user.shown) > 0 != good {
				t.Errorf("%q: shown %v", link, b.user.shown)
			}
			b = deviceBench(t, granted("account", "poppy:read"))
			elsewhere()
			if b.Company.Issuer == "https://id.example.net" {
				b.server.code.VerificationURI = "https://id.example.net/device"
			}
			b.server.code.VerificationURIComplete = link
			if _, err := b.signIn(t, signin.Device, "poppy:read"); err != nil {
				t.Fatal(err)
			}
			if got := b.user.shown[0].Complete; got == link != good || got != "" && !good {
				t.Errorf("complete %q: shown %q", link, got)
			}
		})
	}
}

// Ctrl-C ends the waiting at once.
func TestADeviceSignInEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := deviceBench(t, says("authorization_pending"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		if _, err := signin.SignIn(ctx, b.Config, signin.Device, []string{"poppy:read"}); !errors.Is(err, ctx.Err()) || ctx.Err() == nil {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it ended after %v", took)
		}
	})
}
