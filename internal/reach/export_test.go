package reach

import "crypto/tls"

// TLSConfig lets a test see whom a connection to a host trusts, without a connection to a public address.
func (r *Reach) TLSConfig(host string) *tls.Config { return r.tlsConfig(host) }
