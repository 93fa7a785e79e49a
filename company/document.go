package company

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/papaver-agent/papaver/internal/strictjson"
)

const (
	maxDocument  = 100 << 10 // bytes
	maxDepth     = 16        // nested objects and arrays of a document
	maxRedirects = 3         // of one document, to https only
)

// poppyDocument is the part of poppy.json that we read; other members are ignored. What a rule of its own judges stays
// raw until then, so that one wrong member does not hide the others.
type poppyDocument struct {
	Versions     []string `json:"protocol_versions"`
	Version      string   `json:"protocol_version"`
	Organization struct {
		Name   string `json:"name"`
		Domain string `json:"domain"`
	} `json:"organization"`
	Auth *struct {
		Issuer       string          `json:"issuer"`
		Direct       json.RawMessage `json:"direct"`
		Device       json.RawMessage `json:"device"`
		Mediated     json.RawMessage `json:"mediated"`
		CustomScopes json.RawMessage `json:"custom_scopes"`
	} `json:"auth"`
	Web struct {
		JoinEndpoint *string `json:"browser_session_endpoint"`
	} `json:"web"`
	APIs  json.RawMessage `json:"apis"`
	Agent struct {
		Protocols json.RawMessage `json:"protocols"`
	} `json:"agent"`
	Feedback   json.RawMessage            `json:"feedback"`
	Extensions map[string]json.RawMessage `json:"extensions"`
}

// versions are the protocol versions listed: those of the list where there is one, else the one of the drafts' form.
// PROTOCOL 1.0, section 18, row 21, a guess.
func (p *poppyDocument) versions() []string {
	if p.Versions == nil && p.Version != "" {
		return []string{p.Version}
	}
	return p.Versions
}

// listed says which versions are listed, and where.
func (p *poppyDocument) listed() string {
	switch versions := p.versions(); {
	case p.Versions != nil:
		return "protocol_versions lists " + quoted(strings.Join(versions, ", "))
	case p.Version != "":
		return "protocol_version is " + quoted(p.Version)
	default:
		return "neither protocol_versions nor protocol_version is there"
	}
}

type resourceDocument struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
}

// there reports whether a member was sent, and not as null.
func there(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// readMember decodes the member at a path of its document; its error names both.
func readMember(at string, raw json.RawMessage, into any) *DocumentError {
	if err := strictjson.Decode(raw, strictjson.Limits{}, into); err != nil {
		return &DocumentError{Family: ErrUnreadable, Rule: at + " is not what it should be", Cause: err,
			Change: "let each member of " + at + " have its type, as the example in the specification"}
	}
	return nil
}

// isHTTPS reports whether s is a URL that we may call: absolute, https, without a user and a fragment.
func isHTTPS(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

// wantHTTPS is the error of a member that is no such URL, else nil.
func wantHTTPS(member, value string) *DocumentError {
	if isHTTPS(value) {
		return nil
	}
	return &DocumentError{Family: ErrUnreadable, Rule: fmt.Sprintf("%s is %s and not an https URL", member, quoted(value)),
		Change: fmt.Sprintf("set %s to an absolute https URL without a user or a fragment, or leave out what it belongs to", member)}
}

// statusError is an HTTP status that is not 200.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("status %d", e.code) }

// status is the HTTP status that e is about; e may be nil.
func (e *DocumentError) status() (int, bool) {
	if e == nil {
		return 0, false
	}
	s, ok := errors.AsType[*statusError](e.Cause)
	if !ok {
		return 0, false
	}
	return s.code, true
}
