package company_test

import (
	"net/url"
	"testing"

	"github.com/papaver-agent/papaver/company"
)

// A Company's hosts are those that it and its issuer confirmed to each other, however they are written.
func TestACompanysHostsAreItsDomainAndItsIssuers(t *testing.T) {
	t.Parallel()
	c := company.Company{Domain: "example.com", Issuer: "https://id.example.net/shop", Domains: []string{"example.com", "example.co.uk", "com", ""}}
	for address, want := range map[string]bool{
		"https://example.com/a":              true,
		"https://www.example.com/a":          true,
		"https://EXAMPLE.com:443/a":          true,
		"https://example.com./a":             true,
		"https://id.example.net/a":           true,
		"https://login.id.Example.NET.:443/": true,
		"http://id.example.net:80/a":         true,
		"https://example.com:8443/a":         false,
		"https://example.net/a":              false,
		"https://example.co.uk/a":            false,
		"https://bank.com/a":                 false,
		"https://evilexample.com/a":          false,
		"https://example.com.evil.example/a": false,
		"https:///a":                         false,
		"about:blank":                        false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Hosts(u); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	for _, none := range []company.Company{{Domain: "example.com"}, {}, {Issuer: "https://"}, {Issuer: "://"}} {
		if none.Hosts(&url.URL{Scheme: "https", Host: "example.com"}) || none.Hosts(&url.URL{Scheme: "https"}) {
			t.Errorf("%+v has a host", none)
		}
	}
	ported := company.Company{Domain: "example.com:8443", Issuer: "https://example.com:8443"}
	if !ported.Hosts(&url.URL{Scheme: "https", Host: "a.example.com:8443"}) || ported.Hosts(&url.URL{Scheme: "https", Host: "example.com"}) {
		t.Error("a port is not compared")
	}
}
