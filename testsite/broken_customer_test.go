package testsite_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/testsite/authserver"
)

// slip is one thing a broken agent does at the authorization server or an API, and the rules that the site must record
// for it, no others.
type slip struct {
	version string
	status  int
	code    string
	rules   []string
	broken  func(c *customer) reply
}

// startWith starts a Session with an edited assertion.
func startWith(edits ...edit) func(*customer) reply {
	return func(c *customer) reply {
		return c.ask(url.Values{"grant_type": {assertionGrant}, "assertion": {c.assertionFor(edits...)}})
	}
}

// clientWith starts a Session with an edited client assertion.
func clientWith(edits ...edit) func(*customer) reply {
	return func(c *customer) reply {
		form := c.identified(tokenURL, url.Values{"grant_type": {assertionGrant}, "assertion": {c.assertionFor()}}, edits...)
		return c.post(tokenURL, form, c.proof(http.MethodPost, tokenURL, ""))
	}
}

// proofWith reads at the API with an edited proof.
func proofWith(edits ...edit) func(*customer) reply {
	return func(c *customer) reply {
		r := c.authorized(http.MethodGet, ordersURL, "")
		r.Header.Set("DPoP", c.proof(http.MethodGet, ordersURL, c.access, edits...))
		return c.send(c.api, r)
	}
}

// at shifts a statement's times.
func at(d time.Duration) edit {
	return func(_, payload map[string]any) {
		for _, name := range []string{"iat", "exp"} {
			if seconds, ok := payload[name].(int64); ok {
				payload[name] = seconds + int64(d/time.Second)
			}
		}
	}
}

func life(d time.Duration) edit {
	return func(_, payload map[string]any) {
		payload["exp"] = payload["iat"].(int64) + int64(d/time.Second)
	}
}

