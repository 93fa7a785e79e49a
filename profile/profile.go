// Package profile holds the versions of the protocol as we speak them. What the texts at hand state is code; what they
// leave open is a named field here, marked as a guess and listed by a test, so that the real text changes a value and not a design.
package profile

import "time"

// Audience says what a Session JWT's `aud` names.
type Audience string

// AudienceIssuer is the Company's issuer, as one string.
const AudienceIssuer Audience = "issuer"

// Profile is one version of the protocol. Its values are read only.
type Profile struct {
	// Version is sent in Poppy-Version and looked for in protocol_versions.
	Version string
	// OperationsVersion is the version of the operations extension that belongs to it.
	OperationsVersion string

	// SessionTyp is the JOSE typ of a Session JWT (stated by Operations v3, section 4's example).
	SessionTyp string
	// SessionAudience is what its aud names. Guess 2.
	SessionAudience Audience
	// SessionLife is exp - iat of a Session JWT. Guess 1.
	SessionLife time.Duration
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
	// AssertionLife is exp - iat of a browser assertion. Guess 12.
	AssertionLife time.Duration
	// JoinAssertionField is the form field that carries the assertion. Guess 10.
	JoinAssertionField string
	// JoinExtensionsField is the form field that declares the extensions, written as in Poppy-Extensions. Guess 10.
	JoinExtensionsField string

	// DomainsMember is the authorization server metadata member that lists the Company's domains. Guess 23.
	DomainsMember string
	// ResourceScheme is what stands before the domain in the protected resource's identifier. Guess 24.
	ResourceScheme string
}

// V1 is protocol 1.0 with Operations v3.
func V1() Profile {
	return Profile{
		Version:             "1.0",
		OperationsVersion:   "3",
		SessionTyp:          "poppy-session+jwt",
		SessionAudience:     AudienceIssuer,
		SessionLife:         time.Minute,
		DelegationTyp:       "poppy-delegation+jwt",
		DelegationLife:      time.Hour,
		SessionIDPrefix:     "ses_",
		UserIDPrefix:        "usr_",
		AssertionTyp:        "poppy-browser+jwt",
		AssertionLife:       time.Minute,
		JoinAssertionField:  "assertion",
		JoinExtensionsField: "extensions",
		DomainsMember:       "poppy_domains",
		ResourceScheme:      "https://",
	}
}

// Extensions is the value of Poppy-Extensions, and of the join's field: a List of one String with a parameter v
// (Operations v3, section 2).
func (p Profile) Extensions() string { return `"operations";v="` + p.OperationsVersion + `"` }
