package testsite_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/testsite"
)

// unbroken fails the test if the site recorded a broken rule.
func unbroken(t *testing.T, site *testsite.Site) {
	t.Helper()
	for _, v := range site.Broken() {
		t.Errorf("broken: %s (%s): %s", v.Rule, v.Clause, v.Seen)
	}
}

// performances fails the test unless the site performed exactly these kinds, in order.
func performances(t *testing.T, site *testsite.Site, kinds ...string) {
	t.Helper()
	var got []string
	for _, p := range site.Report().Performances {
		got = append(got, p.Kind)
	}
	if strings.Join(got, " ") != strings.Join(kinds, " ") {
		t.Fatalf("performed %q, want %q", got, kinds)
	}
}

// want fails the test unless the answer has the status and the error.
func want(t *testing.T, got reply, status int, name string) {
	t.Helper()
	if got.err != nil {
		t.Fatalf("no answer: %v", got.err)
	}
	if e, _ := got.json["error"].(string); got.status != status || e != name {
		t.Fatalf("answer %d %s, want %d %q", got.status, got.body, status, name)
	}
}

// wantStatus fails the test unless a look-up answers with the operation's state.
func wantStatus(t *testing.T, got reply, id, status string) {
	t.Helper()
	if got.status != http.StatusOK || got.json["operation_id"] != id || got.json["status"] != status {
		t.Fatalf("answer %d %s, want %s %s", got.status, got.body, id, status)
	}
}

// Clauses: OPS3-1.01, OPS3-3.01, OPS3-3.12, OPS3-3.19, OPS3-4.01, OPS3-4.12, OPS3-4.14, OPS3-4.17, OPS3-4.21, OPS3-4.28, OPS3-4.30, OPS3-4.33, OPS3-4.50, OPS3-6.38, OPS3-6.39, OPS3-6.45, OPS3-6.49, OPS3-6.54, OPS3-6.55, OPS3-6.57, OPS3-6.71
func TestARoundIsPerformedOnceAndBreaksNoRule(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	if got := agent.join(); got.status != http.StatusOK || got.url != orderURL {
		t.Fatalf("join ended at %s with %d", got.url, got.status)
	}
	waiting := agent.exchange("stormline-insulated", "M")
	ref := agent.reference(waiting)
	if waiting.header.Get("Cache-Control") != "no-store" || !strings.Contains(waiting.body, "waiting for your approval in your personal agent") {
		t.Fatalf("the waiting page: %v %s", waiting.header, waiting.body)
	}
	op := agent.read(ref)
	for _, told := range []string{op.ID, op.Revision, "70.00"} {
		if strings.Contains(waiting.body, told) {
			t.Errorf("the waiting page carries %q", told)
		}
	}
	if op.ID == "" || op.Revision == "" || op.ExpiresAt == "" || op.Terms["replacement_sku"] != "stormline-insulated-m" {
		t.Fatalf("operation: %+v", op)
	}
	performances(t, site)
	if got := agent.approve(ref, agent.approval(op)); got.status != http.StatusNoContent || got.body != "" {
		t.Fatalf("approval: %d %s", got.status, got.body)
	}
	performances(t, site)
	wantStatus(t, agent.lookUp(ref), op.ID, "approved")
	done := agent.exchange("stormline-insulated", "M")
	if done.status != http.StatusOK || !strings.Contains(done.body, "Exchange confirmed") {
		t.Fatalf("the repeated request: %d %s", done.status, done.body)
	}
	wantStatus(t, agent.lookUp(ref), op.ID, "performed")
	performances(t, site, "exchange")
	if n := site.Performed(op.ID); n != 1 {
		t.Fatalf("performed %d times", n)
	}
	if order := agent.get(orderURL); !strings.Contains(order.body, "Exchange under way: Stormline Insulated Jacket (M)") {
		t.Error("the order page doesn't show the exchange")
	}
	report := site.Report()
	if report.Joins != 1 || report.References != 1 || report.LookUps != 3 || report.Recorded != 1 || report.Declined != 0 {
		t.Errorf("report: %+v", report)
	}
	unbroken(t, site)
}

