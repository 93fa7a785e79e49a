package testsite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/testsite/authserver"
	"github.com/papaver-agent/papaver/testsite/wire"
)

// Times of the Session JWT, the join's assertion and the delegation. Each is a reading of ours, since the text of
// the specification's sections 5.2 and 5.3 isn't at hand.
const (
	maxCredentialLife = 60 * time.Second
	maxDelegationLife = time.Hour
	clockLeeway       = 30 * time.Second // how far ahead an agent's clock may be
	minJTI            = 22               // characters of base64url that hold 128 bits
)

// credential is what a verified Session JWT or assertion says.
type credential struct {
	owner    owner
	agent    string // the agent's client_name
	sid      string
	returnTo string // of an assertion
	ath      string // what binds it to an access token; empty for none
}

// refusal is a failed check: the rule that was broken and what was seen.
type refusal struct{ rule, seen string }

// expectation says which of the two kinds of JWT is wanted.
type expectation struct {
	prefix   string // of the rules
	typ      string
	audience string
}

// verifier checks signed statements of agents. It is safe for concurrent use.
type verifier struct {
	agents *authserver.Clients
	now    func() time.Time

	mu   sync.Mutex
	used map[string]time.Time // jti by client_id, until it expires
}

// verify checks a compact JWT in the order of the specification's section 5.3 as far as it is known: its form, the
// agent, the delegation, the signature, the claims, the time, and that it is used for the first time. advice lists
// rules that were broken and don't refuse it.
func (v *verifier) verify(ctx context.Context, compact string, want expectation) (c credential, advice []refusal, failed *refusal) {
	refuse := func(suffix, format string, args ...any) (credential, []refusal, *refusal) {
		return credential{}, advice, &refusal{want.prefix + suffix, fmt.Sprintf(format, args...)}
	}
	token, err := wire.ParseJWS(compact)
	if err != nil {
		return refuse(credMalformed, "%v", err)
	}
	if alg, _ := wire.Text(token.Header, "alg"); alg != wire.ES256 {
		return refuse(credAlgorithm, "another alg than ES256")
	}
	if typ, _ := wire.Text(token.Header, "typ"); typ != want.typ {
		return refuse(credType, "another typ than %s", want.typ)
	}

	// The agent and its delegation.
	client, _ := wire.Text(token.Payload, "iss")
	found, err := v.agents.Find(ctx, client)
	if errors.Is(err, authserver.ErrUnknownClient) {
		return refuse(credAgent, "%v", err)
	}
	if err != nil {
		return refuse(credAgent, "the agent's published files can't be used: %v", err)
	}
	for _, k := range found.Keys {
		if k.Private {
			advice = append(advice, refusal{rulePrivateKey, "a key of jwks.json has its private part"})
		}
	}
	now := v.now()
	delegated, failure := verifyDelegation(token, found, now)
	if failure != nil {
		return refuse(failure.rule, "%s", failure.seen)
	}
	if delegated.long {
		advice = append(advice, refusal{want.prefix + credDelegationAge, "a delegation for more than an hour"})
	}
	if err := token.Verify(delegated.key); err != nil {
		return refuse(credSignature, "%v with the delegated key", err)
	}

	// The claims.
	user, okUser := wire.Text(token.Payload, "sub")
	sid, okSID := wire.Text(token.Payload, "sid")
	jti, okJTI := wire.Text(token.Payload, "jti")
	issued, okIssued := wire.Seconds(token.Payload, "iat")
	expires, okExpires := wire.Seconds(token.Payload, "exp")
	returnTo, _ := wire.Text(token.Payload, "return_to")
	switch {
	case !okUser || !wire.IsID(user):
		return refuse(credClaims, "sub isn't a User ID")
	case !okSID || !wire.IsID(sid):
		return refuse(credClaims, "sid isn't a Session ID")
	case !okJTI || len(jti) < minJTI || len(jti) > wire.MaxID:
		return refuse(credClaims, "jti doesn't have 128 bits")
	case !okIssued || !okExpires:
		return refuse(credClaims, "iat or exp isn't a whole number of seconds")
	}
	if audience, ok := wire.Text(token.Payload, "aud"); !ok || audience != want.audience {
		return refuse(credAudience, "another aud")
	}
	if expires <= now.Unix() || issued > now.Add(clockLeeway).Unix() {
		return refuse(credExpired, "iat is %d s and exp %d s from now", issued-now.Unix(), expires-now.Unix())
	}
	if life := time.Duration(expires-issued) * time.Second; life > maxCredentialLife || life <= 0 {
		seen := refusal{want.prefix + credLife, fmt.Sprintf("a life of %d s", expires-issued)}
		if want.prefix == prefixJoin {
			return credential{}, advice, &seen
		}
		advice = append(advice, seen)
	}
	if !v.use(client, jti, time.Unix(expires, 0), now) {
		return refuse(credReused, "a jti that was used before")
	}
	c = credential{owner: owner{client: client, user: user}, agent: found.Name, sid: sid, returnTo: returnTo}
	if _, bound := token.Payload["ath"]; bound {
		if c.ath, _ = wire.Text(token.Payload, "ath"); c.ath == "" {
			return refuse(credToken, "ath isn't a hash")
		}
	}
	return c, advice, nil
}

// use takes a jti and says whether it was free.
func (v *verifier) use(client, jti string, expires, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, until := range v.used {
		if now.After(until) {
			delete(v.used, key)
		}
	}
	key := client + " " + jti
	if _, found := v.used[key]; found {
		return false
	}
	v.used[key] = expires.Add(clockLeeway)
	return true
}
