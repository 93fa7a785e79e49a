package company

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/papaver-agent/papaver/internal/strictjson"
)

// document is one of the documents that must agree.
type document int

const (
	poppy    document = iota // poppy.json
	resource                 // protected resource metadata (RFC 9728)
	metadata                 // authorization server metadata (RFC 8414)
	documents
)

// rule is one thing that must be true of a document.
type rule struct {
	name  string
	of    document
	reads bool       // it reads the document; else it is reached only after that
	needs []document // that must have been read beside it
	// issuer: it is about the one issuer, and not reached where there is none or there are several.
	issuer bool
	// check says what it found. Its error needs no URL. What it reads for later rules it writes to d.
	check func(ctx context.Context, d *discovery) (found string, err *DocumentError)
}

// rules lists them in the order in which they are judged: what a rule needs was read by one before it.
func rules() []rule {
	return []rule{
		{name: "poppy.json can be read", of: poppy, reads: true, check: readPoppy},
		{name: "the protocol version is offered", of: poppy, check: checkVersion},
		{name: "organization.domain is the domain it is at", of: poppy, check: checkDomain},
		{name: "operations are listed rightly", of: poppy, check: checkOperations},
		{name: "the join endpoint is an https URL", of: poppy, check: checkJoin},
		{name: "an operations endpoint comes with a join endpoint", of: poppy, check: checkOperationsJoin},
		{name: "the protected resource document can be read", of: resource, reads: true, check: readResource},
		{name: "resource is the domain", of: resource, check: checkResource},
		{name: "there is one issuer", of: resource, check: checkServers},
		{name: "auth.issuer is the same issuer", of: resource, needs: []document{poppy}, issuer: true, check: checkSameIssuer},
		{name: "the issuer is an https URL", of: resource, issuer: true, check: checkIssuerURL},
		{name: "the issuer's metadata can be read", of: metadata, reads: true, check: readMetadata},
		{name: "the metadata confirms the issuer", of: metadata, check: checkIssuer},
		{name: "the metadata lists the domain", of: metadata, check: checkDomains},
		{name: "the metadata lists the resource", of: metadata, check: checkResources},
	}
}

func readPoppy(ctx context.Context, d *discovery) (string, *DocumentError) {
	found, err := d.readDocument(ctx, poppy, &d.poppy)
	if status, ok := err.status(); ok && (status == http.StatusNotFound || status == http.StatusGone) {
		err.Family = ErrNothingPublished
		err.Change = "publish poppy.json at this URL, or nothing if this is to be an ordinary site"
	}
	d.company.Name = d.poppy.Organization.Name
	return found, err
}

func readResource(ctx context.Context, d *discovery) (string, *DocumentError) {
	return d.readDocument(ctx, resource, &d.resource)
}

func readMetadata(ctx context.Context, d *discovery) (string, *DocumentError) {
	return d.readDocument(ctx, metadata, &d.metadata)
}

func checkVersion(_ context.Context, d *discovery) (string, *DocumentError) {
	versions := d.poppy.versions()
	listed := quoted(strings.Join(versions, ", "))
	if !slices.Contains(versions, d.profile.Version) {
		return "", &DocumentError{Family: ErrVersion,
			Rule:   fmt.Sprintf("protocol_versions lists %s, and we speak %q", listed, d.profile.Version),
			Change: fmt.Sprintf("list %q in protocol_versions when you speak it", d.profile.Version)}
	}
	return "protocol_versions lists " + listed, nil
}

func checkDomain(_ context.Context, d *discovery) (string, *DocumentError) {
	if got, want := d.poppy.Organization.Domain, d.address.domain; got != want {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("organization.domain is %s and not the domain it is at, %q", quoted(got), want),
			Change: fmt.Sprintf("set organization.domain to %q, character for character", want)}
	}
	return "organization.domain is " + quoted(d.address.domain), nil
}

// checkOperations reads the entry of our version (Operations v3, section 2). An extension that is no list, and an entry
// that is no object with a version in a string, are of a version that is not ours: a different one does not count as
// support.
func checkOperations(_ context.Context, d *discovery) (string, *DocumentError) {
	c, ours := &d.company, d.profile.OperationsVersion
	none := fmt.Sprintf("extensions.operations has no entry of version %q, so none are used", ours)
	raw := d.poppy.Extensions["operations"]
	if raw == nil {
		return none, nil
	}
	list := entriesOf(raw, ours)
	switch {
	case len(list) == 0:
		return none, nil
	case len(list) > 1:
		c.OperationsListed = true
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("extensions.operations lists version %q twice", ours),
			Change: fmt.Sprintf("leave one entry of version %q", ours)}
	}
	c.OperationsListed = true
	endpoint := list[0].Endpoint
	if endpoint == nil || string(endpoint) == "null" {
		return fmt.Sprintf("version %q without an endpoint: no operations on the website", ours), nil
	}
	var at string
	if err := strictjson.Decode(endpoint, strictjson.Limits{}, &at); err != nil || !isHTTPS(at) {
		return "", &DocumentError{Family: ErrUnreadable,
			Rule:   fmt.Sprintf("extensions.operations.endpoint is %s and not an https URL", quoted(at)),
			Change: "set endpoint to an absolute https URL without a user or a fragment, or leave it out"}
	}
	c.OperationsEndpoint = at
	return fmt.Sprintf("version %q at %s", ours, quoted(at)), nil
}

