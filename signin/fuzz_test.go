package signin_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/signin"
)

// Whatever is pasted, a code is taken only from the one address, with the one state and issuer, each said once.
func FuzzCallback(f *testing.F) {
	const state, issuer = "st4te", "https://auth.example.com"
	for _, text := range []string{
		redirectURI + "?code=c&state=st4te&iss=https%3A%2F%2Fauth.example.com",
		redirectURI + "?error=access_denied&iss=https%3A%2F%2Fauth.example.com",
		redirectURI + "?code=c&state=st4te&iss=https%3A%2F%2Fauth.example.com&iss=x",
		redirectURI + "?code=c;state=st4te", redirectURI + "#code=c", redirectURI, "", "https://", "?code=c",
		redirectURI + "?code=%00&state=st4te&iss=https%3A%2F%2Fauth.example.com",
		redirectURI + "?%63ode=c&code=d&state=st4te&iss=https%3A%2F%2Fauth.example.com",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		code, err := signin.ParseCallback(text, redirectURI, state, issuer)
		if err != nil {
			if strings.Contains(err.Error(), text) && len(text) > len(redirectURI) {
				t.Errorf("the error repeats the address: %v", err)
			}
			return
		}
		u, parseErr := url.Parse(strings.TrimSpace(text))
		if parseErr != nil || u.Scheme+"://"+u.Host+u.Path != redirectURI {
			t.Fatalf("%q was taken", text)
		}
		q := u.Query()
		if q.Get("iss") != issuer || len(q["iss"]) != 1 || len(q["state"]) > 1 || len(q["code"]) > 1 || q.Get("code") != code {
			t.Errorf("%q was taken", text)
		}
		if code != "" && q.Get("state") != state {
			t.Errorf("a code was taken with the state %q", q.Get("state"))
		}
	})
}
