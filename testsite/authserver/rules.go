package authserver

// Rule is one thing an agent must or should do that an authorization server can see.
type Rule struct {
	ID     string // stable, kebab-case
	Clause string // the clause of the conformance table, if there is one
	Should bool   // else it is a must
	Says   string // what the agent has to do
}

// The ends of rule ids that several kinds of statements have.
const (
	faultMissing   = "missing"
	faultMalformed = "malformed"
	faultUnknown   = "unknown-agent"
	faultType      = "type"
	faultIssuer    = "issuer"
	faultSignature = "signature"
	faultAudience  = "audience"
	faultTime      = "time"
	faultJTI       = "jti"
	faultReused    = "reused-jti"
	faultKey       = "key"
	faultMethod    = "method"
	faultURL       = "url"
	faultHash      = "token-hash"
	faultSession   = "session"
)

const (
	prefixClient    = "client-assertion-"
	prefixAssertion = "session-assertion-"
	prefixProof     = "dpop-"

	ruleForm            = "token-request-form"
	rulePrivateKey      = "private-key-published"
	ruleUserID          = "user-id"
	ruleGrantType       = "grant-type"
	ruleKeyOfAnother    = "dpop-key-of-another-user"
	ruleProofKey        = "dpop-other-key"
	ruleSessionOther    = "session-of-another"
	ruleResource        = "token-resource"
	ruleBearerElsewhere = "bearer-elsewhere"
	ruleTokenUnknown    = "access-token-unknown"
	ruleTokenExpired    = "access-token-expired"
	ruleTokenOld        = "access-token-replaced"
	ruleTokenInURL      = "token-in-url"
	ruleTokenOther      = "access-token-of-another"
	ruleTwoCredentials  = "two-credentials"
	ruleAccountToken    = "account-token-elsewhere"
	ruleAccountTokenOf  = "account-token-of-another"
	ruleAccountOld      = "account-token-replaced"
	ruleScope           = "scope"
	ruleScopeWider      = "scope-wider"
	ruleRedirect        = "redirect-uri"
	rulePKCE            = "pkce"
	ruleState           = "state"
	ruleResponseType    = "response-type"
	ruleCodeReused      = "code-reused"
	ruleCodeOther       = "code-of-another"
	ruleDevicePoll      = "device-poll-too-fast"
	ruleDeviceEnded     = "device-poll-after-end"
	ruleDeviceOther     = "device-code-of-another"
	ruleAccountMismatch = "session-of-another-account"
	ruleMediated        = "mediated-request"
	ruleMediatedOther   = "mediated-of-another-session"
	ruleEarly           = "request-before-retry-after"
)

