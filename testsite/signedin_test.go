package testsite_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

var versions = []string{"0.1", "0.2", "1.0"}

// Clauses: S01-4.2.12, S01-4.2.13, S01-4.2.14, S01-4.2.15, S01-4.2.17, S01-4.04
func TestASessionStartsSignedOut(t *testing.T) {
	for _, version := range drafts {
		c := customerOf(t, version)
		got := c.ask(url.Values{"grant_type": {assertionGrant}, "assertion": {c.assertionFor()}})
		wants(t, got, http.StatusOK, "")
		if got.header.Get("Cache-Control") != "no-store" || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", version, got.header)
		}
		want := map[string]any{"token_type": "DPoP", "scope": "", "signed_in": false, "expires_in": 3600.0}
		for name, value := range want {
			if got.json[name] != value {
				t.Errorf("%s: %s is %v", version, name, got.json[name])
			}
		}
		if got.json["session_id"] == c.session || got.json["refresh_token"] != nil {
			t.Errorf("%s: %s", version, got.body)
		}
	}
}

// Clauses: S01-4.2.21, S01-4.06, S01-4.01
func TestAnEndedSessionIsInvalidAndItsAccountTokenStartsAnother(t *testing.T) {
	for _, version := range drafts {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		c.act("end-session", map[string]any{"session_id": c.session})
		wants(t, c.readAPI(ordersURL), http.StatusUnauthorized, "invalid_token")
		wants(t, c.renew(), http.StatusBadRequest, "invalid_session")
		c.start()
		got := c.refreshed()
		wants(t, got, http.StatusOK, "")
		c.keep(got)
		wants(t, c.readAPI(ordersURL), http.StatusOK, "")
	}
}

// Clauses: S01-4.2.16
func TestASessionIDAloneOpensNothing(t *testing.T) {
	c := customerOf(t, "0.2")
	c.signIn(dana, "poppy:read")
	for _, scheme := range []string{"DPoP", "Bearer"} {
		r := c.authorized(http.MethodGet, ordersURL, "")
		r.Header.Set("Authorization", scheme+" "+c.session)
		if got := c.send(c.api, r); got.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", scheme, got.status)
		}
	}
}

// Clauses: S01-4.4.08, S01-4.4.14, S01-4.4.16, S01-4.4.04, S01-4.5.03
func TestASignInGrantsWhatTheUserApprovedAndNoMore(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read poppy:write", "poppy:write")
		wants(t, c.readAPI(ordersURL), http.StatusForbidden, "insufficient_scope")
		got := c.refreshed()
		if got.json["scope"] != "poppy:write" || got.json["refresh_token_expires_in"] != 2592000.0 || got.json["refresh_token"] == c.refresh {
			t.Errorf("%s: %s", version, got.body)
		}
		if version == "1.0" && (got.json["token_type"] != "Bearer" || got.json["session_id"] != nil) {
			t.Errorf("%s", got.body)
		}
		form := c.codeForm()
		if got := c.ask(form); got.json["scope"] != "poppy:read poppy:write" || got.json["refresh_token"] == nil {
			t.Errorf("%s: direct: %s", version, got.body)
		}
		c.onlyBroken()
	}
}

// Clauses: S01-4.6.02, S01-4.6.06, S01-4.6.04
func TestADeviceSignInWaitsForTheUser(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		d := c.begin("poppy:read")
		if d["verification_uri"] != issuer+"/device" || d["verification_uri_complete"] != issuer+"/device?user_code="+d["user_code"].(string) || d["expires_in"] != 600.0 || d["interval"] != 1.0 {
			t.Errorf("%s: %v", version, d)
		}
		c.get(d["verification_uri_complete"].(string)) // opening the link approves nothing
		wants(t, c.poll(d), http.StatusBadRequest, "authorization_pending")
		c.later(time.Second)
		wants(t, c.poll(d), http.StatusBadRequest, "authorization_pending")
		c.later(10 * time.Minute)
		wants(t, c.poll(d), http.StatusBadRequest, "expired_token")
		denied := c.begin("poppy:read")
		c.act("deny-device", map[string]any{"user_code": denied["user_code"]})
		wants(t, c.poll(denied), http.StatusBadRequest, "access_denied")
		c.onlyBroken()
	}
}

