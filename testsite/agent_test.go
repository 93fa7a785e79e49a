package testsite_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/papaver-agent/papaver/testsite"
)

const (
	company  = "https://stormline.test"
	issuer   = "https://auth.stormline.test"
	joinURL  = company + "/poppy/browser-session"
	endpoint = company + "/poppy/operations"
	orderURL = company + "/orders/ord_7Hk2"

	closeTimeout = 10 * time.Second
)

// clock is a clock that only tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// edit changes a JWT's header and payload before it is signed.
type edit func(header, payload map[string]any)

// testAgent is a Personal Agent of the tests: its own signing with the standard library, and an HTTP client with a
// cookie jar that plays its browser.
type testAgent struct {
	t         *testing.T
	clock     *clock
	dir       string
	clientID  string
	user, sid string

	published, delegated *ecdsa.PrivateKey
	api, browser         *http.Client
}

// world is a site with one agent it knows.
func world(t *testing.T, cfg testsite.Config) (*testsite.Site, *testAgent) {
	t.Helper()
	c := newClock()
	dir := t.TempDir()
	cfg.Now = c.now
	cfg.Control = "127.0.0.1:0"
	cfg.AgentDirs = append(cfg.AgentDirs, dir)
	site, err := testsite.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := site.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return site, newAgent(t, site, c, dir, "https://agent.example/agent.json")
}

// newAgent makes an agent, writes what it publishes to dir and connects it to the site.
func newAgent(t *testing.T, site *testsite.Site, c *clock, dir, clientID string) *testAgent {
	t.Helper()
	a := &testAgent{t: t, clock: c, dir: dir, clientID: clientID, user: "usr_" + random(22), sid: "ses_" + random(22)}
	a.published, a.delegated = newKey(t), newKey(t)
	a.publish(jwkOf(a.published, "long-1"))
	a.api, a.browser = client(t, site, c), client(t, site, c)
	a.api.Jar = nil
	return a
}

// publish writes agent.json and a jwks.json with the key.
func (a *testAgent) publish(key map[string]any) {
	a.t.Helper()
	a.publishNamed("Test Agent")
	write(a.t, filepath.Join(a.dir, "jwks.json"), map[string]any{"keys": []any{key}})
}

// publishNamed writes agent.json.
func (a *testAgent) publishNamed(name string) {
	a.t.Helper()
	write(a.t, filepath.Join(a.dir, "agent.json"), map[string]any{
		"client_id": a.clientID, "client_name": name, "redirect_uris": []string{strings.TrimSuffix(a.clientID, "agent.json") + "oauth/callback"},
		"jwks_uri": strings.TrimSuffix(a.clientID, "agent.json") + "jwks.json", "token_endpoint_auth_method": "private_key_jwt",
	})
}

// another gives a second Session of the same agent and User, in a browser of its own.
func (a *testAgent) another(site *testsite.Site) *testAgent {
	b := *a
	b.sid = "ses_" + random(22)
	b.browser = client(a.t, site, a.clock)
	return &b
}

// client is an HTTP client that reaches the site under its names and trusts its authority.
func client(t *testing.T, site *testsite.Site, c *clock) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(site.Authority()) {
		t.Fatal("the authority isn't PEM")
	}
	to := map[string]string{}
	for _, row := range site.ConnectTo() {
		parts := strings.SplitN(row, ":", 3)
		to[parts[0]+":"+parts[1]] = parts[2]
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var dialer net.Dialer
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, to[address])
		},
		TLSClientConfig:   &tls.Config{RootCAs: roots, Time: c.now},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Jar: jar, Timeout: 10 * time.Second}
}

// sign makes a compact JWS with ES256.
func sign(t *testing.T, key *ecdsa.PrivateKey, header, payload map[string]any) string {
	t.Helper()
	signed := part(t, header) + "." + part(t, payload)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// delegation is the statement for poppy_dlg.
func (a *testAgent) delegation(edits ...edit) string {
	now := a.clock.now().Unix()
	header := map[string]any{"typ": "poppy-delegation+jwt", "alg": "ES256", "kid": "long-1"}
	payload := map[string]any{"iss": a.clientID, "iat": now, "exp": now + 1800, "cnf": map[string]any{"jwk": jwkOf(a.delegated, "")}}
	for _, e := range edits {
		e(header, payload)
	}
	return sign(a.t, a.published, header, payload)
}

// token makes a JWT of the kind, signed by the delegated key.
func (a *testAgent) token(typ, audience string, more map[string]any, edits ...edit) string {
	now := a.clock.now().Unix()
	header := map[string]any{"typ": typ, "alg": "ES256", "poppy_dlg": a.delegation()}
	payload := map[string]any{"iss": a.clientID, "sub": a.user, "aud": audience, "sid": a.sid, "iat": now, "exp": now + 60, "jti": random(22)}
	for name, value := range more {
		payload[name] = value
	}
	for _, e := range edits {
		e(header, payload)
	}
	return sign(a.t, a.delegated, header, payload)
}

func (a *testAgent) session(edits ...edit) string {
	return a.token("poppy-session+jwt", issuer, nil, edits...)
}

func (a *testAgent) assertion(edits ...edit) string {
	return a.token("poppy-browser+jwt", joinURL, map[string]any{"return_to": orderURL}, edits...)
}

// beside puts an access token on a request, and a Session header that is bound to it.
func (a *testAgent) beside(r *http.Request, token string) {
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Poppy-Session", a.session(set("ath", hashOf(token))))
}

// hashOf is what binds a statement to a token.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// join posts the assertion from the browser and gives where that ended.
func (a *testAgent) join(edits ...edit) reply {
	return a.submit(joinURL, url.Values{"assertion": {a.assertion(edits...)}, "extensions": {`"operations";v="3"`}})
}

// submit posts a form from the browser.
func (a *testAgent) submit(target string, form url.Values) reply {
	a.t.Helper()
	r := a.request(http.MethodPost, target, form.Encode())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "text/html")
	return a.send(a.browser, r)
}

