package authserver

import (
	"net/http"
	"time"

	"github.com/papaver-agent/papaver/testsite/wire"
)

// proofWindow is how old a proof may be (draft 0.1, section 4.3: such as one minute).
const proofWindow = time.Minute

// nonceLife is for how long a nonce is given out; it is accepted for as long again.
const nonceLife = 5 * time.Minute

// nonces are what proofs have to hold, once they are required (RFC 9449, section 8).
type nonces struct {
	required        bool
	current, before string
	since           time.Time
}

// RequireNonces makes proofs without a nonce of ours be refused, or not.
func (s *Server) RequireNonces(required bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nonces.required = required
}

// nonce gives the nonce to use now, and the one before it; empty when none is required.
func (s *Server) nonce() (current, before string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nonceLocked()
}

func (s *Server) nonceLocked() (current, before string) {
	n := &s.nonces
	if !n.required {
		return "", ""
	}
	switch age := s.cfg.Now().Sub(n.since); {
	case n.current == "" || age >= 2*nonceLife:
		n.current, n.before, n.since = s.cfg.Fresh(22), "", s.cfg.Now()
	case age >= nonceLife:
		n.current, n.before, n.since = s.cfg.Fresh(22), n.current, n.since.Add(nonceLife)
	}
	return n.current, n.before
}

// offerNonce sends the nonce for the next proof.
func (s *Server) offerNonce(h http.Header) {
	if current, _ := s.nonce(); current != "" {
		h.Set("DPoP-Nonce", current)
	}
}

// proof is a verified DPoP proof.
type proof struct {
	thumbprint string
}

// checkProof makes the checks of RFC 9449, section 4.3, all but the token's own key. access is the token beside it; an
// endpoint that gets none gets no ath.
func (s *Server) checkProof(r *http.Request, access string) (proof, *refusal) {
	status := http.StatusUnauthorized
	if access == "" {
		status = http.StatusBadRequest
	}
	none := func(suffix, seen string) (proof, *refusal) {
		f := broken(status, "invalid_dpop_proof", prefixProof+suffix, seen)
		f.proof = true
		return proof{}, f
	}
	lines := r.Header.Values("DPoP")
	if len(lines) != 1 {
		return none(faultMissing, "not exactly one DPoP header")
	}
	token, err := wire.ParseJWS(lines[0])
	if err != nil {
		return none(faultMalformed, err.Error())
	}
	if typ, _ := wire.Text(token.Header, "typ"); typ != "dpop+jwt" {
		return none(faultType, "another typ than dpop+jwt")
	}
	if alg, _ := wire.Text(token.Header, "alg"); alg != wire.ES256 {
		return none(faultSignature, "another alg than ES256")
	}
	key, err := wire.ParseKey(token.Header["jwk"])
	if err != nil {
		return none(faultKey, "jwk isn't a key")
	}
	if key.Private {
		return none(faultKey, "jwk has its private part")
	}
	if err := token.Verify(key.Public); err != nil {
		return none(faultSignature, err.Error())
	}
	if method, _ := wire.Text(token.Payload, "htm"); method != r.Method {
		return none(faultMethod, "another htm than the request's method")
	}
	given, _ := wire.Text(token.Payload, "htu")
	want, okWant := normalURL(called(r))
	if got, ok := normalURL(given); !ok || !okWant || got != want {
		return none(faultURL, "another htu than the request's URL")
	}
	switch _, bound := token.Payload["ath"]; {
	case access == "" && bound:
		return none(faultHash, "an ath, though no token is sent")
	case access != "":
		if bound, ok := wire.Text(token.Payload, "ath"); !ok || bound != hash(access) {
			return none(faultHash, "an ath that isn't the hash of the token beside it")
		}
	}
	now := s.cfg.Now()
	issued, ok := wire.Seconds(token.Payload, "iat")
	if !ok || issued > now.Add(clockAhead).Unix() || issued < now.Add(-proofWindow).Unix() {
		return none(faultTime, "an iat outside the window")
	}
	if current, before := s.nonce(); current != "" {
		if nonce, _ := wire.Text(token.Payload, "nonce"); nonce == "" || nonce != current && nonce != before {
			f := refused(status, "use_dpop_nonce")
			f.proof = true
			return proof{}, f
		}
	}
	jti, ok := wire.Text(token.Payload, "jti")
	if !ok || jti == "" || len(jti) > wire.MaxID {
		return none(faultJTI, "no jti")
	}
	if !s.useOnce("dpop "+key.Thumbprint, jti, now.Add(proofWindow+2*clockAhead)) {
		return none(faultReused, "a jti that was used before")
	}
	return proof{thumbprint: key.Thumbprint}, nil
}
