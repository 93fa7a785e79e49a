package company

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/profile"
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
	name string
	of   document
	// any: it holds whatever the profile is; else it is a rule only once there is one.
	any bool
	// when says whether it is a rule of the profile, about something that may be there; nil is always.
	when  func(d *discovery) bool
	reads bool       // it reads the document; else it is reached only after that
	needs []document // that must have been read beside it
	// issuer: it is about the one issuer, and not reached where there is none or there are several.
	issuer bool
	// check says what it found. Its error needs no URL. What it reads for later rules it writes to d.
	check func(ctx context.Context, d *discovery) (found string, err *DocumentError)
}

// rules lists them in the order in which they are judged: what a rule needs was read by one before it.
func rules() []rule {
	all := []rule{
		{name: "poppy.json can be read", of: poppy, any: true, reads: true, check: readPoppy},
		{name: "the protocol version is offered", of: poppy, any: true, check: checkVersion},
		{name: "organization.domain is the domain it is at", of: poppy, check: checkDomain},
		{name: "extensions are listed as in this version", of: poppy, check: checkExtensions},
		{name: "operations are listed rightly", of: poppy, check: checkOperations},
		{name: "the join endpoint is an https URL", of: poppy, check: checkJoin},
		{name: "an operations endpoint comes with a join endpoint", of: poppy, when: hasReferences, check: checkOperationsJoin},
	}
	all = append(all, offerRules()...)
	all = append(all,
		rule{name: "auth.issuer is there", of: poppy, when: not(hasResource), check: checkAuthIssuer},
		rule{name: "the protected resource document can be read", of: resource, when: hasResource, reads: true, check: readResource},
		rule{name: "resource is the domain", of: resource, when: hasResource, check: checkResource},
		rule{name: "there is one issuer", of: resource, when: hasResource, check: checkServers},
		rule{name: "auth.issuer is the same issuer", of: resource, when: hasResource, needs: []document{poppy}, issuer: true, check: checkSameIssuer},
		rule{name: "the issuer is an https URL", of: resource, when: hasResource, issuer: true, check: checkIssuerURL},
		rule{name: "the issuer's metadata can be read", of: metadata, when: hasIssuer, reads: true, check: readMetadata},
		rule{name: "the metadata confirms the issuer", of: metadata, when: hasIssuer, check: checkIssuer},
		rule{name: "the metadata lists the domain", of: metadata, when: hasIssuer, check: checkDomains},
		rule{name: "the metadata lists the resource", of: metadata, when: hasResource, check: checkResources},
	)
	return append(all, serverRules()...)
}

func hasReferences(d *discovery) bool { return d.profile.References }

func hasResource(d *discovery) bool { return d.profile.ResourceDocument }

// hasIssuer reports whether there is an issuer, or should be: a draft's Company that offers no Session names none.
func hasIssuer(d *discovery) bool {
	return d.profile.ResourceDocument || !d.read[poppy] || d.poppy.Auth != nil || d.needsIssuer() != ""
}

func not(when func(*discovery) bool) func(*discovery) bool {
	return func(d *discovery) bool { return !when(d) }
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
	found, err := d.readDocument(ctx, resource, &d.resource)
	if status, ok := err.status(); ok && status == http.StatusNotFound && d.poppy.Auth != nil && d.poppy.Auth.Issuer != "" {
		err.Change = fmt.Sprintf("publish it, and let it name the issuer: protocol %s needs it beside poppy.json, whose auth.issuer is enough in the drafts only", d.profile.Version)
	}
	return found, err
}

func readMetadata(ctx context.Context, d *discovery) (string, *DocumentError) {
	return d.readDocument(ctx, metadata, &d.metadata)
}

