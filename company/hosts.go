package company

import (
	"net/url"
	"strings"
)

// Hosts reports whether an address is on a host of the Company: its domain, its issuer's host, or below one of them. These
// two alone were confirmed by each other; the further domains that an issuer's metadata lists are its own word. A host is
// the same in capitals, with a dot at its end and with its scheme's own port. A Company without an issuer has none.
func (c *Company) Hosts(u *url.URL) bool {
	issuer, err := url.Parse(c.Issuer)
	if err != nil || issuer.Host == "" {
		return false
	}
	return Below(u, &url.URL{Scheme: "https", Host: c.Domain}) || Below(u, issuer)
}

// Below reports whether an address is on another's host, or on one below it. Its own port and any other are two hosts.
func Below(u, own *url.URL) bool {
	host, over := hostOf(u), hostOf(own)
	return over != "" && (host == over || strings.HasSuffix(host, "."+over))
}

// hostOf is an address's host with its port, in the one form in which hosts compare.
func hostOf(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	port := u.Port()
	if port == "" || u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		return host
	}
	return host + ":" + port
}