// slips lists what a broken agent does, one fault in each row.
var slips = map[string]slip{
	// The client assertion.
	"no client assertion": {"0.2", 401, "invalid_client", []string{"client-assertion-malformed"}, func(c *customer) reply {
		return c.post(tokenURL, url.Values{"grant_type": {assertionGrant}, "client_id": {c.clientID}}, c.proof(http.MethodPost, tokenURL, ""))
	}},
	"a client nobody knows": {"0.2", 401, "invalid_client", []string{"client-assertion-unknown-agent"}, func(c *customer) reply {
		c.clientID = "https://other.example/agent.json"
		return c.refreshed()
	}},
	"a revoked client": {"0.2", 401, "invalid_client", []string{"client-assertion-unknown-agent"}, func(c *customer) reply {
		c.act("revoke-client", map[string]any{"client_id": c.clientID})
		return c.renew()
	}},
	"a client assertion for the token endpoint in 0.2": {"0.2", 401, "invalid_client", []string{"client-assertion-audience"}, clientWith(set("aud", tokenURL))},
	"a client assertion for two":                       {"0.1", 401, "invalid_client", []string{"client-assertion-audience"}, clientWith(set("aud", []string{tokenURL, "https://other.example"}))},
	"a client assertion that isn't the client's":       {"0.2", 401, "invalid_client", []string{"client-assertion-issuer"}, clientWith(set("sub", "https://other.example"))},
	"a client assertion of another type":               {"0.2", 401, "invalid_client", []string{"client-assertion-type"}, clientWith(setHeader("typ", "poppy-browser+jwt"))},
	"a client assertion with alg none":                 {"0.2", 401, "invalid_client", []string{"client-assertion-signature"}, clientWith(setHeader("alg", "none"))},
	"a client assertion by a key that isn't published": {"0.2", 401, "invalid_client", []string{"client-assertion-signature"}, func(c *customer) reply {
		c.published = newKey(c.t)
		return clientWith()(c)
	}},
	"an expired client assertion":      {"0.2", 401, "invalid_client", []string{"client-assertion-time"}, clientWith(at(-time.Hour))},
	"a client assertion without a jti": {"0.2", 401, "invalid_client", []string{"client-assertion-jti"}, clientWith(without("jti"))},
	"a client assertion used before":   {"0.2", 401, "invalid_client", []string{"client-assertion-reused-jti"}, again(clientWith(set("jti", strings.Repeat("j", 22))))},
	"a client assertion for an hour": {"1.0", 401, "invalid_client", []string{"client-assertion-time"}, func(c *customer) reply {
		return c.post(revokeURL, c.identified(revokeURL, url.Values{"token": {"a"}}, life(time.Hour)))
	}},
	"a token request without its form":  {"0.1", 400, "invalid_request", []string{"token-request-form"}, func(c *customer) reply { return c.send(c.api, c.request(http.MethodPost, tokenURL, "a=b")) }},
	"a grant type that isn't offered":   {"0.2", 400, "unsupported_grant_type", []string{"grant-type"}, func(c *customer) reply { return c.ask(url.Values{"grant_type": {"password"}}) }},
	"a Session started by token in 1.0": {"1.0", 400, "unsupported_grant_type", []string{"grant-type"}, func(c *customer) reply { return c.ask(url.Values{"grant_type": {assertionGrant}}) }},

	// The Session assertion (draft 0.1, section 4.2).
	"no Session assertion":                        {"0.2", 400, "invalid_grant", []string{"session-assertion-malformed"}, func(c *customer) reply { return c.ask(url.Values{"grant_type": {assertionGrant}}) }},
	"a Session assertion for the issuer in 0.1":   {"0.1", 400, "invalid_grant", []string{"session-assertion-audience"}, startWith(set("aud", issuer))},
	"a Session assertion for the endpoint in 0.2": {"0.2", 400, "invalid_grant", []string{"session-assertion-audience"}, startWith(set("aud", tokenURL))},
	"a Session assertion for a list":              {"0.2", 400, "invalid_grant", []string{"session-assertion-audience"}, startWith(set("aud", []string{issuer}))},
	"a Session assertion of another agent":        {"0.2", 400, "invalid_grant", []string{"session-assertion-issuer"}, startWith(set("iss", "https://other.example"))},
	"a browser assertion at the token endpoint":   {"0.1", 400, "invalid_grant", []string{"session-assertion-type"}, startWith(setHeader("typ", "poppy-browser+jwt"))},
	"a Session assertion with another alg":        {"0.2", 400, "invalid_grant", []string{"session-assertion-signature"}, startWith(setHeader("alg", "HS256"))},
	"a Session assertion from tomorrow":           {"0.2", 400, "invalid_grant", []string{"session-assertion-time"}, startWith(at(24 * time.Hour))},
	"a Session assertion for five minutes in 0.1": {"0.1", 400, "invalid_grant", []string{"session-assertion-time"}, startWith(life(5 * time.Minute))},
	"a Session assertion for six minutes in 0.2":  {"0.2", 400, "invalid_grant", []string{"session-assertion-time"}, startWith(life(6 * time.Minute))},
	"a Session assertion with times as texts":     {"0.2", 400, "invalid_grant", []string{"session-assertion-time"}, startWith(set("iat", "1"))},
	"a Session assertion with a short jti":        {"0.2", 400, "invalid_grant", []string{"session-assertion-jti"}, startWith(set("jti", "short"))},
	"a Session assertion used before":             {"0.2", 400, "invalid_grant", []string{"session-assertion-reused-jti"}, again(startWith(set("jti", strings.Repeat("k", 22))))},
	"an email address as User ID":                 {"0.2", 400, "invalid_grant", []string{"user-id"}, startWith(set("sub", "dana@example.org"))},
	"renewing another User's Session":             {"0.1", 400, "invalid_session", []string{"session-of-another"}, func(c *customer) reply { o := c.other(); o.session = c.session; return o.renew() }},
	"an Account Token for another User's Session": {"0.2", 400, "invalid_session", []string{"session-of-another"}, func(c *customer) reply {
		c.signIn(dana, "poppy:read")
		c.session = c.other().session
		return c.refreshed()
	}},
	"one key for two Users in 0.2": {"0.2", 400, "invalid_dpop_proof", []string{"dpop-key-of-another-user"}, func(c *customer) reply { o := c.other(); o.proofKey = c.proofKey; return o.renew() }},
	"a resource that isn't ours": {"0.2", 400, "invalid_target", []string{"token-resource"}, func(c *customer) reply {
		c.signIn(dana, "poppy:read")
		return c.refreshed("resource", "https://other.example")
	}},
	"no proof and no resource": {"0.1", 400, "invalid_dpop_proof", []string{"dpop-missing"}, func(c *customer) reply {
		return c.post(tokenURL, c.identified(tokenURL, url.Values{"grant_type": {assertionGrant}, "assertion": {c.assertionFor()}}))
	}},
	"two proofs": {"0.2", 400, "invalid_dpop_proof", []string{"dpop-missing"}, func(c *customer) reply {
		p := c.proof(http.MethodPost, tokenURL, "")
		return c.post(tokenURL, c.identified(tokenURL, url.Values{}), p, p)
	}},
	"a hash in a proof for the token endpoint": {"0.1", 400, "invalid_dpop_proof", []string{"dpop-token-hash"}, func(c *customer) reply {
		return c.post(tokenURL, c.identified(tokenURL, url.Values{}), c.proof(http.MethodPost, tokenURL, "a"))
	}},
	"an access token nobody issued, with a proof": {"0.1", 401, "invalid_token", []string{"access-token-unknown"}, func(c *customer) reply { c.access = "sat_unknown"; return c.readAPI(ordersURL) }},
	"a proof that is no JWT": {"0.1", 401, "invalid_dpop_proof", []string{"dpop-malformed"}, func(c *customer) reply {
		r := c.authorized(http.MethodGet, ordersURL, "")
		r.Header.Set("DPoP", "none")
		return c.send(c.api, r)
	}},
	"a proof of another type":         {"0.2", 401, "invalid_dpop_proof", []string{"dpop-type"}, proofWith(setHeader("typ", "JWT"))},
	"a proof with alg none":           {"0.2", 401, "invalid_dpop_proof", []string{"dpop-signature"}, proofWith(setHeader("alg", "none"))},
	"a proof that another key signed": {"0.2", 401, "invalid_dpop_proof", []string{"dpop-signature"}, func(c *customer) reply { return proofWith(setHeader("jwk", jwkOf(newKey(c.t), "")))(c) }},
	"a proof with a private key": {"0.2", 401, "invalid_dpop_proof", []string{"dpop-key"}, func(c *customer) reply {
		k := jwkOf(c.proofKey, "")
		k["d"] = "AAAA"
		return proofWith(setHeader("jwk", k))(c)
	}},
	"a proof without a key":                   {"0.2", 401, "invalid_dpop_proof", []string{"dpop-key"}, proofWith(func(h, _ map[string]any) { delete(h, "jwk") })},
	"a proof for another method":              {"0.1", 401, "invalid_dpop_proof", []string{"dpop-method"}, proofWith(set("htm", "POST"))},
	"a proof for another URL":                 {"0.1", 401, "invalid_dpop_proof", []string{"dpop-url"}, proofWith(set("htu", mcpURL))},
	"a proof for another token":               {"0.1", 401, "invalid_dpop_proof", []string{"dpop-token-hash"}, proofWith(set("ath", hashOf("another")))},
	"a proof without the token's hash":        {"0.1", 401, "invalid_dpop_proof", []string{"dpop-token-hash"}, proofWith(without("ath"))},
	"a proof of two minutes ago":              {"0.1", 401, "invalid_dpop_proof", []string{"dpop-time"}, proofWith(at(-2 * time.Minute))},
	"a proof from ahead":                      {"0.1", 401, "invalid_dpop_proof", []string{"dpop-time"}, proofWith(at(2 * time.Minute))},
	"a proof without a jti":                   {"0.1", 401, "invalid_dpop_proof", []string{"dpop-jti"}, proofWith(without("jti"))},
	"a proof used twice":                      {"0.1", 401, "invalid_dpop_proof", []string{"dpop-reused-jti"}, again(proofWith(set("jti", "twice")))},
	"a proof of a key that isn't the token's": {"0.1", 401, "invalid_dpop_proof", []string{"dpop-other-key"}, func(c *customer) reply { c.proofKey = newKey(c.t); return c.readAPI(ordersURL) }},
	"a token that has expired":                {"0.1", 401, "invalid_token", []string{"access-token-expired"}, func(c *customer) reply { c.later(time.Hour); return c.readAPI(ordersURL) }},
	"a DPoP token as Bearer": {"0.1", 401, "invalid_token", []string{"bearer-elsewhere"}, func(c *customer) reply {
		r := c.authorized(http.MethodGet, ordersURL, "")
		r.Header.Set("Authorization", "Bearer "+c.access)
		return c.send(c.api, r)
	}},
	"an Account Token at the API": {"0.2", 401, "invalid_token", []string{"account-token-elsewhere"}, func(c *customer) reply {
		c.signIn(dana, "poppy:read")
		c.access = c.refresh
		return c.readAPI(ordersURL)
	}},
	"an old token after the new one": {"0.2", 403, "sign_in_required", []string{"access-token-replaced"}, func(c *customer) reply {
		old := c.access
		c.keep(c.renew())
		newer := c.access
		c.readAPI(ordersURL)
		c.access = old
		got := c.readAPI(ordersURL)
		c.access = newer
		return got
	}},
	"a token in the URL": {"0.1", 401, "invalid_token", []string{"credential-in-url", "token-in-url"}, func(c *customer) reply {
		r := c.authorized(http.MethodGet, ordersURL+"?access_token=abc", "")
		r.Header.Del("Authorization")
		return c.send(c.api, r)
	}},

	// Sign-in.
	"a scope that isn't offered": {"0.2", 400, "invalid_scope", []string{"scope"}, func(c *customer) reply {
		return c.post(deviceURL, c.identified(deviceURL, url.Values{"scope": {"everything"}}))
	}},
	"no scope": {"0.1", 400, "invalid_scope", []string{"scope"}, func(c *customer) reply { return c.post(deviceURL, c.identified(deviceURL, url.Values{})) }},
	"a scope of another type": {"1.0", 400, "invalid_scope", []string{"scope"}, func(c *customer) reply {
		return c.post(deviceURL, c.identified(deviceURL, url.Values{"scope": {"addresses"}}))
	}},
	"polling too fast": {"1.0", 400, "slow_down", []string{"device-poll-too-fast"}, func(c *customer) reply { d := c.begin("poppy:read"); c.poll(d); return c.poll(d) }},
	"polling after the end": {"0.1", 400, "invalid_grant", []string{"device-poll-after-end"}, func(c *customer) reply {
		d := c.begin("poppy:read")
		c.act("deny-device", map[string]any{"user_code": d["user_code"]})
		c.poll(d)
		return c.poll(d)
	}},
	"a device code nobody issued": {"0.1", 400, "invalid_grant", []string{"device-code-of-another"}, func(c *customer) reply { return c.poll(map[string]any{"device_code": "dev_x"}) }},
	"another agent's device code": {"1.0", 400, "invalid_grant", []string{"device-code-of-another"}, func(c *customer) reply { return c.secondAgent().poll(c.begin("poppy:read")) }},
	"a wider scope": {"0.2", 400, "invalid_scope", []string{"scope-wider"}, func(c *customer) reply {
		c.signIn(dana, "poppy:read")
		return c.refreshed("scope", "poppy:read poppy:write")
	}},
	"an Account Token nobody issued":    {"0.2", 400, "invalid_grant", []string{"account-token-replaced"}, func(c *customer) reply { c.refresh = "pat_x"; return c.refreshed() }},
	"an Account Token that was rotated": {"1.0", 400, "invalid_grant", []string{"account-token-replaced"}, func(c *customer) reply { c.signIn(dana, "poppy:read"); c.refreshed(); return c.refreshed() }},
	"another agent's Account Token": {"1.0", 400, "invalid_grant", []string{"account-token-of-another"}, func(c *customer) reply {
		c.signIn(dana, "poppy:read")
		o := c.secondAgent()
		o.refresh = c.refresh
		return o.refreshed()
	}},
	"another agent's token revoked": {"0.2", 200, "", []string{"account-token-of-another"}, func(c *customer) reply {
		c.signIn(dana, "poppy:read")
		o := c.secondAgent()
		o.refresh = c.refresh
		return o.revoke()
	}},
	"another agent's access token": {"1.0", 401, "invalid_token", []string{"access-token-of-another"}, func(c *customer) reply {
		c.signIn(dana, "poppy:read")
		o := c.secondAgent()
		o.access = c.access
		return o.readAPI(ordersURL)
	}},
	"another User's access token": {"1.0", 401, "invalid_token", []string{"access-token-of-another"}, func(c *customer) reply {
		c.signIn(dana, "poppy:read")
		c.readAPI(ordersURL)
		o := c.other()
		o.access = c.access
		return o.readAPI(ordersURL)
	}},
	"two credentials at the API": {"1.0", 401, "invalid_token", []string{"two-credentials"}, func(c *customer) reply {
		r := c.authorized(http.MethodGet, ordersURL, "")
		r.Header.Add("Authorization", "Basic YTpi")
		return c.send(c.api, r)
	}},
	"a code exchanged twice":           {"1.0", 400, "invalid_grant", []string{"code-reused"}, func(c *customer) reply { f := c.codeForm(); c.ask(f); return c.ask(f) }},
	"a code of another agent":          {"1.0", 400, "invalid_grant", []string{"code-of-another"}, func(c *customer) reply { return c.secondAgent().ask(c.codeForm()) }},
	"a code that has expired":          {"0.2", 400, "invalid_grant", []string{"code-reused"}, func(c *customer) reply { f := c.codeForm(); c.later(2 * time.Minute); return c.ask(f) }},
	"a code with another redirect_uri": {"0.1", 400, "invalid_grant", []string{"redirect-uri"}, func(c *customer) reply { f := c.codeForm(); f.Set("redirect_uri", redirectURI+"/"); return c.ask(f) }},
	"a code with another verifier": {"0.1", 400, "invalid_grant", []string{"pkce"}, func(c *customer) reply {
		f := c.codeForm()
		f.Set("code_verifier", strings.Repeat("v", 43))
		return c.ask(f)
	}},
	"a redirect_uri with a slash more": {"1.0", 400, "", []string{"redirect-uri"}, func(c *customer) reply { return c.opened("redirect_uri", redirectURI+"/") }},
	"a request without PKCE":           {"1.0", 303, "", []string{"pkce"}, func(c *customer) reply { return c.opened("code_challenge", "") }},
	"a request with plain PKCE":        {"1.0", 303, "", []string{"pkce"}, func(c *customer) reply { return c.opened("code_challenge_method", "plain") }},
	"a state that can be guessed":      {"1.0", 303, "", []string{"state"}, func(c *customer) reply { return c.opened("state", "1") }},
	"the implicit flow":                {"1.0", 303, "", []string{"response-type"}, func(c *customer) reply { return c.opened("response_type", "token") }},
	"a mediated sign-in without the password": {"1.0", 400, "invalid_request", []string{"mediated-request"}, func(c *customer) reply {
		return c.mediate(mediatedURL, map[string]any{"scope": "poppy:read", "credentials": map[string]string{"email": "a"}})
	}},
	"another Session's mediated sign-in": {"0.2", 404, "sign_in_not_found", []string{"mediated-of-another-session"}, func(c *customer) reply {
		got := c.mediate(mediatedURL, credentials("dana@example.org", "alpine start 4am"))
		return c.other().mediate(mediatedURL+"/"+got.json["sign_in_id"].(string), map[string]string{"code": "314159"})
	}},
	"a Session that switches accounts": {"1.0", 403, "account_mismatch", []string{"session-of-another-account"}, func(c *customer) reply {
		c.signIn(dana, "poppy:read")
		c.readAPI(ordersURL)
		c.signIn(business, "poppy:read")
		return c.readAPI(ordersURL)
	}},
	"a request before Retry-After is over": {"0.2", 200, "", []string{"request-before-retry-after"}, func(c *customer) reply {
		c.act("rate-limit", map[string]any{"times": 1, "retry_after": 30})
		wants(c.t, c.renew(), http.StatusTooManyRequests, "rate_limited")
		c.later(29 * time.Second)
		return c.renew()
	}},
	"a published private key": {"0.2", 200, "", []string{"private-key-published", "private-key-published"}, func(c *customer) reply {
		key := jwkOf(c.published, "long-1")
		key["d"] = "AAAA"
		c.publish(key)
		return c.renew()
	}},

	// The join of the drafts (draft 0.1, section 5).
	"a join of another User's Session": {"0.1", 400, "", []string{"join-session"}, func(c *customer) reply { o := c.other(); o.session = c.session; return o.joins(orderURL) }},
	"a join of a Session that has ended": {"0.2", 400, "", []string{"join-session"}, func(c *customer) reply {
		c.act("end-session", map[string]any{"session_id": c.session})
		return c.joins(orderURL)
	}},
	"a join with an hour's assertion": {"0.2", 400, "", []string{"join-time"}, func(c *customer) reply { return c.joins(orderURL, life(time.Hour)) }},
	"a join with a short jti":         {"0.1", 400, "", []string{"join-jti"}, func(c *customer) reply { return c.joins(orderURL, set("jti", "a")) }},
	"a join with a Session assertion": {"0.1", 400, "", []string{"join-type"}, func(c *customer) reply { return c.joins(orderURL, setHeader("typ", "JWT")) }},
	"a join for another endpoint":     {"0.1", 400, "", []string{"join-audience"}, func(c *customer) reply { return c.joins(orderURL, set("aud", issuer)) }},
	"a join by another key":           {"0.1", 400, "", []string{"join-signature"}, func(c *customer) reply { c.published = newKey(c.t); return c.joins(orderURL) }},
	"a join used twice":               {"0.2", 400, "", []string{"join-reused-jti"}, again(func(c *customer) reply { return c.joins(orderURL, set("jti", strings.Repeat("b", 22))) })},
	"a join that leads elsewhere":     {"0.2", 400, "", []string{"join-return-to"}, func(c *customer) reply { return c.joins("https://evil.example/") }},
}

