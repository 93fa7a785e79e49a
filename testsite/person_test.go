package testsite_test

import (
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// somebody is a person with a browser of their own, who presses the buttons of the issuer's pages.
type somebody struct {
	*customer
	browser *http.Client
}

func (c *customer) person() *somebody {
	p := &somebody{customer: c, browser: client(c.t, c.site, c.clock)}
	p.browser.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Hostname() == "agent.example" { // nobody is there; the address is what counts
			return http.ErrUseLastResponse
		}
		return nil
	}
	return p
}

func (p *somebody) opens(address string) reply {
	p.t.Helper()
	return p.send(p.browser, p.request(http.MethodGet, address, ""))
}

var (
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
	formAction  = regexp.MustCompile(`<form method="post" action="([^"]+)">`)
)

// presses sends the first form of a page, with more fields.
func (p *somebody) presses(page reply, fields url.Values) reply {
	p.t.Helper()
	action := formAction.FindStringSubmatch(page.body)
	if action == nil {
		p.t.Fatalf("no form on %d %.400s", page.status, page.body)
	}
	form := url.Values{}
	for _, field := range hiddenField.FindAllStringSubmatch(page.body, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	for name, values := range fields {
		form[name] = values
	}
	return p.posts(issuer+html.UnescapeString(action[1]), form)
}

func (p *somebody) posts(to string, form url.Values) reply {
	p.t.Helper()
	r := p.request(http.MethodPost, to, form.Encode())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.send(p.browser, r)
}

// signsIn goes through the sign-in page, with the second step.
func (p *somebody) signsIn(page reply) reply {
	p.t.Helper()
	page = p.presses(page, url.Values{"email": {"dana@example.org"}, "password": {"alpine start 4am"}})
	if !strings.Contains(page.body, `id="code"`) {
		p.t.Fatalf("no code is asked for: %d %.300s", page.status, page.body)
	}
	return p.presses(page, url.Values{"code": {"314159"}})
}

// Clauses: S01-4.5.02, S01-4.5.03, S01-4.5.08, C10-7.06
func TestAPersonSignsInAndAllowsSomeOfWhatAnAgentAsksFor(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		p := c.person()
		page := p.signsIn(p.opens(c.authorization()))
		for _, shown := range []string{"Test Agent", c.clientID, "dana@example.org", "See your orders", "Change orders", `value="poppy:read" checked`} {
			if !strings.Contains(page.body, shown) {
				t.Errorf("%s: the page doesn't show %q: %.300s", version, shown, page.body)
			}
		}
		policy := page.header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "form-action 'self' https://agent.example") || page.header.Get("X-Frame-Options") != "DENY" || page.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", version, page.header)
		}
		none := p.presses(page, url.Values{"decision": {"allow"}})
		if none.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: nothing was ticked: %d", version, none.status)
		}
		done := p.presses(page, url.Values{"decision": {"allow"}, "scope": {"poppy:read"}})
		back, err := url.Parse(done.header.Get("Location"))
		if err != nil || done.status != http.StatusSeeOther {
			t.Fatalf("%s: %d %v", version, done.status, done.header)
		}
		q := back.Query()
		if back.Scheme+"://"+back.Host+back.Path != redirectURI || q.Get("state") != "a state that nobody guesses" || q.Get("iss") != issuer {
			t.Errorf("%s: back to %s", version, back)
		}
		got := c.ask(c.named(url.Values{"grant_type": {"authorization_code"}, "code": {q.Get("code")}, "redirect_uri": {redirectURI}, "code_verifier": {testVerifier}}))
		if got.status != http.StatusOK || got.json["scope"] != "poppy:read" {
			t.Errorf("%s: %d %s", version, got.status, got.body)
		}
		if again := p.presses(page, url.Values{"decision": {"allow"}, "scope": {"poppy:read"}}); again.header.Get("Location") != "" {
			t.Errorf("%s: a decided request was decided again", version)
		}
		c.onlyBroken()
	}
}

// Clauses: S01-4.5.03
func TestAPersonDeclines(t *testing.T) {
	c := customerOf(t, "1.0")
	p := c.person()
	page := p.signsIn(p.opens(c.authorization()))
	done := p.presses(page, url.Values{"decision": {"deny"}})
	back, _ := url.Parse(done.header.Get("Location"))
	if q := back.Query(); q.Get("error") != "access_denied" || q.Get("iss") != issuer || q.Get("code") != "" {
		t.Errorf("back to %s", back)
	}
}

// Clauses: S01-4.6.04
func TestADeviceLinkApprovesNothingUntilThePersonDecides(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		d := c.begin("poppy:read poppy:write")
		p := c.person()
		page := p.signsIn(p.opens(d["verification_uri_complete"].(string)))
		if !strings.Contains(page.body, `value="`+d["user_code"].(string)+`"`) {
			t.Fatalf("%s: the code isn't filled in: %.300s", version, page.body)
		}
		wants(t, c.poll(d), http.StatusBadRequest, "authorization_pending")
		wrong := p.presses(page, url.Values{"user_code": {"BBBB-BBBB"}})
		if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.body, "No request waits") {
			t.Errorf("%s: a wrong code: %d", version, wrong.status)
		}
		plain := strings.ToLower(strings.ReplaceAll(d["user_code"].(string), "-", " "))
		consent := p.presses(page, url.Values{"user_code": {plain}})
		c.later(time.Second)
		wants(t, c.poll(d), http.StatusBadRequest, "authorization_pending")
		done := p.presses(consent, url.Values{"decision": {"allow"}, "scope": {"poppy:read"}})
		if !strings.Contains(done.body, "Connected") {
			t.Fatalf("%s: %d %.300s", version, done.status, done.body)
		}
		c.later(time.Second)
		if got := c.poll(d); got.json["scope"] != "poppy:read" {
			t.Errorf("%s: %d %s", version, got.status, got.body)
		}
		c.onlyBroken()
	}
}

