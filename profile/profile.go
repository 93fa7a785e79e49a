// Package profile holds the versions of the protocol as we speak them: 1.0 and the drafts 0.2 and 0.1. What differs
// between them is a field, and what no text at hand states is a field marked as a guess (PROTOCOL 1.0, section 18, by
// its row) and listed by a test, so that the real text changes a value and not a design.
package profile

import (
	"strconv"
	"strings"
	"time"
)

// Audience says what a statement's `aud` names.
type Audience string

// The audiences.
const (
	AudienceIssuer        Audience = "issuer"         // the Company's issuer, as one string
	AudienceEndpoint      Audience = "endpoint"       // the URL the statement is posted to
	AudienceTokenEndpoint Audience = "token_endpoint" // the issuer's token endpoint
)

// Start says how a Session begins.
type Start string

// The ways.
const (
	StartNamed Start = "named" // the agent names it and asks nobody
	StartToken Start = "token" // a token request starts it, and the Company names it
)

// Credential says how a request carries its Session.
type Credential string

// The credentials.
const (
	CredentialHeader Credential = "header" // Poppy-Session, and an access token as Bearer when signed in
	CredentialDPoP   Credential = "dpop"   // the Session Token with a DPoP proof (RFC 9449)
)

// Shape is how poppy.json and the client metadata document list an extension.
type Shape string

// The shapes.
const (
	ShapeList   Shape = "list"   // an array of entries, each with its version
	ShapeObject Shape = "object" // one object with its version
)

// Domain says which domain a poppy.json speaks for.
type Domain string

// The rules.
const (
	DomainExact     Domain = "exact"     // the domain asked for, character for character
	DomainRequested Domain = "requested" // the domain asked for, a leading www. of either aside
	DomainServing   Domain = "serving"   // the host that serves it after redirects, case aside
)

// Profile is one version of the protocol. Its values are read only.
//
// "Guess 24" is row 24 of PROTOCOL 1.0, section 18. "Guess of ours" is one that has no row there. What is said of a draft
// is stated by the text of draft 0.1, or was seen on the wire for 0.2.
type Profile struct {
	// Version is looked for in poppy.json, and sent in Poppy-Version where the Session header is the credential. That
	// its bytes are the header's whole value is guess 19.
	Version string
	// AnyMinor accepts every minor version of the same major one when the profile is forced (draft 0.1, section 3.1).
	AnyMinor bool

	// ResourceDocument says that the Company publishes a protected resource document, which names its issuer; else
	// auth.issuer in poppy.json does.
	ResourceDocument bool
	// ResourceScheme is what stands before the domain in the protected resource's identifier. Guess 24.
	ResourceScheme string
	// DomainRule says what organization.domain must be.
	DomainRule Domain
	// DomainsMember is the authorization server metadata member that lists the Company's domains. Guess 23.
	DomainsMember string
	// ExtensionShape is how extensions are listed.
	ExtensionShape Shape
	// ExtensionsInMetadata says that the agent's own extensions are listed in its client metadata document; else each
	// request and the join declare them.
	ExtensionsInMetadata bool
	// OperationsVersion is the version of the operations extension that belongs to it.
	OperationsVersion string
	// References says that the website answers with a reference to an operation (Operations v3, section 4); else an
	// operation is read and confirmed by its id below the extension's endpoint (Operations v1, section 2).
	References bool
	// TokenEndpoints says that the metadata must list token_endpoint and revocation_endpoint (draft 0.1, section 3.2);
	// else they are needed as far as a sign-in type needs them. Guess 42.
	TokenEndpoints bool
	// SignInFromMetadata says that the metadata's endpoints and scopes_supported tell the sign-in types where poppy.json
	// lists none. Guess 42.
	SignInFromMetadata bool
	// ProofAlgorithm is one that dpop_signing_alg_values_supported lists where it is there; empty where nothing is said
	// of that. Draft 0.2, section 3.2.
	ProofAlgorithm string
	// Feedback says that poppy.json may list an endpoint for the agent's feedback (draft 0.2, section 8).
	Feedback bool

	// Start says how a Session begins.
	Start Start
	// Credential says how a request carries its Session.
	Credential Credential
	// SessionTyp is the JOSE typ of the Session JWT (Operations v3, section 4's example), or of a draft's Session
	// assertion.
	SessionTyp string
	// SessionAudience is what its aud names. Guess 2.
	SessionAudience Audience
	// SessionLife is its exp - iat. Guess 1.
	SessionLife time.Duration
	// ClientAssertionAudience is what the aud of a client assertion (RFC 7523) names. Guess of ours.
	ClientAssertionAudience Audience
	// ClientAssertionLife is its exp - iat. Guess of ours.
	ClientAssertionLife time.Duration
	// TokenResource says that every token request names the Company's resource (RFC 8707). Guess of ours.
	TokenResource bool
	// TokenSession says that token requests and their answers name the Session, in session_id and signed_in. Guess of
	// ours.
	TokenSession bool
	// TokenHash is the claim of what names a Session that binds it to the access token beside it, by the token's SHA-256;
	// empty where the token itself is bound to a key. Guess 4.
	TokenHash string
	// MCPProofs says that an MCP server is asked with DPoP proofs where its own metadata lists algorithms for them (draft
	// 0.2); else with Bearer tokens alone.
	MCPProofs bool
	// Delegated says that a delegated key signs what names a Session; else a key of jwks_uri does.
	Delegated bool
	// DelegationTyp is the JOSE typ of a delegation. Guess 7.
	DelegationTyp string
	// DelegationLife is exp - iat of a delegation. Guess 7.
	DelegationLife time.Duration
	// SessionIDPrefix starts every Session ID we name. Guess 30.
	SessionIDPrefix string
	// UserIDPrefix starts every User ID. Guess 31.
	UserIDPrefix string

	// AssertionTyp is the JOSE typ of a browser assertion. Guess 11.
	AssertionTyp string
	// AssertionSession is the claim of a browser assertion that names the Session. Guess 11.
	AssertionSession string
	// AssertionLife is exp - iat of a browser assertion. Guess 12.
	AssertionLife time.Duration
	// JoinAssertionField is the form field that carries the assertion. Guess 10.
	JoinAssertionField string
	// JoinExtensionsField is the form field that declares the extensions, written as in Poppy-Extensions; empty where
	// none are declared. Guess 10.
	JoinExtensionsField string
	// JoinTokenField is the form field that carries the access token of a signed-in join; empty where the Session
	// itself is signed in. Guess 13.
	JoinTokenField string
}

