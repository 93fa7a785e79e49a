package testsite_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Weaknesses that were seen in another implementation of the drafts: this Company has none of them. Their numbers, C1
// and so on, are those of the list that reports them.

// Clauses: S01-4.04, S01-4.8.06
func TestAnAccountTokenWithoutASessionStartsOne(t *testing.T) { // C1
	for _, version := range drafts {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		first := c.session
		got := c.ask(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {c.refresh}})
		wants(t, got, http.StatusOK, "")
		if got.json["signed_in"] != true || got.json["session_id"] == first || got.json["scope"] != "poppy:read" {
			t.Errorf("%s: %s", version, got.body)
		}
		c.keep(got)
		wants(t, c.readAPI(ordersURL), http.StatusOK, "")
		c.onlyBroken()
	}
}

// Clauses: S01-4.4.19
func TestASignedOutTokenIsHandledAsSignedOutAfterItsSessionSignedIn(t *testing.T) { // C2
	for _, version := range drafts {
		c := customerOf(t, version)
		old := c.access
		c.signIn(dana, "poppy:read")
		signedIn := c.access
		c.access = old
		wants(t, c.readAPI(ordersURL), http.StatusForbidden, "sign_in_required")
		c.access = signedIn
		wants(t, c.readAPI(ordersURL), http.StatusOK, "")
		c.onlyBroken()
	}
}

func TestInvalidUTF8InAFormIsARefusalAndNoFailure(t *testing.T) { // C3
	c := customerOf(t, "0.1")
	for to, status := range map[string]int{tokenURL: http.StatusBadRequest, joinURL: http.StatusBadRequest, deviceURL: http.StatusBadRequest} {
		for _, body := range []string{"grant_type=\xff", "grant_type=%ff", "assertion=%ff", "%ff=a", "grant_type=%zz"} {
			r := c.request(http.MethodPost, to, body)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if got := c.send(c.api, r); got.status != status {
				t.Errorf("%q at %s: %d", body, to, got.status)
			}
		}
	}
}

func TestARepeatedParameterOrAnotherMediaTypeIsRefused(t *testing.T) { // C4
	c := customerOf(t, "0.2")
	form := func() url.Values {
		return c.identified(tokenURL, url.Values{"grant_type": {assertionGrant}, "assertion": {c.assertionFor()}})
	}
	twice := form()
	twice["grant_type"] = []string{"password", assertionGrant}
	wants(t, c.post(tokenURL, twice, c.proof(http.MethodPost, tokenURL, "")), http.StatusBadRequest, "invalid_request")
	r := c.request(http.MethodPost, tokenURL, form().Encode())
	r.Header.Set("Content-Type", "text/plain")
	r.Header.Set("DPoP", c.proof(http.MethodPost, tokenURL, ""))
	wants(t, c.send(c.api, r), http.StatusBadRequest, "invalid_request")
	c.onlyBroken("token-request-form", "token-request-form")
}

// Clauses: S01-6.08, S01-4.3.13
func TestAPIErrorsComeInWWWAuthenticate(t *testing.T) { // C5
	for _, version := range drafts {
		c := customerOf(t, version)
		got := c.readAPI(ordersURL)
		wants(t, got, http.StatusForbidden, "sign_in_required")
		if said := got.header.Get("WWW-Authenticate"); !strings.HasPrefix(said, "DPoP ") || !strings.Contains(said, `error="sign_in_required"`) {
			t.Errorf("%s: %q", version, said)
		}
		c.signIn(dana, "poppy:read")
		got = c.readAPI(company + "/api/address")
		wants(t, got, http.StatusForbidden, "insufficient_scope")
		if said := got.header.Get("WWW-Authenticate"); !strings.Contains(said, `error="insufficient_scope", scope="addresses"`) {
			t.Errorf("%s: %q", version, said)
		}
		r := c.authorized(http.MethodGet, ordersURL, "")
		r.Header.Del("DPoP")
		got = c.send(c.api, r)
		wants(t, got, http.StatusUnauthorized, "invalid_dpop_proof")
		if said := got.header.Get("WWW-Authenticate"); !strings.Contains(said, `error="invalid_dpop_proof"`) {
			t.Errorf("%s: %q", version, said)
		}
	}
}