// again does a thing twice and gives what comes of the second.
func again(does func(*customer) reply) func(*customer) reply {
	return func(c *customer) reply {
		does(c)
		return does(c)
	}
}

// Clauses: S01-4.2.10, S01-4.2.11, S01-4.2.19, S01-4.2.25, S01-4.3.07, S01-4.3.08, S01-4.3.09, S01-4.3.10, S01-4.3.13
// Clauses: S01-4.3.18, S01-4.3.25, S01-4.4.10, S01-4.5.04, S01-4.5.08, S01-4.6.06, S01-4.7.07, S01-4.8.02, S01-4.8.03
// Clauses: S01-4.8.04, S01-5.20, S01-5.21, S01-5.22, S01-5.23, S01-5.24, S01-5.25, S01-5.26, S01-5.28, S01-4.1.08
// Clauses: S01-4.1.09, S01-4.7.09, C10-7.02, C10-5.11
func TestEachSlipOfABrokenAgentIsRefusedAndRecorded(t *testing.T) {
	seen := map[string]bool{}
	for name, s := range slips {
		for _, rule := range s.rules {
			seen[rule] = true
		}
		t.Run(name, func(t *testing.T) {
			c := customerOf(t, s.version)
			access := c.access
			got := s.broken(c)
			wants(t, got, s.status, s.code)
			c.onlyBroken(s.rules...)
			for _, secret := range []string{access, c.access, c.refresh, "alpine start 4am", "eyJ"} {
				if secret != "" && got.status >= http.StatusBadRequest && strings.Contains(got.body, secret) {
					t.Errorf("%q stands in the refusal %s", secret, got.body)
				}
			}
			for _, v := range c.site.Broken() {
				if strings.Contains(v.Seen, "eyJ") || strings.Contains(v.Seen, c.user) {
					t.Errorf("seen: %s", v.Seen)
				}
			}
			if !strings.HasPrefix(s.rules[0], "join-") {
				return
			}
			if cookieOf(c) != "" && !strings.Contains(name, "twice") {
				t.Error("a refused join set a cookie")
			}
		})
	}
	for _, rule := range authserver.Rules() {
		if !seen[rule.ID] {
			t.Errorf("no slip breaks the rule %s", rule.ID)
		}
	}
}
