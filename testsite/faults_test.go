package testsite_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/testsite"
)

// set sets a switch on the control port.
func (a *testAgent) setSwitch(site *testsite.Site, name string, values url.Values) {
	a.t.Helper()
	if got := a.control(site, name, values); got.status != http.StatusNoContent {
		a.t.Fatalf("switch %s: %d %s", name, got.status, got.body)
	}
}

func (a *testAgent) control(site *testsite.Site, name string, values url.Values) reply {
	a.t.Helper()
	r := a.request(http.MethodPost, site.Control()+"/"+name, values.Encode())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return a.send(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: closeTimeout}, r)
}

// sent gives a browser's answer without following redirects.
func (a *testAgent) unfollowed(c *http.Client, r *http.Request) reply {
	a.t.Helper()
	still := *c
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return a.send(&still, r)
}

// Clauses: OPS3-6.56, OPS3-6.75, OPS3-6.76, OPS3-6.77, OPS3-6.78, OPS3-6.79, OPS3-6.85
func TestEachSwitchOfTheControlPortDoesWhatItSays(t *testing.T) {
	for name, check := range map[string]func(*testing.T, *testsite.Site, *testAgent){
		"decline": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			a.setSwitch(site, "decline", url.Values{"kind": {"exchange"}, "reason": {"Not today."}, "instructions": {"Call us."}, "url": {company + "/"}})
			ref := a.reference(a.press())
			op := a.read(ref)
			got := a.approve(ref, a.approval(op))
			want(t, got, http.StatusForbidden, "approval_declined")
			alternative, _ := json.Marshal(got.json["alternative"])
			if got.json["operation_id"] != op.ID || got.json["revision"] != op.Revision || got.json["reason"] != "Not today." ||
				string(alternative) != `{"instructions":"Call us.","references":[{"type":"web","url":"https://stormline.test/"}]}` || got.json["operation"] != nil {
				t.Errorf("decline: %s", got.body)
			}
			again := a.reference(a.press())
			if got := a.approve(again, a.approval(a.read(again))); got.status != http.StatusNoContent {
				t.Errorf("the next approval: %d", got.status)
			}
		},
		"price": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			a.setSwitch(site, "price", url.Values{"kind": {"exchange"}, "amount": {"90.50"}})
			ref := a.reference(a.press())
			op := a.read(ref)
			got := a.approve(ref, a.approval(op))
			want(t, got, http.StatusForbidden, "approval_required")
			next := operationIn(t, got)
			if next.ID != op.ID || next.Revision == op.Revision || !strings.Contains(next.Summary, "$90.50") {
				t.Errorf("new terms: %+v", next)
			}
		},
		"life": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			a.setSwitch(site, "life", url.Values{"life": {"5s"}})
			ref := a.reference(a.press())
			a.read(ref)
			a.clock.advance(6 * time.Second)
			want(t, a.lookUp(ref), http.StatusBadRequest, "invalid_request")
		},
		"performing": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			op, ref := a.recorded(a.press)
			a.setSwitch(site, "performing", url.Values{"n": {"2"}})
			if got := a.press(); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || got.header.Get("Poppy-Operation") != "" {
				t.Errorf("the browser's request: %d %v", got.status, got.header)
			}
			wantStatus(t, a.lookUp(ref), op.ID, "performing")
			wantStatus(t, a.lookUp(ref), op.ID, "performing")
			wantStatus(t, a.lookUp(ref), op.ID, "performed")
		},
		"refuse-join": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.setSwitch(site, "refuse-join", nil)
			refusedJoin(t, a.join())
			if got := a.join(); got.status != http.StatusOK {
				t.Errorf("the next join: %d", got.status)
			}
		},
		"redirect-join": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.setSwitch(site, "redirect-join", nil)
			r := a.request(http.MethodPost, joinURL, url.Values{"assertion": {a.assertion()}}.Encode())
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if got := a.unfollowed(a.browser, r); got.status != http.StatusTemporaryRedirect || got.header.Get("Location") != issuer+"/elsewhere" {
				t.Errorf("join: %d %v", got.status, got.header)
			}
		},
		"invalid-request": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			a.setSwitch(site, "invalid-request", url.Values{"n": {"2"}})
			ref := a.reference(a.press())
			want(t, a.lookUp(ref), http.StatusBadRequest, "invalid_request")
			want(t, a.lookUp(ref), http.StatusBadRequest, "invalid_request")
			a.read(ref)
		},
		"omit-header": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			a.setSwitch(site, "omit-header", nil)
			if got := a.press(); got.status != http.StatusForbidden || got.header.Values("Poppy-Operation") != nil {
				t.Errorf("%d %v", got.status, got.header)
			}
			a.reference(a.press())
		},
		"malform-header": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			a.setSwitch(site, "malform-header", nil)
			if got := a.press(); got.header.Get("Poppy-Operation") != `sid="ses_` {
				t.Errorf("%d %v", got.status, got.header)
			}
			a.reference(a.press())
		},
		"undecodable": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			a.setSwitch(site, "undecodable", nil)
			got := a.lookUp(a.reference(a.press()))
			if got.status != http.StatusForbidden || strings.Count(got.body, `"revision"`) != 2 {
				t.Errorf("%d %s", got.status, got.body)
			}
		},
		"lose-answer": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			a.setSwitch(site, "lose-answer", nil)
			ref := a.reference(a.press())
			op := a.read(ref)
			header := a.approval(op)
			if got := a.approve(ref, header); got.err == nil {
				t.Errorf("answered with %d", got.status)
			}
			if got := a.approve(ref, header); got.status != http.StatusNoContent {
				t.Errorf("the same approval again: %d", got.status)
			}
			if got := site.Report(); got.Recorded != 1 {
				t.Errorf("recorded %d", got.Recorded)
			}
		},
		"lose-result": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			op, ref := a.recorded(a.press)
			a.setSwitch(site, "lose-result", nil)
			if got := a.press(); got.err == nil {
				t.Errorf("answered with %d", got.status)
			}
			if a.reference(a.press()) == ref {
				t.Error("no new reference")
			}
			wantStatus(t, a.lookUp(ref), op.ID, "performed")
			performances(t, site, "exchange")
		},
		"redirect-endpoint": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			ref := a.reference(a.press())
			a.setSwitch(site, "redirect-endpoint", nil)
			if got := a.unfollowed(a.api, a.endpointRequest(ref, "")); got.status != http.StatusTemporaryRedirect {
				t.Errorf("status %d", got.status)
			}
			a.read(ref)
		},
		"unavailable": func(t *testing.T, site *testsite.Site, a *testAgent) {
			a.join()
			ref := a.reference(a.press())
			a.setSwitch(site, "unavailable", url.Values{"n": {"2"}, "retry_after": {"3s"}})
			for range 2 {
				got := a.lookUp(ref)
				want(t, got, http.StatusServiceUnavailable, "unavailable")
				if got.header.Get("Retry-After") != "3" {
					t.Errorf("Retry-After: %q", got.header.Get("Retry-After"))
				}
				a.clock.advance(3 * time.Second)
			}
			a.read(ref)
		},
		"disagree": func(t *testing.T, site *testsite.Site, a *testAgent) {
			for _, member := range testsite.Disagreements() {
				a.setSwitch(site, "disagree", url.Values{"member": {member}})
				if agreeing(a) {
					t.Errorf("%s agrees", member)
				}
			}
			a.setSwitch(site, "disagree", nil)
			if !agreeing(a) {
				t.Error("the documents don't agree again")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			site, agent := world(t, testsite.Config{})
			check(t, site, agent)
			unbroken(t, site)
		})
	}
	for _, name := range testsite.SwitchNames() {
		t.Run("wrong values of "+name, func(t *testing.T) {
			site, agent := world(t, testsite.Config{})
			wrong := url.Values{"n": {"-1"}, "kind": {"none"}, "life": {"x"}, "member": {"none"}, "retry_after": {"x"}}
			if got := agent.control(site, name, wrong); got.status != http.StatusBadRequest {
				t.Errorf("status %d", got.status)
			}
		})
	}
}

