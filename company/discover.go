package company

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/profile"
)

const (
	discoveryTimeout = 20 * time.Second // for all documents together
	maxDocument      = 256 << 10        // bytes
	maxDepth         = 16               // nested objects and arrays of a document
	maxRedirects     = 3                // of one document, to https only
)

// Address is where a Company is looked for: an https origin.
type Address struct {
	origin string
	domain string
}

// ParseAddress reads what a person gives as a Company: `https://example.com`, or `example.com` for short. Discovery
// files are at the root of the domain, so an address with a path is refused.
func ParseAddress(s string) (Address, error) {
	text := s
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Address{}, fmt.Errorf("company %q is not a URL", s)
	case u.Scheme != "https":
		return Address{}, fmt.Errorf("company %q: only https is spoken", s)
	case u.Hostname() == "" || strings.HasSuffix(u.Host, ":") || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return Address{}, fmt.Errorf("company %q: it is written https://DOMAIN", s)
	case u.Path != "" && u.Path != "/":
		return Address{}, fmt.Errorf("company %q: a Company is a whole domain, without a path", s)
	}
	// The comparison to come is character for character, and a person may write a host in capitals or with its port.
	domain := strings.TrimSuffix(strings.ToLower(u.Host), ":443")
	return Address{origin: "https://" + domain, domain: domain}, nil
}

// Origin is the address as an https origin, without a final slash.
func (a Address) Origin() string { return a.origin }

// Domain is the company domain.
func (a Address) Domain() string { return a.domain }

// Discover reads the Company's three documents with client (which must follow no redirects by itself) and returns the
// Company when they agree. Its errors are *[DocumentError], or ErrNothingPublished.
func Discover(ctx context.Context, client *http.Client, a Address, p profile.Profile) (*Company, error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	d := discovery{client: client, address: a, profile: p}

	poppyURL := a.origin + "/.well-known/poppy.json"
	var poppy poppyDocument
	if err := d.get(ctx, poppyURL, &poppy); err != nil {
		var status *statusError
		if errors.As(err, &status) && (status.code == http.StatusNotFound || status.code == http.StatusGone) {
			return nil, ErrNothingPublished
		}
		return nil, err
	}
	c, err := d.readPoppy(poppyURL, poppy)
	if err != nil {
		return nil, err
	}

	resourceURL := a.origin + "/.well-known/oauth-protected-resource"
	var resource resourceDocument
	if err := d.get(ctx, resourceURL, &resource); err != nil {
		return nil, err
	}
	if err := d.readResource(resourceURL, resource, poppy, c); err != nil {
		return nil, err
	}

	metadataURL, err := metadataURL(c.Issuer)
	if err != nil {
		return nil, &DocumentError{URL: resourceURL, Rule: fmt.Sprintf("the issuer %s is not an https URL", quoted(c.Issuer)), Family: ErrUnreadable}
	}
	var metadata map[string]any
	if err := d.get(ctx, metadataURL, &metadata); err != nil {
		return nil, err
	}
	if err := d.readMetadata(metadataURL, metadata, c); err != nil {
		return nil, err
	}
	return c, nil
}

type discovery struct {
	client  *http.Client
	address Address
	profile profile.Profile
}

// poppyDocument is the part of poppy.json that we read; other members are ignored.
type poppyDocument struct {
	Versions     []string `json:"protocol_versions"`
	Version      string   `json:"protocol_version"`
	Organization struct {
		Name   string `json:"name"`
		Domain string `json:"domain"`
	} `json:"organization"`
	Auth struct {
		Issuer string `json:"issuer"`
	} `json:"auth"`
	Web struct {
		JoinEndpoint *string `json:"browser_session_endpoint"`
	} `json:"web"`
	Extensions map[string]json.RawMessage `json:"extensions"`
}

// extensionEntry is an entry of an extension's list. The endpoint is read only when the version is ours: what it means
// in another one is not ours to judge.
type extensionEntry struct {
	Version  string          `json:"version"`
	Endpoint json.RawMessage `json:"endpoint"`
}

type resourceDocument struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
}

func (d discovery) readPoppy(at string, doc poppyDocument) (*Company, error) {
	versions := doc.Versions
	if versions == nil && doc.Version != "" {
		versions = []string{doc.Version}
	}
	if !slices.Contains(versions, d.profile.Version) {
		return nil, &DocumentError{URL: at, Family: ErrVersion, Rule: fmt.Sprintf("protocol_versions lists %s, and we speak %q", quoted(strings.Join(versions, ", ")), d.profile.Version)}
	}
	if doc.Organization.Domain != d.address.domain {
		return nil, &DocumentError{URL: at, Family: ErrDisagree, Rule: fmt.Sprintf("organization.domain is %s and not the domain it is at, %q", quoted(doc.Organization.Domain), d.address.domain)}
	}
	c := &Company{Domain: doc.Organization.Domain, Name: doc.Organization.Name}
	if at := doc.Web.JoinEndpoint; at != nil {
		c.JoinEndpoint = *at
	}
	if err := d.readOperations(at, doc.Extensions["operations"], c); err != nil {
		return nil, err
	}
	if doc.Web.JoinEndpoint != nil && !isHTTPS(c.JoinEndpoint) {
		return nil, &DocumentError{URL: at, Family: ErrUnreadable, Rule: fmt.Sprintf("web.browser_session_endpoint is %s and not an https URL", quoted(c.JoinEndpoint))}
	}
	if c.OperationsEndpoint != "" && c.JoinEndpoint == "" {
		return nil, &DocumentError{URL: at, Family: ErrDisagree, Rule: "extensions.operations.endpoint is listed without web.browser_session_endpoint"}
	}
	return c, nil
}

