package testsite

import (
	"crypto/ecdsa"
	"time"
)

// delegatedKey is the short-lived key that a delegation vouches for.
type delegatedKey struct {
	key  *ecdsa.PublicKey
	long bool // the delegation lives longer than it should
}

// verifyDelegation checks the statement in the JOSE header poppy_dlg: signed by the key of the agent's set that its
// own header names by kid and alg, made by the same agent, valid now, with the delegated key as an object in
// cnf.jwk. Its typ isn't checked: no text at hand names it. The refusal's rule has no prefix yet.
func verifyDelegation(token jws, from agent, now time.Time) (delegatedKey, *refusal) {
	none := func(rule, seen string) (delegatedKey, *refusal) { return delegatedKey{}, &refusal{rule, seen} }
	compact, ok := text(token.header, "poppy_dlg")
	if !ok {
		return none(credUndelegated, "no delegation in poppy_dlg")
	}
	statement, err := parseJWS(compact)
	if err != nil {
		return none(credUndelegated, "the delegation can't be read: "+err.Error())
	}
	kid, _ := text(statement.header, "kid")
	alg, _ := text(statement.header, "alg")
	signer, ok := from.key(kid, alg)
	if !ok {
		return none(credUndelegated, "no published signing key has the delegation's kid and alg")
	}
	if err := statement.verify(signer.key); err != nil {
		return none(credUndelegated, "the delegation: "+err.Error())
	}
	if issuer, _ := text(statement.payload, "iss"); issuer != from.clientID {
		return none(credUndelegated, "the delegation is another agent's")
	}
	issued, okIssued := seconds(statement.payload, "iat")
	expires, okExpires := seconds(statement.payload, "exp")
	if !okIssued || !okExpires {
		return none(credUndelegated, "iat or exp of the delegation isn't a whole number of seconds")
	}
	if expires <= now.Unix() || issued > now.Add(clockLeeway).Unix() {
		return none(credDelegationOld, "a delegation that isn't valid now")
	}
	confirmation, err := members(statement.payload["cnf"])
	if err != nil {
		return none(credUndelegated, "cnf of the delegation isn't an object")
	}
	delegated, err := parseJWK(confirmation["jwk"])
	if err != nil {
		return none(credUndelegated, "cnf.jwk of the delegation isn't a key")
	}
	if delegated.private {
		return none(credUndelegated, "cnf.jwk of the delegation has its private part")
	}
	return delegatedKey{key: delegated.key, long: expires-issued > int64(maxDelegationLife/time.Second)}, nil
}