func TestTheControlPortAnswersNoPageOfAnotherOrigin(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	for name, change := range map[string]func(*http.Request){
		"cross-site": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"origin":     func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"rebinding":  func(r *http.Request) { r.Host = "evil.example" },
	} {
		r := agent.request(http.MethodPost, site.Control()+"/refuse-join", "")
		change(r)
		if got := agent.send(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, r); got.status < 400 {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	if got := agent.join(); got.status != http.StatusOK {
		t.Error("a switch was set")
	}
}

func TestTheReportIsTheSameAtTheControlPort(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	agent.join()
	agent.recorded(agent.press)
	agent.press()
	r := agent.request(http.MethodGet, site.Control()+"/report", "")
	got := agent.send(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, r)
	own, err := json.Marshal(site.Report())
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(got.body) != string(own) || got.json["broken"] == nil {
		t.Errorf("%s\nis not\n%s", got.body, own)
	}
}

// A site that is told to misbehave from the start does.
func TestFaultsOfTheConfigHoldFromTheStart(t *testing.T) {
	declines := map[string]testsite.Decline{"exchange": {Reason: "no"}}
	site, agent := world(t, testsite.Config{Faults: testsite.Faults{RefuseJoins: 1, Declines: declines}})
	refusedJoin(t, agent.join())
	agent.join()
	ref := agent.reference(agent.press())
	want(t, agent.approve(ref, agent.approval(agent.read(ref))), http.StatusForbidden, "approval_declined")
	if len(declines) != 1 {
		t.Error("the site wrote to the map of its config")
	}
	unbroken(t, site)
}