// V1 is protocol 1.0 with Operations v3.
func V1() Profile {
	return Profile{
		Version:                 "1.0",
		ResourceDocument:        true,
		ResourceScheme:          "https://",
		DomainRule:              DomainExact,
		DomainsMember:           "poppy_domains",
		ExtensionShape:          ShapeList,
		OperationsVersion:       "3",
		References:              true,
		SignInFromMetadata:      true,
		Start:                   StartNamed,
		Credential:              CredentialHeader,
		SessionTyp:              "poppy-session+jwt",
		SessionAudience:         AudienceIssuer,
		SessionLife:             time.Minute,
		ClientAssertionAudience: AudienceIssuer,
		ClientAssertionLife:     time.Minute,
		TokenResource:           true,
		TokenHash:               "ath",
		Delegated:               true,
		DelegationTyp:           "poppy-delegation+jwt",
		DelegationLife:          time.Hour,
		SessionIDPrefix:         "ses_",
		UserIDPrefix:            "usr_",
		AssertionTyp:            "poppy-browser+jwt",
		AssertionSession:        "sid",
		AssertionLife:           time.Minute,
		JoinAssertionField:      "assertion",
		JoinExtensionsField:     "extensions",
		JoinTokenField:          "access_token",
	}
}

// V02 is draft 0.2 with Operations v1.
func V02() Profile {
	p := V01()
	p.Version = "0.2"
	p.AnyMinor = false
	p.DomainRule = DomainServing
	p.ProofAlgorithm = "ES256"
	p.Feedback = true
	p.MCPProofs = true
	p.SessionAudience = AudienceIssuer
	p.ClientAssertionAudience = AudienceIssuer
	return p
}

// V01 is draft 0.1 with Operations v1.
func V01() Profile {
	return Profile{
		Version:                 "0.1",
		AnyMinor:                true,
		DomainRule:              DomainRequested,
		DomainsMember:           "poppy_domains",
		ExtensionShape:          ShapeObject,
		ExtensionsInMetadata:    true,
		OperationsVersion:       "1",
		TokenEndpoints:          true,
		Start:                   StartToken,
		Credential:              CredentialDPoP,
		SessionTyp:              "JWT",
		SessionAudience:         AudienceTokenEndpoint,
		SessionLife:             time.Minute,
		ClientAssertionAudience: AudienceEndpoint,
		ClientAssertionLife:     time.Minute,
		TokenSession:            true,
		UserIDPrefix:            "usr_",
		AssertionTyp:            "poppy-browser+jwt",
		AssertionSession:        "session_id",
		AssertionLife:           time.Minute,
		JoinAssertionField:      "assertion",
	}
}

// All lists the profiles, the newest first: the order of preference where a Company offers several.
func All() []Profile { return []Profile{V1(), V02(), V01()} }

// Of returns the profile of a version.
func Of(version string) (Profile, bool) {
	for _, p := range All() {
		if p.Version == version {
			return p, true
		}
	}
	return Profile{}, false
}

// Extensions is the value of Poppy-Extensions, and of the join's field: a List of one String with a parameter v
// (Operations v3, section 2).
func (p Profile) Extensions() string { return `"operations";v="` + p.OperationsVersion + `"` }

// Speaks reports whether a document of that version can be read by the profile's rules when the profile is forced: its
// own version or, with AnyMinor, another minor version of the same major one.
func (p Profile) Speaks(version string) bool {
	if version == p.Version {
		return true
	}
	major, _, _ := strings.Cut(p.Version, ".")
	minor, ok := strings.CutPrefix(version, major+".")
	_, err := strconv.ParseUint(minor, 10, 16)
	return p.AnyMinor && ok && err == nil && (minor == "0" || minor[0] != '0')
}
