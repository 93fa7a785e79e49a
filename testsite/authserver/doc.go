// Package authserver is the bundled Company's authorization server: who an agent is, which account it may use, and by
// which tokens. It serves the drafts 0.1 and 0.2 and protocol 1.0; what differs between them is a field of [Profile].
//
// [New] gives a [Server]. Its [Server.Handler] answers the endpoints of the issuer:
//
//   - /oauth/token, /oauth/revoke and /oauth/device (token.go, revoke.go, device.go);
//   - /oauth/authorize, /device, /sign-in and /account: pages for people (person.go and the files beside it);
//   - /poppy/sign-in: Mediated Sign-In (mediated.go).
//
// The website and the APIs ask it what a request's credentials are worth: [Server.Access] for Session Tokens with DPoP
// proofs and for Bearer tokens, [Server.Session] for a Session of the drafts. Answers follow the present state: a
// sign-out shows on the very next request.
//
// Every rule that an agent breaks is told to Config.Broken by its id, which stands in [Rules]. Nothing is on disk, and a
// token is kept as its hash. Everything exported is safe for concurrent use.
package authserver
