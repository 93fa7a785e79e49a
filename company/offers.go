package company

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// What is listed is bounded, so that it can be shown whole.
const (
	maxScopes = 200 // of one sign-in type, and those described
	maxFields = 20  // of Mediated Sign-In
	maxAPIs   = 100
	maxName   = 200 // bytes of a scope and of a field's name
	maxText   = 500 // bytes of a label and of a description
)

// offerRules are those about what poppy.json offers beside the website.
func offerRules() []rule {
	return []rule{
		{name: "APIs are listed rightly", of: poppy, when: lists(func(p *poppyDocument) json.RawMessage { return p.APIs }), check: checkAPIs},
		{name: "conversations are listed rightly", of: poppy, when: lists(func(p *poppyDocument) json.RawMessage { return p.Agent.Protocols }), check: checkConversations},
		{name: "feedback is listed rightly", of: poppy, when: func(d *discovery) bool { return d.profile.Feedback && there(d.poppy.Feedback) }, check: checkFeedback},
		{name: "Direct Sign-In is listed rightly", of: poppy, when: lists(direct), check: checkDirect},
		{name: "Device Sign-In is listed rightly", of: poppy, when: lists(device), check: checkDevice},
		{name: "Mediated Sign-In is listed rightly", of: poppy, when: lists(mediated), check: checkMediated},
		{name: "the Company's own scopes are described", of: poppy, when: lists(customScopes), check: checkCustomScopes},
	}
}

func direct(p *poppyDocument) json.RawMessage {
	if p.Auth == nil {
		return nil
	}
	return p.Auth.Direct
}

func device(p *poppyDocument) json.RawMessage {
	if p.Auth == nil {
		return nil
	}
	return p.Auth.Device
}

func mediated(p *poppyDocument) json.RawMessage {
	if p.Auth == nil {
		return nil
	}
	return p.Auth.Mediated
}

func customScopes(p *poppyDocument) json.RawMessage {
	if p.Auth == nil {
		return nil
	}
	return p.Auth.CustomScopes
}

func lists(member func(*poppyDocument) json.RawMessage) func(*discovery) bool {
	return func(d *discovery) bool { return there(member(&d.poppy)) }
}

// checkAPIs reads the APIs of the types that we know (draft 0.1, section 6). Of the others nothing but the type is read.
func checkAPIs(_ context.Context, d *discovery) (string, *DocumentError) {
	var list []json.RawMessage
	if err := readMember("apis", d.poppy.APIs, &list); err != nil {
		return "", err
	}
	if len(list) > maxAPIs {
		return "", tooMany("apis", len(list), maxAPIs)
	}
	var apis []API
	left := 0
	for i, raw := range list {
		at := fmt.Sprintf("apis[%d]", i)
		var kind struct {
			Type string `json:"type"`
		}
		if err := readMember(at, raw, &kind); err != nil {
			return "", err
		}
		if kind.Type != "openapi" && kind.Type != "mcp" {
			left++
			continue
		}
		var entry struct {
			URL         string  `json:"url"`
			Description string  `json:"description"`
			Resource    *string `json:"resource"`
		}
		if err := readMember(at, raw, &entry); err != nil {
			return "", err
		}
		if err := wantHTTPS(at+".url", entry.URL); err != nil {
			return "", err
		}
		if err := wantShort(at+".description", entry.Description, maxText); err != nil {
			return "", err
		}
		api := API{Type: kind.Type, URL: entry.URL, Description: entry.Description}
		if entry.Resource != nil {
			if err := wantHTTPS(at+".resource", *entry.Resource); err != nil {
				return "", err
			}
			api.Resource = *entry.Resource
		}
		apis = append(apis, api)
	}
	d.company.APIs = apis
	found := fmt.Sprintf("apis lists %d that we know", len(apis))
	if left > 0 {
		found += fmt.Sprintf(", and %d of another type, which are left out", left)
	}
	return found, nil
}

// checkConversations takes the first protocol of ours.
func checkConversations(_ context.Context, d *discovery) (string, *DocumentError) {
	var list []json.RawMessage
	if err := readMember("agent.protocols", d.poppy.Agent.Protocols, &list); err != nil {
		return "", err
	}
	for i, raw := range list {
		at := fmt.Sprintf("agent.protocols[%d]", i)
		var entry struct {
			Type     string          `json:"type"`
			Endpoint json.RawMessage `json:"endpoint"`
		}
		if err := readMember(at, raw, &entry); err != nil {
			return "", err
		}
		if entry.Type != "poppy" {
			continue
		}
		var endpoint string
		if there(entry.Endpoint) {
			if err := readMember(at+".endpoint", entry.Endpoint, &endpoint); err != nil {
				return "", err
			}
		}
		if err := wantHTTPS(at+".endpoint", endpoint); err != nil {
			return "", err
		}
		d.company.Conversations = endpoint
		return fmt.Sprintf("conversations are at %s", quoted(endpoint)), nil
	}
	return "agent.protocols lists none of type poppy", nil
}

func checkFeedback(_ context.Context, d *discovery) (string, *DocumentError) {
	var entry struct {
		Endpoint string `json:"endpoint"`
	}
	if err := readMember("feedback", d.poppy.Feedback, &entry); err != nil {
		return "", err
	}
	if err := wantHTTPS("feedback.endpoint", entry.Endpoint); err != nil {
		return "", err
	}
	d.company.Feedback = entry.Endpoint
	return "feedback.endpoint is " + quoted(entry.Endpoint), nil
}

// signInMember is one sign-in type of poppy.json (draft 0.1, section 4.4); the last two are Mediated Sign-In's.
type signInMember struct {
	Scopes   []string `json:"scopes"`
	Endpoint string   `json:"endpoint"`
	Fields   []struct {
		Name   string `json:"name"`
		Label  string `json:"label"`
		Secret *bool  `json:"secret"`
	} `json:"fields"`
}

