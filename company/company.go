// Package company reads what a Company publishes about itself and checks that it agrees: poppy.json at the Company's
// domain, with 1.0 the protected resource document beside it, and the authorization server metadata at its issuer. They
// point at each other, and values are compared character for character (PROTOCOL 1.0, section 3; draft 0.1, section 3).
//
// Which documents are read and which rules hold is said by the fields of a [profile.Profile], which is chosen by the
// versions that poppy.json lists, or forced.
package company

import (
	"errors"
	"fmt"
	"strings"

	"github.com/papaver-agent/papaver/profile"
)

// Company is a Company whose documents agree. It is immutable.
type Company struct {
	Domain string // organization.domain: the company domain that its documents speak for
	Name   string // what the Company calls itself; its own text, not sanitised; may be empty
	// Issuer is the Company's identity; User IDs and Sessions are scoped by it. It is empty where a draft's Company lists
	// nothing that needs a Session.
	Issuer string
	// Domains are those that the issuer's metadata lists as its Companies', as sent; Domain is among them.
	Domains []string
	// JoinEndpoint is web.browser_session_endpoint; empty when none is listed: the site is then browsed as an ordinary
	// signed-out visitor.
	JoinEndpoint string
	// OperationsEndpoint is where references are sent; empty when the Company does not return operations of our version
	// on its website, and in the drafts, which have no references.
	OperationsEndpoint string
	// OperationsByID is the URL below which the drafts' operations are, each at its id (Operations v1, section 2); else
	// empty.
	OperationsByID string
	// OperationsListed reports whether the extension is listed in our version, with or without an endpoint.
	OperationsListed bool
	// Profile is the version of the protocol that is spoken with it.
	Profile profile.Profile
	// Resource is the Company's identifier as a protected resource (RFC 9728); empty in the drafts.
	Resource string
	// Server is what the issuer's metadata says of its endpoints (RFC 8414); empty where one is not listed.
	Server Server
	// SignIn is what is offered for access to an account.
	SignIn SignIn
	// APIs are those listed, in their order. Entries of unknown types are left out.
	APIs []API
	// Conversations is where conversations with the Company are held, an https URL; empty when that is not listed.
	Conversations string
	// Feedback is where a draft 0.2 Company takes feedback, an https URL; empty when that is not listed.
	Feedback string
}

// Server are the endpoints of the Company's authorization server, https URLs.
type Server struct {
	Token         string // token_endpoint
	Revocation    string // revocation_endpoint
	Authorization string // authorization_endpoint, for Direct Sign-In
	Device        string // device_authorization_endpoint, for Device Sign-In
}

// SignIn is what a Company offers for access to an account (draft 0.1, section 4.4). A type that is not offered is nil.
type SignIn struct {
	Direct   *Direct
	Device   *Device
	Mediated *Mediated
	// Scopes describes the Company's own scopes: its own text, not sanitised.
	Scopes map[string]string
}

// Offered reports whether any type is offered.
func (s SignIn) Offered() bool { return s.Direct != nil || s.Device != nil || s.Mediated != nil }

// Direct is the authorization code flow.
type Direct struct{ Scopes []string }

// Device is the device authorization grant.
type Device struct{ Scopes []string }

// Mediated is a sign-in with credentials that the User gives to the agent.
type Mediated struct {
	Scopes   []string
	Endpoint string // an https URL; credentials go there and nowhere else
	Fields   []Field
}

// Field is one credential that Mediated Sign-In asks for.
type Field struct {
	Name   string
	Label  string // the Company's own text, not sanitised
	Secret bool   // it is never shown, and it stays a secret
}

// API is one API of the Company.
type API struct {
	Type        string // openapi or mcp
	URL         string
	Description string // the Company's own text, not sanitised
	Resource    string // when tokens for it are asked for by their resource (RFC 8707), else empty
}

// Joinable reports whether a browser can be joined to a Session at the Company's website.
func (c *Company) Joinable() bool { return c.JoinEndpoint != "" }

// Holds reports whether a host, with its port if it has one, is the company domain or below it.
func (c *Company) Holds(host string) bool {
	return host == c.Domain || strings.HasSuffix(host, "."+c.Domain)
}

var (
	// ErrNothingPublished is returned when the domain has no poppy.json (404 or 410). The site is then an ordinary one.
	ErrNothingPublished = errors.New("no poppy.json is published there")
	// ErrUnreachable is the family of network and TLS failures.
	ErrUnreachable = errors.New("could not be reached")
	// ErrUnreadable is the family of documents that are not what they should be.
	ErrUnreadable = errors.New("cannot be read")
	// ErrDisagree is the family of documents that do not agree with each other, or with the domain they are at.
	ErrDisagree = errors.New("does not agree")
	// ErrVersion is the family of versions that are none of ours, and of documents that mix versions.
	ErrVersion = errors.New("the protocol version is not offered")
)

// DocumentError says which document breaks which rule. It unwraps to one of the families and to its cause.
type DocumentError struct {
	URL    string
	Rule   string // one sentence that a Company's engineer can act on
	Change string // what the Company should change, as a request; our own words
	Family error
	Cause  error // may be nil
}

// Error names the document and the rule.
func (e *DocumentError) Error() string { return e.URL + ": " + e.said() }

// said is the rule and its cause.
func (e *DocumentError) said() string {
	if e.Cause == nil {
		return e.Rule
	}
	return fmt.Sprintf("%s: %v", e.Rule, e.Cause)
}

// Unwrap returns the family and the cause.
func (e *DocumentError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Family}
	}
	return []error{e.Family, e.Cause}
}
