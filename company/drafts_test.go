package company_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/profile"
)

// The documents of draft 0.1, sections 3 and 3.2, with an extension of section 3.3.
const (
	draftPoppy = `{
		"protocol_version": "0.1",
		"organization": {"name": "Example Company", "domain": "example.com"},
		"auth": {
			"issuer": "https://auth.example.com",
			"direct": {"scopes": ["poppy:read", "poppy:write", "addresses"]},
			"device": {"scopes": ["poppy:read", "poppy:write"]},
			"mediated": {
				"endpoint": "https://auth.example.com/poppy/sign-in",
				"fields": [
					{"name": "email", "label": "Email", "secret": false},
					{"name": "password", "label": "Password", "secret": true}
				],
				"scopes": ["poppy:read"]
			},
			"custom_scopes": {"addresses": "Manage saved shipping addresses"}
		},
		"agent": {"protocols": [{"type": "poppy", "endpoint": "https://api.example.com/poppy/conversations"}]},
		"web": {"browser_session_endpoint": "https://example.com/poppy/browser-session"},
		"apis": [
			{"type": "openapi", "url": "https://api.example.com/openapi.json", "description": "Orders, returns, and exchanges"},
			{"type": "mcp", "url": "https://mcp.example.com/mcp", "description": "Product search and sizing", "resource": "https://mcp.example.com"}
		],
		"extensions": {"operations": {"version": "1", "endpoint": "https://api.example.com/poppy/operations"}}
	}`
	draftMetadata = `{
		"issuer": "https://auth.example.com",
		"token_endpoint": "https://auth.example.com/oauth/token",
		"revocation_endpoint": "https://auth.example.com/oauth/revoke",
		"authorization_endpoint": "https://auth.example.com/oauth/authorize",
		"device_authorization_endpoint": "https://auth.example.com/oauth/device",
		"poppy_domains": ["example.com", "example.co.uk"]
	}`
)

// draft is a web on which a draft's documents agree, after changes have been at them.
func draft(version string, changes ...func(map[string]page)) *web {
	w := &web{pages: map[string]page{
		poppyURL:    {body: strings.Replace(draftPoppy, `"0.1"`, `"`+version+`"`, 1)},
		metadataURL: {body: draftMetadata},
	}}
	for _, change := range changes {
		change(w.pages)
	}
	return w
}

// Clauses: S01-3.2.09, S01-3.3.04, S01-3.3.05
func TestADraftsDocumentsThatAgreeAreACompany(t *testing.T) {
	t.Parallel()
	for _, p := range []profile.Profile{profile.V01(), profile.V02()} {
		want := company.Company{
			Domain: "example.com", Name: "Example Company", Issuer: "https://auth.example.com", Domains: []string{"example.com", "example.co.uk"},
			JoinEndpoint:   "https://example.com/poppy/browser-session",
			OperationsByID: "https://api.example.com/poppy/operations", OperationsListed: true, Profile: p,
			Server: company.Server{
				Token: "https://auth.example.com/oauth/token", Revocation: "https://auth.example.com/oauth/revoke",
				Authorization: "https://auth.example.com/oauth/authorize", Device: "https://auth.example.com/oauth/device",
			},
			SignIn: company.SignIn{
				Direct: &company.Direct{Scopes: []string{"poppy:read", "poppy:write", "addresses"}},
				Device: &company.Device{Scopes: []string{"poppy:read", "poppy:write"}},
				Mediated: &company.Mediated{
					Scopes: []string{"poppy:read"}, Endpoint: "https://auth.example.com/poppy/sign-in",
					Fields: []company.Field{{Name: "email", Label: "Email"}, {Name: "password", Label: "Password", Secret: true}},
				},
				Scopes: map[string]string{"addresses": "Manage saved shipping addresses"},
			},
			APIs: []company.API{
				{Type: "openapi", URL: "https://api.example.com/openapi.json", Description: "Orders, returns, and exchanges"},
				{Type: "mcp", URL: "https://mcp.example.com/mcp", Description: "Product search and sizing", Resource: "https://mcp.example.com"},
			},
			Conversations: "https://api.example.com/poppy/conversations",
		}
		// What is listed in another place, and what nobody knows, changes nothing.
		w := draft(p.Version, replace(poppyURL, `"issuer":`, `"token_endpoint": "https://evil.example/token", "passkey": 7, "issuer":`),
			replace(metadataURL, `"issuer":`, `"mtls_endpoint_aliases": {"token_endpoint": "https://evil.example/token"}, "scopes_supported": [7], "issuer":`))
		got, err := w.discover(t)
		if err != nil {
			t.Fatalf("%s: %v", p.Version, err)
		}
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("got  %+v\nwant %+v", *got, want)
		}
		for _, asked := range w.asked {
			if asked == resourceURL {
				t.Errorf("%s: the protected resource document was asked for", p.Version)
			}
		}
	}
}