func TestTheURLOfAProofIsComparedByItsMeaning(t *testing.T) { // C6
	c := customerOf(t, "0.2")
	c.signIn(dana, "poppy:read")
	for htu, called := range map[string]string{
		"https://stormline.test:443/api/orders":            ordersURL,
		"https://STORMLINE.test/api/orders":                ordersURL,
		"HTTPS://stormline.test/api/orders":                ordersURL,
		"https://stormline.test/api/%6frders":              ordersURL,
		"https://stormline.test/api/orders?page=2#top":     ordersURL,
		"https://stormline.test/api/orders/ord%5F7Hk2":     ordersURL + "/ord_7Hk2",
		"https://stormline.test/api/orders/ord_7Hk2":       ordersURL + "/ord%5f7Hk2",
		"https://stormline.test/api/orders/ord%2F7Hk2":     ordersURL + "/ord%2f7Hk2",
		"https://stormline.test/api/orders/caf%C3%A9%2fa":  ordersURL + "/caf%c3%a9%2Fa",
		"https://stormline.test:443/api/orders?unused#top": ordersURL + "?page=2",
	} {
		r := c.request(http.MethodGet, called, "")
		r.Header.Set("Authorization", "DPoP "+c.access)
		r.Header.Set("DPoP", c.proof(http.MethodGet, htu, c.access))
		if got := c.send(c.api, r); got.status != http.StatusOK && got.status != http.StatusNotFound {
			t.Errorf("%s for %s: %d %s", htu, called, got.status, got.body)
		}
	}
	c.onlyBroken()
	for _, htu := range []string{
		"https://stormline.test/api/orders/", "https://stormline.test:444/api/orders", "http://stormline.test/api/orders",
		"https://stormline.test/API/orders", "https://stormline.test/api%2Forders", "https://user@stormline.test/api/orders", "/api/orders", "",
	} {
		r := c.request(http.MethodGet, ordersURL, "")
		r.Header.Set("Authorization", "DPoP "+c.access)
		r.Header.Set("DPoP", c.proof(http.MethodGet, htu, c.access))
		wants(t, c.send(c.api, r), http.StatusUnauthorized, "invalid_dpop_proof")
	}
}

func TestTheAuthenticationSchemeHasNoCase(t *testing.T) { // C7
	c := customerOf(t, "0.1")
	c.signIn(dana, "poppy:read")
	for _, scheme := range []string{"dpop", "DPOP", "DPoP"} {
		r := c.authorized(http.MethodGet, ordersURL, "")
		r.Header.Set("Authorization", scheme+" "+c.access)
		wants(t, c.send(c.api, r), http.StatusOK, "")
	}
	one := customerOf(t, "1.0")
	one.signIn(dana, "poppy:read")
	r := one.authorized(http.MethodGet, ordersURL, "")
	r.Header.Set("Authorization", "bearer "+one.access)
	wants(t, one.send(one.api, r), http.StatusOK, "")
}

func TestAClockAheadIsToleratedEverywhereAlike(t *testing.T) { // C8
	for _, version := range []string{"0.1", "0.2", "1.0"} {
		c := customerOf(t, version)
		ahead := func(d time.Duration) edit {
			return func(_, payload map[string]any) {
				at := c.clock.now().Add(d).Unix()
				payload["iat"], payload["exp"] = at, at+60
			}
		}
		if got := c.joins(orderURL, ahead(29*time.Second)); got.status != http.StatusOK {
			t.Errorf("%s: a join 29 s ahead: %d", version, got.status)
		}
		if got := c.joins(orderURL, ahead(31*time.Second)); got.status != http.StatusBadRequest {
			t.Errorf("%s: a join 31 s ahead: %d", version, got.status)
		}
		if !c.draft() {
			continue
		}
		for d, status := range map[time.Duration]int{29 * time.Second: http.StatusOK, 31 * time.Second: http.StatusBadRequest} {
			got := c.ask(url.Values{"grant_type": {assertionGrant}, "assertion": {c.assertionFor(ahead(d))}})
			wants(t, got, status, "")
			got = c.post(tokenURL, c.identified(tokenURL, url.Values{"grant_type": {assertionGrant}, "assertion": {c.assertionFor()}}),
				c.proof(http.MethodPost, tokenURL, "", func(_, p map[string]any) { p["iat"] = c.clock.now().Add(d).Unix() }))
			wants(t, got, status, "")
		}
	}
}

// Clauses: S01-5.31, S01-5.32, S01-5.38
func TestTheCookieLivesAsLongAsItsSession(t *testing.T) { // C9
	for _, version := range drafts {
		c := customerOf(t, version)
		c.joins(company + "/account")
		c.later(61 * time.Minute) // the Session Token has ended
		wants(t, c.readAPI(ordersURL), http.StatusUnauthorized, "invalid_token")
		if got := c.get(company + "/account"); !strings.Contains(got.body, c.session) {
			t.Errorf("%s: an hour later the Session is unknown", version)
		}
		c.keep(c.renew())
		c.signIn(dana, "poppy:read")
		if got := c.get(company + "/account"); !strings.Contains(got.body, "dana@example.org") {
			t.Errorf("%s: the sign-in doesn't show", version)
		}
		first := cookieOf(c)
		c.joins(company + "/account")
		if second := cookieOf(c); second == first || second == "" {
			t.Errorf("%s: the second join set no cookie of its own", version)
		}
		if got := c.withCookie(first); strings.Contains(got.body, c.session) {
			t.Errorf("%s: the replaced cookie is still good", version)
		}
		c.act("end-session", map[string]any{"session_id": c.session})
		if got := c.get(company + "/account"); strings.Contains(got.body, c.session) {
			t.Errorf("%s: the cookie outlives its Session", version)
		}
	}
}

// cookieOf gives the browser's cookie of the shop.
func cookieOf(c *customer) string {
	u, _ := url.Parse(company)
	for _, cookie := range c.browser.Jar.Cookies(u) {
		if cookie.Name == "__Host-stormline" {
			return cookie.Value
		}
	}
	return ""
}

