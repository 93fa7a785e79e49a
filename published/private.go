package published

import (
	"encoding/json"
	"regexp"
	"slices"
)

// privateMembers are those of RFC 7518, sections 6.2.2, 6.3.2 and 6.4.1.
func privateMembers() []string { return []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} }

// inDisorder finds a private key in what is no JSON, or none that we read: the private part of a JWK, or a PEM block.
var inDisorder = regexp.MustCompile(`"d"\s*:\s*"[A-Za-z0-9_-]{20,}|PRIVATE KEY-----`)

// unnamed stands for a private key that neither names itself nor is one of ours.
const unnamed = "one without a kid"

// privateKeys names the private keys in a document, wherever they stand in it: a key set is not the only file that is
// uploaded in its place. own is the home's key set.
func privateKeys(data []byte, own keySet) []string {
	var document any
	if json.Unmarshal(data, &document) != nil {
		if inDisorder.Match(data) {
			return []string{unnamed}
		}
		return nil
	}
	var names []string
	walk(document, func(object map[string]any) {
		if object["kty"] == nil || !slices.ContainsFunc(privateMembers(), func(m string) bool { return object[m] != nil }) {
			return
		}
		name := unnamed
		if kid, ok := object["kid"].(string); ok {
			name = kid
		}
		for _, k := range own.Keys {
			if k.member("x") == object["x"] {
				name = k.member("kid")
			}
		}
		names = append(names, name)
	})
	if names == nil && inDisorder.Match(data) {
		names = []string{unnamed}
	}
	return names
}

// walk calls visit for each object in a value.
func walk(value any, visit func(map[string]any)) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	case map[string]any:
		visit(v)
		for _, item := range v {
			walk(item, visit)
		}
	}
}
