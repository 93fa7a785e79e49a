package company_test

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/profile"
)

const (
	poppyURL    = "https://example.com/.well-known/poppy.json"
	resourceURL = "https://example.com/.well-known/oauth-protected-resource"
	metadataURL = "https://auth.example.com/.well-known/oauth-authorization-server"
)

const (
	goodPoppy = `{
		"protocol_versions": ["0.4", "1.0"],
		"organization": {"name": "Example Shop", "domain": "example.com"},
		"web": {"browser_session_endpoint": "https://example.com/join"},
		"extensions": {"operations": [{"version": "3", "endpoint": "https://example.com/operations"}]}
	}`
	goodResource = `{"resource": "https://example.com", "authorization_servers": ["https://auth.example.com/"]}`
	goodMetadata = `{"issuer": "https://auth.example.com/", "poppy_domains": ["example.com"], "protected_resources": ["https://example.com"]}`
)

// page is one answer of the web.
type page struct {
	status   int // 200 when 0
	body     string
	media    string // application/json when empty
	location string
	err      error
}

// web is what is published, by URL; anything else is a 404. It implements [http.RoundTripper] and notes what was asked.
type web struct {
	pages map[string]page
	asked []string
}

func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	w.asked = append(w.asked, r.URL.String())
	p, ok := w.pages[r.URL.String()]
	if !ok {
		p = page{status: http.StatusNotFound, body: "not here", media: "text/plain"}
	}
	if p.err != nil {
		return nil, p.err
	}
	if p.status == 0 {
		p.status = http.StatusOK
	}
	if p.media == "" {
		p.media = "application/json"
	}
	header := http.Header{"Content-Type": {p.media}}
	if p.location != "" {
		header.Set("Location", p.location)
	}
	return &http.Response{StatusCode: p.status, Header: header, Body: io.NopCloser(strings.NewReader(p.body)), Request: r}, nil
}

// example is a web on which example.com's three documents agree, after change has been at it.
func example(change func(map[string]page)) *web {
	w := &web{pages: map[string]page{
		poppyURL: {body: goodPoppy}, resourceURL: {body: goodResource}, metadataURL: {body: goodMetadata},
	}}
	if change != nil {
		change(w.pages)
	}
	return w
}

func (w *web) discover(t testing.TB) (*company.Company, error) {
	t.Helper()
	a, err := company.ParseAddress("example.com")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: w, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return company.Discover(context.Background(), client, a, company.Options{})
}

