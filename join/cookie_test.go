package join_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/join"
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