// checkVersion chooses the profile, or judges the forced one.
func checkVersion(_ context.Context, d *discovery) (string, *DocumentError) {
	versions, listed := d.poppy.versions(), d.poppy.listed()
	if forced := d.profile; forced != nil {
		if slices.ContainsFunc(versions, forced.Speaks) {
			return fmt.Sprintf("%s, and protocol %s is asked for", listed, forced.Version), nil
		}
		return "", &DocumentError{Family: ErrVersion, Rule: fmt.Sprintf("%s, and protocol %q is asked for", listed, forced.Version),
			Change: fmt.Sprintf("list %q when you speak it", forced.Version)}
	}
	var ours []string
	for _, p := range profile.All() {
		if slices.Contains(versions, p.Version) {
			d.profile = &p
			return fmt.Sprintf("%s: %s is the newest of ours there", listed, p.Version), nil
		}
		ours = append(ours, p.Version)
	}
	return "", &DocumentError{Family: ErrVersion, Rule: fmt.Sprintf("%s, and we speak %s", listed, strings.Join(ours, ", ")),
		Change: `list a version that you speak: "1.0" in the list protocol_versions, a draft as the string protocol_version`}
}

func checkDomain(_ context.Context, d *discovery) (string, *DocumentError) {
	got := d.poppy.Organization.Domain
	want := d.address.domain
	same := got == want
	switch d.profile.DomainRule {
	case profile.DomainExact:
	case profile.DomainRequested:
		same = strings.TrimPrefix(got, "www.") == strings.TrimPrefix(want, "www.")
	case profile.DomainServing:
		if u, err := url.Parse(d.from[poppy]); err == nil {
			want = strings.TrimSuffix(strings.ToLower(u.Host), ":443")
		}
		got = strings.ToLower(got)
		same = got == want
	}
	if !same {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("organization.domain is %s and not the domain it is at, %q", quoted(d.poppy.Organization.Domain), want),
			Change: fmt.Sprintf("set organization.domain to %q, character for character", want)}
	}
	d.company.Domain = got
	return "organization.domain is " + quoted(d.poppy.Organization.Domain), nil
}

func checkJoin(_ context.Context, d *discovery) (string, *DocumentError) {
	at := d.poppy.Web.JoinEndpoint
	if at == nil {
		return "web.browser_session_endpoint is not listed: no browser can be joined", nil
	}
	if err := wantHTTPS("web.browser_session_endpoint", *at); err != nil {
		return "", err
	}
	d.company.JoinEndpoint = *at
	return "web.browser_session_endpoint is " + quoted(*at), nil
}

// needsIssuer names something that is listed and works in Sessions only, if there is such a thing.
func (d *discovery) needsIssuer() string {
	switch {
	case d.poppy.Web.JoinEndpoint != nil:
		return "web.browser_session_endpoint"
	case there(d.poppy.APIs):
		return "apis"
	case there(d.poppy.Agent.Protocols):
		return "agent.protocols"
	case there(d.poppy.Feedback):
		return "feedback"
	case d.company.OperationsListed:
		return "extensions.operations"
	default:
		return ""
	}
}

// checkAuthIssuer is the drafts' way to name the issuer (draft 0.1, section 3.2).
func checkAuthIssuer(ctx context.Context, d *discovery) (string, *DocumentError) {
	needed := d.needsIssuer()
	if d.poppy.Auth == nil && needed == "" {
		return "auth is not listed, and nothing is that needs a Session", nil
	}
	if d.poppy.Auth == nil || d.poppy.Auth.Issuer == "" {
		return "", &DocumentError{Family: ErrDisagree, Rule: "auth.issuer is missing" + beside(needed),
			Change: fmt.Sprintf("name the issuer in auth.issuer: protocol %s has it there", d.profile.Version)}
	}
	d.company.Issuer, d.issuer = d.poppy.Auth.Issuer, true
	return checkIssuerURL(ctx, d)
}

func beside(needed string) string {
	if needed == "" {
		return ""
	}
	return ", and " + needed + " is listed, which needs a Session"
}

func (d *discovery) resourceWanted() string { return d.profile.ResourceScheme + d.address.domain }

func checkResource(_ context.Context, d *discovery) (string, *DocumentError) {
	if want := d.resourceWanted(); d.resource.Resource != want {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("resource is %s and not %q", quoted(d.resource.Resource), want),
			Change: fmt.Sprintf("set resource to %q, character for character", want)}
	}
	d.company.Resource = d.resource.Resource
	return "resource is " + quoted(d.resource.Resource), nil
}

