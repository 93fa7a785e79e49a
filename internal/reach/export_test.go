package reach

import (
	"context"
	"crypto/tls"
	"net"
)

// TLSConfig lets a test see whom a connection to a host trusts, without a connection to a public address.
func (r *Reach) TLSConfig(host string) *tls.Config { return r.tlsConfig(host) }

// Dial lets a test see where a connection goes, without the TLS on it.
func (r *Reach) Dial(ctx context.Context, address string) (net.Conn, error) {
	return r.dial(ctx, "tcp", address)
}
