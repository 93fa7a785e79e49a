package testsite_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/papaver-agent/papaver/testsite"
)

// agreeing reads the three discovery documents as an agent does and says whether they agree character for character.
func agreeing(a *testAgent) bool {
	poppy := a.get(company + "/.well-known/poppy.json").json
	resource := a.get(company + "/.well-known/oauth-protected-resource").json
	server := a.get(issuer + "/.well-known/oauth-authorization-server").json
	organization, _ := poppy["organization"].(map[string]any)
	auth, _ := poppy["auth"].(map[string]any)
	return organization["domain"] == "stormline.test" &&
		resource["resource"] == "https://stormline.test" &&
		reflect.DeepEqual(resource["authorization_servers"], []any{server["issuer"]}) &&
		server["issuer"] == issuer && auth["issuer"] == issuer &&
		reflect.DeepEqual(server["poppy_domains"], []any{organization["domain"]}) &&
		reflect.DeepEqual(server["protected_resources"], []any{resource["resource"]})
}

// Clauses: OPS3-2.01, OPS3-2.03, OPS3-2.04, C10-3.02, C10-3.03
func TestTheThreeDocumentsAgree(t *testing.T) {
	_, agent := world(t, testsite.Config{})
	if !agreeing(agent) {
		t.Error("the documents don't agree")
	}
	poppy := agent.get(company + "/.well-known/poppy.json")
	want := map[string]any{
		"protocol_versions": []any{"1.0"},
		"organization":      map[string]any{"name": "Stormline Outdoor", "domain": "stormline.test"},
		"auth":              map[string]any{"issuer": issuer},
		"apis":              []any{},
		"web":               map[string]any{"browser_session_endpoint": joinURL},
		"extensions":        map[string]any{"operations": []any{map[string]any{"version": "3", "endpoint": endpoint}}},
	}
	if !reflect.DeepEqual(poppy.json, want) {
		t.Errorf("poppy.json: %s", poppy.body)
	}
}

func TestADocumentCanBeCachedAndAskedForAgain(t *testing.T) {
	_, agent := world(t, testsite.Config{})
	for _, address := range []string{
		company + "/.well-known/poppy.json", company + "/.well-known/oauth-protected-resource", issuer + "/.well-known/oauth-authorization-server",
	} {
		first := agent.get(address)
		if first.header.Get("Cache-Control") != "max-age=300" || first.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", address, first.header)
		}
		r := agent.request(http.MethodGet, address, "")
		r.Header.Set("If-None-Match", first.header.Get("ETag"))
		if again := agent.send(agent.api, r); again.status != http.StatusNotModified {
			t.Errorf("%s: %d", address, again.status)
		}
	}
}

func TestBothHTTPVersionsAreSpoken(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	for _, version := range []int{1, 2} {
		c := client(t, site, agent.clock)
		transport := c.Transport.(*http.Transport)
		transport.ForceAttemptHTTP2 = version == 2
		response, err := c.Do(agent.request(http.MethodGet, company+"/", ""))
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.ProtoMajor != version {
			t.Errorf("HTTP/%d instead of %d (%v)", response.ProtoMajor, version, err)
		}
	}
}

func TestEachHostAnswersForItselfAlone(t *testing.T) {
	_, agent := world(t, testsite.Config{})
	for _, address := range []string{
		issuer + "/.well-known/poppy.json", issuer + "/poppy/operations", issuer + "/poppy/browser-session", company + "/.well-known/oauth-authorization-server",
	} {
		if got := agent.get(address); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", address, got.status)
		}
	}
	r := agent.request(http.MethodGet, company+"/", "")
	r.Host = "other.test"
	if got := agent.send(agent.api, r); got.status != http.StatusMisdirectedRequest {
		t.Errorf("another host: %d", got.status)
	}
}

// Clauses: C10-9.01, C10-9.02
func TestAJoinGivesAGuestsCookieOfItsOwn(t *testing.T) {
	site, agent := world(t, testsite.Config{})
	r := agent.request(http.MethodPost, joinURL, "assertion="+agent.assertion())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got := agent.unfollowed(agent.browser, r)
	if got.status != http.StatusSeeOther || got.header.Get("Location") != orderURL {
		t.Fatalf("join: %d %v", got.status, got.header)
	}
	cookies := (&http.Response{Header: got.header}).Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies: %v", cookies)
	}
	c := cookies[0]
	if c.Name != "__Host-stormline" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie: %v", c)
	}
	unbroken(t, site)
}

func TestPagesLetNothingFromElsewhereIn(t *testing.T) {
	_, agent := world(t, testsite.Config{})
	for _, path := range []string{"/", "/orders", "/orders/ord_7Hk2", "/account/address", "/membership", "/gift", "/products/creek-boots", "/nothing"} {
		got := agent.get(company + path)
		policy := got.header.Get("Content-Security-Policy")
		if policy == "" || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, got.header)
		}
	}
	r := agent.request(http.MethodPost, company+"/membership/cancel", "confirmed=yes")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "https://evil.example")
	if got := agent.send(agent.browser, r); got.status != http.StatusForbidden {
		t.Errorf("a form of another origin: %d", got.status)
	}
}