// Clauses: OPS3-4.26, OPS3-4.31, OPS3-3.10, OPS3-3.16, OPS3-3.17
func TestEachGuardedActionIsPerformed(t *testing.T) {
	for _, c := range []struct {
		kind  string
		press func(*testAgent) reply
		terms []string // that the summary says too
	}{
		{"exchange", func(a *testAgent) reply { return a.exchange("stormline-alpine", "L") }, []string{"order_id", "item", "replacement", "payment"}},
		{"address", func(a *testAgent) reply {
			return a.script(company+"/account/address", map[string]any{"street": "2 Fir Road", "city": "Bend", "postal_code": "97701"})
		}, []string{"street", "city", "postal_code", "applies_to"}},
		{"membership", func(a *testAgent) reply { return a.submit(company+"/membership/cancel", url.Values{}) }, []string{"membership_id", "plan", "ends_on"}},
		{"gift", func(a *testAgent) reply { return a.script(company+"/gift", map[string]any{"message": "Hello"}) }, []string{"order_id", "item", "message", "payment"}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			site, agent := world(t, testsite.Config{})
			agent.join()
			refused := c.press(agent)
			script := c.kind == "address" || c.kind == "gift"
			if script {
				want(t, refused, http.StatusForbidden, "approval_required")
				if _, carried := refused.json["operation"]; carried {
					t.Error("the script got the operation")
				}
			}
			if n := strings.Count(refused.body, "<button"); c.kind == "membership" && n != 1 || c.kind == "exchange" && n != 0 {
				t.Errorf("the waiting page has %d buttons", n)
			}
			ref := agent.reference(refused)
			op := agent.read(ref)
			for _, name := range c.terms {
				if value, _ := op.Terms[name].(string); value == "" || !strings.Contains(op.Summary, value) {
					t.Errorf("term %s %q isn't in %q", name, value, op.Summary)
				}
			}
			for _, name := range []string{"price_difference", "price", "refund"} {
				if cost, found := op.Terms[name].(map[string]any); found && !strings.Contains(op.Summary, "$"+cost["amount"].(string)) {
					t.Errorf("the amount isn't in %q", op.Summary)
				}
			}
			if got := agent.approve(ref, agent.approval(op)); got.status != http.StatusNoContent {
				t.Fatalf("approval: %d %s", got.status, got.body)
			}
			if got := c.press(agent); got.status != http.StatusOK {
				t.Fatalf("repeat: %d %s", got.status, got.body)
			}
			performances(t, site, c.kind)
			unbroken(t, site)
		})
	}
}

// Clauses: OPS3-7.05, OPS3-3.04, OPS3-6.48
func TestAfterPerformedTheNextRequestIsANewOperation(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	agent.join()
	press := func() reply { return agent.exchange("stormline-insulated", "M") }
	op, _ := agent.recorded(press)
	if got := press(); got.status != http.StatusOK {
		t.Fatalf("repeat: %d", got.status)
	}
	again := agent.read(agent.reference(press()))
	if again.ID == op.ID {
		t.Error("an operation ID was used for another action")
	}
	performances(t, site, "exchange")
	unbroken(t, site)
}

// Clauses: OPS3-3.34, OPS3-3.39, OPS3-4.25, OPS3-6.53, OPS3-8.2.04, OPS3-4.55, OPS3-8.2.09
func TestOnlySessionsOfTheSameAgentAndUserCanApproveAndUseAnApproval(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	agent.join()
	press := func(a *testAgent) reply { return a.exchange("stormline-insulated", "M") }
	ref := agent.reference(press(agent))

	stranger := agent.another(site)
	stranger.user = "usr_" + random(22)
	stranger.join()
	want(t, stranger.lookUp(ref), http.StatusBadRequest, "invalid_request")
	op := agent.read(ref)
	want(t, stranger.approve(ref, stranger.approval(op)), http.StatusBadRequest, "invalid_request")
	if got := site.Report(); got.Recorded != 0 {
		t.Fatal("a stranger's approval was recorded")
	}

	second := agent.another(site)
	second.join()
	if got := second.approve(ref, second.approval(op)); got.status != http.StatusNoContent {
		t.Fatalf("approval in a second Session: %d %s", got.status, got.body)
	}
	if strangers := press(stranger); strangers.status != http.StatusForbidden {
		t.Fatalf("a stranger's request: %d", strangers.status)
	}
	performances(t, site)
	if got := press(second); got.status != http.StatusOK {
		t.Fatalf("the second Session's request: %d", got.status)
	}
	performances(t, site, "exchange")
}

