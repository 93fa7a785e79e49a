package main

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
)

// logRules are what the peer's log is searched for, beside what the peer refused by itself.
var logRules = []rule{
	{"everything that was to be seen is there", (*wireLog).incomplete},
	{"secrets are where they belong and nowhere else", (*wireLog).misplaced},
	{"the browser carries nothing of the agent's but the join's assertion", (*wireLog).browserCarries},
	{"the browser's assertion is for one join, within a minute", (*wireLog).browserAssertions},
	{"client assertions have the draft's audience and are published", (*wireLog).clientAssertions},
	{"Session assertions have the draft's audience and an opaque User", (*wireLog).sessionAssertions},
	{"every proof is of its request and its token", (*wireLog).proofs},
	{"each Session has a key of its own", (*wireLog).keys},
	{"no statement's jti comes twice", (*wireLog).repeated},
	{"an Account Token names the Session and is used once", (*wireLog).accountTokens},
	{"no Session Token is used after a newer one", (*wireLog).staleTokens},
	{"a token for the MCP server goes there and nowhere else", (*wireLog).mcpTokens},
	{"device polls keep to the interval", (*wireLog).hurriedPolls},
	{"nonces are remembered", (*wireLog).forgottenNonces},
	{"nothing was refused but what had to be", (*wireLog).refusals},
}

// incomplete makes sure that the other rules have something to judge.
func (l *wireLog) incomplete() []string {
	least := map[string]int{tokenPath: 20, devicePath: 2, revokePath: 3, signInPath: 3, joinPath: 12, "/api/orders": 15, "/account": 12, mcpPath: 5}
	for i := range l.exchanges {
		least[l.exchanges[i].path()]--
	}
	var found []string
	for path, n := range least {
		if n > 0 {
			found = append(found, fmt.Sprintf("%d requests of %s are missing", n, path))
		}
	}
	return found
}

func (l *wireLog) browserCarries() []string {
	return l.each(func(e *exchange) string {
		if !e.byBrowser() {
			if e.path() == joinPath {
				return "the join was not made by the browser"
			}
			return ""
		}
		for _, h := range e.Request.Headers {
			name := strings.ToLower(h[0])
			if name == "authorization" || name == "dpop" || strings.HasPrefix(name, "poppy-") {
				return "it has " + h[0]
			}
		}
		if e.Request.Body == "" {
			return ""
		}
		form := e.form()
		if e.path() != joinPath || len(form) != 1 || len(form["assertion"]) != 1 {
			return "its body is no assertion alone"
		}
		return ""
	})
}

func (l *wireLog) browserAssertions() []string {
	return l.each(func(e *exchange) string {
		if e.path() != joinPath {
			return ""
		}
		p, err := decodeJWT(e.form().Get("assertion"))
		if err != nil {
			return err.Error()
		}
		to, err := url.Parse(p.text("return_to"))
		switch {
		case err != nil || to.Scheme != "https" || to.Host != peerName:
			return "return_to is elsewhere"
		case p.header["typ"] != "poppy-browser+jwt":
			return "another typ"
		case p.text("iss") != ourClientID || p.text("aud") != e.Request.URL || !strings.HasPrefix(p.text("session_id"), "ses_"):
			return "another iss, aud or session_id"
		case p.life() <= 0 || p.life() > 60:
			return "it lives longer than a minute"
		}
		return l.unpublished(p)
	})
}

// unpublished says why a statement is not signed by a published key.
func (l *wireLog) unpublished(p statementParts) string {
	for _, key := range l.published {
		if key["kid"] == p.header["kid"] {
			if err := p.verifiedBy(key); err != nil {
				return err.Error()
			}
			return ""
		}
	}
	return "its kid is not published"
}

// tokenAudience is the aud of what goes to an endpoint of the authorization server.
func (l *wireLog) tokenAudience(e *exchange) string {
	if l.draft == python01 {
		return e.Request.URL
	}
	return l.issuer
}

func (l *wireLog) clientAssertions() []string {
	return l.each(func(e *exchange) string {
		if !slices.Contains([]string{tokenPath, devicePath, revokePath}, e.path()) {
			return ""
		}
		p, err := decodeJWT(e.form().Get("client_assertion"))
		switch {
		case err != nil:
			return err.Error()
		case p.text("iss") != ourClientID || p.text("sub") != ourClientID || p.text("aud") != l.tokenAudience(e):
			return fmt.Sprintf("iss %v, sub %v, aud %v", p.payload["iss"], p.payload["sub"], p.payload["aud"])
		case p.life() <= 0 || p.life() > 120:
			return "it lives longer than two minutes"
		}
		return l.unpublished(p)
	})
}

func (l *wireLog) sessionAssertions() []string {
	users := make(map[string]bool)
	found := l.each(func(e *exchange) string {
		if e.path() != tokenPath || e.form().Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			return ""
		}
		p, err := decodeJWT(e.form().Get("assertion"))
		users[p.text("sub")] = true
		switch {
		case err != nil:
			return err.Error()
		case p.text("iss") != ourClientID || p.text("aud") != l.tokenAudience(e):
			return fmt.Sprintf("iss %v, aud %v", p.payload["iss"], p.payload["aud"])
		case !strings.HasPrefix(p.text("sub"), "usr_") || len(p.text("sub")) < len("usr_")+22:
			return "sub is no opaque User ID"
		}
		return l.unpublished(p)
	})
	if len(users) != 1 {
		found = append(found, fmt.Sprintf("%d User IDs at one Company", len(users)))
	}
	return found
}

