package join_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/join"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const endpoint = "https://login.vendor.example/join"

func shop() *company.Company {
	return &company.Company{
		Domain: "shop.example", Issuer: "https://auth.example/", JoinEndpoint: endpoint,
		OperationsEndpoint: "https://shop.example/operations", OperationsListed: true, Profile: profile.V1(),
	}
}

func identity(t *testing.T) *session.Identity {
	t.Helper()
	id, err := session.Init(filepath.Join(t.TempDir(), "identity"), session.Options{ClientID: "https://agent.example/agent.json", Name: "A"}, noon, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func newSession(t *testing.T, c *company.Company) *session.Session {
	t.Helper()
	s, err := session.New(session.Config{Identity: identity(t), Company: c, UserID: "usr_1", Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answer is what became of one submission.
type answer struct {
	landing browser.Landing
	err     error
}

// form is a browser that gives the prepared answers one after another. It implements [join.Page].
type form struct {
	answers []answer
	during  func()           // called in each submission
	before  []browser.Cookie // those of before the join
	cookies []browser.Cookie
	actions []string
	fields  [][]browser.Field
}

// Cookies are there once a form was submitted.
func (f *form) Cookies(context.Context) ([]browser.Cookie, error) {
	if len(f.actions) == 0 {
		return f.before, nil
	}
	return append(slices.Clone(f.before), f.cookies...), nil
}

func (f *form) SubmitForm(_ context.Context, action string, fields []browser.Field) (browser.Landing, error) {
	f.actions, f.fields = append(f.actions, action), append(f.fields, fields)
	if f.during != nil {
		f.during()
	}
	if len(f.actions) > len(f.answers) {
		return browser.Landing{}, errors.New("the form was submitted too often")
	}
	a := f.answers[len(f.actions)-1]
	return a.landing, a.err
}

func (f *form) assertion(t *testing.T, try int) string {
	t.Helper()
	return f.fields[try][0].Value.Reveal()
}

// lax is a cookie as a join sets it.
var lax = []browser.Cookie{{Name: "__Host-shop", Domain: "shop.example", Path: "/", SameSite: "Lax"}}

var landed = answer{landing: browser.Landing{First: 303, URL: "https://shop.example/", Last: 200}}

// claims are those of an assertion, unverified.
func claims(t *testing.T, assertion string) map[string]any {
	t.Helper()
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		t.Fatalf("the assertion has %d parts", len(parts))
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// Clauses: OPS3-2.12, C10-3.07
func TestTheFormHasTheAssertionAndDeclaresTheExtensions(t *testing.T) {
	t.Parallel()
	c := shop()
	s := newSession(t, c)
	f := &form{cookies: lax, answers: []answer{landed}}
	joined, err := join.Join(t.Context(), f, c, s, "")
	url := joined.URL
	if err != nil || url != "https://shop.example/" || joined.SID != s.ID() || joined.SignedIn {
		t.Fatalf("Join = %+v, %v", joined, err)
	}
	if f.actions[0] != endpoint || len(f.actions) != 1 {
		t.Errorf("submitted to %q", f.actions)
	}
	fields := f.fields[0]
	if len(fields) != 2 || fields[0].Name != "assertion" || fields[1].Name != "extensions" || fields[1].Value.Reveal() != `"operations";v="3"` {
		t.Errorf("fields %v", fields)
	}
	got := claims(t, f.assertion(t, 0))
	if got["aud"] != endpoint || got["sid"] != s.ID() || got["return_to"] != "https://shop.example/" || got["sub"] != "usr_1" {
		t.Errorf("claims %v", got)
	}
	if strings.Contains(url+f.actions[0]+fmt.Sprintf("%+v", fields), f.assertion(t, 0)) {
		t.Error("the assertion is in a URL or is printed")
	}
}

// Clauses: OPS3-2.07, OPS3-2.11
func TestTheExtensionIsDeclaredWhereItIsListedAndNowhereElse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		listed   bool
		endpoint string
		fields   int
	}{
		"listed with an endpoint":    {true, "https://shop.example/operations", 2},
		"listed without an endpoint": {true, "", 2},
		"not listed":                 {false, "", 1},
	} {
		c := shop()
		c.OperationsListed, c.OperationsEndpoint = tc.listed, tc.endpoint
		f := &form{cookies: lax, answers: []answer{landed}}
		if _, err := join.Join(t.Context(), f, c, newSession(t, c), ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(f.fields[0]) != tc.fields {
			t.Errorf("%s: fields %v", name, f.fields[0])
		}
	}
}

func TestWhereAFormLedSaysWhetherTheBrowserIsJoined(t *testing.T) {
	t.Parallel()
	lost := errors.New("no page came")
	for name, tc := range map[string]struct {
		answer answer
		family error // nil: joined
		tries  int
	}{
		"the page":                      {landed, nil, 1},
		"a page below the domain":       {answer{browser.Landing{First: 302, URL: "https://www.shop.example/x?y=1", Last: 200}, nil}, nil, 1},
		"another kind of success":       {answer{browser.Landing{First: 301, URL: "https://shop.example/", Last: 206}, nil}, nil, 1},
		"refused":                       {answer{browser.Landing{First: 400, URL: endpoint, Last: 400}, nil}, join.ErrRefused, 1},
		"too many":                      {answer{browser.Landing{First: 429, URL: endpoint, Last: 429}, nil}, join.ErrRefused, 1},
		"broken":                        {answer{browser.Landing{First: 500, URL: endpoint, Last: 500}, nil}, join.ErrRefused, 1},
		"refused, and no page":          {answer{browser.Landing{First: 400, URL: endpoint, Last: 400}, lost}, join.ErrRefused, 1},
		"posted again, temporarily":     {answer{browser.Landing{First: 307, URL: endpoint, Last: 307}, browser.ErrRepost}, join.ErrReposts, 1},
		"posted again, for ever":        {answer{browser.Landing{First: 308, URL: endpoint, Last: 308}, browser.ErrRepost}, join.ErrReposts, 1},
		"Chromium gone":                 {answer{browser.Landing{}, fmt.Errorf("%w: pipe closed", browser.ErrGone)}, browser.ErrGone, 1},
		"Chromium gone after a refusal": {answer{browser.Landing{First: 400, Last: 400}, fmt.Errorf("%w: pipe closed", browser.ErrGone)}, browser.ErrGone, 1},
		"no answer":                     {answer{browser.Landing{}, lost}, join.ErrUnclear, 2},
		"a redirect into nothing":       {answer{browser.Landing{First: 303}, lost}, join.ErrUnclear, 2},
		"an error page at the end":      {answer{browser.Landing{First: 303, URL: "https://shop.example/", Last: 503}, nil}, join.ErrUnclear, 2},
		"no content":                    {answer{browser.Landing{First: 204, URL: "https://shop.example/join", Last: 204}, nil}, join.ErrUnclear, 2},
		"another site":                  {answer{browser.Landing{First: 303, URL: "https://evil.example/", Last: 200}, nil}, join.ErrUnclear, 2},
		"a site with the name at its end": {
			answer{browser.Landing{First: 303, URL: "https://notshop.example/", Last: 200}, nil}, join.ErrUnclear, 2,
		},
		"a site with the name in its front": {
			answer{browser.Landing{First: 303, URL: "https://shop.example.evil.test/", Last: 200}, nil}, join.ErrUnclear, 2,
		},
		"the name as a user":       {answer{browser.Landing{First: 303, URL: "https://shop.example@evil.test/", Last: 200}, nil}, join.ErrUnclear, 2},
		"the name in the path":     {answer{browser.Landing{First: 303, URL: "https://evil.test/.shop.example", Last: 200}, nil}, join.ErrUnclear, 2},
		"the name over http":       {answer{browser.Landing{First: 303, URL: "http://shop.example/", Last: 200}, nil}, join.ErrUnclear, 2},
		"the name on a port":       {answer{browser.Landing{First: 303, URL: "https://shop.example:8443/", Last: 200}, nil}, join.ErrUnclear, 2},
		"the name with a dot":      {answer{browser.Landing{First: 303, URL: "https://shop.example./", Last: 200}, nil}, join.ErrUnclear, 2},
		"only the name's parent":   {answer{browser.Landing{First: 303, URL: "https://example/", Last: 200}, nil}, join.ErrUnclear, 2},
		"Chromium's error page":    {answer{browser.Landing{First: 303, URL: "chrome-error://chromewebdata/", Last: 200}, nil}, join.ErrUnclear, 2},
		"what is no URL":           {answer{browser.Landing{First: 303, URL: "https://[shop.example", Last: 200}, nil}, join.ErrUnclear, 2},
		"a blank page":             {answer{browser.Landing{First: 303, URL: "about:blank", Last: 200}, nil}, join.ErrUnclear, 2},
		"nothing at all, no error": {answer{}, join.ErrUnclear, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shop()
			f := &form{cookies: lax, answers: []answer{tc.answer, tc.answer, landed}}
			joined, err := join.Join(t.Context(), f, c, newSession(t, c), "")
			url := joined.URL
			if (tc.family == nil) != (err == nil) || !errors.Is(err, tc.family) {
				t.Errorf("Join = %q, %v; want %v", url, err, tc.family)
			}
			for _, other := range []error{join.ErrRefused, join.ErrUnclear, join.ErrReposts} {
				if other != tc.family && errors.Is(err, other) {
					t.Errorf("err = %v is of %v too", err, other)
				}
			}
			if err != nil && url != "" || err == nil && url != tc.answer.landing.URL {
				t.Errorf("url = %q", url)
			}
			if len(f.actions) != tc.tries {
				t.Errorf("%d tries, want %d", len(f.actions), tc.tries)
			}
			if tc.answer.err != nil && tc.family == join.ErrUnclear && !errors.Is(err, tc.answer.err) {
				t.Errorf("err = %v does not say %v", err, tc.answer.err)
			}
		})
	}
}

func TestTheSecondTryHasAnAssertionOfItsOwn(t *testing.T) {
	t.Parallel()
	c := shop()
	f := &form{cookies: lax, answers: []answer{{err: errors.New("no page came")}, landed}}
	if joined, err := join.Join(t.Context(), f, c, newSession(t, c), ""); err != nil || joined.URL == "" {
		t.Fatalf("Join = %+v, %v", joined, err)
	}
	if len(f.actions) != 2 {
		t.Fatalf("%d tries", len(f.actions))
	}
	first, second := f.assertion(t, 0), f.assertion(t, 1)
	if first == second || claims(t, first)["jti"] == claims(t, second)["jti"] {
		t.Error("the second try has the first one's assertion")
	}
	if claims(t, first)["sid"] != claims(t, second)["sid"] {
		t.Error("the second try is of another Session")
	}
}

func TestAnEndedContextMakesNoSecondTry(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer answer
		joined bool
	}{
		"before any page":        {answer{err: context.Canceled}, false},
		"beside an unclear page": {answer{landing: browser.Landing{First: 303, URL: "https://evil.example/", Last: 200}}, false},
		"beside a refusal":       {answer{landing: browser.Landing{First: 400, Last: 400}}, false},
		"beside the page":        {landed, true},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		c := shop()
		f := &form{cookies: lax, answers: []answer{tc.answer, landed}, during: cancel}
		joined, err := join.Join(ctx, f, c, newSession(t, c), "")
		url := joined.URL
		if (err == nil) != tc.joined || (url != "") != tc.joined {
			t.Errorf("%s: Join = %q, %v", name, url, err)
		}
		if len(f.actions) != 1 {
			t.Errorf("%s: %d tries", name, len(f.actions))
		}
		cancel()
	}
}
