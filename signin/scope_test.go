package signin_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/signin"
)

// Direct comes first, then Device, then Mediated, among those that grant what is needed; without a browser at hand
// Device comes first.
//
// Clauses: S01-4.4.02, S01-4.4.07, C10-7.04
func TestTheTypeIsChosenByWhatItGrants(t *testing.T) {
	t.Parallel()
	only := func(change func(*company.SignIn)) func(*company.Company) {
		return func(c *company.Company) {
			all := c.SignIn
			c.SignIn = company.SignIn{}
			change(&c.SignIn)
			if c.SignIn.Direct != nil {
				c.SignIn.Direct = all.Direct
			}
			if c.SignIn.Device != nil {
				c.SignIn.Device = all.Device
			}
			if c.SignIn.Mediated != nil {
				c.SignIn.Mediated = all.Mediated
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(*company.Company)
		kind   signin.Type
		scope  []string
		away   bool
		want   signin.Type
		scopes []string
		err    error
	}{
		"all offered":           {want: signin.Direct, scopes: []string{"poppy:read"}},
		"no browser at hand":    {away: true, want: signin.Device, scopes: []string{"poppy:read"}},
		"only direct grants it": {away: true, scope: []string{"addresses"}, want: signin.Direct, scopes: []string{"addresses"}},
		"the type asked for":    {kind: signin.Mediated, want: signin.Mediated, scopes: []string{"poppy:read"}},
		"a type too narrow":     {kind: signin.Mediated, scope: []string{"poppy:write"}, err: signin.ErrNotOffered},
		"nobody grants it":      {scope: []string{"admin"}, err: signin.ErrNotOffered},
		"mediated alone":        {change: only(func(s *company.SignIn) { s.Mediated = &company.Mediated{} }), want: signin.Mediated, scopes: []string{"poppy:read"}},
		"no device there":       {change: only(func(s *company.SignIn) { s.Direct = &company.Direct{} }), kind: signin.Device, err: signin.ErrNotOffered},
		"none offered":          {change: only(func(*company.SignIn) {}), err: signin.ErrNotOffered},
		"no endpoint for it":    {change: func(c *company.Company) { c.Server.Authorization = "" }, want: signin.Device, scopes: []string{"poppy:read"}},
		"own scopes to read": {change: func(c *company.Company) {
			c.SignIn.Direct.Scopes = []string{"orders:write", "orders:read", "cart:read"}
		}, kind: signin.Direct, want: signin.Direct, scopes: []string{"orders:read", "cart:read"}},
		"one own scope":       {change: func(c *company.Company) { c.SignIn.Direct.Scopes = []string{"orders"} }, kind: signin.Direct, want: signin.Direct, scopes: []string{"orders"}},
		"own scopes, unclear": {change: func(c *company.Company) { c.SignIn.Direct.Scopes = []string{"orders", "cart"} }, kind: signin.Direct, err: signin.ErrNoScope},
	} {
		c := example(profile.V1())
		if tc.change != nil {
			tc.change(c)
		}
		kind, scope, err := signin.Choose(c, tc.kind, tc.scope, !tc.away)
		if kind != tc.want || !slices.Equal(scope, tc.scopes) || !errors.Is(err, tc.err) {
			t.Errorf("%s: %s %q, %v", name, kind, scope, err)
		}
	}
}

func TestScopesAreReadAsAPersonWritesThem(t *testing.T) {
	t.Parallel()
	if got, err := signin.ParseScope("  poppy:read   addresses poppy:read\n"); err != nil || !slices.Equal(got, []string{"poppy:read", "addresses"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{`a"b`, `a\b`, "é", "a\x00"} {
		if _, err := signin.ParseScope(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestAnUnknownTypeAndNoScopeAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.signIn(t, "passkey", "poppy:read"); !errors.Is(err, signin.ErrNotOffered) {
		t.Errorf("error %v", err)
	}
	if _, err := b.signIn(t, signin.Direct); !errors.Is(err, signin.ErrNoScope) {
		t.Errorf("error %v", err)
	}
}
