package testsite_test

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/testsite"
)

// fault is one thing a broken agent does, and the one rule the site must record for it.
type fault struct {
	rule   string
	clause string
	broken func(*testing.T, *testsite.Site, *testAgent)
}

// faultsOfAnAgent lists what a broken agent does, one fault in each row.
var faultsOfAnAgent = map[string]fault{
	// The Session header.
	"no Session header": {"session-missing", "OPS3-4.47", headerFault(func(_ *testAgent, r *http.Request) { r.Header.Del("Poppy-Session") })},
	"two Session headers": {"session-twice", "C10-5.01", headerFault(func(a *testAgent, r *http.Request) {
		r.Header.Add("Poppy-Session", a.session())
	})},
	"a Session header that is no JWT": {"session-malformed", "C10-5.01", headerFault(func(_ *testAgent, r *http.Request) {
		r.Header.Set("Poppy-Session", "none")
	})},
	"a Session JWT sent twice": {"session-reused-jti", "C10-5.03", func(t *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		ref := a.reference(a.press())
		first := a.endpointRequest(ref, "")
		a.send(a.api, first)
		second := a.endpointRequest(ref, "")
		second.Header.Set("Poppy-Session", first.Header.Get("Poppy-Session"))
		want(t, a.send(a.api, second), http.StatusForbidden, "invalid_session")
	}},
	"a jti used twice":       {"session-reused-jti", "C10-5.03", twice(set("jti", strings.Repeat("j", 22)))},
	"an expired Session JWT": {"session-expired", "C10-5.03", headerFault(expiredSession)},
	"another audience":       {"session-audience", "", sessionFault(set("aud", endpoint))},
	"audience with a slash":  {"session-audience", "", sessionFault(set("aud", issuer+"/"))},
	"audience as an array":   {"session-audience", "", sessionFault(set("aud", []string{issuer}))},
	"an assertion as header": {"session-type", "C10-5.02", sessionFault(setHeader("typ", "poppy-browser+jwt"))},
	"alg none":               {"session-algorithm", "C10-5.04", sessionFault(setHeader("alg", "none"))},
	"no jti":                 {"session-claims", "C10-5.12", sessionFault(without("jti"))},
	"a short jti":            {"session-claims", "C10-5.12", sessionFault(set("jti", "1"))},
	"no sid":                 {"session-claims", "C10-5.12", sessionFault(without("sid"))},
	"times as strings":       {"session-claims", "C10-5.12", sessionFault(set("exp", "1900000000"))},
	"an unknown agent":       {"session-unknown-agent", "C10-4.04", sessionFault(set("iss", "https://other.example/agent.json"))},
	"a Session JWT for an hour": {"session-too-long-life", "", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		r := a.endpointRequest(a.reference(a.press()), "")
		r.Header.Set("Poppy-Session", a.session(after(time.Hour, "exp", a)))
		a.send(a.api, r)
	}},
	"another key's signature": {"session-signature", "C10-5.04", headerFault(func(a *testAgent, r *http.Request) {
		forged := *a
		forged.delegated = newKey(a.t)
		genuine := a.delegation()
		r.Header.Set("Poppy-Session", forged.session(setHeader("poppy_dlg", genuine)))
	})},
	"signed with the published key": {"session-signature", "C10-5.04", headerFault(func(a *testAgent, r *http.Request) {
		direct := *a
		direct.delegated = a.published
		genuine := a.delegation()
		r.Header.Set("Poppy-Session", direct.session(setHeader("poppy_dlg", genuine)))
	})},
	"no delegation":               {"session-not-delegated", "C10-5.05", sessionFault(func(h, _ map[string]any) { delete(h, "poppy_dlg") })},
	"a delegation by another key": {"session-not-delegated", "C10-5.05", headerFault(forgedDelegation)},
	"a delegation without kid":    {"session-not-delegated", "C10-5.05", delegationFault(func(h, _ map[string]any) { delete(h, "kid") })},
	"a delegation with alg none":  {"session-not-delegated", "C10-5.05", delegationFault(setHeader("alg", "none"))},
	"cnf.jwk as a string":         {"session-not-delegated", "C10-5.05", delegationFault(set("cnf", map[string]any{"jwk": "key"}))},
	"another agent's delegation":  {"session-not-delegated", "C10-5.05", delegationFault(set("iss", "https://other.example/agent.json"))},
	"an expired delegation":       {"session-delegation-expired", "C10-5.04", headerFault(expiredDelegation)},
	"a delegation for a day": {"session-delegation-too-long", "C10-5.04", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		r := a.endpointRequest(a.reference(a.press()), "")
		r.Header.Set("Poppy-Session", a.session(setHeader("poppy_dlg", a.delegation(after(24*time.Hour, "exp", a)))))
		a.send(a.api, r)
	}},
	"a published private key": {"private-key-published", "", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		key := jwkOf(a.published, "long-1")
		key["d"] = "AAAA"
		a.publish(key)
		a.join()
	}},
	"an access token that nobody issued": {"access-token-unknown", "", func(t *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		r := a.endpointRequest(a.reference(a.press()), "")
		a.beside(r, "abc")
		if got := a.send(a.api, r); got.status != http.StatusUnauthorized {
			t.Errorf("%d", got.status)
		}
	}},
	"an access token that the header doesn't name": {"session-access-token-hash", "C10-5.10", headerFault(func(a *testAgent, r *http.Request) {
		r.Header.Set("Authorization", "Bearer abc")
	})},
	"a hash of a token that isn't sent": {"session-access-token-hash", "C10-5.10", sessionFault(set("ath", hashOf("abc")))},
	"two credentials in Authorization": {"two-credentials", "C10-5.11", func(t *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		r := a.endpointRequest(a.reference(a.press()), "")
		a.beside(r, "abc")
		r.Header.Set("Authorization", "Bearer abc, Basic Zm9vOmJhcg==")
		if got := a.send(a.api, r); got.status != http.StatusUnauthorized {
			t.Errorf("%d", got.status)
		}
	}},

	// Where credentials go.
	"the Session header sent to a page": {"session-header-elsewhere", "OPS3-4.43", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		r := a.request(http.MethodGet, orderURL, "")
		r.Header.Set("Poppy-Session", a.session())
		a.send(a.browser, r)
	}},
	"an approval sent through the browser": {"approval-header-elsewhere", "OPS3-6.33", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		op := a.read(a.reference(a.press()))
		r := a.request(http.MethodPost, orderURL+"/exchange", url.Values{"model": {"stormline-insulated"}, "size": {"M"}}.Encode())
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Poppy-Approval", a.approval(op))
		a.send(a.browser, r)
	}},
	"the endpoint called by the browser": {"browser-at-endpoint", "OPS3-6.32", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		a.send(a.browser, a.endpointRequest(a.reference(a.press()), ""))
	}},
	"an assertion in a URL": {"credential-in-url", "S01-4.8.10", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.get(company + "/?j=" + a.assertion())
	}},
	"a token's name in a URL": {"credential-in-url", "S01-4.8.10", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.get(company + "/?access_token=abc")
	}},
	"a redirect of the endpoint followed": {"redirect-followed", "OPS3-4.43", func(_ *testing.T, site *testsite.Site, a *testAgent) {
		a.join()
		ref := a.reference(a.press())
		site.RedirectEndpoint(1)
		r := a.endpointRequest(ref, "")
		r.Header.Del("Poppy-Session") // another rule, which the trap records too
		a.send(a.api, r)
	}},
	"a request before Retry-After is over": {"retry-too-early", "OPS3-7.10", func(_ *testing.T, site *testsite.Site, a *testAgent) {
		a.join()
		ref := a.reference(a.press())
		site.Unavailable(1, 3*time.Second)
		a.lookUp(ref)
		a.clock.advance(2 * time.Second)
		a.lookUp(ref)
	}},

	// The join.
	"a join by GET": {"join-form", "", func(t *testing.T, _ *testsite.Site, a *testAgent) { refusedJoin(t, a.get(joinURL)) }},
	"a join without an assertion": {"join-form", "", func(t *testing.T, _ *testsite.Site, a *testAgent) {
		refusedJoin(t, a.submit(joinURL, url.Values{}))
	}},
	"a join as JSON": {"join-form", "", func(t *testing.T, _ *testsite.Site, a *testAgent) {
		refusedJoin(t, a.script(joinURL, map[string]any{"assertion": a.assertion()}))
	}},
	"a join with an empty token": {"join-access-token", "C10-9.02", func(t *testing.T, _ *testsite.Site, a *testAgent) {
		refusedJoin(t, a.submit(joinURL, url.Values{"assertion": {a.assertion()}, "access_token": {""}}))
	}},
	"a join whose assertion doesn't name its token": {"join-access-token-hash", "C10-5.10", func(t *testing.T, _ *testsite.Site, a *testAgent) {
		refusedJoin(t, a.submit(joinURL, url.Values{"assertion": {a.assertion()}, "access_token": {"abc"}}))
	}},
	"a join with a token that nobody issued": {"access-token-unknown", "", func(t *testing.T, _ *testsite.Site, a *testAgent) {
		refusedJoin(t, a.submit(joinURL, url.Values{"assertion": {a.assertion(set("ath", hashOf("abc")))}, "access_token": {"abc"}}))
	}},
	"a join with unreadable extensions": {"join-extensions", "OPS3-2.13", func(t *testing.T, _ *testsite.Site, a *testAgent) {
		refusedJoin(t, a.submit(joinURL, url.Values{"assertion": {a.assertion()}, "extensions": {"operations;v=3"}}))
	}},
	"a join with a Session JWT":   {"join-type", "", joinFault(setHeader("typ", "poppy-session+jwt"))},
	"a join for another endpoint": {"join-audience", "", joinFault(set("aud", issuer))},
	"a join by an unknown agent":  {"join-unknown-agent", "C10-4.04", joinFault(set("iss", "https://other.example/agent.json"))},
	"a join without a delegation": {"join-not-delegated", "", joinFault(func(h, _ map[string]any) { delete(h, "poppy_dlg") })},
	"a join with alg none":        {"join-algorithm", "", joinFault(setHeader("alg", "none"))},
	"a join without sid":          {"join-claims", "", joinFault(without("sid"))},
	"a join to another site":      {"join-return-to", "", joinFault(set("return_to", "https://stormline.test.example/"))},
	"a join to a plain address":   {"join-return-to", "", joinFault(set("return_to", "http://stormline.test/"))},
	"a join that names a user":    {"join-return-to", "", joinFault(set("return_to", "https://stormline.test@evil.example/"))},
	"an assertion that isn't a JWT": {"join-malformed", "", func(t *testing.T, _ *testsite.Site, a *testAgent) {
		refusedJoin(t, a.submit(joinURL, url.Values{"assertion": {"x"}}))
	}},
	"an assertion for two minutes": {"join-too-long-life", "", func(t *testing.T, _ *testsite.Site, a *testAgent) {
		refusedJoin(t, a.join(after(2*time.Minute, "exp", a)))
	}},
	"an assertion posted twice":      {"join-reused-jti", "", reusedAssertion},
	"an expired assertion":           {"join-expired", "", expiredAssertion},
	"an assertion of another signer": {"join-signature", "", forgedAssertion},

	// Requests to the endpoint.
	"a GET of the endpoint": {"endpoint-method", "OPS3-4.46", headerFault(func(_ *testAgent, r *http.Request) { r.Method = http.MethodGet })},
	"no version":            {"version-header", "OPS3-4.47", headerFault(func(_ *testAgent, r *http.Request) { r.Header.Del("Poppy-Version") })},
	"a quoted version":      {"version-header", "OPS3-4.47", headerFault(func(_ *testAgent, r *http.Request) { r.Header.Set("Poppy-Version", `"1.0"`) })},
	"no extensions":         {"extension-header", "OPS3-4.47", headerFault(func(_ *testAgent, r *http.Request) { r.Header.Del("Poppy-Extensions") })},
	"another extension version": {"extension-header", "OPS3-4.47", headerFault(func(_ *testAgent, r *http.Request) {
		r.Header.Set("Poppy-Extensions", `"operations";v="2"`)
	})},
	"another content type": {"endpoint-content-type", "OPS3-4.46", headerFault(func(_ *testAgent, r *http.Request) { r.Header.Set("Content-Type", "text/plain") })},
	"a ref named twice":    {"endpoint-body", "OPS3-4.46", bodyFault(`{"ref":"a","ref":"b"}`)},
	"a body without ref":   {"endpoint-body", "OPS3-4.46", bodyFault(`{"reference":"a"}`)},
	"a body with a tail":   {"endpoint-body", "OPS3-4.46", bodyFault(`{"ref":"a"} {}`)},
	"a huge body":          {"endpoint-body", "OPS3-4.46", bodyFault(`{"ref":"` + strings.Repeat("a", 10<<10) + `"}`)},
	"a ref with a slash":   {"ref-malformed", "OPS3-4.23", bodyFault(`{"ref":"a/b"}`)},
	"a long ref":           {"ref-malformed", "OPS3-4.23", bodyFault(`{"ref":"` + strings.Repeat("a", 2049) + `"}`)},
	"an invented ref":      {"ref-unknown", "OPS3-4.36", bodyFault(`{"ref":"exc_1.2"}`)},
	"another User's ref":   {"ref-of-another", "OPS3-4.44", anothersReference},

	// Approvals.
	"an approval that doesn't parse": {"approval-malformed", "OPS3-6.22", approvalFault(func(*testAgent, operation) string { return `operation_id="` })},
	"an approval without approver": {"approver-missing", "OPS3-6.03", approvalFault(func(a *testAgent, op operation) string {
		return a.approval(op, "approver", "", "approved_at", "", "input_type", "")
	})},
	"another approver":        {"approver-unknown", "OPS3-6.04", approvalFault(func(a *testAgent, op operation) string { return a.approval(op, "approver", "model") })},
	"approved_at as a String": {"approval-member-type", "OPS3-6.22", approvalFault(func(a *testAgent, op operation) string { return a.approval(op, "approved_at", "1791487260") })},
	"approved_at in milliseconds": {"approved-at-wrong", "OPS3-6.05", approvalFault(func(a *testAgent, op operation) string {
		return strings.Replace(a.approval(op, "approved_at", ""), `input_type`, `approved_at=1791487260000, input_type`, 1)
	})},
	"input_type with agent":        {"input-type-with-agent", "OPS3-6.08", approvalFault(func(a *testAgent, op operation) string { return a.approval(op, "approver", "agent") })},
	"no approved_at":               {"approved-at-missing", "OPS3-6.16", approvalFault(func(a *testAgent, op operation) string { return a.approval(op, "approved_at", "") })},
	"no input_type":                {"input-type-missing", "OPS3-6.17", approvalFault(func(a *testAgent, op operation) string { return a.approval(op, "input_type", "") })},
	"a reference with bad letters": {"reference-alphabet", "OPS3-6.11", approvalFault(func(a *testAgent, op operation) string { return a.approval(op, "reference", "a b") })},
	"a reference used twice": {"reference-reused", "OPS3-6.12", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		for _, size := range []string{"M", "L"} {
			ref := a.reference(a.exchange("stormline-insulated", size))
			a.approve(ref, a.approval(a.read(ref), "reference", "apr_1"))
			a.exchange("stormline-insulated", size)
		}
	}},
	"another User's operation approved": {"approval-of-another", "OPS3-3.34", anothersOperation},
	"an operation the ref isn't for": {"approval-operation-mismatch", "OPS3-6.02", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		one := a.reference(a.press())
		other := a.read(a.reference(a.submit(company+"/membership/cancel", nil)))
		a.approve(one, a.approval(other))
	}},
	"an invented revision": {"approval-unknown-revision", "OPS3-6.02", approvalFault(func(a *testAgent, op operation) string {
		op.Revision = "1791487200-invented"
		return a.approval(op)
	})},
	"a revision nobody read": {"approval-unread-revision", "OPS3-5.05", unreadRevision},
	"an expired revision": {"approval-expired-revision", "OPS3-3.15", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		ref := a.reference(a.press())
		op := a.read(ref)
		a.clock.advance(testsite.DefaultOperationLife + time.Second)
		a.approve(ref, a.approval(op))
	}},
	"a declined approval sent again": {"approval-after-decline", "OPS3-6.88", func(t *testing.T, site *testsite.Site, a *testAgent) {
		a.join()
		site.Decline("exchange", testsite.Decline{Reason: "Not this one."})
		ref := a.reference(a.press())
		op := a.read(ref)
		for range 2 {
			want(t, a.approve(ref, a.approval(op)), http.StatusForbidden, "approval_declined")
		}
	}},
	"an agent approval after a decline": {"agent-approval-after-decline", "OPS3-6.89", func(t *testing.T, site *testsite.Site, a *testAgent) {
		a.join()
		site.Decline("exchange", testsite.Decline{})
		ref := a.reference(a.press())
		want(t, a.approve(ref, a.approval(a.read(ref))), http.StatusForbidden, "approval_declined")
		again := a.reference(a.press())
		a.approve(again, a.agentApproval(a.read(again)))
	}},
	"an agent approval of new terms": {"agent-approval-of-new-terms", "OPS3-5.17", func(t *testing.T, site *testsite.Site, a *testAgent) {
		a.join()
		site.ChangePrice("exchange", "90.00")
		ref := a.reference(a.press())
		answer := a.approve(ref, a.agentApproval(a.read(ref)))
		want(t, answer, http.StatusForbidden, "approval_required")
		a.approve(ref, a.agentApproval(operationIn(t, answer)))
	}},
	"an agent approval of a new operation": {"agent-approval-of-new-operation", "OPS3-5.18", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		ref := a.reference(a.press())
		a.approve(ref, a.agentApproval(a.read(ref)))
		a.clock.advance(testsite.DefaultOperationLife + time.Second)
		again := a.reference(a.press())
		a.lookUp(ref)
		a.approve(again, a.agentApproval(a.read(again)))
	}},
	"no look-up before a new approval": {"approval-before-look-up", "OPS3-7.19", func(_ *testing.T, site *testsite.Site, a *testAgent) {
		lost(site, a)
		again := a.reference(a.press())
		a.approve(again, a.approval(a.read(again)))
	}},
	"a new approval though performed": {"approval-after-performed", "OPS3-7.22", func(_ *testing.T, site *testsite.Site, a *testAgent) {
		ref := lost(site, a)
		again := a.reference(a.press())
		a.lookUp(ref)
		a.approve(again, a.approval(a.read(again)))
	}},
	"a new approval while performing": {"approval-while-performing", "OPS3-7.21", func(_ *testing.T, site *testsite.Site, a *testAgent) {
		a.join()
		_, ref := a.recorded(a.press)
		site.HoldPerforming(5)
		a.press()
		again := a.reference(a.exchange("stormline-insulated", "L"))
		a.lookUp(ref)
		a.approve(again, a.approval(a.read(again)))
	}},
	"two revisions approved": {"second-approval", "OPS3-7.13", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		small, large := a.reference(a.press()), a.reference(a.exchange("stormline-insulated", "L"))
		a.approve(small, a.approval(a.read(small)))
		a.approve(large, a.approval(a.read(large)))
	}},
	"a retry with another approver": {"approval-changed-on-retry", "OPS3-7.12", func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		ref := a.reference(a.press())
		op := a.read(ref)
		a.approve(ref, a.approval(op))
		a.approve(ref, a.agentApproval(op))
	}},
}

