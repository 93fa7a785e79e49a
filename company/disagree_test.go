package company_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/company"
)

// Clauses: C10-3.04, OPS3-2.04
func TestDocumentsThatDisagreeAreRefusedWithTheRule(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(map[string]page)
		family error
		url    string
		rule   string // a part of it
	}{
		"operations as the drafts list them": {replace(poppyURL, `[{"version": "3", "endpoint": "https://example.com/operations"}]`, `{"version": "3", "endpoint": "https://example.com/operations"}`), company.ErrVersion, poppyURL, "mixes versions"},
		"operations in no shape":             {replace(poppyURL, `[{"version": "3", "endpoint": "https://example.com/operations"}]`, `"3"`), company.ErrVersion, poppyURL, "neither an array nor an object"},
		"version not listed":                 {replace(poppyURL, `"1.0"]`, `"1.1"]`), company.ErrVersion, poppyURL, "protocol_versions"},
		"version absent":                     {replace(poppyURL, `"protocol_versions": ["0.4", "1.0"],`, ``), company.ErrVersion, poppyURL, "protocol_versions"},
		"empty list beside a scalar":         {replace(poppyURL, `["0.4", "1.0"]`, `[], "protocol_version": "1.0"`), company.ErrVersion, poppyURL, "protocol_versions"},
		"version as a number":                {replace(poppyURL, `"1.0"]`, `1.0]`), company.ErrUnreadable, poppyURL, "JSON"},
		"versions as a string":               {replace(poppyURL, `["0.4", "1.0"]`, `"1.0"`), company.ErrUnreadable, poppyURL, "JSON"},
		"another domain":                     {replace(poppyURL, `"domain": "example.com"`, `"domain": "example.org"`), company.ErrDisagree, poppyURL, "organization.domain"},
		"the domain in capitals":             {replace(poppyURL, `"domain": "example.com"`, `"domain": "Example.com"`), company.ErrDisagree, poppyURL, "organization.domain"},
		"the domain with a final dot":        {replace(poppyURL, `"domain": "example.com"`, `"domain": "example.com."`), company.ErrDisagree, poppyURL, "organization.domain"},
		"no domain":                          {replace(poppyURL, `, "domain": "example.com"`, ``), company.ErrDisagree, poppyURL, "organization.domain"},
		"endpoint without join":              {replace(poppyURL, `"browser_session_endpoint": "https://example.com/join"`, ``), company.ErrDisagree, poppyURL, "without web.browser_session_endpoint"},
		"join over http":                     {replace(poppyURL, `https://example.com/join`, `http://example.com/join`), company.ErrUnreadable, poppyURL, "web.browser_session_endpoint"},
		"join with a user":                   {replace(poppyURL, `https://example.com/join`, `https://example.com@evil.example/join`), company.ErrUnreadable, poppyURL, "web.browser_session_endpoint"},
		"join empty":                         {replace(poppyURL, `https://example.com/join`, ``), company.ErrUnreadable, poppyURL, "web.browser_session_endpoint"},
		"join relative":                      {replace(poppyURL, `https://example.com/join`, `/join`), company.ErrUnreadable, poppyURL, "web.browser_session_endpoint"},
		"operations over http":               {replace(poppyURL, `https://example.com/operations`, `http://example.com/operations`), company.ErrUnreadable, poppyURL, "extensions.operations.endpoint"},
		"operations with a fragment":         {replace(poppyURL, `https://example.com/operations`, `https://example.com/operations#x`), company.ErrUnreadable, poppyURL, "extensions.operations.endpoint"},
		"operations empty":                   {replace(poppyURL, `https://example.com/operations`, ``), company.ErrUnreadable, poppyURL, "extensions.operations.endpoint"},
		"operations as a number":             {replace(poppyURL, `"https://example.com/operations"`, `7`), company.ErrUnreadable, poppyURL, "extensions.operations.endpoint"},
		"operations without a host":          {replace(poppyURL, `https://example.com/operations`, `https:///operations`), company.ErrUnreadable, poppyURL, "extensions.operations.endpoint"},
		"our version twice":                  {replace(poppyURL, `[{"version": "3",`, `[{"version": "3", "endpoint": "https://evil.example/"}, {"version": "3",`), company.ErrDisagree, poppyURL, "twice"},
		"another resource":                   {replace(resourceURL, `"resource": "https://example.com"`, `"resource": "https://www.example.com"`), company.ErrDisagree, resourceURL, "resource is"},
		"the resource with a slash":          {replace(resourceURL, `"resource": "https://example.com"`, `"resource": "https://example.com/"`), company.ErrDisagree, resourceURL, "resource is"},
		"no issuer":                          {replace(resourceURL, `["https://auth.example.com/"]`, `[]`), company.ErrDisagree, resourceURL, "authorization_servers"},
		"two issuers":                        {replace(resourceURL, `["https://auth.example.com/"]`, `["https://auth.example.com/", "https://b.example/"]`), company.ErrDisagree, resourceURL, "authorization_servers"},
		"another issuer in poppy.json":       {replace(poppyURL, `"web": {`, `"auth": {"issuer": "https://auth.example.com"}, "web": {`), company.ErrDisagree, resourceURL, "auth.issuer"},
		"an issuer over http":                {replace(resourceURL, `https://auth.example.com/`, `http://auth.example.com/`), company.ErrUnreadable, resourceURL, "the issuer"},
		"an issuer that is no URL":           {replace(resourceURL, `https://auth.example.com/`, `https://[auth`), company.ErrUnreadable, resourceURL, "the issuer"},
		"issuer without its slash":           {replace(metadataURL, `"issuer": "https://auth.example.com/"`, `"issuer": "https://auth.example.com"`), company.ErrDisagree, metadataURL, "issuer is"},
		"issuer in capitals":                 {replace(metadataURL, `"issuer": "https://auth`, `"issuer": "https://Auth`), company.ErrDisagree, metadataURL, "issuer is"},
		"issuer missing":                     {replace(metadataURL, `"issuer": "https://auth.example.com/", `, ``), company.ErrDisagree, metadataURL, "issuer is"},
		"issuer as a list":                   {replace(metadataURL, `"issuer": "https://auth.example.com/"`, `"issuer": ["https://auth.example.com/"]`), company.ErrDisagree, metadataURL, "issuer is"},
		"domain not listed":                  {replace(metadataURL, `["example.com"]`, `["www.example.com", "Example.com"]`), company.ErrDisagree, metadataURL, "poppy_domains"},
		"domain as a string":                 {replace(metadataURL, `["example.com"]`, `"example.com"`), company.ErrDisagree, metadataURL, "poppy_domains"},
		"domains missing":                    {replace(metadataURL, `"poppy_domains": ["example.com"], `, ``), company.ErrDisagree, metadataURL, "poppy_domains"},
		"resource not listed":                {replace(metadataURL, `["https://example.com"]`, `["https://example.com/"]`), company.ErrDisagree, metadataURL, "protected_resources"},
		"resources null":                     {replace(metadataURL, `["https://example.com"]`, `null`), company.ErrDisagree, metadataURL, "protected_resources"},
		"no protected resource":              {func(p map[string]page) { delete(p, resourceURL) }, company.ErrUnreadable, resourceURL, "not a document"},
		"no metadata":                        {func(p map[string]page) { delete(p, metadataURL) }, company.ErrUnreadable, metadataURL, "not a document"},
		"a value as long as a document":      {replace(poppyURL, `"domain": "example.com"`, `"domain": "`+strings.Repeat("x", 80<<10)+`"`), company.ErrDisagree, poppyURL, "(81920 bytes)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := example(tc.change)
			c, err := w.discover(t)
			wantDocumentError(t, c, err, tc.family, tc.url, tc.rule)
			if err != nil && len(err.Error()) > 2000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if last := w.asked[len(w.asked)-1]; last != tc.url {
				t.Errorf("%s was asked for after the documents disagreed", last)
			}
		})
	}
}

// wantDocumentError fails the test unless err names the document and the rule, and is of the family.
func wantDocumentError(t testing.TB, c *company.Company, err, family error, url, rule string) {
	t.Helper()
	var doc *company.DocumentError
	if c != nil || !errors.As(err, &doc) {
		t.Fatalf("got %+v, %v; want a *DocumentError", c, err)
	}
	if !errors.Is(err, family) || doc.URL != url || !strings.Contains(doc.Rule, rule) {
		t.Errorf("err = %v (family %v, at %s)\nwant family %v at %s with %q", err, doc.Family, doc.URL, family, url, rule)
	}
	for _, part := range []string{doc.URL, doc.Rule} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}