// withCookie loads the account's page with one cookie.
func (c *customer) withCookie(value string) reply {
	r := c.request(http.MethodGet, company+"/account", "")
	r.AddCookie(&http.Cookie{Name: "__Host-stormline", Value: value})
	return c.send(c.api, r)
}

func TestAUserIDThatCanNotBeOneIsRefused(t *testing.T) { // C15
	for _, version := range drafts {
		c := customerOf(t, version)
		for _, sub := range []any{"dana@example.org", strings.Repeat("u", 5000), "", " ", "Dana Reyes", 7, nil, "usr\u0000"} {
			got := c.ask(url.Values{"grant_type": {assertionGrant}, "assertion": {c.assertionFor(set("sub", sub))}})
			wants(t, got, http.StatusBadRequest, "invalid_grant")
		}
		for _, v := range c.site.Broken() {
			if v.Rule != "user-id" {
				t.Errorf("%s: %+v", version, v)
			}
		}
	}
}

// Clauses: S01-4.7.08
func TestNoAgentLocksAUserOutOfAnother(t *testing.T) { // C16
	for _, version := range []string{"0.1", "0.2", "1.0"} {
		c := customerOf(t, version)
		second := c.secondAgent()
		for range 5 {
			got := c.mediate(mediatedURL, credentials("dana@business.example.org", "wrong"))
			if got.json["status"] != "failed" {
				t.Fatalf("%s: %d %s", version, got.status, got.body)
			}
		}
		locked := c.mediate(mediatedURL, credentials("dana@business.example.org", "ridge line 2 rope"))
		wants(t, locked, http.StatusTooManyRequests, "rate_limited")
		if locked.header.Get("Retry-After") != "900" {
			t.Errorf("%s: Retry-After %q", version, locked.header.Get("Retry-After"))
		}
		if got := second.mediate(mediatedURL, credentials("dana@business.example.org", "ridge line 2 rope")); got.json["status"] != "complete" {
			t.Errorf("%s: another agent: %d %s", version, got.status, got.body)
		}
		c.later(15 * time.Minute)
		if got := c.mediate(mediatedURL, credentials("dana@business.example.org", "ridge line 2 rope")); got.json["status"] != "complete" {
			t.Errorf("%s: a quarter of an hour later: %d %s", version, got.status, got.body)
		}
	}
}

func TestAnMCPTokenLeavesTheWebsitesSignInAlone(t *testing.T) { // C17
	for _, version := range drafts {
		c := customerOf(t, version)
		c.joins(company + "/account")
		c.signIn(dana, "poppy:read")
		c.later(5 * time.Second)
		signedOut := c.post(tokenURL, c.identified(tokenURL, url.Values{
			"grant_type": {assertionGrant}, "assertion": {c.assertionFor()}, "session_id": {c.session}, "resource": {mcpURL},
		}))
		wants(t, signedOut, http.StatusOK, "")
		if signedOut.json["token_type"] != "Bearer" || signedOut.json["signed_in"] != false {
			t.Errorf("%s: %s", version, signedOut.body)
		}
		if got := c.get(company + "/account"); !strings.Contains(got.body, "dana@example.org") {
			t.Errorf("%s: the website forgot the sign-in", version)
		}
		wants(t, c.readAPI(ordersURL), http.StatusOK, "")
	}
}

func TestEachAddressSaysWhichMethodsItKnows(t *testing.T) { // C18
	for _, version := range []string{"0.1", "0.2", "1.0"} {
		_, agent := world(t, configOf(version))
		for address, allow := range map[string]string{
			company + "/.well-known/poppy.json":                "GET, HEAD, OPTIONS",
			issuer + "/.well-known/oauth-authorization-server": "GET, HEAD, OPTIONS",
			ordersURL:                      "GET, HEAD, OPTIONS",
			company + "/membership/cancel": "POST, OPTIONS",
		} {
			if strings.Contains(allow, "HEAD") && !strings.Contains(address, "/api/") {
				r := agent.request(http.MethodHead, address, "")
				if got := agent.send(agent.api, r); got.status != http.StatusOK || got.body != "" {
					t.Errorf("%s: HEAD %s: %d", version, address, got.status)
				}
			}
			for _, method := range []string{http.MethodOptions, http.MethodPut} {
				got := agent.send(agent.api, agent.request(method, address, ""))
				status := http.StatusNoContent
				if method == http.MethodPut {
					status = http.StatusMethodNotAllowed
				}
				if got.status != status || got.header.Get("Allow") != allow {
					t.Errorf("%s: %s %s: %d, Allow %q", version, method, address, got.status, got.header.Get("Allow"))
				}
			}
		}
		for _, address := range []string{tokenURL, deviceURL, revokeURL, mediatedURL} {
			got := agent.send(agent.api, agent.request(http.MethodGet, address, ""))
			if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "POST" {
				t.Errorf("%s: GET %s: %d, Allow %q", version, address, got.status, got.header.Get("Allow"))
			}
		}
	}
}
