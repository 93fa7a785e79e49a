package authserver

import "time"

// Profile is what one version of the protocol asks of a Company where versions differ.
type Profile struct {
	// Version is what the discovery document names: "0.1", "0.2" or "1.0".
	Version string
	// SessionTokens says that a Session starts by a token request and is carried by Session Tokens bound to a DPoP key;
	// else the agent names it in its Session header (PROTOCOL, section 16).
	SessionTokens bool
	// IssuerAudience says that the issuer is the only aud of assertions. Else a Session assertion names the token
	// endpoint, and a client assertion the URL that is called, or the issuer.
	IssuerAudience bool
	// AssertionLife is the longest exp - iat of an assertion.
	AssertionLife time.Duration
	// ProofChallenge says that a refused proof at the token endpoint has a WWW-Authenticate beside its 400.
	ProofChallenge bool
	// OneAccount says that a Session that was ever signed in to an account can't sign in to another; else it can't while
	// it is signed in.
	OneAccount bool
	// KeyPerUser says that one DPoP key for two Users is a broken rule.
	KeyPerUser bool
	// UnknownSignIn is the error of a sign_in_id that the Session doesn't have.
	UnknownSignIn string
	// KeepsEnded says that an ended Mediated Sign-In is answered with its status again; else it is forgotten.
	KeepsEnded bool
	// Feedback says that agents have a place for what they missed (draft 0.2, section 8).
	Feedback bool
	// ReuseRevokes says that a refresh token that was rotated away revokes the whole family when it comes again (RFC 9700,
	// section 4.14.2).
	ReuseRevokes bool
}

// V01 is draft 0.1.
func V01() Profile {
	return Profile{
		Version: "0.1", SessionTokens: true, AssertionLife: 2 * time.Minute, ProofChallenge: true, UnknownSignIn: "not_found",
	}
}

// V02 is draft 0.2.
func V02() Profile {
	return Profile{
		Version: "0.2", SessionTokens: true, IssuerAudience: true, AssertionLife: 5 * time.Minute, OneAccount: true,
		KeyPerUser: true, UnknownSignIn: "sign_in_not_found", KeepsEnded: true, Feedback: true,
	}
}

// V1 is protocol 1.0. What it says of tokens is not at hand; each value is a guess (PROTOCOL, sections 7 and 18).
func V1() Profile {
	return Profile{
		Version: "1.0", IssuerAudience: true, AssertionLife: 5 * time.Minute, OneAccount: true,
		UnknownSignIn: "sign_in_not_found", KeepsEnded: true, ReuseRevokes: true,
	}
}

// Of gives the profile of a version.
func Of(version string) (Profile, bool) {
	for _, p := range []Profile{V1(), V02(), V01()} {
		if p.Version == version {
			return p, true
		}
	}
	return Profile{}, false
}
