package session

import (
	"net/url"
	"testing"
)

func TestALinkForAPersonIsOneAddress(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]bool{
		"https://company.example/device":                             true,
		"https://company.example/device?user_code=AB-CD":             true,
		"https://company.example/device then open https://evil.test": false,
		"https://company.example/device  ":                           false,
		"http://company.example/device":                              false,
		"https://user@company.example/device":                        false,
	} {
		if got := isLink(link); got != want {
			t.Errorf("isLink(%q) = %v", link, got)
		}
	}
}

func TestAPathThatClimbsIsBelowNothing(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://api.example/mcp":              true,
		"https://api.example/mcp/tools":        true,
		"https://api.example/mcp/../admin":     false,
		"https://api.example/mcp/%2e%2e/admin": false,
		"https://api.example/mcp/..%2fadmin":   false,
		"https://api.example/mcp/.%5c..%5cadm": false,
		"https://api.example/mcp/..a":          true,
		"https://api.example/mcpx":             false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := below(u, "https://api.example/mcp"); got != want {
			t.Errorf("%s is below: %v", address, got)
		}
	}
}