func (l *wireLog) proofs() []string {
	return l.each(func(e *exchange) string {
		token := e.token("DPoP")
		wants := token != "" || e.path() == tokenPath && (!e.forMCP() || l.draft != python01)
		sent := e.header("DPoP")
		switch {
		case !wants && len(sent) == 0:
			return ""
		case !wants:
			return "a proof that nobody wants"
		case len(sent) != 1:
			return fmt.Sprintf("%d proofs", len(sent))
		}
		p, err := decodeJWT(sent[0])
		if err != nil {
			return err.Error()
		}
		jwk, _ := p.header["jwk"].(map[string]any)
		ath, bound := p.payload["ath"]
		address, _, _ := strings.Cut(e.Request.URL, "?")
		switch {
		case p.header["typ"] != "dpop+jwt":
			return "another typ"
		case p.text("htm") != e.Request.Method || p.text("htu") != address:
			return "htm or htu of another request"
		case token == "" && bound:
			return "ath without a token"
		case token != "" && ath != hashed(token):
			return "ath of another token"
		}
		if err := p.verifiedBy(jwk); err != nil {
			return err.Error()
		}
		return ""
	})
}

// proofKey is the key of an exchange's proof, by its coordinates.
func (e *exchange) proofKey() string {
	sent := e.header("DPoP")
	if len(sent) == 0 {
		return ""
	}
	p, err := decodeJWT(sent[0])
	jwk, _ := p.header["jwk"].(map[string]any)
	if err != nil || jwk == nil {
		return ""
	}
	return fmt.Sprint(jwk["x"], jwk["y"])
}

func (l *wireLog) keys() []string {
	bySession, byKey := make(map[string]string), make(map[string]string)
	return l.each(func(e *exchange) string {
		key, id := e.proofKey(), e.answer().SessionID
		if e.path() != tokenPath || id == "" || key == "" {
			return ""
		}
		if old, known := bySession[id]; known && old != key {
			return "the Session's key changed"
		}
		if old, known := byKey[key]; known && old != id {
			return "two Sessions have one key"
		}
		bySession[id], byKey[key] = key, id
		return ""
	})
}

func (l *wireLog) repeated() []string {
	seen := make(map[string]bool)
	return l.each(func(e *exchange) string {
		form := e.form()
		for _, text := range append(e.header("DPoP"), form.Get("assertion"), form.Get("client_assertion")) {
			if text == "" {
				continue
			}
			p, err := decodeJWT(text)
			jti := p.text("jti")
			switch {
			case err != nil:
				return err.Error()
			case len(jti) < 22:
				return "a jti of less than 128 bits"
			case seen[jti]:
				return "a jti came before"
			}
			seen[jti] = true
		}
		return ""
	})
}

// nonceLife is how long the peer's nonces are good for, in seconds. Both clocks may have moved past it.
const nonceLife = 300

// forgottenNonces allows one refusal for each key at the token endpoint and one at the rest, and another when the nonce
// that was given has ended.
func (l *wireLog) forgottenNonces() []string {
	given := make(map[string]float64)
	found := l.each(func(e *exchange) string {
		challenge := strings.Contains(e.Response.Body, "use_dpop_nonce")
		for _, h := range e.Response.Headers {
			challenge = challenge || strings.EqualFold(h[0], "WWW-Authenticate") && strings.Contains(h[1], "use_dpop_nonce")
		}
		sent := e.header("DPoP")
		if len(sent) != 1 {
			return ""
		}
		p, err := decodeJWT(sent[0])
		if err != nil {
			return err.Error()
		}
		iat, _ := p.payload["iat"].(float64)
		at := e.proofKey() + fmt.Sprint(e.path() == tokenPath)
		before, asked := given[at]
		for _, h := range e.Response.Headers {
			if strings.EqualFold(h[0], "DPoP-Nonce") {
				given[at] = iat
			}
		}
		if challenge && asked && iat < before+nonceLife-1 {
			return "asked for a nonce again"
		}
		return ""
	})
	if (len(given) > 0) != l.nonces {
		found = append(found, fmt.Sprintf("nonces were given to %d keys", len(given)))
	}
	return found
}

// refusals compares every error answer with those that the journeys provoke.
func (l *wireLog) refusals() []string {
	most := map[string]int{
		tokenPath + " authorization_pending": math.MaxInt, // the User may take a moment
		tokenPath + " access_denied":         1,           // a declined Device Sign-In
		tokenPath + " invalid_grant":         2,           // the other Session after sign-out, and the disconnected one
		tokenPath + " account_mismatch":      1,
		"/api/orders sign_in_required":       math.MaxInt,
		"/api/orders rate_limited":           1,
		mcpPath + " sign_in_required":        math.MaxInt,
	}
	return l.each(func(e *exchange) string {
		code := e.answer().Error
		if e.Response.Status < 400 || code == "use_dpop_nonce" || e.path() == "/favicon.ico" {
			return ""
		}
		at := e.path() + " " + code
		most[at]--
		if most[at] < 0 {
			return fmt.Sprintf("status %d, %q", e.Response.Status, code)
		}
		return ""
	})
}