// Clauses: S01-4.4.13
func TestAPendingOrFailedSignInLeavesTheTokensAsTheyAre(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		d := c.begin("poppy:read poppy:write")
		wants(t, c.readAPI(ordersURL), http.StatusOK, "")
		c.act("deny-device", map[string]any{"user_code": d["user_code"]})
		wants(t, c.poll(d), http.StatusBadRequest, "access_denied")
		wants(t, c.readAPI(ordersURL), http.StatusOK, "")
		wants(t, c.refreshed(), http.StatusOK, "")
	}
}

// Clauses: S01-4.7.04, S01-4.7.05, S01-4.7.07, S01-4.7.09
func TestAMediatedSignInAsksForACodeAndEndsAfterThreeWrongOnes(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		got := c.mediate(mediatedURL, credentials("dana@business.example.org", "ridge line 2 rope"))
		if got.json["status"] != "complete" || got.json["refresh_token"] == nil || got.json["scope"] != "poppy:read" {
			t.Errorf("%s: without a second step: %s", version, got.body)
		}
		c = customerOf(t, version)
		got = c.mediate(mediatedURL, credentials("dana@example.org", "alpine start 4am"))
		code, _ := got.json["code"].(map[string]any)
		if got.json["status"] != "code_required" || code["sent_to"] == "" || got.json["expires_at"] == nil || strings.Contains(got.body, "alpine") {
			t.Fatalf("%s: %s", version, got.body)
		}
		to := mediatedURL + "/" + got.json["sign_in_id"].(string)
		for _, status := range []string{"code_required", "code_required", "failed"} {
			if got := c.mediate(to, map[string]string{"code": "000000"}); got.json["status"] != status {
				t.Errorf("%s: %s, want %s", version, got.body, status)
			}
		}
		got = c.mediate(to, map[string]string{"code": "314159"})
		switch version {
		case "0.1":
			wants(t, got, http.StatusNotFound, "not_found")
		default:
			if got.json["status"] != "failed" {
				t.Errorf("%s: %s", version, got.body)
			}
		}
		c.onlyBroken()
	}
}

// Clauses: S01-4.9.02, S01-4.9.03, S01-4.9.05, S01-4.8.08, S01-5.31
func TestASignOutShowsOnTheVeryNextRequest(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		c.joins(company + "/account")
		if got := c.get(company + "/account"); !strings.Contains(got.body, "dana@example.org") {
			t.Fatalf("%s: not signed in: %s", version, got.body)
		}
		wants(t, c.revoke(), http.StatusOK, "")
		if got := c.get(company + "/account"); strings.Contains(got.body, "dana@example.org") || !strings.Contains(got.body, "isn&#39;t signed in") && !strings.Contains(got.body, "isn't signed in") {
			t.Errorf("%s: the website still shows the account", version)
		}
		status, code := http.StatusForbidden, "sign_in_required"
		if version == "1.0" {
			status, code = http.StatusUnauthorized, "invalid_token"
		}
		wants(t, c.readAPI(ordersURL), status, code)
		wants(t, c.refreshed(), http.StatusBadRequest, "invalid_grant")
		if c.draft() { // the Session goes on signed out
			got := c.renew()
			if got.json["signed_in"] != false || got.json["session_id"] != c.session {
				t.Errorf("%s: %s", version, got.body)
			}
		}
		c.onlyBroken()
	}
}