// Clauses: OPS3-2.13, OPS3-2.14, OPS3-2.15
func TestABrowserWhoseJoinDidNotDeclareTheExtensionGetsTheWebsitesOwnConfirmation(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	for _, declared := range []string{"", `"operations";v="2"`, `"gift-wrap";v="3"`} {
		form := url.Values{"assertion": {agent.assertion()}}
		if declared != "" {
			form.Set("extensions", declared)
		}
		if got := agent.submit(joinURL, form); got.status != http.StatusOK {
			t.Fatalf("join: %d", got.status)
		}
		got := agent.exchange("stormline-insulated", "M")
		if got.status != http.StatusOK || !strings.Contains(got.body, "Please confirm") || got.header.Get("Poppy-Operation") != "" {
			t.Errorf("declared %q: %d %v", declared, got.status, got.header)
		}
	}
	request := agent.endpointRequest("exc_1.2", "")
	request.Header.Set("Poppy-Extensions", `"operations";v="2"`)
	got := agent.send(agent.api, request)
	want(t, got, http.StatusForbidden, "extension_required")
	if got.json["extension"] != "operations" {
		t.Errorf("extension: %s", got.body)
	}
	performances(t, site)
}

func TestAnOrdinaryVisitorConfirmsOnTheWebsite(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	if got := agent.exchange("stormline-insulated", "M"); !strings.Contains(got.body, "Please confirm") {
		t.Fatalf("no confirmation: %s", got.body)
	}
	got := agent.submit(orderURL+"/exchange", url.Values{"model": {"stormline-insulated"}, "size": {"M"}, "confirmed": {"yes"}})
	if !strings.Contains(got.body, "Exchange confirmed") {
		t.Fatalf("not done: %s", got.body)
	}
	want(t, agent.script(company+"/gift", map[string]any{"message": "Hello"}), http.StatusConflict, "confirmation_required")
	performances(t, site) // none was an operation
}

// Clauses: OPS3-8.2.02
func TestNothingABrowserSendsApproves(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	agent.join()
	form := url.Values{"model": {"stormline-insulated"}, "size": {"M"}, "confirmed": {"yes"}}
	op := agent.read(agent.reference(agent.submit(orderURL+"/exchange", form)))
	request := agent.request(http.MethodPost, orderURL+"/exchange", form.Encode())
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Poppy-Approval", agent.approval(op))
	agent.reference(agent.send(agent.browser, request))
	if site.Report().Recorded != 0 {
		t.Error("an approval through the browser was recorded")
	}
	performances(t, site)
}

// Clauses: OPS3-3.14, OPS3-4.54, OPS3-6.65, OPS3-6.52, OPS3-6.58, OPS3-3.33
func TestARevisionIsApprovedUntilExpiresAtAndNoLater(t *testing.T) {
	site, agent := world(t, testsite.Config{OperationLife: time.Minute})
	agent.join()
	press := func() reply { return agent.exchange("stormline-insulated", "M") }
	ref := agent.reference(press())
	op := agent.read(ref)
	expires, err := time.Parse(time.RFC3339, op.ExpiresAt)
	if err != nil {
		t.Fatal(err)
	}
	agent.clock.advance(expires.Sub(agent.clock.now()))
	if got := agent.approve(ref, agent.approval(op)); got.status != http.StatusNoContent {
		t.Fatalf("at expires_at: %d %s", got.status, got.body)
	}
	wantStatus(t, agent.lookUp(ref), op.ID, "approved")
	agent.clock.advance(time.Second)
	want(t, agent.lookUp(ref), http.StatusBadRequest, "invalid_request")
	if got := press(); got.status != http.StatusForbidden {
		t.Fatalf("an expired approval was used: %d", got.status)
	}
	unbroken(t, site)

	next := agent.reference(press())
	agent.lookUp(ref)
	late := agent.read(next)
	agent.clock.advance(2 * time.Minute)
	want(t, agent.approve(next, agent.approval(late)), http.StatusBadRequest, "invalid_request")
	performances(t, site)
}
