package testsite_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/testsite"
)

// Clauses: OPS3-3.05, OPS3-3.06, OPS3-3.32, OPS3-4.03, OPS3-4.04, OPS3-4.22, OPS3-4.23
func TestWhatIsEmittedHasTheFormTheTextGives(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	id, reference := regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`), regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	for range 20 { // every name is random
		agent.join()
		ref := agent.reference(agent.press())
		got := agent.lookUp(ref)
		op := operationIn(t, got)
		if len(ref) > 2048 || !reference.MatchString(ref) || !id.MatchString(op.ID) || !id.MatchString(op.Revision) {
			t.Errorf("ref %q, operation %q, revision %q", ref, op.ID, op.Revision)
		}
		if got.header.Get("WWW-Authenticate") != "" || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("answer: %v", got.header)
		}
		expires, err := time.Parse(time.RFC3339, op.ExpiresAt)
		if err != nil || expires.Sub(agent.clock.now()) < 5*time.Minute {
			t.Errorf("expires_at %q", op.ExpiresAt)
		}
		agent.clock.advance(testsite.DefaultOperationLife + time.Second)
	}
	unbroken(t, site)
}

// Clauses: OPS3-4.53, C10-8.03, OPS3-8.2.05
func TestErrorsOfTheEndpointAreJSONWithTheNamesOfTheText(t *testing.T) {
	_, agent := world(t, testsite.Config{})
	got := agent.lookUp("exc_1.2")
	if got.status != http.StatusBadRequest || len(got.json) != 1 || got.json["error"] != "invalid_request" {
		t.Errorf("an invented reference: %d %s", got.status, got.body)
	}
	unsigned := agent.endpointRequest("exc_1.2", "")
	unsigned.Header.Set("Poppy-Session", agent.sid)
	want(t, agent.send(agent.api, unsigned), http.StatusForbidden, "invalid_session")
}

// Clauses: OPS3-4.21
func TestTheHeaderNamesTheSessionTheBrowserWasJoinedToLast(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	agent.join()
	agent.reference(agent.press())
	second := *agent
	second.sid = "ses_" + random(22)
	if got := second.join(); got.status != http.StatusOK {
		t.Fatalf("the second join: %d", got.status)
	}
	second.reference(second.press()) // fails unless sid is the second one's
	unbroken(t, site)
}

// Clauses: C10-9.04
func TestABrowsersSessionIsShort(t *testing.T) {
	_, agent := world(t, testsite.Config{})
	agent.join()
	agent.reference(agent.press())
	agent.clock.advance(time.Hour + time.Second)
	if got := agent.press(); got.status != http.StatusOK || got.header.Get("Poppy-Operation") != "" {
		t.Errorf("after an hour: %d %v", got.status, got.header)
	}
}

// Clauses: OPS3-7.03, OPS3-6.58
func TestAPerformedOperationIsRememberedAfterItsRevisionExpired(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	agent.join()
	op, ref := agent.recorded(agent.press)
	agent.press()
	for _, wait := range []time.Duration{testsite.DefaultOperationLife, time.Second} {
		agent.clock.advance(wait)
		wantStatus(t, agent.lookUp(ref), op.ID, "performed")
	}
	unbroken(t, site)
}

func TestASiteServesNothingAfterClose(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	agent.get(company + "/")
	agent.browser.CloseIdleConnections()
	if err := site.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := agent.get(company + "/"); got.err == nil {
		t.Errorf("answered with %d", got.status)
	}
	if got := agent.control(site, "refuse-join", nil); got.err == nil {
		t.Errorf("the control port answered with %d", got.status)
	}
}

// Flows press these controls: their ids are a promise of the package comment.
func TestTheControlsOfThePagesHaveTheirIDs(t *testing.T) {
	_, agent := world(t, testsite.Config{})
	agent.join()
	for page, ids := range map[string][]string{
		agent.get(orderURL).body:                                      {"model", "size", "exchange"},
		agent.get(company + "/account/address").body:                  {"street", "city", "postal_code", "save-address", "result"},
		agent.get(company + "/membership").body:                       {"cancel-membership"},
		agent.submit(company+"/membership/cancel", url.Values{}).body: {"continue"},
		agent.get(company + "/gift").body:                             {"message", "add-gift-wrap", "result"},
	} {
		for _, id := range ids {
			if strings.Count(page, `id="`+id+`"`) != 1 {
				t.Errorf("no single #%s on %.200s", id, page)
			}
		}
	}
}