// Clauses: S01-4.9.08
func TestADisconnectEndsEverySignInOfTheAgentForTheAccount(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		o := c.other()
		o.signIn(business, "poppy:read")
		if got := c.act("disconnect", map[string]any{"client_id": c.clientID, "account": dana}); got.json["revoked"] != 1.0 {
			t.Errorf("%s: %s", version, got.body)
		}
		if got := c.readAPI(ordersURL); got.status == http.StatusOK {
			t.Errorf("%s: still signed in", version)
		}
		wants(t, c.refreshed(), http.StatusBadRequest, "invalid_grant")
		wants(t, o.readAPI(ordersURL), http.StatusOK, "")
	}
}

// Clauses: S01-4.4.17, S01-4.8.04
func TestASessionIsSignedInToOneAccount(t *testing.T) {
	for version, after := range map[string]int{"0.1": http.StatusOK, "0.2": http.StatusBadRequest} {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		first := c.refresh
		o := *c
		o.start()
		o.signIn(business, "poppy:read")
		c.refresh = o.refresh
		wants(t, c.refreshed(), http.StatusBadRequest, "account_mismatch")
		c.refresh = first
		c.revoke()
		c.refresh = o.refresh
		wants(t, c.refreshed(), after, "") // after a sign-out the drafts differ
	}
}

// Clauses: C10-5.10, C10-5.13, C10-5.17, C10-8.01, C10-8.03
func TestTheSessionHeaderIsBoundToTheTokenBesideIt(t *testing.T) {
	c := customerOf(t, "1.0")
	got := c.readAPI(ordersURL)
	wants(t, got, http.StatusUnauthorized, "")
	if said := got.header.Get("WWW-Authenticate"); said != `Bearer scope="poppy:read"` {
		t.Errorf("challenge: %q", said)
	}
	wants(t, c.readAPI(company+"/api/products"), http.StatusOK, "")
	c.signIn(dana, "poppy:read")
	wants(t, c.readAPI(ordersURL), http.StatusOK, "")
	for name, header := range map[string]string{"none": c.testAgent.session(), "another": c.testAgent.session(set("ath", hashOf("another")))} {
		r := c.request(http.MethodGet, ordersURL, "")
		r.Header.Set("Authorization", "Bearer "+c.access)
		r.Header.Set("Poppy-Session", header)
		if got := c.send(c.api, r); got.status != http.StatusForbidden || got.json["error"] != "invalid_session" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	wants(t, c.readAPI(company+"/api/address"), http.StatusForbidden, "insufficient_scope")
}

// Clauses: C10-9.01, C10-9.02, C10-4.08, OPS3-3.33
func TestASignedInOperationIsForTheSameAccountOnly(t *testing.T) {
	c := customerOf(t, "1.0")
	c.joins(orderURL)
	guest := c.reference(c.press())
	c.signIn(dana, "poppy:read poppy:write")
	c.joins(orderURL)
	ref := c.reference(c.press())

	signedOut := c.lookUp(ref)
	wants(t, signedOut, http.StatusUnauthorized, "")
	if said := signedOut.header.Get("WWW-Authenticate"); said != "Bearer" {
		t.Errorf("challenge: %q", said)
	}
	look := func(of *customer, reference, approval string) reply {
		r := of.endpointRequest(reference, approval)
		of.testAgent.beside(r, of.access)
		return of.send(of.api, r)
	}
	wants(t, look(c, guest, ""), http.StatusBadRequest, "invalid_request") // returned signed out: approved signed out

	elsewhere := *c
	agent := *c.testAgent
	agent.sid = "ses_" + random(22)
	elsewhere.testAgent = &agent
	elsewhere.signIn(business, "poppy:read poppy:write")
	wants(t, look(&elsewhere, ref, ""), http.StatusUnauthorized, "")

	got := look(c, ref, "")
	wants(t, got, http.StatusForbidden, "approval_required")
	if got := look(c, ref, c.approval(operationIn(t, got))); got.status != http.StatusNoContent {
		t.Fatalf("approval: %d %s", got.status, got.body)
	}
	if got := c.press(); got.status != http.StatusOK {
		t.Errorf("the approved action: %d", got.status)
	}
	c.onlyBroken()
}