func checkJoin(_ context.Context, d *discovery) (string, *DocumentError) {
	at := d.poppy.Web.JoinEndpoint
	if at == nil {
		return "web.browser_session_endpoint is not listed: no browser can be joined", nil
	}
	if !isHTTPS(*at) {
		return "", &DocumentError{Family: ErrUnreadable,
			Rule:   fmt.Sprintf("web.browser_session_endpoint is %s and not an https URL", quoted(*at)),
			Change: "set it to an absolute https URL without a user or a fragment, or leave it out"}
	}
	d.company.JoinEndpoint = *at
	return "web.browser_session_endpoint is " + quoted(*at), nil
}

func checkOperationsJoin(_ context.Context, d *discovery) (string, *DocumentError) {
	if d.company.OperationsEndpoint == "" {
		return "no operations endpoint is listed", nil
	}
	if d.poppy.Web.JoinEndpoint == nil {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   "extensions.operations.endpoint is listed without web.browser_session_endpoint",
			Change: "list web.browser_session_endpoint too: only joined browsers are given operations"}
	}
	return "both are listed", nil
}

func (d *discovery) resourceWanted() string { return d.profile.ResourceScheme + d.address.domain }

func checkResource(_ context.Context, d *discovery) (string, *DocumentError) {
	if want := d.resourceWanted(); d.resource.Resource != want {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("resource is %s and not %q", quoted(d.resource.Resource), want),
			Change: fmt.Sprintf("set resource to %q, character for character", want)}
	}
	return "resource is " + quoted(d.resource.Resource), nil
}

func checkServers(_ context.Context, d *discovery) (string, *DocumentError) {
	if n := len(d.resource.Servers); n != 1 {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("authorization_servers names %d issuers; the Company is its one issuer", n),
			Change: "name exactly one issuer in authorization_servers"}
	}
	d.company.Issuer = d.resource.Servers[0]
	return "authorization_servers names " + quoted(d.company.Issuer), nil
}

func checkSameIssuer(_ context.Context, d *discovery) (string, *DocumentError) {
	switch named := d.poppy.Auth.Issuer; {
	case named == "":
		return "poppy.json names none, which is allowed", nil
	case named != d.company.Issuer:
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("authorization_servers names %s and poppy.json's auth.issuer %s", quoted(d.company.Issuer), quoted(named)),
			Change: "name one issuer in both, character for character"}
	default:
		return "auth.issuer is " + quoted(named), nil
	}
}

func checkIssuerURL(_ context.Context, d *discovery) (string, *DocumentError) {
	at, err := metadataURL(d.company.Issuer)
	if err != nil {
		return "", &DocumentError{Family: ErrUnreadable,
			Rule:   fmt.Sprintf("the issuer %s is not an https URL", quoted(d.company.Issuer)),
			Change: "name the issuer by its https URL in authorization_servers"}
	}
	d.at[metadata] = at
	return "its metadata is at " + quoted(at), nil
}

func checkIssuer(_ context.Context, d *discovery) (string, *DocumentError) {
	if issuer, _ := d.metadata["issuer"].(string); issuer != d.company.Issuer {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("issuer is %s and not %s", quoted(issuer), quoted(d.company.Issuer)),
			Change: "let issuer and authorization_servers name it alike, character for character"}
	}
	return "issuer is " + quoted(d.company.Issuer), nil
}

func checkDomains(_ context.Context, d *discovery) (string, *DocumentError) {
	member := d.profile.DomainsMember
	if !contains(d.metadata[member], d.address.domain) {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("%s does not list %q", member, d.address.domain),
			Change: fmt.Sprintf("add %q to the list %s", d.address.domain, member)}
	}
	return fmt.Sprintf("%s lists %q", member, d.address.domain), nil
}

func checkResources(_ context.Context, d *discovery) (string, *DocumentError) {
	list, listed := d.metadata["protected_resources"]
	want := d.resourceWanted()
	switch {
	case !listed:
		return "protected_resources is not there, which is allowed", nil
	case !contains(list, want):
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("protected_resources does not list %q", want),
			Change: fmt.Sprintf("add %q to the list protected_resources", want)}
	default:
		return fmt.Sprintf("protected_resources lists %q", want), nil
	}
}

func contains(list any, want string) bool {
	values, _ := list.([]any)
	return slices.ContainsFunc(values, func(v any) bool { s, ok := v.(string); return ok && s == want })
}

// metadataURL puts the well-known part between the issuer's host and its path (RFC 8414, section 3).
func metadataURL(issuer string) (string, error) {
	if !isHTTPS(issuer) {
		return "", ErrUnreadable
	}
	u, err := url.Parse(issuer)
	if err != nil {
		return "", err
	}
	return "https://" + u.Host + "/.well-known/oauth-authorization-server" + strings.TrimSuffix(u.EscapedPath(), "/"), nil
}

// maxQuoted is how much of a Company's value is repeated, in bytes.
const maxQuoted = 200

// quoted is a Company's value as we repeat it: what does not print is escaped, and a long one is cut.
func quoted(s string) string {
	if len(s) > maxQuoted {
		return fmt.Sprintf("%q… (%d bytes)", s[:maxQuoted], len(s))
	}
	return strconv.Quote(s)
}
