package authserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/testsite/wire"
)

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	minJTI        = 22  // characters of base64url that hold 128 bits
	maxSubject    = 256 // characters of a User ID
)

// typesElsewhere are the types of statements that are no assertion of a token request (draft 0.1, section 5).
var typesElsewhere = []string{"poppy-browser+jwt", "poppy-session+jwt", "poppy-delegation+jwt", "dpop+jwt"}

// assertionFault is a failed check of an assertion: the end of the rule's id, and what was seen.
type assertionFault struct{ suffix, seen string }

// assertion is a verified statement of an agent.
type assertion struct {
	client  Client
	subject string
	token   wire.JWS
}

// expectation says which assertion is wanted.
type expectation struct {
	typ       string // exactly; empty for the assertions of a token request, whose typ nobody states
	audiences []string
	life      time.Duration // the longest
}

// checkAssertion verifies a JWT that a key of jwks_uri signed (RFC 7523, section 3): its form, type, signature, that it
// is from the client and for one of the audiences, its times, and that its jti is new.
func (s *Server) checkAssertion(ctx context.Context, compact, client string, want expectation) (assertion, *assertionFault) {
	none := func(suffix, seen string) (assertion, *assertionFault) {
		return assertion{}, &assertionFault{suffix, seen}
	}
	token, err := wire.ParseJWS(compact)
	if err != nil {
		return none(faultMalformed, err.Error())
	}
	if alg, _ := wire.Text(token.Header, "alg"); alg != wire.ES256 {
		return none(faultSignature, "another alg than ES256")
	}
	typ, _ := wire.Text(token.Header, "typ")
	if want.typ == "" && slices.Contains(typesElsewhere, strings.ToLower(typ)) || want.typ != "" && typ != want.typ {
		return none(faultType, "a statement of another kind")
	}
	if issuer, _ := wire.Text(token.Payload, "iss"); issuer != client {
		return none(faultIssuer, "iss isn't the client_id")
	}
	kid, _ := wire.Text(token.Header, "kid")
	found, key, err := s.cfg.Clients.FindKey(ctx, client, kid, wire.ES256)
	if err != nil {
		return none(faultSignature, "the client or its key can't be found")
	}
	for _, k := range found.Keys {
		if k.Private {
			s.cfg.Broken(rulePrivateKey, "a key of the key set has its private part")
		}
	}
	if err := token.Verify(key.Public); err != nil {
		return none(faultSignature, err.Error())
	}
	if audience, ok := wire.Text(token.Payload, "aud"); !ok || !slices.Contains(want.audiences, audience) {
		return none(faultAudience, "another aud")
	}
	subject, _ := wire.Text(token.Payload, "sub")
	if fault := s.checkTimes(token, client, want.life); fault != nil {
		return assertion{}, fault
	}
	return assertion{client: found, subject: subject, token: token}, nil
}

// checkTimes checks iat, exp and jti.
func (s *Server) checkTimes(token wire.JWS, client string, life time.Duration) *assertionFault {
	now := s.cfg.Now()
	issued, okIssued := wire.Seconds(token.Payload, "iat")
	expires, okExpires := wire.Seconds(token.Payload, "exp")
	jti, okJTI := wire.Text(token.Payload, "jti")
	switch {
	case !okIssued || !okExpires:
		return &assertionFault{faultTime, "iat or exp isn't a whole number of seconds"}
	case expires <= now.Unix():
		return &assertionFault{faultTime, "an assertion that has expired"}
	case issued > now.Add(clockAhead).Unix():
		return &assertionFault{faultTime, "an iat that lies ahead"}
	case expires <= issued || time.Duration(expires-issued)*time.Second > life:
		return &assertionFault{faultTime, "an assertion that lives too long"}
	case !okJTI || len(jti) < minJTI || len(jti) > wire.MaxID:
		return &assertionFault{faultJTI, "a jti without 128 bits"}
	case !s.useOnce(client, jti, time.Unix(expires, 0)):
		return &assertionFault{faultReused, "a jti that was used before"}
	}
	return nil
}

