package testsite_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/testsite"
)

// Clauses: S01-5.27, S01-5.30, S01-5.33, S01-5.34, S01-5.02
func TestADraftsJoinGivesACookieThatFollowsTheSession(t *testing.T) {
	for _, version := range drafts {
		c := customerOf(t, version)
		if web, _ := c.get(company + "/.well-known/poppy.json").json["web"].(map[string]any); web["browser_session_endpoint"] != joinURL {
			t.Errorf("%s: %v", version, web)
		}
		form := url.Values{"assertion": {c.statement("poppy-browser+jwt", c.user, joinURL, set("session_id", c.session), set("return_to", orderURL))}}
		r := c.request(http.MethodPost, joinURL, form.Encode())
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		got := c.unfollowed(c.browser, r)
		if got.status != http.StatusSeeOther || got.header.Get("Location") != orderURL || got.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%s: %d %v", version, got.status, got.header)
		}
		cookies := (&http.Response{Header: got.header}).Cookies()
		if len(cookies) != 1 {
			t.Fatalf("%s: %v", version, cookies)
		}
		k := cookies[0]
		if !k.Secure || !k.HttpOnly || k.SameSite != http.SameSiteLaxMode || k.MaxAge != 0 || !k.Expires.IsZero() || strings.Contains(k.Value, c.session) {
			t.Errorf("%s: %v", version, k)
		}
		c.onlyBroken()
	}
}

// Clauses: S01-5.01, S01-5.36
func TestAJoinedBrowserIsItsSessionWhateverElseItHolds(t *testing.T) {
	for _, version := range drafts {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read poppy:write")
		c.joins(company + "/account")
		u, _ := url.Parse(company)
		c.browser.Jar.SetCookies(u, []*http.Cookie{{Name: "login", Value: "of an earlier visit", Secure: true, Path: "/"}})
		page := c.get(company + "/account")
		for _, shown := range []string{"dana@example.org", c.session, "Test Agent"} {
			if !strings.Contains(page.body, shown) {
				t.Errorf("%s: the page doesn't show %q", version, shown)
			}
		}
		done := c.submit(orderURL+"/exchange", url.Values{"model": {"stormline-insulated"}, "size": {"M"}, "confirmed": {"yes"}})
		if done.status != http.StatusOK {
			t.Fatalf("%s: %d", version, done.status)
		}
		if got := c.readAPI(ordersURL); !strings.Contains(got.body, "Stormline Insulated Jacket (M)") {
			t.Errorf("%s: the API doesn't show what the browser did: %s", version, got.body)
		}
	}
}

// Clauses: S01-4.2.24
func TestATokenSaysNothing(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		for _, token := range []string{c.access, c.refresh} {
			for _, inside := range []string{c.user, dana, "dana@", "eyJ", "agent.example", "poppy"} {
				if strings.Contains(token, inside) {
					t.Errorf("%s: a token holds %q", version, inside)
				}
			}
			if c.session != "" && strings.Contains(token, c.session) || len(token) < 32 {
				t.Errorf("%s: %d characters, or the Session in them", version, len(token))
			}
		}
	}
}

func TestFeedbackIsTakenIn02(t *testing.T) {
	c := customerOf(t, "0.2")
	offered, _ := c.get(company + "/.well-known/poppy.json").json["feedback"].(map[string]any)
	endpoint, _ := offered["endpoint"].(string)
	for body, status := range map[string]int{
		`{"kind":"missing","task":"a gift card","description":"Not offered."}`:            http.StatusAccepted,
		`{"kind":"a later kind","task":"t","description":"d","more":1}`:                   http.StatusAccepted,
		`{"kind":"missing","task":"` + strings.Repeat("é", 200) + `","description":"d"}`:  http.StatusAccepted,
		`{"kind":"missing","task":"` + strings.Repeat("é", 201) + `","description":"d"}`:  http.StatusBadRequest,
		`{"kind":"missing","task":"t","description":"` + strings.Repeat("x", 2001) + `"}`: http.StatusBadRequest,
		`{"kind":"missing","description":"d"}`:                                            http.StatusBadRequest,
		`{"kind":1,"task":"t","description":"d"}`:                                         http.StatusBadRequest,
		`[]`: http.StatusBadRequest,
	} {
		r := c.authorized(http.MethodPost, endpoint, body)
		r.Header.Set("Content-Type", "application/json")
		if got := c.send(c.api, r); got.status != status {
			t.Errorf("%.60s: %d %s", body, got.status, got.body)
		}
	}
	bare := c.request(http.MethodPost, endpoint, `{}`)
	if got := c.send(c.api, bare); got.status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", got.status)
	}
	if got := c.site.Report().Feedback; got != 3 {
		t.Errorf("%d reports", got)
	}
	for _, version := range []string{"0.1", "1.0"} {
		_, agent := world(t, testsite.Config{Profile: version})
		if got := agent.get(company + "/.well-known/poppy.json").json["feedback"]; got != nil {
			t.Errorf("%s: %v", version, got)
		}
	}
}
