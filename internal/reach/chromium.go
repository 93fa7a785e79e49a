package reach

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Chromium is what the rules mean for a Chromium: values of its command line switches.
type Chromium struct {
	// HostResolverRules is for --host-resolver-rules; empty without rules.
	HostResolverRules string
	// LeafKeys are SHA-256 hashes of public keys, base64, for --ignore-certificate-errors-spki-list: the leaf keys
	// of those named hosts whose chain the extra authority vouches for and the system's do not.
	LeafKeys []string
	// Notices say which named hosts could not be checked, and why. Chromium does not trust those.
	Notices []string
}

// Chromium connects to each named host, to all of them at once, verifies its certificate chain, and returns what Chromium
// needs to reach the same hosts. Chromium is given leaf keys and never an authority's: with the authority's key on that switch,
// a self-signed certificate for any name that carries the public authority certificate behind it would pass [measured].
func (r *Reach) Chromium(ctx context.Context) Chromium {
	keys, errs := make([]string, len(r.order)), make([]error, len(r.order))
	var asking sync.WaitGroup
	for i, rule := range r.order {
		if r.named != nil {
			asking.Go(func() { keys[i], errs[i] = r.leafKey(ctx, rule) })
		}
	}
	asking.Wait()
	var c Chromium
	var rules []string
	for i, rule := range r.order {
		rules = append(rules, fmt.Sprintf("MAP %s %s", rule.from(), rule.To))
		if errs[i] != nil {
			c.Notices = append(c.Notices, fmt.Sprintf("%s: %v", rule.from(), errs[i]))
		} else if keys[i] != "" && !slices.Contains(c.LeafKeys, keys[i]) {
			c.LeafKeys = append(c.LeafKeys, keys[i])
		}
	}
	c.HostResolverRules = strings.Join(rules, ", ")
	return c
}

// leafKey returns the hash of the leaf's public key, or nothing when the system's authorities vouch for it.
func (r *Reach) leafKey(ctx context.Context, rule Rule) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	raw, err := r.dialTo(ctx, "tcp", rule.To)
	if err != nil {
		return "", err
	}
	defer func() { _ = raw.Close() }()
	conn := tls.Client(raw, r.tlsConfig(rule.Host))
	if err := conn.HandshakeContext(ctx); err != nil {
		return "", err
	}
	chain := conn.ConnectionState().PeerCertificates
	intermediates := x509.NewCertPool()
	for _, cert := range chain[1:] {
		intermediates.AddCert(cert)
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{DNSName: rule.Host, Intermediates: intermediates}); err == nil {
		return "", nil
	}
	hash := sha256.Sum256(chain[0].RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(hash[:]), nil
}