// readOperations reads the entry of our version (Operations v3, section 2). An extension that is no list, and an entry
// that is no object with a version in a string, are of a version that is not ours: a different one does not count as
// support.
func (d discovery) readOperations(at string, raw json.RawMessage, c *Company) error {
	var list []json.RawMessage
	if raw == nil || strictjson.Decode(raw, strictjson.Limits{}, &list) != nil {
		return nil
	}
	for _, item := range list {
		var entry extensionEntry
		if strictjson.Decode(item, strictjson.Limits{}, &entry) != nil || entry.Version != d.profile.OperationsVersion {
			continue
		}
		if c.OperationsListed {
			return &DocumentError{URL: at, Family: ErrDisagree, Rule: fmt.Sprintf("extensions.operations lists version %q twice", entry.Version)}
		}
		c.OperationsListed = true
		if entry.Endpoint == nil || string(entry.Endpoint) == "null" {
			continue
		}
		if err := strictjson.Decode(entry.Endpoint, strictjson.Limits{}, &c.OperationsEndpoint); err != nil || !isHTTPS(c.OperationsEndpoint) {
			return &DocumentError{URL: at, Family: ErrUnreadable, Rule: fmt.Sprintf("extensions.operations.endpoint is %s and not an https URL", quoted(c.OperationsEndpoint))}
		}
	}
	return nil
}

func (d discovery) readResource(at string, doc resourceDocument, poppy poppyDocument, c *Company) error {
	if want := d.profile.ResourceScheme + c.Domain; doc.Resource != want {
		return &DocumentError{URL: at, Family: ErrDisagree, Rule: fmt.Sprintf("resource is %s and not %q", quoted(doc.Resource), want)}
	}
	if len(doc.Servers) != 1 {
		return &DocumentError{URL: at, Family: ErrDisagree, Rule: fmt.Sprintf("authorization_servers names %d issuers; the Company is its one issuer", len(doc.Servers))}
	}
	c.Issuer = doc.Servers[0]
	if poppy.Auth.Issuer != "" && poppy.Auth.Issuer != c.Issuer {
		return &DocumentError{URL: at, Family: ErrDisagree, Rule: fmt.Sprintf("authorization_servers names %s and poppy.json's auth.issuer %s", quoted(c.Issuer), quoted(poppy.Auth.Issuer))}
	}
	return nil
}

func (d discovery) readMetadata(at string, doc map[string]any, c *Company) error {
	if issuer, _ := doc["issuer"].(string); issuer != c.Issuer {
		return &DocumentError{URL: at, Family: ErrDisagree, Rule: fmt.Sprintf("issuer is %s and not %s", quoted(issuer), quoted(c.Issuer))}
	}
	if !contains(doc[d.profile.DomainsMember], c.Domain) {
		return &DocumentError{URL: at, Family: ErrDisagree, Rule: fmt.Sprintf("%s does not list %q", d.profile.DomainsMember, c.Domain)}
	}
	if resources, listed := doc["protected_resources"]; listed {
		if want := d.profile.ResourceScheme + c.Domain; !contains(resources, want) {
			return &DocumentError{URL: at, Family: ErrDisagree, Rule: fmt.Sprintf("protected_resources does not list %q", want)}
		}
	}
	return nil
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

// maxQuoted is how much of a Company's value an error repeats, in bytes.
const maxQuoted = 200

// quoted is a Company's value as an error repeats it: what does not print is escaped, and a long one is cut.
func quoted(s string) string {
	if len(s) > maxQuoted {
		return fmt.Sprintf("%q… (%d bytes)", s[:maxQuoted], len(s))
	}
	return strconv.Quote(s)
}

func isHTTPS(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

// statusError is an HTTP status that is not 200.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("status %d", e.code) }

// get reads one document. A redirect is followed to https only, and not often.
func (d discovery) get(ctx context.Context, at string, into any) error {
	next := at
	for range maxRedirects + 1 {
		location, err := d.getOnce(ctx, at, next, into)
		if err != nil || location == "" {
			return err
		}
		next = location
	}
	return &DocumentError{URL: at, Family: ErrUnreadable, Rule: fmt.Sprintf("more than %d redirects", maxRedirects)}
}

func (d discovery) getOnce(ctx context.Context, at, from string, into any) (location string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", &DocumentError{URL: at, Family: ErrUnreadable, Rule: "not a URL", Cause: err}
	}
	req.Header.Set("Accept", "application/json")
	res, err := d.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // it would name the address once more
		}
		return "", &DocumentError{URL: at, Family: ErrUnreachable, Rule: "no answer", Cause: err}
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400 && res.Header.Get("Location") != "":
		to, err := res.Location()
		if err != nil || !isHTTPS(to.String()) {
			return "", &DocumentError{URL: at, Family: ErrUnreadable, Rule: "redirects to something else than an https URL"}
		}
		return to.String(), nil
	case res.StatusCode != http.StatusOK:
		return "", &DocumentError{URL: at, Family: ErrUnreadable, Rule: "the answer is not a document", Cause: &statusError{res.StatusCode}}
	}
	if media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return "", &DocumentError{URL: at, Family: ErrUnreadable, Rule: fmt.Sprintf("its content type is %s and not application/json", quoted(res.Header.Get("Content-Type")))}
	}
	limits := strictjson.Limits{Bytes: maxDocument, Depth: maxDepth}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err != nil {
		return "", &DocumentError{URL: at, Family: ErrUnreachable, Rule: "the document broke off", Cause: err}
	}
	if err := strictjson.Decode(data, limits, into); err != nil {
		return "", &DocumentError{URL: at, Family: ErrUnreadable, Rule: "not the JSON it should be", Cause: err}
	}
	return "", nil
}
