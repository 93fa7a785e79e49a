package company

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/profile"
)

// operations is the one extension that belongs to the protocol.
const operations = "operations"

// Origin says who defines an extension, by its name (draft 0.1, section 3.3).
type Origin string

// The origins.
const (
	OriginProtocol   Origin = "protocol"    // a plain name: it is defined with the protocol
	OriginThirdParty Origin = "third-party" // a domain that its author controls comes first
	OriginNone       Origin = "none"        // neither: it is no extension's name
)

// Extension is an extension that a Company lists.
type Extension struct {
	Name     string   // the Company's own text, not sanitised
	Origin   Origin   // who defines it
	Versions []string // as far as they are strings; the Company's own text, not sanitised
	Ours     bool     // the version that belongs to the profile is listed
}

// Names begin like a domain's labels do, so that none can be taken for another by its case.
var (
	plainName      = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	thirdPartyName = regexp.MustCompile(`^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?/[a-z0-9][a-z0-9._-]{0,127}$`)
)

func originOf(name string) Origin {
	switch {
	case plainName.MatchString(name):
		return OriginProtocol
	case thirdPartyName.MatchString(name):
		return OriginThirdParty
	default:
		return OriginNone
	}
}

// extensionEntry is an entry of an extension. The endpoint is read only when the version is ours: what it means in
// another one is not ours to judge.
type extensionEntry struct {
	Version  string          `json:"version"`
	Endpoint json.RawMessage `json:"endpoint"`
}

// entriesOf returns the entries of an extension, in either shape. One that is no object with a version in a string is
// of a version that is not ours, and left out.
func entriesOf(raw json.RawMessage) []extensionEntry {
	items := []json.RawMessage{raw}
	if bytes.HasPrefix(raw, []byte("[")) && strictjson.Decode(raw, strictjson.Limits{}, &items) != nil {
		return nil
	}
	var entries []extensionEntry
	for _, item := range items {
		var entry extensionEntry
		if strictjson.Decode(item, strictjson.Limits{}, &entry) == nil && entry.Version != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

// extensions is what the report says of them.
func (d *discovery) extensions() []Extension {
	var list []Extension
	for _, name := range slices.Sorted(maps.Keys(d.poppy.Extensions)) {
		x := Extension{Name: name, Origin: originOf(name), Ours: name == operations && d.company.OperationsListed}
		for _, entry := range entriesOf(d.poppy.Extensions[name]) {
			x.Versions = append(x.Versions, entry.Version)
		}
		list = append(list, x)
	}
	return list
}

// checkExtensions refuses a document that mixes versions: operations in another version's shape. Extensions that we
// don't speak are ignored, whatever they are (draft 0.1, section 3.3).
func checkExtensions(_ context.Context, d *discovery) (string, *DocumentError) {
	raw := d.poppy.Extensions[operations]
	if !there(raw) {
		return "extensions.operations is not listed", nil
	}
	shape := profile.Shape("")
	switch raw[0] {
	case '[':
		shape = profile.ShapeList
	case '{':
		shape = profile.ShapeObject
	}
	words := map[profile.Shape]string{
		profile.ShapeList: "an array of entries, as 1.0 lists it", profile.ShapeObject: "one object, as the drafts list it", "": "neither an array nor an object",
	}
	if shape != d.profile.ExtensionShape {
		return "", &DocumentError{Family: ErrVersion,
			Rule:   fmt.Sprintf("extensions.operations is %s, and not %s: poppy.json mixes versions", words[shape], words[d.profile.ExtensionShape]),
			Change: fmt.Sprintf("let extensions.operations be %s, or list only the version whose shape it has", words[d.profile.ExtensionShape])}
	}
	return "extensions.operations is " + words[shape], nil
}

// checkOperations reads the entry of our version (Operations v3, section 2; Operations v1, section 2). A different
// version does not count as support.
func checkOperations(_ context.Context, d *discovery) (string, *DocumentError) {
	c, ours := &d.company, d.profile.OperationsVersion
	list := slices.DeleteFunc(entriesOf(d.poppy.Extensions[operations]), func(e extensionEntry) bool { return e.Version != ours })
	c.OperationsListed = len(list) > 0
	switch {
	case len(list) == 0:
		return fmt.Sprintf("extensions.operations has no entry of version %q, so none are used", ours), nil
	case len(list) > 1:
		return "", &DocumentError{Family: ErrDisagree,
			Rule:   fmt.Sprintf("extensions.operations lists version %q twice", ours),
			Change: fmt.Sprintf("leave one entry of version %q", ours)}
	case !there(list[0].Endpoint) && d.profile.References:
		return fmt.Sprintf("version %q without an endpoint: no operations on the website", ours), nil
	}
	var at string
	if err := strictjson.Decode(list[0].Endpoint, strictjson.Limits{}, &at); err != nil || !isHTTPS(at) {
		return "", &DocumentError{Family: ErrUnreadable,
			Rule:   fmt.Sprintf("extensions.operations.endpoint is %s and not an https URL", quoted(at)),
			Change: "set endpoint to an absolute https URL without a user or a fragment, or leave it out"}
	}
	if d.profile.References {
		c.OperationsEndpoint = at
	} else {
		c.OperationsByID = at
	}
	return fmt.Sprintf("version %q at %s", ours, quoted(at)), nil
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
