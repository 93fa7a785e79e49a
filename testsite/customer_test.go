package testsite_test

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/testsite"
)

const (
	tokenURL     = issuer + "/oauth/token"
	deviceURL    = issuer + "/oauth/device"
	revokeURL    = issuer + "/oauth/revoke"
	authorizeURL = issuer + "/oauth/authorize"
	mediatedURL  = issuer + "/poppy/sign-in"
	ordersURL    = company + "/api/orders"
	mcpURL       = company + "/mcp"
	redirectURI  = "https://agent.example/oauth/callback"

	assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	deviceGrant    = "urn:ietf:params:oauth:grant-type:device_code"
	bearerType     = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

	dana, business = "acct_dana", "acct_dana_business"
)

var drafts = []string{"0.1", "0.2"}

// customer is an agent that has accounts to sign in to, in any version.
type customer struct {
	*testAgent
	site     *testsite.Site
	version  string
	proofKey *ecdsa.PrivateKey

	session, access, refresh string

	second string // the folder of a second agent
}

// customerOf starts a site of the version, and gives an agent there. In a draft its Session has started.
func customerOf(t *testing.T, version string) *customer {
	t.Helper()
	return customerWith(t, testsite.Config{Profile: version})
}

func customerWith(t *testing.T, cfg testsite.Config) *customer {
	t.Helper()
	second := t.TempDir()
	cfg.AgentDirs = append(cfg.AgentDirs, second)
	site, agent := world(t, cfg)
	c := &customer{second: second, testAgent: agent, site: site, version: cfg.Profile, proofKey: newKey(t)}
	if c.draft() && !cfg.RequireNonces {
		c.start()
	}
	return c
}

func (c *customer) draft() bool { return c.version != "1.0" }

// other gives another User of the same agent.
func (c *customer) other() *customer {
	o, agent := *c, *c.testAgent
	agent.user, agent.sid = "usr_"+random(22), "ses_"+random(22)
	agent.browser = client(c.t, c.site, c.clock)
	o.testAgent, o.proofKey = &agent, newKey(c.t)
	o.session, o.access, o.refresh = "", "", ""
	if o.draft() {
		o.start()
	}
	return &o
}

// secondAgent is another agent that the site knows.
func (c *customer) secondAgent() *customer {
	c.t.Helper()
	agent := newAgent(c.t, c.site, c.clock, c.second, "https://second.example/agent.json")
	o := &customer{testAgent: agent, site: c.site, version: c.version, proofKey: newKey(c.t)}
	if o.draft() {
		o.start()
	}
	return o
}

// configOf is a site of that version.
func configOf(version string) testsite.Config { return testsite.Config{Profile: version} }

// statement is a JWT signed by the published key.
func (c *customer) statement(typ, subject, audience string, edits ...edit) string {
	now := c.clock.now().Unix()
	header := map[string]any{"typ": typ, "alg": "ES256", "kid": "long-1"}
	payload := map[string]any{"iss": c.clientID, "sub": subject, "aud": audience, "iat": now, "exp": now + 60, "jti": random(22)}
	for _, e := range edits {
		e(header, payload)
	}
	return sign(c.t, c.published, header, payload)
}

// identified adds the client's identification for the URL to a form.
func (c *customer) identified(to string, form url.Values, edits ...edit) url.Values {
	all := maps.Clone(form)
	audience := issuer
	if c.version == "0.1" {
		audience = to
	}
	all.Set("client_id", c.clientID)
	all.Set("client_assertion_type", bearerType)
	all.Set("client_assertion", c.statement("JWT", c.clientID, audience, edits...))
	return all
}

// assertionFor is the assertion that starts a Session.
func (c *customer) assertionFor(edits ...edit) string {
	audience := issuer
	if c.version == "0.1" {
		audience = tokenURL
	}
	return c.statement("JWT", c.user, audience, edits...)
}

// proof is a DPoP proof; token is empty at the token endpoint.
func (c *customer) proof(method, to, token string, edits ...edit) string {
	header := map[string]any{"typ": "dpop+jwt", "alg": "ES256", "jwk": jwkOf(c.proofKey, "")}
	payload := map[string]any{"jti": random(22), "htm": method, "htu": to, "iat": c.clock.now().Unix()}
	if token != "" {
		payload["ath"] = hashOf(token)
	}
	for _, e := range edits {
		e(header, payload)
	}
	return sign(c.t, c.proofKey, header, payload)
}

// post sends a form to the authorization server, with the proofs.
func (c *customer) post(to string, form url.Values, proofs ...string) reply {
	c.t.Helper()
	r := c.request(http.MethodPost, to, form.Encode())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, p := range proofs {
		r.Header.Add("DPoP", p)
	}
	return c.send(c.api, r)
}

// ask makes a token request that is in order.
func (c *customer) ask(form url.Values) reply {
	c.t.Helper()
	if !c.draft() {
		return c.post(tokenURL, c.identified(tokenURL, form))
	}
	return c.post(tokenURL, c.identified(tokenURL, form), c.proof(http.MethodPost, tokenURL, ""))
}

// start starts a Session of a draft.
func (c *customer) start() {
	c.t.Helper()
	c.session = ""
	got := c.ask(url.Values{"grant_type": {assertionGrant}, "assertion": {c.assertionFor()}})
	if got.status != http.StatusOK {
		c.t.Fatalf("starting a Session: %d %s", got.status, got.body)
	}
	c.keep(got)
}

// renew gets a signed-out token for the Session.
func (c *customer) renew() reply {
	c.t.Helper()
	return c.ask(url.Values{"grant_type": {assertionGrant}, "assertion": {c.assertionFor()}, "session_id": {c.session}})
}