// Clauses: S01-3.2.05, S01-3.2.06, S01-3.2.07
func TestADraftsDocumentsThatAreWrongAreRefusedWithTheRule(t *testing.T) {
	t.Parallel()
	with := func(members string) func(map[string]page) { // of auth, in place of the sign-in types
		return func(p map[string]page) {
			before, _, _ := strings.Cut(p[poppyURL].body, `"direct"`)
			_, after, _ := strings.Cut(p[poppyURL].body, `"agent":`)
			p[poppyURL] = page{body: before + members + `}, "agent":` + after}
		}
	}
	field := func(text string) func(map[string]page) {
		return with(`"mediated": {"endpoint": "https://a.example/in", "scopes": ["x"], "fields": [{"name": "a", "label": "A", "secret": true}, ` + text + `]}`)
	}
	apis := func(text string) func(map[string]page) {
		return func(p map[string]page) {
			before, _, _ := strings.Cut(p[poppyURL].body, `"apis":`)
			_, after, _ := strings.Cut(p[poppyURL].body, `"extensions":`)
			p[poppyURL] = page{body: before + `"apis": ` + text + `, "extensions":` + after}
		}
	}
	many := func(n int, text string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(text+",", n), ",") + "]"
	}
	for name, tc := range map[string]struct {
		change func(map[string]page)
		family error
		url    string
		rule   string // a part of it
	}{
		"no metadata":                  {func(p map[string]page) { delete(p, metadataURL) }, company.ErrUnreadable, metadataURL, "not a document"},
		"another issuer's":             {replace(metadataURL, `"issuer": "https://auth.example.com"`, `"issuer": "https://auth.example.com/"`), company.ErrDisagree, metadataURL, "issuer is"},
		"in capitals":                  {replace(metadataURL, `"issuer": "https://auth.example.com"`, `"issuer": "https://Auth.example.com"`), company.ErrDisagree, metadataURL, "issuer is"},
		"with its port":                {replace(metadataURL, `"issuer": "https://auth.example.com"`, `"issuer": "https://auth.example.com:443"`), company.ErrDisagree, metadataURL, "issuer is"},
		"a domain that is not theirs":  {replace(metadataURL, `"example.com", `, ``), company.ErrDisagree, metadataURL, "poppy_domains does not list"},
		"no issuer":                    {replace(poppyURL, `"issuer": "https://auth.example.com",`, ``), company.ErrDisagree, poppyURL, "auth.issuer is missing"},
		"no auth":                      {replace(poppyURL, `"auth":`, `"other":`), company.ErrDisagree, poppyURL, "web.browser_session_endpoint is listed, which needs a Session"},
		"an issuer that is not https":  {replace(poppyURL, `"issuer": "https:`, `"issuer": "http:`), company.ErrUnreadable, poppyURL, "not an https URL"},
		"an issuer with a query":       {replace(poppyURL, `"issuer": "https://auth.example.com"`, `"issuer": "https://auth.example.com?x"`), company.ErrUnreadable, poppyURL, "not an https URL"},
		"operations as 1.0 lists them": {replace(poppyURL, `{"version": "1", "endpoint": "https://api.example.com/poppy/operations"}`, `[{"version": "3"}]`), company.ErrVersion, poppyURL, "mixes versions"},
		"operations without endpoint":  {replace(poppyURL, `, "endpoint": "https://api.example.com/poppy/operations"`, ``), company.ErrUnreadable, poppyURL, "operations.endpoint"},
		"a token endpoint missing":     {replace(metadataURL, `"token_endpoint"`, `"x"`), company.ErrDisagree, metadataURL, "token_endpoint is missing, and protocol 0.1 starts Sessions there"},
		"a revocation endpoint":        {replace(metadataURL, `"revocation_endpoint"`, `"x"`), company.ErrDisagree, metadataURL, "revocation_endpoint is missing"},
		"an authorization endpoint":    {replace(metadataURL, `"authorization_endpoint"`, `"x"`), company.ErrDisagree, metadataURL, "authorization_endpoint is missing, and auth.direct is listed"},
		"a device endpoint":            {replace(metadataURL, `"device_authorization_endpoint"`, `"x"`), company.ErrDisagree, metadataURL, "auth.device is listed"},
		"one that is not https":        {replace(metadataURL, `"https://auth.example.com/oauth/token"`, `"http://auth.example.com/oauth/token"`), company.ErrUnreadable, metadataURL, "token_endpoint is"},
		"one that is no string":        {replace(metadataURL, `"https://auth.example.com/oauth/token"`, `7`), company.ErrUnreadable, metadataURL, "token_endpoint is not a string"},

		"direct as a list":        {with(`"direct": ["poppy:read"]`), company.ErrUnreadable, poppyURL, "auth.direct is not what it should be"},
		"direct without scopes":   {with(`"direct": {}`), company.ErrDisagree, poppyURL, "auth.direct.scopes is missing or empty"},
		"device with none":        {with(`"device": {"scopes": []}`), company.ErrDisagree, poppyURL, "auth.device.scopes is missing or empty"},
		"scopes in a string":      {with(`"device": {"scopes": "a b"}`), company.ErrUnreadable, poppyURL, "auth.device is not what it should be"},
		"a scope with a space":    {with(`"device": {"scopes": ["a b"]}`), company.ErrUnreadable, poppyURL, `"a b", which is no scope`},
		"an empty scope":          {with(`"device": {"scopes": ["a", ""]}`), company.ErrUnreadable, poppyURL, `"", which is no scope`},
		"a scope with a quote":    {with(`"device": {"scopes": ["a\"b"]}`), company.ErrUnreadable, poppyURL, "which is no scope"},
		"a scope with a backlash": {with(`"device": {"scopes": ["a\\b"]}`), company.ErrUnreadable, poppyURL, "which is no scope"},
		"a scope beyond ASCII":    {with(`"device": {"scopes": ["é"]}`), company.ErrUnreadable, poppyURL, "which is no scope"},
		"a scope that is long":    {with(`"device": {"scopes": ["` + strings.Repeat("x", 201) + `"]}`), company.ErrUnreadable, poppyURL, "201 bytes"},
		"201 scopes":              {with(`"device": {"scopes": ` + many(201, `"a"`) + `}`), company.ErrUnreadable, poppyURL, "lists 201 entries"},
		"own scopes as a list":    {with(`"custom_scopes": ["addresses"]`), company.ErrUnreadable, poppyURL, "auth.custom_scopes is not what"},
		"one described by number": {with(`"custom_scopes": {"addresses": 7}`), company.ErrUnreadable, poppyURL, "auth.custom_scopes is not what"},
		"one that is no scope":    {with(`"custom_scopes": {"saved addresses": "x"}`), company.ErrUnreadable, poppyURL, "which is no scope"},
		"one described at length": {with(`"custom_scopes": {"a": "` + strings.Repeat("x", 501) + `"}`), company.ErrUnreadable, poppyURL, "501 bytes"},

		"mediated without endpoint":  {with(`"mediated": {"scopes": ["x"], "fields": [{"name": "a", "label": "A", "secret": true}]}`), company.ErrUnreadable, poppyURL, "auth.mediated.endpoint is"},
		"mediated not over https":    {with(`"mediated": {"endpoint": "http://a.example/", "scopes": ["x"], "fields": [{"name": "a", "label": "A", "secret": true}]}`), company.ErrUnreadable, poppyURL, "auth.mediated.endpoint is"},
		"mediated without fields":    {with(`"mediated": {"endpoint": "https://a.example/in", "scopes": ["x"]}`), company.ErrDisagree, poppyURL, "lists 0 fields"},
		"21 fields":                  {with(`"mediated": {"endpoint": "https://a.example/in", "scopes": ["x"], "fields": ` + many(21, `{"name": "a"}`) + `}`), company.ErrDisagree, poppyURL, "lists 21 fields"},
		"two fields of one name":     {field(`{"name": "a", "label": "B", "secret": false}`), company.ErrDisagree, poppyURL, `fields[1].name is "a", as another field's`},
		"a field without a name":     {field(`{"label": "B", "secret": false}`), company.ErrDisagree, poppyURL, "fields[1].name is missing"},
		"a field without a label":    {field(`{"name": "b", "secret": false}`), company.ErrDisagree, poppyURL, "fields[1].label is missing"},
		"a field that may be secret": {field(`{"name": "b", "label": "B"}`), company.ErrDisagree, poppyURL, "fields[1].secret is missing"},
		"secret in words":            {field(`{"name": "b", "label": "B", "secret": "no"}`), company.ErrUnreadable, poppyURL, "auth.mediated is not what"},
		"a long name":                {field(`{"name": "` + strings.Repeat("b", 201) + `", "label": "B", "secret": true}`), company.ErrUnreadable, poppyURL, "201 bytes"},

		"apis as an object":         {apis(`{"type": "mcp"}`), company.ErrUnreadable, poppyURL, "apis is not what it should be"},
		"an API without a type":     {apis(`["mcp"]`), company.ErrUnreadable, poppyURL, "apis[0] is not what it should be"},
		"an API without a URL":      {apis(`[{"type": "mcp"}]`), company.ErrUnreadable, poppyURL, `apis[0].url is ""`},
		"an API not over https":     {apis(`[{"type": "x"}, {"type": "mcp", "url": "http://a.example/"}]`), company.ErrUnreadable, poppyURL, "apis[1].url is"},
		"a resource that is none":   {apis(`[{"type": "mcp", "url": "https://a.example/", "resource": "a"}]`), company.ErrUnreadable, poppyURL, "apis[0].resource is"},
		"101 APIs":                  {apis(many(101, `{"type": "x"}`)), company.ErrUnreadable, poppyURL, "lists 101 entries"},
		"conversations over http":   {replace(poppyURL, `"https://api.example.com/poppy/conversations"`, `"http://api.example.com/poppy/conversations"`), company.ErrUnreadable, poppyURL, "agent.protocols[0].endpoint is"},
		"conversations as a string": {replace(poppyURL, `[{"type": "poppy", "endpoint": "https://api.example.com/poppy/conversations"}]`, `"poppy"`), company.ErrUnreadable, poppyURL, "agent.protocols is not what"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := draft("0.1", tc.change).discover(t)
			wantDocumentError(t, c, err, tc.family, tc.url, tc.rule)
		})
	}
}

