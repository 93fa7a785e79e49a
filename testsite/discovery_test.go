package testsite_test

import (
	"net/http"
	"reflect"
	"strings"
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
	scopes := func(names ...any) map[string]any { return map[string]any{"scopes": names} }
	mediated := scopes("poppy:read", "poppy:write")
	mediated["endpoint"] = issuer + "/poppy/sign-in"
	mediated["fields"] = []any{
		map[string]any{"name": "email", "label": "Email", "secret": false}, map[string]any{"name": "password", "label": "Password", "secret": true},
	}
	want := map[string]any{
		"protocol_versions": []any{"1.0"},
		"organization":      map[string]any{"name": "Stormline Outdoor", "domain": "stormline.test"},
		"auth": map[string]any{
			"issuer": issuer, "direct": scopes("poppy:read", "poppy:write", "addresses"), "device": scopes("poppy:read", "poppy:write"),
			"mediated": mediated, "custom_scopes": map[string]any{"addresses": "Manage saved shipping addresses"},
		},
		"apis": []any{map[string]any{
			"type": "openapi", "url": company + "/api/openapi.json", "description": "Orders, products and the delivery address",
		}},
		"web":        map[string]any{"browser_session_endpoint": joinURL},
		"extensions": map[string]any{"operations": []any{map[string]any{"version": "3", "endpoint": endpoint}}},
	}
	if !reflect.DeepEqual(poppy.json, want) {
		t.Errorf("poppy.json: %s", poppy.body)
	}
}

// Clauses: S01-3.2.08, C10-3.01
func TestTheAuthorizationServerNamesWhatItOffers(t *testing.T) {
	for _, version := range []string{"1.0", "0.2", "0.1"} {
		_, agent := world(t, testsite.Config{Profile: version})
		server := agent.get(issuer + "/.well-known/oauth-authorization-server").json
		for _, name := range []string{"token_endpoint", "revocation_endpoint", "authorization_endpoint", "device_authorization_endpoint"} {
			if address, _ := server[name].(string); !strings.HasPrefix(address, issuer+"/oauth/") {
				t.Errorf("%s: %s is %v", version, name, server[name])
			}
		}
		for name, want := range map[string]any{
			"code_challenge_methods_supported": []any{"S256"}, "authorization_response_iss_parameter_supported": true,
			"token_endpoint_auth_methods_supported": []any{"private_key_jwt"}, "poppy_domains": []any{"stormline.test"},
			"scopes_supported": []any{"poppy:read", "poppy:write", "addresses"},
		} {
			if !reflect.DeepEqual(server[name], want) {
				t.Errorf("%s: %s is %v", version, name, server[name])
			}
		}
	}
}

// Clauses: S01-3.07, S01-3.08, S01-3.09, S01-3.3.01, S01-4.4.02, S01-4.4.06, S01-4.7.01, S01-3.2.03, S01-3.2.04
func TestADraftsDocumentNamesItsVersionAndSignInTypes(t *testing.T) {
	for _, version := range []string{"0.1", "0.2"} {
		_, agent := world(t, testsite.Config{Profile: version})
		poppy := agent.get(company + "/.well-known/poppy.json").json
		auth, _ := poppy["auth"].(map[string]any)
		if poppy["protocol_version"] != version || poppy["protocol_versions"] != nil || auth["issuer"] != issuer {
			t.Errorf("%s: %v", version, poppy)
		}
		for _, kind := range []string{"direct", "device", "mediated"} {
			if offered, _ := auth[kind].(map[string]any); offered["scopes"] == nil {
				t.Errorf("%s: no scopes of %s", version, kind)
			}
		}
		apis, _ := poppy["apis"].([]any)
		for _, api := range apis {
			if m := api.(map[string]any); m["type"] == "" || m["url"] == "" || m["description"] == "" {
				t.Errorf("%s: %v", version, m)
			}
		}
		if _, isList := poppy["extensions"].([]any); isList || len(apis) != 2 {
			t.Errorf("%s: %v", version, poppy)
		}
		server := agent.get(issuer + "/.well-known/oauth-authorization-server").json
		if !reflect.DeepEqual(server["dpop_signing_alg_values_supported"], []any{"ES256"}) || !reflect.DeepEqual(server["poppy_domains"], []any{"stormline.test"}) {
			t.Errorf("%s: %v", version, server)
		}
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
