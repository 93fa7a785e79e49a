package testsite_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/papaver-agent/papaver/testsite"
)

// testVerifier is the example of RFC 7636, appendix B.
const testVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

// authorization is a correct authorization URL.
func (c *customer) authorization(change ...string) string {
	q := url.Values{
		"response_type": {"code"}, "client_id": {c.clientID}, "redirect_uri": {redirectURI}, "scope": {"poppy:read poppy:write"},
		"state": {"a state that nobody guesses"}, "code_challenge": {hashOf(testVerifier)}, "code_challenge_method": {"S256"},
	}
	for i := 0; i+1 < len(change); i += 2 {
		q.Set(change[i], change[i+1])
	}
	return authorizeURL + "?" + q.Encode()
}

// opened opens an authorization URL in a person's browser that isn't signed in, and follows no redirect.
func (c *customer) opened(change ...string) reply {
	return c.unfollowed(c.browser, c.request(http.MethodGet, c.authorization(change...), ""))
}

// codeForm is the exchange of a code that the User approved.
func (c *customer) codeForm() url.Values {
	c.t.Helper()
	got := c.act("approve-authorization", map[string]any{"authorization_url": c.authorization(), "account": dana})
	back, err := url.Parse(got.json["callback_url"].(string))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.named(url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {redirectURI}, "code_verifier": {testVerifier},
	})
}

// An agent that does everything right breaks no rule, in any version, whatever it does.
func TestAnAgentThatIsInOrderBreaksNoRule(t *testing.T) {
	for _, version := range []string{"0.1", "0.2", "1.0"} {
		c := customerWith(t, testsite.Config{Profile: version})
		c.joins(orderURL)
		c.signIn(dana, "poppy:read poppy:write")
		wants(t, c.readAPI(ordersURL), http.StatusOK, "")
		c.joins(orderURL)
		got := c.refreshed()
		wants(t, got, http.StatusOK, "")
		c.keep(got)
		wants(t, c.readAPI(ordersURL+"/ord_7Hk2"), http.StatusOK, "")
		got = c.ask(c.codeForm())
		wants(t, got, http.StatusOK, "")
		c.keep(got)
		got = c.mediate(mediatedURL, credentials("dana@example.org", "alpine start 4am"))
		got = c.mediate(mediatedURL+"/"+got.json["sign_in_id"].(string), map[string]string{"code": "314159"})
		wants(t, got, http.StatusOK, "")
		c.keep(got)
		wants(t, c.readAPI(ordersURL), http.StatusOK, "")
		wants(t, c.revoke(), http.StatusOK, "")
		c.onlyBroken()
	}
}
