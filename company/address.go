package company

import (
	"fmt"
	"net/url"
	"strings"
)

// Address is where a Company is looked for: an https origin.
type Address struct {
	origin string
	domain string
}

// ParseAddress reads what a person gives as a Company: `https://example.com`, or `example.com` for short. Discovery
// files are at the root of the domain, so an address with a path is refused.
func ParseAddress(s string) (Address, error) {
	text := s
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Address{}, fmt.Errorf("company %q is not a URL", s)
	case u.Scheme != "https":
		return Address{}, fmt.Errorf("company %q: only https is spoken", s)
	case u.Hostname() == "" || strings.HasSuffix(u.Host, ":") || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return Address{}, fmt.Errorf("company %q: it is written https://DOMAIN", s)
	case u.Path != "" && u.Path != "/":
		return Address{}, fmt.Errorf("company %q: a Company is a whole domain, without a path", s)
	}
	// The comparison to come is character for character, and a person may write a host in capitals or with its port.
	domain := strings.TrimSuffix(strings.ToLower(u.Host), ":443")
	return Address{origin: "https://" + domain, domain: domain}, nil
}

// Origin is the address as an https origin, without a final slash.
func (a Address) Origin() string { return a.origin }

// Domain is the company domain.
func (a Address) Domain() string { return a.domain }
