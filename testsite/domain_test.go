package testsite_test

import (
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/testsite"
)

// A Company elsewhere names no address of the usual one.
func TestACompanyIsWhereItsDomainSays(t *testing.T) {
	t.Parallel()
	site, a := world(t, testsite.Config{Domain: "fernhill.test"})
	if site.Company() != "https://fernhill.test" || !strings.HasPrefix(site.ConnectTo()[1], "auth.fernhill.test:443:") {
		t.Errorf("it is at %s, reached by %q", site.Company(), site.ConnectTo())
	}
	for _, address := range []string{
		"https://fernhill.test/.well-known/poppy.json", "https://fernhill.test/.well-known/oauth-protected-resource",
		"https://auth.fernhill.test/.well-known/oauth-authorization-server", "https://fernhill.test/account",
	} {
		got := a.get(address)
		if got.status != 200 || strings.Contains(got.body, "stormline.test") || !strings.Contains(got.body, "fernhill.test") {
			t.Errorf("%s answers %d, %s", address, got.status, got.body)
		}
	}
}
