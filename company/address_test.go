package company_test

import (
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/company"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"example.com":                "example.com",
		"https://example.com":        "example.com",
		"https://example.com/":       "example.com",
		"HTTPS://Shop.EXAMPLE.com":   "shop.example.com",
		"example.com:443":            "example.com",
		"https://example.com:8443":   "example.com:8443",
		"https://[2001:db8::1]":      "[2001:db8::1]",
		"":                           "",
		"https://":                   "",
		"http://example.com":         "",
		"ftp://example.com":          "",
		"example.com/shop":           "",
		"https://example.com/shop":   "",
		"https://example.com//":      "",
		"https://example.com?x=1":    "",
		"https://example.com?":       "",
		"https://example.com/#top":   "",
		"https://me@example.com":     "",
		"https://me:pw@example.com":  "",
		"https://example.com:":       "",
		"https://:443":               "",
		"https://example.com:http":   "",
		"https:example.com":          "",
		"exa mple.com":               "",
		"example.com\n":              "",
		"https://\x1b[31mexample":    "",
		"javascript://example.com/x": "",
	} {
		a, err := company.ParseAddress(in)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is %q", in, a.Origin())
		case want == "" && strings.ContainsAny(err.Error(), "\n\x1b"):
			t.Errorf("%q: the error %q would move a cursor", in, err)
		case want != "" && (err != nil || a.Domain() != want || a.Origin() != "https://"+want):
			t.Errorf("%q = %q, %q, %v; want %q", in, a.Domain(), a.Origin(), err, want)
		}
	}
}