func (d *discovery) readSignIn(at string, raw json.RawMessage) (m signInMember, found string, err *DocumentError) {
	if err := readMember(at, raw, &m); err != nil {
		return m, "", err
	}
	// Without scopes nothing could be asked for; where the metadata tells them it is read later.
	if len(m.Scopes) == 0 && !d.profile.SignInFromMetadata {
		return m, "", &DocumentError{Family: ErrDisagree, Rule: at + ".scopes is missing or empty",
			Change: "list in " + at + ".scopes what can be granted, or leave the sign-in type out"}
	}
	if err := wantScopes(at+".scopes", m.Scopes); err != nil {
		return m, "", err
	}
	return m, fmt.Sprintf("%s can grant %d scopes", at, len(m.Scopes)), nil
}

func checkDirect(_ context.Context, d *discovery) (string, *DocumentError) {
	m, found, err := d.readSignIn("auth.direct", d.poppy.Auth.Direct)
	if err == nil {
		d.company.SignIn.Direct = &Direct{Scopes: m.Scopes}
	}
	return found, err
}

func checkDevice(_ context.Context, d *discovery) (string, *DocumentError) {
	m, found, err := d.readSignIn("auth.device", d.poppy.Auth.Device)
	if err == nil {
		d.company.SignIn.Device = &Device{Scopes: m.Scopes}
	}
	return found, err
}

func checkMediated(_ context.Context, d *discovery) (string, *DocumentError) {
	m, found, err := d.readSignIn("auth.mediated", d.poppy.Auth.Mediated)
	if err != nil {
		return "", err
	}
	if err := wantHTTPS("auth.mediated.endpoint", m.Endpoint); err != nil {
		return "", err
	}
	offer := &Mediated{Scopes: m.Scopes, Endpoint: m.Endpoint}
	if n := len(m.Fields); n == 0 || n > maxFields {
		return "", &DocumentError{Family: ErrDisagree, Rule: fmt.Sprintf("auth.mediated.fields lists %d fields", n),
			Change: fmt.Sprintf("list from 1 to %d fields in auth.mediated.fields", maxFields)}
	}
	for i, f := range m.Fields {
		at := fmt.Sprintf("auth.mediated.fields[%d]", i)
		for _, member := range []struct {
			name, value string
			max         int
		}{{".name", f.Name, maxName}, {".label", f.Label, maxText}} {
			if member.value == "" {
				return "", missing(at + member.name)
			}
			if err := wantShort(at+member.name, member.value, member.max); err != nil {
				return "", err
			}
		}
		if f.Secret == nil {
			return "", missing(at + ".secret")
		}
		if slices.ContainsFunc(offer.Fields, func(other Field) bool { return other.Name == f.Name }) {
			return "", &DocumentError{Family: ErrDisagree, Rule: fmt.Sprintf("%s.name is %s, as another field's", at, quoted(f.Name)),
				Change: "give each field a name of its own"}
		}
		offer.Fields = append(offer.Fields, Field{Name: f.Name, Label: f.Label, Secret: *f.Secret})
	}
	d.company.SignIn.Mediated = offer
	return fmt.Sprintf("%s, asks for %d fields, and takes them at %s", found, len(offer.Fields), quoted(m.Endpoint)), nil
}

func checkCustomScopes(_ context.Context, d *discovery) (string, *DocumentError) {
	var scopes map[string]string
	if err := readMember("auth.custom_scopes", d.poppy.Auth.CustomScopes, &scopes); err != nil {
		return "", err
	}
	names := make([]string, 0, len(scopes))
	for name, description := range scopes {
		names = append(names, name)
		if err := wantShort("auth.custom_scopes", description, maxText); err != nil {
			return "", err
		}
	}
	slices.Sort(names) // what is said of several wrong ones does not change from run to run
	if err := wantScopes("auth.custom_scopes", names); err != nil {
		return "", err
	}
	d.company.SignIn.Scopes = scopes
	return fmt.Sprintf("auth.custom_scopes describes %d", len(scopes)), nil
}

// wantScopes is about the syntax of each (RFC 6749, section 3.3) and their number.
func wantScopes(at string, scopes []string) *DocumentError {
	if len(scopes) > maxScopes {
		return tooMany(at, len(scopes), maxScopes)
	}
	for _, scope := range scopes {
		wrong := strings.ContainsFunc(scope, func(r rune) bool { return r < '!' || r > '~' || r == '"' || r == '\\' })
		if wrong || scope == "" {
			return &DocumentError{Family: ErrUnreadable, Rule: fmt.Sprintf("%s has %s, which is no scope", at, quoted(scope)),
				Change: `write each scope in ASCII without a space, a quote and a backslash (RFC 6749, section 3.3)`}
		}
		if err := wantShort(at, scope, maxName); err != nil {
			return err
		}
	}
	return nil
}

func wantShort(at, value string, most int) *DocumentError {
	if len(value) <= most {
		return nil
	}
	return &DocumentError{Family: ErrUnreadable, Rule: fmt.Sprintf("%s has a text of %d bytes", at, len(value)),
		Change: fmt.Sprintf("keep it to %d bytes", most)}
}

func missing(at string) *DocumentError {
	return &DocumentError{Family: ErrDisagree, Rule: at + " is missing", Change: "add " + at}
}

func tooMany(at string, n, most int) *DocumentError {
	return &DocumentError{Family: ErrUnreadable, Rule: fmt.Sprintf("%s lists %d entries", at, n), Change: fmt.Sprintf("keep it to %d", most)}
}