// script posts JSON from a page's script.
func (a *testAgent) script(target string, fields map[string]any) reply {
	a.t.Helper()
	data, err := json.Marshal(fields)
	if err != nil {
		a.t.Fatal(err)
	}
	r := a.request(http.MethodPost, target, string(data))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	return a.send(a.browser, r)
}

// get loads a page in the browser.
func (a *testAgent) get(target string) reply {
	a.t.Helper()
	return a.send(a.browser, a.request(http.MethodGet, target, ""))
}

// exchange presses the order page's button.
func (a *testAgent) exchange(model, size string) reply {
	a.t.Helper()
	return a.submit(orderURL+"/exchange", url.Values{"model": {model}, "size": {size}})
}

// endpointRequest is a correct look-up, or approval if one is given.
func (a *testAgent) endpointRequest(ref, approval string) *http.Request {
	a.t.Helper()
	body, err := json.Marshal(map[string]string{"ref": ref})
	if err != nil {
		a.t.Fatal(err)
	}
	r := a.request(http.MethodPost, endpoint, string(body))
	r.Header.Set("Poppy-Session", a.session())
	r.Header.Set("Poppy-Version", "1.0")
	r.Header.Set("Poppy-Extensions", `"operations";v="3"`)
	r.Header.Set("Content-Type", "application/json")
	if approval != "" {
		r.Header.Set("Poppy-Approval", approval)
	}
	return r
}

func (a *testAgent) lookUp(ref string) reply { return a.send(a.api, a.endpointRequest(ref, "")) }

func (a *testAgent) approve(ref, approval string) reply {
	return a.send(a.api, a.endpointRequest(ref, approval))
}

// read looks a reference up and gives the operation, which must come.
func (a *testAgent) read(ref string) operation {
	a.t.Helper()
	got := a.lookUp(ref)
	if got.status != http.StatusForbidden || got.json["error"] != "approval_required" {
		a.t.Fatalf("look-up: %d %s", got.status, got.body)
	}
	return operationIn(a.t, got)
}

// approval writes the header of a User's approval of the operation.
func (a *testAgent) approval(op operation, more ...string) string {
	d := httpsfv.NewDictionary()
	d.Add("operation_id", httpsfv.NewItem(op.ID))
	d.Add("revision", httpsfv.NewItem(op.Revision))
	d.Add("approver", httpsfv.NewItem("user"))
	d.Add("approved_at", httpsfv.NewItem(a.clock.now().Unix()))
	d.Add("input_type", httpsfv.NewItem("typed"))
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] == "" {
			d.Del(more[i])
			continue
		}
		d.Add(more[i], httpsfv.NewItem(more[i+1]))
	}
	header, err := httpsfv.Marshal(d)
	if err != nil {
		a.t.Fatal(err)
	}
	return header
}

// agentApproval is an approval on an instruction.
func (a *testAgent) agentApproval(op operation) string {
	return a.approval(op, "approver", "agent", "input_type", "")
}

// recorded goes from a pressed button to a recorded approval and gives the operation and its reference.
func (a *testAgent) recorded(press func() reply) (operation, string) {
	a.t.Helper()
	ref := a.reference(press())
	op := a.read(ref)
	if got := a.approve(ref, a.approval(op)); got.status != http.StatusNoContent {
		a.t.Fatalf("approval: %d %s", got.status, got.body)
	}
	return op, ref
}

// reference takes the reference of a 403 that the browser got.
func (a *testAgent) reference(r reply) string {
	a.t.Helper()
	if r.status != http.StatusForbidden {
		a.t.Fatalf("status %d instead of 403: %s", r.status, r.body)
	}
	d, err := httpsfv.UnmarshalDictionary(r.header.Values("Poppy-Operation"))
	if err != nil {
		a.t.Fatal(err)
	}
	if sid := str(d, "sid"); sid != a.sid {
		a.t.Fatalf("sid %q instead of %q", sid, a.sid)
	}
	ref := str(d, "ref")
	if ref == "" {
		a.t.Fatalf("no reference in %q", r.header.Values("Poppy-Operation"))
	}
	return ref
}

// str gives a Dictionary's String.
func str(d *httpsfv.Dictionary, name string) string {
	m, _ := d.Get(name)
	item, _ := m.(httpsfv.Item)
	s, _ := item.Value.(string)
	return s
}
