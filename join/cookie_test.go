package join_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/join"
	"github.com/papaver-agent/papaver/session"
)

func TestAJoinThatSetsNoCookieIsNone(t *testing.T) {
	t.Parallel()
	c := shop()
	f := &form{answers: []answer{landed, landed}}
	joined, err := join.Join(t.Context(), f, c, newSession(t, c), "")
	if !errors.Is(err, join.ErrNoCookie) || joined.URL != "" {
		t.Errorf("Join = %+v, %v", joined, err)
	}
	if len(f.actions) != 1 {
		t.Errorf("%d tries", len(f.actions))
	}
}

func TestCookiesThatTheBrowserDidNotSendAreToldByName(t *testing.T) {
	t.Parallel()
	strict := browser.Cookie{Name: "__Host-shop", SameSite: "Strict"}
	nowhere := answer{landing: browser.Landing{First: 303, URL: "https://shop.example/", Last: 401}}
	for name, tc := range map[string]struct {
		cookies []browser.Cookie
		answers []answer
		strict  []string // of a join
		said    string   // in the error of an unclear one
	}{
		"strict and joined":          {[]browser.Cookie{strict}, []answer{landed}, []string{"__Host-shop"}, ""},
		"strict beside lax":          {append([]browser.Cookie{strict}, lax...), []answer{landed}, nil, ""},
		"no word of it":              {[]browser.Cookie{{Name: "__Host-shop"}}, []answer{landed}, nil, ""},
		"strict and no page":         {[]browser.Cookie{strict}, []answer{nowhere, nowhere}, nil, `its cookie "__Host-shop" is SameSite=Strict`},
		"lax and no page":            {lax, []answer{nowhere, nowhere}, nil, ""},
		"a name that moves a cursor": {[]browser.Cookie{{Name: "\x1b[2J", SameSite: "Strict"}}, []answer{nowhere, nowhere}, nil, `"\x1b[2J" is SameSite=Strict`},
	} {
		c := shop()
		joined, err := join.Join(t.Context(), &form{cookies: tc.cookies, answers: tc.answers}, c, newSession(t, c), "")
		if got := joined.Strict(); !slices.Equal(got, tc.strict) {
			t.Errorf("%s: Strict = %q", name, got)
		}
		if (err == nil) != (len(tc.answers) == 1) {
			t.Errorf("%s: err = %v", name, err)
		}
		if said := err != nil && strings.Contains(err.Error(), "SameSite"); said != (tc.said != "") || said && !strings.Contains(err.Error(), tc.said) {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

func TestOnlyWhatTheJoinAddedTellsOfTheJoin(t *testing.T) {
	t.Parallel()
	c := shop()
	old := browser.Cookie{Name: "old", Domain: "shop.example", Path: "/", SameSite: "Lax"}
	joined, err := join.Join(t.Context(), &form{before: []browser.Cookie{old}, cookies: lax, answers: []answer{landed}}, c, newSession(t, c), "")
	if err != nil || !slices.Equal(joined.Cookies, lax) || len(joined.All) != 2 {
		t.Errorf("Join = %+v, %v", joined, err)
	}
}

func TestASessionThatCannotBeHadUsesNoBrowser(t *testing.T) {
	t.Parallel()
	c := shop()
	c.Profile.TokenHash = "ath"
	s, err := session.New(session.Config{
		Identity: identity(t), Company: c, UserID: "usr_1",
		Refresh: func(context.Context, string) (session.Grant, error) {
			return session.Grant{}, errors.New("the keyring is locked")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &form{answers: []answer{landed}}
	if _, err := join.Join(t.Context(), f, c, s, ""); !errors.Is(err, join.ErrNoAssertion) || len(f.actions) != 0 {
		t.Errorf("Join = %v after %d submissions", err, len(f.actions))
	}
}