// Clauses: C10-3.05, C10-3.07
func TestDocumentsThatAgreeAreACompany(t *testing.T) {
	t.Parallel()
	good := company.Company{
		Domain: "example.com", Name: "Example Shop", Issuer: "https://auth.example.com/",
		JoinEndpoint: "https://example.com/join", OperationsEndpoint: "https://example.com/operations", OperationsListed: true,
		Domains: []string{"example.com"},
	}
	with := func(change func(*company.Company)) company.Company {
		c := good
		change(&c)
		return c
	}
	for name, tc := range map[string]struct {
		change func(map[string]page)
		want   company.Company
	}{
		"as published": {nil, good},
		"a scalar version": {
			replace(poppyURL, `"protocol_versions": ["0.4", "1.0"]`, `"protocol_version": "1.0"`), good,
		},
		"a scalar version beside a list": {
			replace(poppyURL, `"protocol_versions": ["0.4", "1.0"]`, `"protocol_versions": ["1.0"], "protocol_version": "0.4"`), good,
		},
		"members nobody knows": {
			replace(poppyURL, `"web": {`, `"tasks": [{"a": [1, null]}], "Organization": 7, "web": {"push": true, `), good,
		},
		"extensions nobody knows, in other shapes": {
			replace(poppyURL, `"extensions": {`, `"extensions": {"a": 1, "b": "x", "c": null, "d": [[]], "e": {"version": "3"}, "Operations": [], `), good,
		},
		"the issuer in poppy.json too": {
			replace(poppyURL, `"web": {`, `"auth": {"issuer": "https://auth.example.com/"}, "web": {`), good,
		},
		"metadata without a list of resources": {
			replace(metadataURL, `, "protected_resources": ["https://example.com"]`, ``), good,
		},
		"metadata that lists others beside": {
			replace(metadataURL, `["example.com"], "protected_resources": [`, `["other.example", 7, "example.com"], "protected_resources": ["https://api.example.com", `),
			with(func(c *company.Company) { c.Domains = []string{"other.example", "example.com"} }),
		},
		"a content type with a parameter": {
			func(p map[string]page) { p[poppyURL] = page{body: goodPoppy, media: "application/json; charset=utf-8"} }, good,
		},
		"endpoints on another host": {
			replace(poppyURL, `https://example.com/`, `https://login.vendor.example/`),
			with(func(c *company.Company) {
				c.JoinEndpoint, c.OperationsEndpoint = "https://login.vendor.example/join", "https://login.vendor.example/operations"
			}),
		},
		"no join and no endpoint": {
			func(p map[string]page) {
				p[poppyURL] = page{body: `{"protocol_versions": ["1.0"], "organization": {"domain": "example.com"}}`}
			},
			company.Company{Domain: "example.com", Issuer: "https://auth.example.com/", Domains: []string{"example.com"}},
		},
		"a name that would move a cursor": {
			replace(poppyURL, `Example Shop`, `\u001b[2J\u202eShop\u0000\n`),
			with(func(c *company.Company) { c.Name = "\x1b[2J\u202eShop\x00\n" }),
		},
		"an issuer with a path": {
			func(p map[string]page) {
				delete(p, metadataURL)
				p[resourceURL] = page{body: strings.ReplaceAll(goodResource, "auth.example.com/", "auth.example.com/tenants/7")}
				p["https://auth.example.com/.well-known/oauth-authorization-server/tenants/7"] = page{body: strings.ReplaceAll(goodMetadata, "auth.example.com/", "auth.example.com/tenants/7")}
			},
			with(func(c *company.Company) { c.Issuer = "https://auth.example.com/tenants/7" }),
		},
		"an issuer with a path and a final slash": {
			func(p map[string]page) {
				delete(p, metadataURL)
				p[resourceURL] = page{body: strings.ReplaceAll(goodResource, "auth.example.com/", "auth.example.com/tenants/7/")}
				p["https://auth.example.com/.well-known/oauth-authorization-server/tenants/7"] = page{body: strings.ReplaceAll(goodMetadata, "auth.example.com/", "auth.example.com/tenants/7/")}
			},
			with(func(c *company.Company) { c.Issuer = "https://auth.example.com/tenants/7/" }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := example(tc.change).discover(t)
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Profile, tc.want.Resource = profile.V1(), "https://example.com"
			if !reflect.DeepEqual(*got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", *got, tc.want)
			}
			if got.Joinable() != (tc.want.JoinEndpoint != "") {
				t.Errorf("Joinable = %v with join endpoint %q", got.Joinable(), got.JoinEndpoint)
			}
		})
	}
}

// Clauses: OPS3-2.02, OPS3-2.07, OPS3-2.20
func TestOnlyTheEntryOfOurVersionCounts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		operations string
		listed     bool
		endpoint   string
	}{
		"first of two":               {`[{"version": "3", "endpoint": "https://a.example/3"}, {"version": "2", "endpoint": "https://a.example/2"}]`, true, "https://a.example/3"},
		"second of two":              {`[{"version": "2", "endpoint": "https://a.example/2"}, {"version": "3", "endpoint": "https://a.example/3"}]`, true, "https://a.example/3"},
		"without an endpoint":        {`[{"version": "3"}]`, true, ""},
		"with null for an endpoint":  {`[{"version": "3", "endpoint": null}]`, true, ""},
		"an empty list":              {`[]`, false, ""},
		"another version only":       {`[{"version": "2", "endpoint": "https://a.example/2"}]`, false, ""},
		"another version, not https": {`[{"version": "1", "endpoint": "http://a.example/1"}]`, false, ""},
		"a longer version":           {`[{"version": "3.0"}, {"version": "30"}, {"version": " 3"}]`, false, ""},
		"a number":                   {`[{"version": 3, "endpoint": "https://a.example/3"}]`, false, ""},
		"a number before ours":       {`[{"version": 3}, 7, null, "3", [], {"version": "3", "endpoint": "https://a.example/3"}]`, true, "https://a.example/3"},
		"members in another case":    {`[{"Version": "3", "ENDPOINT": "https://a.example/3"}]`, false, ""},
		"null":                       {`null`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := example(replace(poppyURL, `[{"version": "3", "endpoint": "https://example.com/operations"}]`, tc.operations)).discover(t)
			if err != nil {
				t.Fatal(err)
			}
			if c.OperationsListed != tc.listed || c.OperationsEndpoint != tc.endpoint {
				t.Errorf("listed = %v, endpoint = %q; want %v, %q", c.OperationsListed, c.OperationsEndpoint, tc.listed, tc.endpoint)
			}
		})
	}
}

// replace replaces text in one document, everywhere; a text that is not there would make a test say nothing.
func replace(url, old, text string) func(map[string]page) {
	return func(pages map[string]page) {
		p := pages[url]
		if !strings.Contains(p.body, old) {
			panic("the document does not have " + old)
		}
		p.body = strings.ReplaceAll(p.body, old, text)
		pages[url] = p
	}
}