func checkServers(_ context.Context, d *discovery) (string, *DocumentError) {
	if n := len(d.resource.Servers); n != 1 {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("authorization_servers names %d issuers; the Company is its one issuer", n),
			Change: "name exactly one issuer in authorization_servers"}
	}
	d.company.Issuer, d.issuer = d.resource.Servers[0], true
	return "authorization_servers names " + quoted(d.company.Issuer), nil
}

func checkSameIssuer(_ context.Context, d *discovery) (string, *DocumentError) {
	if d.poppy.Auth == nil || d.poppy.Auth.Issuer == "" {
		return "poppy.json names none, which is allowed", nil
	}
	named := d.poppy.Auth.Issuer
	if named != d.company.Issuer {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("authorization_servers names %s and poppy.json's auth.issuer %s", quoted(d.company.Issuer), quoted(named)),
			Change: "name one issuer in both, character for character"}
	}
	return "auth.issuer is " + quoted(named), nil
}

func checkIssuerURL(_ context.Context, d *discovery) (string, *DocumentError) {
	at, err := metadataURL(d.company.Issuer)
	if err != nil {
		return "", &DocumentError{Family: ErrUnreadable,
			Rule:   fmt.Sprintf("the issuer %s is not an https URL", quoted(d.company.Issuer)),
			Change: "name the issuer by its https URL, without a query or a fragment"}
	}
	d.at[metadata] = at
	return fmt.Sprintf("the issuer is %s, and its metadata is at %s", quoted(d.company.Issuer), quoted(at)), nil
}

func checkIssuer(_ context.Context, d *discovery) (string, *DocumentError) {
	if issuer, _ := d.metadata["issuer"].(string); issuer != d.company.Issuer {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("issuer is %s and not %s", quoted(issuer), quoted(d.company.Issuer)),
			Change: "let the metadata's issuer and the document that led there name it alike, character for character"}
	}
	return "issuer is " + quoted(d.company.Issuer), nil
}

func checkDomains(_ context.Context, d *discovery) (string, *DocumentError) {
	member, want := d.profile.DomainsMember, d.company.Domain
	same := func(s string) bool { return s == want }
	if d.profile.DomainRule == profile.DomainServing { // it was put in lower case
		same = func(s string) bool { return strings.ToLower(s) == want }
	}
	if !contains(d.metadata[member], same) {
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("%s does not list %s", member, quoted(want)),
			Change: fmt.Sprintf("add %s to the list %s", quoted(want), member)}
	}
	d.company.Domains = texts(d.metadata[member])
	return fmt.Sprintf("%s lists %s", member, quoted(want)), nil
}

// texts are the texts of a list.
func texts(list any) []string {
	values, _ := list.([]any)
	var all []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

func checkResources(_ context.Context, d *discovery) (string, *DocumentError) {
	list, listed := d.metadata["protected_resources"]
	want := d.resourceWanted()
	switch {
	case !listed:
		return "protected_resources is not there, which is allowed", nil
	case !contains(list, func(s string) bool { return s == want }):
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("protected_resources does not list %q", want),
			Change: fmt.Sprintf("add %q to the list protected_resources", want)}
	default:
		return fmt.Sprintf("protected_resources lists %q", want), nil
	}
}

func contains(list any, is func(string) bool) bool {
	values, _ := list.([]any)
	return slices.ContainsFunc(values, func(v any) bool { s, ok := v.(string); return ok && is(s) })
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
	if u.RawQuery != "" || u.ForceQuery {
		return "", ErrUnreadable
	}
	return "https://" + u.Host + "/.well-known/oauth-authorization-server" + strings.TrimSuffix(u.EscapedPath(), "/"), nil
}

// maxQuoted is how much of a Company's value is repeated, in bytes.
const maxQuoted = 200

// quoted is a Company's value as we repeat it: what does not print is escaped, and a long one is cut.
func quoted(s string) string { return trouble.Quoted(s, maxQuoted) }