// Clauses: C10-5.06, C10-5.07, C10-4.04, OPS3-4.48, OPS3-6.61, OPS3-6.64
func TestEachFaultOfABrokenAgentIsRecorded(t *testing.T) {
	seen := map[string]bool{}
	for name, f := range faultsOfAnAgent {
		seen[f.rule] = true
		t.Run(name, func(t *testing.T) {
			site, agent := world(t, testsite.Config{})
			f.broken(t, site, agent)
			broken := site.Broken()
			if len(broken) == 0 {
				t.Fatalf("no broken rule was recorded, want %s", f.rule)
			}
			for _, v := range broken {
				if v.Rule != f.rule || v.Clause != f.clause {
					t.Errorf("recorded %s (%s), want only %s (%s): %s", v.Rule, v.Clause, f.rule, f.clause, v.Seen)
				}
			}
		})
	}
	for _, rule := range testsite.RuleIDs() {
		// The rest is the join's twin of a Session row above, a note, or a draft's.
		if !seen[rule] && !slices.Contains([]string{"join-delegation-expired", "join-delegation-too-long", "repeat-after-performed", "join-session", "join-time", "join-jti", "join-issuer"}, rule) {
			t.Errorf("no fault breaks the rule %s", rule)
		}
	}
}

func TestARepeatAfterALookUpSaidPerformedIsNoted(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	agent.join()
	_, ref := agent.recorded(agent.press)
	agent.press()
	agent.lookUp(ref)
	agent.press()
	notes := site.Report().Notes
	if len(notes) != 1 || notes[0].Rule != "repeat-after-performed" || notes[0].Clause != "OPS3-7.06" {
		t.Errorf("notes: %+v", notes)
	}
	unbroken(t, site)
}

// Clauses: C10-5.14
func TestWhatTheSiteRecordsAndLogsHoldsNoCredential(t *testing.T) {
	for name, f := range faultsOfAnAgent {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			site, agent := world(t, testsite.Config{Logger: logTo(&log)})
			f.broken(t, site, agent)
			for _, v := range site.Broken() {
				if strings.Contains(v.Seen, "eyJ") || strings.Contains(v.Seen, agent.user) {
					t.Errorf("seen: %s", v.Seen)
				}
			}
			if strings.Contains(log.String(), "eyJ") {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}