// Clauses: S01-4.9.08
func TestAPersonSeesTheAgentAndDisconnectsIt(t *testing.T) {
	for _, version := range versions {
		c := customerOf(t, version)
		c.signIn(dana, "poppy:read")
		p := c.person()
		page := p.signsIn(p.opens(issuer + "/account"))
		if !strings.Contains(page.body, "Test Agent") || !strings.Contains(page.body, c.clientID) || !strings.Contains(page.body, "See your orders") {
			t.Fatalf("%s: %.500s", version, page.body)
		}
		second := page
		second.body = page.body[strings.Index(page.body, `action="/account/disconnect"`)-len(`<form method="post" `):]
		after := p.presses(second, nil)
		if !strings.Contains(after.body, "No personal agent") {
			t.Errorf("%s: %.500s", version, after.body)
		}
		if got := c.readAPI(ordersURL); got.status == http.StatusOK {
			t.Errorf("%s: still signed in", version)
		}
	}
}

// A form from elsewhere, or one prepared in another browser, does nothing.
func TestAPersonsFormCountsInTheirOwnBrowserOnly(t *testing.T) {
	c := customerOf(t, "1.0")
	p, attacker := c.person(), c.person()
	page := p.signsIn(p.opens(c.authorization()))
	theirs := attacker.signsIn(attacker.opens(issuer + "/account"))
	csrf := hiddenField.FindStringSubmatch(theirs.body)[2]
	for name, fields := range map[string]url.Values{"none": {"csrf": {""}}, "made up": {"csrf": {"x"}}, "another's": {"csrf": {csrf}}} {
		fields["decision"], fields["scope"] = []string{"allow"}, []string{"poppy:read"}
		if got := p.presses(page, fields); got.status != http.StatusForbidden {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	for _, path := range []string{"/oauth/authorize", "/device", "/sign-in", "/sign-out", "/account/disconnect"} {
		if got := p.posts(issuer+path, url.Values{"decision": {"allow"}}); got.status != http.StatusForbidden {
			t.Errorf("%s without a token: %d", path, got.status)
		}
	}
}

func TestSigningInGivesTheBrowserAnotherCookieAndLeadsNowhereElse(t *testing.T) {
	c := customerOf(t, "1.0")
	p := c.person()
	u, _ := url.Parse(issuer)
	page := p.opens(issuer + "/sign-in?then=" + url.QueryEscape("https://evil.example/"))
	before := p.browser.Jar.Cookies(u)[0].Value
	after := p.signsIn(page)
	if after.url != issuer+"/account" {
		t.Errorf("led to %s", after.url)
	}
	if now := p.browser.Jar.Cookies(u)[0].Value; now == before {
		t.Error("the cookie of before is still in use")
	}
	jar, _ := cookiejar.New(nil)
	jar.SetCookies(u, []*http.Cookie{{Name: "__Host-stormline-person", Value: before, Secure: true, Path: "/"}})
	p.browser.Jar = jar
	if got := p.opens(issuer + "/account"); !strings.HasPrefix(got.url, issuer+"/sign-in") {
		t.Errorf("the cookie of before opens %s", got.url)
	}
	for _, then := range []string{"//evil.example/account", "/\\evil.example", "javascript:alert(1)", "/account/disconnect", "https://auth.stormline.test@evil.example/account"} {
		got := p.opens(issuer + "/sign-in?then=" + url.QueryEscape(then))
		if !strings.Contains(got.body, `name="then" value="/account"`) {
			t.Errorf("%q is kept", then)
		}
	}
}

func TestAPersonsWrongTriesLockTheAccountForPeopleAndNotForAgents(t *testing.T) {
	c := customerOf(t, "1.0")
	p := c.person()
	page := p.opens(issuer + "/sign-in")
	for range 5 {
		if got := p.presses(page, url.Values{"email": {"dana@business.example.org"}, "password": {"wrong"}}); got.status != http.StatusUnprocessableEntity {
			t.Fatalf("%d", got.status)
		}
	}
	if got := p.presses(page, url.Values{"email": {"dana@business.example.org"}, "password": {"ridge line 2 rope"}}); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	if got := c.mediate(mediatedURL, credentials("dana@business.example.org", "ridge line 2 rope")); got.json["status"] != "complete" {
		t.Errorf("an agent: %d %s", got.status, got.body)
	}
}

// What an agent sent is shown as text.
func TestThePagesShowAnAgentsNameAsText(t *testing.T) {
	c := customerOf(t, "1.0")
	c.publishNamed(`<img src=x onerror=alert(1)>"'`)
	p := c.person()
	page := p.signsIn(p.opens(c.authorization()))
	if strings.Contains(page.body, "<img src=x") || !strings.Contains(page.body, "&lt;img src=x") {
		t.Errorf("%.600s", page.body)
	}
}
