// Package company reads what a Company publishes about itself and checks that it agrees: poppy.json and the
// protected-resource document at the Company's domain, and the authorization server metadata at its issuer. The three
// point at each other, and every value is compared character for character (PROTOCOL 1.0, section 3).
package company

import (
	"errors"
	"fmt"
	"strings"
)

// Company is a Company whose documents agree. It is immutable.
type Company struct {
	Domain string // the company domain, as asked for and as published
	Name   string // what the Company calls itself; its own text, not sanitised; may be empty
	Issuer string // the Company's identity; User IDs and Sessions are scoped by it
	// JoinEndpoint is web.browser_session_endpoint; empty when none is listed: the site is then browsed as an ordinary
	// signed-out visitor.
	JoinEndpoint string
	// OperationsEndpoint is where references are sent; empty when the Company does not return operations of our version
	// on its website.
	OperationsEndpoint string
	// OperationsListed reports whether the extension is listed in our version, with or without an endpoint.
	OperationsListed bool
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
	// ErrVersion is returned when the Company does not offer the protocol version we speak.
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