// client authenticates the client of a request (private_key_jwt; draft 0.1, section 4.1).
func (s *Server) client(r *http.Request, form url.Values) (Client, *refusal) {
	invalid := func(suffix, seen string) (Client, *refusal) {
		return Client{}, broken(http.StatusUnauthorized, "invalid_client", prefixClient+suffix, seen)
	}
	id := form.Get("client_id")
	if form.Get("client_assertion_type") != assertionType || form.Get("client_assertion") == "" {
		return invalid(faultMalformed, "no client assertion")
	}
	if id == "" { // RFC 7523, section 3: the assertion's subject is the client
		if token, err := wire.ParseJWS(form.Get("client_assertion")); err == nil {
			id, _ = wire.Text(token.Payload, "sub")
		}
	}
	if _, err := s.cfg.Clients.Find(r.Context(), id); errors.Is(err, ErrUnknownClient) {
		return invalid(faultUnknown, "no known agent has this client_id")
	} else if err != nil {
		return invalid(faultUnknown, "the agent's published files can't be used: "+err.Error())
	}
	audiences := []string{s.cfg.Issuer}
	if !s.cfg.Profile.IssuerAudience {
		audiences = append(audiences, s.cfg.Issuer+r.URL.Path, s.cfg.Issuer+TokenPath)
	}
	a, fault := s.checkAssertion(r.Context(), form.Get("client_assertion"), id, expectation{audiences: audiences, life: s.cfg.Profile.AssertionLife})
	if fault != nil {
		return invalid(fault.suffix, fault.seen)
	}
	if a.subject != id {
		return invalid(faultIssuer, "sub isn't the client_id")
	}
	return a.client, nil
}

// sessionAssertion verifies the assertion that starts or renews a Session and gives the User ID (draft 0.1, section 4.2).
func (s *Server) sessionAssertion(ctx context.Context, client Client, compact string) (string, *refusal) {
	audience := s.cfg.Issuer + TokenPath
	if s.cfg.Profile.IssuerAudience {
		audience = s.cfg.Issuer
	}
	a, fault := s.checkAssertion(ctx, compact, client.ID, expectation{audiences: []string{audience}, life: s.cfg.Profile.AssertionLife})
	if fault != nil {
		return "", broken(http.StatusBadRequest, "invalid_grant", prefixAssertion+fault.suffix, fault.seen)
	}
	if !isUserID(a.subject) {
		return "", broken(http.StatusBadRequest, "invalid_grant", ruleUserID, "a sub that can't be a User ID")
	}
	return a.subject, nil
}

// browserLife is the longest life of a browser assertion (draft 0.1, section 5).
const browserLife = time.Minute

// BrowserAssertion is what a draft's browser assertion asks for: that the browser that posts it joins a Session.
type BrowserAssertion struct {
	Session  SessionState
	ReturnTo string
}

// Join verifies a draft's browser assertion for the endpoint (draft 0.1, section 5). broken is the end of the rule's id
// and what was seen, when a check failed.
func (s *Server) Join(ctx context.Context, compact, endpoint string) (b BrowserAssertion, broken, seen string) {
	token, err := wire.ParseJWS(compact)
	if err != nil {
		return BrowserAssertion{}, faultMalformed, err.Error()
	}
	client, _ := wire.Text(token.Payload, "iss")
	a, fault := s.checkAssertion(ctx, compact, client, expectation{typ: "poppy-browser+jwt", audiences: []string{endpoint}, life: browserLife})
	if fault != nil {
		return BrowserAssertion{}, fault.suffix, fault.seen
	}
	id, _ := wire.Text(token.Payload, "session_id")
	state, active := s.Session(id)
	if !active {
		return BrowserAssertion{}, faultSession, "a Session that isn't active"
	}
	if state.Client != client || state.User != a.subject {
		return BrowserAssertion{}, faultSession, "a Session of another agent or User"
	}
	b.Session = state
	b.ReturnTo, _ = wire.Text(token.Payload, "return_to")
	return b, "", ""
}

// isUserID says whether the text can be one: opaque, of visible characters, not an email address (draft 0.1, section
// 4.2: it contains no personal information).
func isUserID(text string) bool {
	if text == "" || len(text) > maxSubject {
		return false
	}
	return wire.OnlyOf(text, "-_.:~")
}
