package testsite_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/testsite"
)

// Clauses: S01-5.35, S01-4.4.05, C10-9.04
func TestTheWebsiteAppliesTheScopesOfTheSession(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		c.joins(orderURL)
		if got := c.exchange("stormline-insulated", "M"); got.status != http.StatusForbidden || got.header.Get("Poppy-Operation") != "" {
			t.Errorf("%s: changed with poppy:read: %d", version, got.status)
		}
		c.signIn(dana, "poppy:write", "poppy:write")
		c.joins(orderURL)
		if got := c.get(orderURL); got.status != http.StatusForbidden {
			t.Errorf("%s: read with poppy:write: %d", version, got.status)
		}
	}
}

// Clauses: S01-4.3.16, S01-4.3.17, S01-4.3.18, S01-4.3.20
func TestABearerTokenWorksAtItsMCPServerAlone(t *testing.T) {
	for _, version := range drafts {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		got := c.post(tokenURL, c.identified(tokenURL, c.named(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {c.refresh}, "resource": {mcpURL}})))
		wants(t, got, http.StatusOK, "")
		bearer, _ := got.json["access_token"].(string)
		call := func(to, scheme, token string) reply {
			r := c.request(http.MethodPost, to, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_orders"}}`)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", scheme+" "+token)
			return c.send(c.api, r)
		}
		if got := call(mcpURL, "Bearer", bearer); got.status != http.StatusOK || !strings.Contains(got.body, "ord_7Hk2") {
			t.Errorf("%s: %d %s", version, got.status, got.body)
		}
		if got := call(mcpURL, "Bearer", c.access); got.status != http.StatusUnauthorized || !strings.Contains(got.header.Get("WWW-Authenticate"), "resource_metadata=") {
			t.Errorf("%s: a DPoP token at the MCP server: %d %v", version, got.status, got.header)
		}
		r := c.request(http.MethodGet, ordersURL, "")
		r.Header.Set("Authorization", "Bearer "+bearer)
		wants(t, c.send(c.api, r), http.StatusUnauthorized, "invalid_token")
		wants(t, c.readAPI(ordersURL), http.StatusOK, "") // both are valid together
	}
}

// Clauses: S01-4.3.11, S01-4.3.13
func TestNoncesAreRequiredByASwitch(t *testing.T) {
	for _, version := range drafts {
		c := customerWith(t, testsite.Config{Profile: version, RequireNonces: true})
		form := func() url.Values {
			return c.identified(tokenURL, url.Values{"grant_type": {assertionGrant}, "assertion": {c.assertionFor()}})
		}
		got := c.post(tokenURL, form(), c.proof(http.MethodPost, tokenURL, ""))
		wants(t, got, http.StatusBadRequest, "use_dpop_nonce")
		nonce := got.header.Get("DPoP-Nonce")
		got = c.post(tokenURL, form(), c.proof(http.MethodPost, tokenURL, "", set("nonce", nonce)))
		wants(t, got, http.StatusOK, "")
		c.keep(got)
		wants(t, proofWith()(c), http.StatusUnauthorized, "use_dpop_nonce")
		wants(t, proofWith(set("nonce", "made up"))(c), http.StatusUnauthorized, "use_dpop_nonce")
		wants(t, proofWith(set("nonce", nonce))(c), http.StatusForbidden, "sign_in_required")
		c.later(9 * time.Minute) // the one before is good for a while
		wants(t, proofWith(set("nonce", nonce))(c), http.StatusForbidden, "sign_in_required")
		c.later(2 * time.Minute)
		got = proofWith(set("nonce", nonce))(c)
		wants(t, got, http.StatusUnauthorized, "use_dpop_nonce")
		if fresh := got.header.Get("DPoP-Nonce"); fresh == nonce || fresh == "" {
			t.Errorf("%s: nonce %q", version, fresh)
		}
		c.onlyBroken()
	}
}

func TestARotatedAccountTokenThatComesAgainEndsItsFamilyIn10(t *testing.T) {
	for version, status := range map[string]int{"1.0": http.StatusBadRequest, "0.2": http.StatusOK} {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		old := c.refresh
		c.keep(c.refreshed())
		newest := c.refresh
		c.refresh = old
		wants(t, c.refreshed(), http.StatusBadRequest, "invalid_grant")
		c.refresh = newest
		wants(t, c.refreshed(), status, "")
	}
}

// Clauses: S01-4.3.26, C10-8.02
func TestALimitedRequestGets429WithRetryAfterEverywhere(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		for name, does := range map[string]func() reply{
			"token endpoint": func() reply { return c.refreshed() },
			"API":            func() reply { return c.readAPI(ordersURL) },
			"mediated":       func() reply { return c.mediate(mediatedURL, credentials("a", "b")) },
			"join":           func() reply { return c.joins(orderURL) },
		} {
			c.site.RateLimit(1, 7*time.Second)
			got := does()
			if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "7" {
				t.Errorf("%s: %s: %d, Retry-After %q", version, name, got.status, got.header.Get("Retry-After"))
			}
			c.later(8 * time.Second)
		}
		c.onlyBroken()
	}
}
