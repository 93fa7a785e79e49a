package testsite

import (
	"crypto/ecdsa"
	"time"

	"github.com/papaver-agent/papaver/testsite/authserver"
	"github.com/papaver-agent/papaver/testsite/wire"
)

// delegatedKey is the short-lived key that a delegation vouches for.
type delegatedKey struct {
	key  *ecdsa.PublicKey
	long bool // the delegation lives longer than it should
}

// verifyDelegation checks the statement in the JOSE header poppy_dlg: signed by the key of the agent's set that its
// own header names by kid and alg, made by the same agent, valid now, with the delegated key as an object in
// cnf.jwk. Its typ isn't checked: no text at hand names it. The refusal's rule has no prefix yet.
func verifyDelegation(token wire.JWS, from authserver.Client, now time.Time) (delegatedKey, *refusal) {
	none := func(rule, seen string) (delegatedKey, *refusal) { return delegatedKey{}, &refusal{rule, seen} }
	compact, ok := wire.Text(token.Header, "poppy_dlg")
	if !ok {
		return none(credUndelegated, "no delegation in poppy_dlg")
	}
	statement, err := wire.ParseJWS(compact)
	if err != nil {
		return none(credUndelegated, "the delegation can't be read: "+err.Error())
	}
	kid, _ := wire.Text(statement.Header, "kid")
	alg, _ := wire.Text(statement.Header, "alg")
	signer, ok := from.Key(kid, alg)
	if !ok {
		return none(credUndelegated, "no published signing key has the delegation's kid and alg")
	}
	if err := statement.Verify(signer.Public); err != nil {
		return none(credUndelegated, "the delegation: "+err.Error())
	}
	if issuer, _ := wire.Text(statement.Payload, "iss"); issuer != from.ID {
		return none(credUndelegated, "the delegation is another agent's")
	}
	issued, okIssued := wire.Seconds(statement.Payload, "iat")
	expires, okExpires := wire.Seconds(statement.Payload, "exp")
	if !okIssued || !okExpires {
		return none(credUndelegated, "iat or exp of the delegation isn't a whole number of seconds")
	}
	if expires <= now.Unix() || issued > now.Add(clockLeeway).Unix() {
		return none(credDelegationOld, "a delegation that isn't valid now")
	}
	confirmation, err := wire.Members(statement.Payload["cnf"])
	if err != nil {
		return none(credUndelegated, "cnf of the delegation isn't an object")
	}
	delegated, err := wire.ParseKey(confirmation["jwk"])
	if err != nil {
		return none(credUndelegated, "cnf.jwk of the delegation isn't a key")
	}
	if delegated.Private {
		return none(credUndelegated, "cnf.jwk of the delegation has its private part")
	}
	return delegatedKey{key: delegated.Public, long: expires-issued > int64(maxDelegationLife/time.Second)}, nil
}
