package session_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/session"
)

// Clauses: S01-4.6.03
func TestADeviceSignInIsStartedWithTheScopesAndItsAnswerReadStrictly(t *testing.T) {
	t.Parallel()
	eachDraft(t, func(t *testing.T, f *fake) {
		d, err := f.server().Device(t.Context(), []string{"poppy:read", "poppy:write"})
		if err != nil || d.DeviceCode.Reveal() != "dev_secret" || d.UserCode != "WDJB-MJHT" || d.Interval != 5*time.Second ||
			!d.Expires.Equal(noon.Add(10*time.Minute)) || d.VerificationURIComplete != "https://auth.example.com/device?user_code=WDJB-MJHT" {
			t.Errorf("%+v, %v", d, err)
		}
		if strings.Contains(fmt.Sprintf("%+v %#v", d, d), "dev_secret") {
			t.Error("the device code prints")
		}
		if asked := f.requests("/oauth/device"); len(asked) != 1 || asked[0].form.Get("scope") != "poppy:read poppy:write" || asked[0].header.Get("DPoP") != "" {
			t.Errorf("asked with %v", asked)
		}
	})
	good := `"device_code":"d","user_code":"u","verification_uri":"https://a.example/d","expires_in":60`
	for name, body := range map[string]string{
		"http":                   strings.Replace(good, "https:", "http:", 1),
		"a script":               strings.Replace(good, "https://a.example/d", "javascript:alert(1)", 1),
		"a user in the link":     strings.Replace(good, "a.example", "shop.example@a.example", 1),
		"no code":                strings.Replace(good, `"device_code":"d",`, "", 1),
		"a code that cannot be":  strings.Replace(good, `"u"`, `"u\u202e"`, 1),
		"no end":                 strings.Replace(good, `,"expires_in":60`, "", 1),
		"a negative interval":    good + `,"interval":-1`,
		"a complete link's host": good + `,"verification_uri_complete":"http://a.example/"`,
		"twice":                  good + `,"user_code":"v"`,
	} {
		f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
		f.answers["auth.example.com/oauth/device"] = func(req *http.Request, _ url.Values) *http.Response { return reply(req, 200, "{"+body+"}") }
		if d, err := f.server().Device(t.Context(), nil); !errors.Is(err, session.ErrUnreadable) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	for interval, want := range map[string]time.Duration{"": 5 * time.Second, `,"interval":0`: time.Second, `,"interval":9000000000000000000`: time.Minute} {
		f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
		f.answers["auth.example.com/oauth/device"] = func(req *http.Request, _ url.Values) *http.Response { return reply(req, 200, "{"+good+interval+"}") }
		if d, err := f.server().Device(t.Context(), nil); err != nil || d.Interval != want {
			t.Errorf("%s: every %v, %v", interval, d.Interval, err)
		}
	}
}