// keep takes the tokens of an answer.
func (c *customer) keep(got reply) {
	text := func(name string) string { s, _ := got.json[name].(string); return s }
	if id := text("session_id"); id != "" {
		c.session = id
	}
	c.access = text("access_token")
	if refresh := text("refresh_token"); refresh != "" {
		c.refresh = refresh
	}
}

// named adds the Session to a form, in the drafts.
func (c *customer) named(form url.Values) url.Values {
	if c.draft() {
		form.Set("session_id", c.session)
	}
	return form
}

// begin starts a Device Sign-In and gives its answer.
func (c *customer) begin(scope string) map[string]any {
	c.t.Helper()
	got := c.post(deviceURL, c.identified(deviceURL, url.Values{"scope": {scope}}))
	if got.status != http.StatusOK {
		c.t.Fatalf("device authorization: %d %s", got.status, got.body)
	}
	return got.json
}

// poll asks whether the User has finished.
func (c *customer) poll(device map[string]any) reply {
	code, _ := device["device_code"].(string)
	return c.ask(c.named(url.Values{"grant_type": {deviceGrant}, "device_code": {code}}))
}

// signIn signs in to the account by Device Sign-In. scopes are those that the User approves; all when none are given.
func (c *customer) signIn(account, scope string, scopes ...string) {
	c.t.Helper()
	device := c.begin(scope)
	act := map[string]any{"user_code": device["user_code"], "account": account}
	if len(scopes) > 0 {
		act["scopes"] = scopes
	}
	c.act("approve-device", act)
	got := c.poll(device)
	if got.status != http.StatusOK {
		c.t.Fatalf("signing in: %d %s", got.status, got.body)
	}
	c.keep(got)
}

// refreshed uses the Account Token.
func (c *customer) refreshed(more ...string) reply {
	c.t.Helper()
	form := c.named(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {c.refresh}})
	for i := 0; i+1 < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return c.ask(form)
}

// revoke signs out.
func (c *customer) revoke() reply {
	c.t.Helper()
	return c.post(revokeURL, c.identified(revokeURL, url.Values{"token": {c.refresh}, "token_type_hint": {"refresh_token"}}))
}

// authorized is a request with the Session's credentials.
func (c *customer) authorized(method, to, body string) *http.Request {
	c.t.Helper()
	r := c.request(method, to, body)
	switch {
	case c.draft():
		r.Header.Set("Authorization", "DPoP "+c.access)
		htu, _, _ := strings.Cut(to, "?")
		r.Header.Set("DPoP", c.proof(method, htu, c.access))
	case c.access != "":
		c.testAgent.beside(r, c.access)
	default:
		r.Header.Set("Poppy-Session", c.testAgent.session())
	}
	return r
}

// read reads at the API.
func (c *customer) readAPI(to string) reply {
	c.t.Helper()
	return c.send(c.api, c.authorized(http.MethodGet, to, ""))
}

// mediate sends JSON to the Mediated Sign-In.
func (c *customer) mediate(to string, body any) reply {
	c.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	r := c.authorized(http.MethodPost, to, string(data))
	r.Header.Set("Content-Type", "application/json")
	return c.send(c.api, r)
}

// credentials are what a Mediated Sign-In sends.
func credentials(email, password string) map[string]any {
	return map[string]any{"scope": "poppy:read", "credentials": map[string]string{"email": email, "password": password}}
}

// act asks the control port for something that a person or the operator does.
func (c *customer) act(name string, values map[string]any) reply {
	c.t.Helper()
	if values == nil {
		values = map[string]any{}
	}
	data, err := json.Marshal(values)
	if err != nil {
		c.t.Fatal(err)
	}
	r := c.request(http.MethodPost, c.site.Control()+"/"+name, string(data))
	r.Header.Set("Content-Type", "application/json")
	got := c.send(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, r)
	if got.status >= http.StatusBadRequest {
		c.t.Fatalf("%s: %d %s", name, got.status, got.body)
	}
	return got
}

// joins joins the browser to the Session, signed in when the Session is.
func (c *customer) joins(returnTo string, edits ...edit) reply {
	c.t.Helper()
	if c.draft() {
		all := append([]edit{set("session_id", c.session), set("return_to", returnTo)}, edits...)
		return c.submit(joinURL, url.Values{"assertion": {c.statement("poppy-browser+jwt", c.user, joinURL, all...)}})
	}
	form := url.Values{"extensions": {`"operations";v="3"`}}
	if c.access != "" {
		form.Set("access_token", c.access)
		edits = append(edits, set("ath", hashOf(c.access)))
	}
	form.Set("assertion", c.testAgent.assertion(append(edits, set("return_to", returnTo))...))
	return c.submit(joinURL, form)
}

// onlyBroken fails unless exactly these rules were broken, in any order.
func (c *customer) onlyBroken(rules ...string) {
	c.t.Helper()
	var seen []string
	for _, v := range c.site.Broken() {
		seen = append(seen, v.Rule)
	}
	slices.Sort(seen)
	slices.Sort(rules)
	if !slices.Equal(seen, rules) {
		c.t.Errorf("broken: %v, want %v: %+v", seen, rules, c.site.Broken())
	}
}

// wants fails unless an answer has the status, and the error unless that is empty.
func wants(t *testing.T, got reply, status int, code string) {
	t.Helper()
	if got.status != status || code != "" && got.json["error"] != code {
		t.Errorf("%d %s, want %d %s (%v)", got.status, bytes.TrimSpace([]byte(got.body)), status, code, got.err)
	}
}

// later moves the clock that the site and the agent share.
func (c *customer) later(d time.Duration) { c.clock.advance(d) }
