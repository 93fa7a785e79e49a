package opsweb

import (
	"net/url"
)

// place is a page's address as people say it: host and path. What follows a question mark can hold anything.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "a page"
	}
	return u.Host + u.EscapedPath()
}

// differences are the lines, each beginning "Differs:", that the User is to see beside the terms.
func (r *round) differences() []string {
	return nil
}