// What a type that we don't know says is not read at all.
//
// Clauses: S01-6.02
func TestUnknownAPITypesAndConversationProtocolsAreLeftOut(t *testing.T) {
	t.Parallel()
	c, err := draft("0.1", replace(poppyURL, `"apis": [`, `"apis": [{"type": "graphql", "url": 7}, {"type": ""}, `),
		replace(poppyURL, `"protocols": [`, `"protocols": [{"type": "a2a", "endpoint": 7}, `)).discover(t)
	if err != nil || len(c.APIs) != 2 || c.Conversations != "https://api.example.com/poppy/conversations" {
		t.Errorf("%+v, %v", c, err)
	}
}

// Clauses: S01-3.05
func TestWhichDomainADraftsDocumentSpeaksFor(t *testing.T) {
	t.Parallel()
	const elsewhere = "https://docs.provider.example/poppy.json"
	redirect := func(p map[string]page) {
		p[elsewhere] = p[poppyURL]
		p[poppyURL] = page{status: http.StatusFound, location: elsewhere}
	}
	named := func(domain string) func(map[string]page) {
		return func(p map[string]page) {
			for _, url := range []string{poppyURL, elsewhere} {
				if body := p[url].body; body != "" {
					p[url] = page{body: strings.Replace(body, `"domain": "example.com"`, `"domain": "`+domain+`"`, 1)}
				}
			}
			p[metadataURL] = page{body: strings.Replace(draftMetadata, `"example.com"`, `"`+domain+`"`, 1)}
		}
	}
	for name, tc := range map[string]struct {
		version string
		changes []func(map[string]page)
		domain  string // of the Company; empty: refused
	}{
		"0.1: redirected, and the domain asked for": {"0.1", []func(map[string]page){redirect}, "example.com"},
		"0.1: redirected, and the host's":           {"0.1", []func(map[string]page){redirect, named("docs.provider.example")}, ""},
		"0.1: with www":                             {"0.1", []func(map[string]page){named("www.example.com")}, "www.example.com"},
		"0.1: in capitals":                          {"0.1", []func(map[string]page){named("Example.com")}, ""},
		"0.2: redirected, and the domain asked for": {"0.2", []func(map[string]page){redirect}, ""},
		"0.2: redirected, and the host's":           {"0.2", []func(map[string]page){redirect, named("docs.provider.example")}, "docs.provider.example"},
		"0.2: with www":                             {"0.2", []func(map[string]page){named("www.example.com")}, ""},
		"0.2: in capitals":                          {"0.2", []func(map[string]page){named("Example.COM")}, "example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := draft(tc.version, tc.changes...).discover(t)
			if tc.domain == "" {
				wantDocumentError(t, c, err, company.ErrDisagree, poppyURL, "organization.domain is")
			} else if err != nil || c.Domain != tc.domain {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}

func TestADraftsIssuerMayHaveAPath(t *testing.T) {
	t.Parallel()
	for _, issuer := range []string{"https://auth.example.com/shop-a", "https://auth.example.com/shop-a/"} {
		c, err := draft("0.2", func(p map[string]page) {
			for url, old := range p {
				p[url] = page{body: strings.Replace(old.body, `"https://auth.example.com"`, `"`+issuer+`"`, 1)}
			}
			p[metadataURL+"/shop-a"] = p[metadataURL]
			delete(p, metadataURL)
		}).discover(t)
		if err != nil || c.Issuer != issuer {
			t.Errorf("%s: %+v, %v", issuer, c, err)
		}
	}
}

func TestADraftsCompanyWithoutSessionsNeedsNoIssuer(t *testing.T) {
	t.Parallel()
	c, err := draft("0.1", func(p map[string]page) {
		p[poppyURL] = page{body: `{"protocol_version": "0.1", "organization": {"domain": "example.com"}, "web": {}}`}
	}).discover(t)
	if err != nil || c.Issuer != "" || c.Joinable() {
		t.Errorf("%+v, %v", c, err)
	}
}
