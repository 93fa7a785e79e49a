package testsite

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/testsite/authserver"
)

// documentMaxAge is for how many seconds a discovery document may be kept.
const documentMaxAge = "max-age=300"

// The discovery documents. In 1.0 every name is a guess about the specification's section 3 where draft 0.1 and the
// Operations extension don't say it; the values agree character for character.
type (
	poppyDocument struct {
		ProtocolVersion  string       `json:"protocol_version,omitempty"`  // of a draft
		ProtocolVersions []string     `json:"protocol_versions,omitempty"` // of 1.0 (PROTOCOL, section 18, row 42)
		Organization     organization `json:"organization"`
		Auth             auth         `json:"auth"`
		APIs             []apiEntry   `json:"apis"`
		Web              web          `json:"web"`
		Extensions       *extensions  `json:"extensions,omitempty"`

		Feedback *feedbackEntry `json:"feedback,omitempty"` // of draft 0.2
	}
	organization struct {
		Name   string `json:"name"`
		Domain string `json:"domain"`
	}
	auth struct {
		Issuer       string            `json:"issuer"`
		Direct       signInType        `json:"direct"`
		Device       signInType        `json:"device"`
		Mediated     mediatedType      `json:"mediated"`
		CustomScopes map[string]string `json:"custom_scopes"`
	}
	signInType struct {
		Scopes []string `json:"scopes"`
	}
	mediatedType struct {
		Endpoint string             `json:"endpoint"`
		Fields   []authserver.Field `json:"fields"`
		Scopes   []string           `json:"scopes"`
	}
	apiEntry struct {
		Type        string `json:"type"`
		URL         string `json:"url"`
		Description string `json:"description"`
	}
	web struct {
		BrowserSessionEndpoint string `json:"browser_session_endpoint"`
	}
	extensions struct {
		Operations []operationsEntry `json:"operations"`
	}
	operationsEntry struct {
		Version  string `json:"version"`
		Endpoint string `json:"endpoint"`
	}
	// resourceDocument is RFC 9728 protected resource metadata.
	resourceDocument struct {
		Resource             string   `json:"resource"`
		ResourceName         string   `json:"resource_name"`
		AuthorizationServers []string `json:"authorization_servers"`
		BearerMethods        []string `json:"bearer_methods_supported,omitempty"`
		ScopesSupported      []string `json:"scopes_supported,omitempty"`
	}
	// issuerDocument is RFC 8414 authorization server metadata.
	issuerDocument struct {
		Issuer                 string   `json:"issuer"`
		TokenEndpoint          string   `json:"token_endpoint"`
		RevocationEndpoint     string   `json:"revocation_endpoint"`
		AuthorizationEndpoint  string   `json:"authorization_endpoint"`
		DeviceEndpoint         string   `json:"device_authorization_endpoint"`
		ResponseTypesSupported []string `json:"response_types_supported"`
		GrantTypesSupported    []string `json:"grant_types_supported"`
		ChallengeMethods       []string `json:"code_challenge_methods_supported"`
		ScopesSupported        []string `json:"scopes_supported"`
		AuthMethods            []string `json:"token_endpoint_auth_methods_supported"`
		AuthAlgorithms         []string `json:"token_endpoint_auth_signing_alg_values_supported"`
		IssInAnswers           bool     `json:"authorization_response_iss_parameter_supported"`
		ProofAlgorithms        []string `json:"dpop_signing_alg_values_supported,omitempty"`
		PoppyDomains           []string `json:"poppy_domains"`
		ProtectedResources     []string `json:"protected_resources,omitempty"`
	}
)

func (s *Site) poppyDocument(w http.ResponseWriter, r *http.Request) {
	scopes := authserver.AllScopes()
	d := poppyDocument{
		Organization: organization{Name: companyName, Domain: s.unless("organization.domain", s.shopHost())},
		Auth: auth{
			Issuer: s.unless("auth.issuer", s.issuer()), Direct: signInType{scopes.Direct}, Device: signInType{scopes.Device},
			Mediated:     mediatedType{Endpoint: s.issuer() + authserver.MediatedPath, Fields: authserver.Fields(), Scopes: scopes.Mediated},
			CustomScopes: map[string]string{authserver.ScopeAddresses: scopes.Meaning[authserver.ScopeAddresses]},
		},
		APIs: []apiEntry{{"openapi", s.openAPIURL(), "Orders, products and the delivery address"}},
		Web:  web{BrowserSessionEndpoint: s.joinURL()},
	}
	if s.profile.Feedback {
		d.Feedback = &feedbackEntry{Endpoint: s.feedbackURL()}
	}
	if s.profile.SessionTokens {
		// A draft's extension of operations is version 1, which this Company doesn't have.
		d.ProtocolVersion = s.profile.Version
		d.APIs = append(d.APIs, apiEntry{"mcp", s.mcpURL(), "Orders as an MCP tool"})
	} else {
		d.ProtocolVersions = []string{s.profile.Version}
		d.Extensions = &extensions{Operations: []operationsEntry{{Version: "3", Endpoint: s.endpointURL()}}}
	}
	s.serveDocument(w, r, d)
}

func (s *Site) resourceDocument(w http.ResponseWriter, r *http.Request) {
	s.serveDocument(w, r, resourceDocument{
		Resource:             s.unless("resource", s.shopOrigin()),
		ResourceName:         companyName,
		AuthorizationServers: []string{s.unless("authorization_servers", s.issuer())},
	})
}

func (s *Site) issuerDocument(w http.ResponseWriter, r *http.Request) {
	d := issuerDocument{
		Issuer:                 s.unless("issuer", s.issuer()),
		TokenEndpoint:          s.issuer() + authserver.TokenPath,
		RevocationEndpoint:     s.issuer() + authserver.RevokePath,
		AuthorizationEndpoint:  s.issuer() + authserver.AuthorizePath,
		DeviceEndpoint:         s.issuer() + authserver.DevicePath,
		ResponseTypesSupported: []string{"code"},
		GrantTypesSupported:    []string{"authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"},
		ChallengeMethods:       []string{"S256"},
		ScopesSupported:        authserver.AllScopes().Direct,
		AuthMethods:            []string{"private_key_jwt"},
		AuthAlgorithms:         []string{"ES256"},
		IssInAnswers:           true,
		PoppyDomains:           []string{s.unless("poppy_domains", s.shopHost())},
	}
	if s.profile.SessionTokens {
		d.GrantTypesSupported = append(d.GrantTypesSupported, "urn:ietf:params:oauth:grant-type:jwt-bearer")
		d.ProofAlgorithms = []string{"ES256"}
	} else {
		d.ProtectedResources = []string{s.unless("protected_resources", s.shopOrigin())}
	}
	s.serveDocument(w, r, d)
}

// unless gives the value, or one that differs in a single character when the member is told to disagree.
func (s *Site) unless(member, value string) string {
	disagree := ""
	s.faults.change(func(f *Faults) { disagree = f.Disagree })
	switch {
	case disagree != member:
		return value
	case strings.HasPrefix(value, "https://"):
		return value + "/"
	default:
		return "www." + value
	}
}

// serveDocument answers with a document that can be cached and asked for again by its ETag.
func (s *Site) serveDocument(w http.ResponseWriter, r *http.Request, document any) {
	data, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(data)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", documentMaxAge)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(append(data, '\n')))
}
