package testsite

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// documentMaxAge is for how many seconds a discovery document may be kept.
const documentMaxAge = "max-age=300"

// The discovery documents. Every name here is a guess about the specification's section 3 where draft 0.1 and the
// Operations extension don't say it; the values agree character for character.
type (
	poppyDocument struct {
		ProtocolVersions []string     `json:"protocol_versions"`
		Organization     organization `json:"organization"`
		Auth             auth         `json:"auth"`
		APIs             []string     `json:"apis"` // none: this Company has a website only
		Web              web          `json:"web"`
		Extensions       extensions   `json:"extensions"`
	}
	organization struct {
		Name   string `json:"name"`
		Domain string `json:"domain"`
	}
	auth struct {
		Issuer string `json:"issuer"`
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
	}
	// issuerDocument is RFC 8414 authorization server metadata. Nobody signs in here, so it lists no endpoints.
	issuerDocument struct {
		Issuer                 string   `json:"issuer"`
		ResponseTypesSupported []string `json:"response_types_supported"`
		GrantTypesSupported    []string `json:"grant_types_supported"`
		PoppyDomains           []string `json:"poppy_domains"`
		ProtectedResources     []string `json:"protected_resources"`
	}
)

func (s *Site) poppyDocument(w http.ResponseWriter, r *http.Request) {
	s.serveDocument(w, r, poppyDocument{
		ProtocolVersions: []string{"1.0"},
		Organization:     organization{Name: companyName, Domain: s.unless("organization.domain", shopHost)},
		Auth:             auth{Issuer: s.unless("auth.issuer", issuer)},
		APIs:             []string{},
		Web:              web{BrowserSessionEndpoint: joinURL},
		Extensions:       extensions{Operations: []operationsEntry{{Version: "3", Endpoint: endpointURL}}},
	})
}

func (s *Site) resourceDocument(w http.ResponseWriter, r *http.Request) {
	s.serveDocument(w, r, resourceDocument{
		Resource:             s.unless("resource", shopOrigin),
		ResourceName:         companyName,
		AuthorizationServers: []string{s.unless("authorization_servers", issuer)},
	})
}

func (s *Site) issuerDocument(w http.ResponseWriter, r *http.Request) {
	s.serveDocument(w, r, issuerDocument{
		Issuer:                 s.unless("issuer", issuer),
		ResponseTypesSupported: []string{},
		GrantTypesSupported:    []string{},
		PoppyDomains:           []string{s.unless("poppy_domains", shopHost)},
		ProtectedResources:     []string{s.unless("protected_resources", shopOrigin)},
	})
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