// Rules lists every rule that a Server tells Config.Broken of.
func Rules() []Rule {
	return []Rule{
		{ruleForm, "S01-4.2.25", false, "a token request is a form, in UTF-8, with each parameter once"},
		{prefixClient + faultMalformed, "S01-4.1.06", false, "each request of the client carries one client assertion"},
		{prefixClient + faultUnknown, "S01-4.1.01", false, "client_id is the URL of a metadata document that can be read"},
		{prefixClient + faultType, "", false, "a client assertion is no statement of another kind"},
		{prefixClient + faultIssuer, "S01-4.1.06", false, "iss and sub of a client assertion are the client_id"},
		{prefixClient + faultSignature, "S01-4.1.06", false, "a key of jwks_uri signed the client assertion"},
		{prefixClient + faultAudience, "", false, "aud of a client assertion is this authorization server"},
		{prefixClient + faultTime, "", false, "a client assertion is short-lived and valid now"},
		{prefixClient + faultJTI, "", false, "jti of a client assertion has 128 bits"},
		{prefixClient + faultReused, "", false, "a client assertion is used once"},
		{prefixAssertion + faultMalformed, "S01-4.2.05", false, "a Session assertion is a compact JWT"},
		{prefixAssertion + faultType, "S01-5.21", false, "a Session assertion is no statement of another kind"},
		{prefixAssertion + faultIssuer, "S01-4.2.06", false, "iss of a Session assertion is the client_id"},
		{prefixAssertion + faultSignature, "S01-4.2.06", false, "a key of jwks_uri signed the Session assertion"},
		{prefixAssertion + faultAudience, "S01-4.2.07", false, "aud of a Session assertion is what the draft says, as one string"},
		{prefixAssertion + faultTime, "S01-4.2.08", false, "a Session assertion is short-lived and valid now"},
		{prefixAssertion + faultJTI, "S01-4.2.09", false, "jti of a Session assertion has 128 bits"},
		{prefixAssertion + faultReused, "S01-4.2.09", false, "a Session assertion is used once"},
		{ruleUserID, "S01-4.2.04", false, "a User ID is opaque and holds nothing personal"},
		{ruleGrantType, "", false, "grant_type is one that is offered"},
		{prefixProof + faultMissing, "S01-4.3.01", false, "a request has exactly one DPoP proof"},
		{prefixProof + faultMalformed, "S01-4.3.04", false, "a DPoP proof is a compact JWT"},
		{prefixProof + faultType, "S01-4.3.04", false, "typ of a proof is dpop+jwt"},
		{prefixProof + faultSignature, "S01-4.3.04", false, "the key in a proof's header signed it, with ES256"},
		{prefixProof + faultKey, "S01-4.3.04", false, "jwk of a proof is a public key"},
		{prefixProof + faultMethod, "S01-4.3.05", false, "htm is the request's method"},
		{prefixProof + faultURL, "S01-4.3.05", false, "htu is the request's URL without query and fragment"},
		{prefixProof + faultHash, "S01-4.3.06", false, "ath is the hash of the token sent with the proof, and absent without one"},
		{prefixProof + faultTime, "S01-4.3.05", false, "a proof is made for its request"},
		{prefixProof + faultJTI, "S01-4.3.05", false, "a proof has a jti"},
		{prefixProof + faultReused, "S01-4.3.03", false, "a new proof is signed for every request"},
		{ruleKeyOfAnother, "S01-4.3.02", false, "each User has a DPoP key of its own"},
		{ruleProofKey, "S01-4.3.02", false, "a proof is signed by the key that the token is bound to"},
		{ruleSessionOther, "S01-4.8.04", false, "a Session is used by its own agent for its own User"},
		{ruleResource, "S01-4.3.15", false, "a token is asked for with or without a proof and resource as its service needs"},
		{ruleBearerElsewhere, "S01-4.3.18", false, "a Bearer token goes to its MCP server only"},
		{ruleTokenUnknown, "", false, "an access token is one that this Company issued"},
		{ruleTokenExpired, "", true, "an access token is renewed before it expires"},
		{ruleTokenOld, "S01-4.3.23", true, "the newest token of a Session is used"},
		{ruleTokenInURL, "S01-4.3.24", false, "no token is sent in a URL"},
		{ruleTokenOther, "C10-7.02", false, "token and Session header are one agent's and one User's"},
		{ruleTwoCredentials, "C10-5.11", false, "Authorization has one access token and nothing else"},
		{ruleAccountToken, "S01-4.8.02", false, "an Account Token goes to the token and revocation endpoints only"},
		{ruleAccountTokenOf, "S01-4.8.03", false, "an Account Token is used by the agent it was issued to"},
		{ruleAccountOld, "S01-4.8.07", false, "the newest Account Token is used, and none that ended"},
		{ruleScope, "S01-4.4.09", false, "a sign-in names scopes that its type can grant"},
		{ruleScopeWider, "S01-4.8.05", false, "no more scopes are asked for than the Account Token has"},
		{ruleRedirect, "S01-4.5.04", false, "redirect_uri is an entry of redirect_uris, and the same at the exchange"},
		{rulePKCE, "S01-4.5.01", false, "the code flow uses PKCE with S256"},
		{ruleState, "S01-4.5.01", false, "an authorization request has a state that can't be guessed"},
		{ruleResponseType, "S01-4.5.01", false, "response_type is code"},
		{ruleCodeReused, "S01-4.5.08", false, "a code is exchanged once, while it is valid"},
		{ruleCodeOther, "S01-4.5.08", false, "a code is exchanged by the agent it was given to"},
		{ruleDevicePoll, "S01-4.6.05", false, "the agent waits for the interval between two questions"},
		{ruleDeviceEnded, "S01-4.6.07", false, "the agent stops asking once it was told how it ended"},
		{ruleDeviceOther, "", false, "a device code is used by the agent it was given to"},
		{ruleAccountMismatch, "S01-4.4.17", false, "a Session is signed in to one account"},
		{ruleMediated, "S01-4.7.03", false, "credentials are sent as JSON, with every field that is listed"},
		{ruleMediatedOther, "S01-4.7.07", false, "the Session that began a Mediated Sign-In finishes it"},
		{ruleEarly, "S01-4.3.27", false, "after 429 the agent waits as long as Retry-After says"},
	}
}
