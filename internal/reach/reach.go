// Package reach says how a host is reached: by public DNS and the system's authorities, or as `--connect-to` and
// `--cacert` say. The same rules hold for our own requests and for the browser.
//
// A named host is one that a --connect-to rule names. Only named hosts may be at loopback or private addresses, and
// only for named hosts is the extra authority trusted.
package reach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	dialTimeout      = 10 * time.Second
	headStart        = 300 * time.Millisecond // of an address before the next is tried beside it
	handshakeTimeout = 10 * time.Second
	headerTimeout    = 30 * time.Second
	idleTimeout      = 90 * time.Second
	maxHeaderBytes   = 64 << 10
	maxCACertBytes   = 1 << 20
)

// ErrPrivateAddress is returned by a dial to a loopback, private or otherwise not public address of a host that no
// --connect-to rule names.
var ErrPrivateAddress = errors.New("not a public address")

// ErrNoAddress is returned by a dial to a host that has no address.
var ErrNoAddress = errors.New("the name has no address")

// Config is what the two flags say, and how the network is reached.
type Config struct {
	ConnectTo []string // HOST:PORT:ADDR:PORT, as curl spells it
	CACerts   []string // PEM files

	// Lookup resolves a name that no rule names; nil is the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address and port; nil is the system's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Reach holds the parsed rules. It is immutable and safe for concurrent use.
type Reach struct {
	rules map[string]string // "host:port" -> "addr:port"
	order []Rule
	named *x509.CertPool // the system's authorities and the extra ones; nil when there are no extra ones

	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	dialTo func(ctx context.Context, network, address string) (net.Conn, error)
}

// New parses cfg. Its errors name the flag and what is wrong with its value.
func New(cfg Config) (*Reach, error) {
	r := &Reach{rules: make(map[string]string), lookup: cfg.Lookup, dialTo: cfg.Dial}
	if r.lookup == nil {
		r.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if r.dialTo == nil {
		r.dialTo = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	for _, s := range cfg.ConnectTo {
		rule, err := ParseRule(s)
		if err != nil {
			return nil, err
		}
		if _, twice := r.rules[rule.from()]; twice {
			return nil, fmt.Errorf("--connect-to %s: %s is named twice", s, rule.from())
		}
		r.rules[rule.from()] = rule.To
		r.order = append(r.order, rule)
	}
	if len(cfg.CACerts) == 0 {
		return r, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("the system's certificate authorities: %w", err)
	}
	for _, file := range cfg.CACerts {
		if err := addAuthorities(pool, file); err != nil {
			return nil, fmt.Errorf("--cacert %s: %w", file, err)
		}
	}
	if len(r.order) == 0 {
		return nil, errors.New("--cacert trusts an authority for the hosts that --connect-to names, and there is no --connect-to")
	}
	r.named = pool
	return r, nil
}

func addAuthorities(pool *x509.CertPool, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxCACertBytes+1))
	if err != nil {
		return err
	}
	if len(data) > maxCACertBytes {
		return fmt.Errorf("larger than %d bytes", maxCACertBytes)
	}
	n := 0
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		n++
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			// Left out in silence it would be missed only later, as an authority that nobody knows.
			return fmt.Errorf("certificate %d: %w", n, err)
		}
		pool.AddCert(cert)
	}
	if n == 0 {
		return errors.New("holds no PEM certificate")
	}
	return nil
}

// Named reports whether a rule names host (without a port).
func (r *Reach) Named(host string) bool {
	for _, rule := range r.order {
		if strings.EqualFold(rule.Host, host) {
			return true
		}
	}
	return false
}

// Client returns an HTTP client that follows the rules. It follows no redirect (the caller sees the 3xx), keeps no
// cookies, uses no proxy and speaks HTTPS only. timeout bounds one whole exchange, the body included.
func (r *Reach) Client(timeout time.Duration) *http.Client {
	transport := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("only https is spoken")
		},
		DialTLSContext:         r.dialTLS,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		DisableCompression:     true, // a small answer must not unpack to a large one
	}
	return &http.Client{
		Transport:     transport,
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (r *Reach) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := r.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, r.tlsConfig(host, "h2", "http/1.1"))
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("tls to %s: %w", host, err)
	}
	return conn, nil
}

func (r *Reach) tlsConfig(host string, protocols ...string) *tls.Config {
	cfg := &tls.Config{ServerName: host, NextProtos: protocols, MinVersion: tls.VersionTLS12}
	if r.Named(host) {
		cfg.RootCAs = r.named
	}
	return cfg
}

// dial connects to where the rules say, or to a public address of the host. A name is resolved once, and what was
// checked is what is connected to: it cannot change its answer in between. One address that is not public refuses all
// of them, since a name that points both ways is a way in.
func (r *Reach) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if to, ok := r.rules[strings.ToLower(address)]; ok {
		return r.dialTo(ctx, network, to)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := r.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	return r.race(ctx, network, addresses, port)
}

// addresses are those of a host, all of them public.
func (r *Reach) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	found := []netip.Addr(nil)
	if literal, err := netip.ParseAddr(host); err == nil {
		found = append(found, literal)
	} else if found, err = r.lookup(ctx, host); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %w", host, ErrNoAddress)
	}
	for _, a := range found {
		if !Public(a) {
			return nil, fmt.Errorf("%s is at %s: %w; name it with --connect-to if that is meant", host, a.Unmap(), ErrPrivateAddress)
		}
	}
	return found, nil
}

// race connects to one of the addresses: each is tried when one before it has failed, or when none has answered for a
// moment (RFC 8305, section 5). It returns when no try is under way any more, with the first error if all failed.
func (r *Reach) race(ctx context.Context, network string, addresses []netip.Addr, port string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type try struct {
		conn net.Conn
		err  error
	}
	tries := make(chan try)
	begun, ended := 0, 0
	next := time.NewTimer(headStart)
	defer next.Stop()
	begin := func() {
		to := net.JoinHostPort(addresses[begun].Unmap().String(), port)
		begun++
		next.Reset(headStart)
		go func() {
			conn, err := r.dialTo(ctx, network, to)
			tries <- try{conn, err}
		}()
	}
	begin()
	var won net.Conn
	var failure error
	for ended < begun {
		select {
		case t := <-tries:
			ended++
			switch {
			case t.err == nil && won == nil:
				won = t.conn
				cancel() // it ends the others; what is connected stays so
			case t.err == nil:
				_ = t.conn.Close()
			case failure == nil:
				failure = t.err
			}
		case <-next.C:
		}
		// One that failed, or the time that passed, lets the next begin.
		if won == nil && begun < len(addresses) {
			begin()
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, failure
}

// notPublic are ranges beside those that [netip.Addr] has words for: of no public host, or addresses that lead on to
// an IPv4 address inside them, which could be a private one.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),      // this network, RFC 791
	netip.MustParsePrefix("100.64.0.0/10"),  // carrier-grade NAT, RFC 6598
	netip.MustParsePrefix("192.0.0.0/24"),   // protocol assignments, RFC 6890
	netip.MustParsePrefix("198.18.0.0/15"),  // benchmarks, RFC 2544
	netip.MustParsePrefix("240.0.0.0/4"),    // reserved, RFC 1112
	netip.MustParsePrefix("64:ff9b::/96"),   // translated to IPv4, RFC 6052
	netip.MustParsePrefix("64:ff9b:1::/48"), // the same within a network, RFC 8215
	netip.MustParsePrefix("2002::/16"),      // 6to4, RFC 3056
	netip.MustParsePrefix("::/96"),          // IPv4-compatible, RFC 4291
	netip.MustParsePrefix("fec0::/10"),      // site-local, RFC 3879
}

// Public reports whether an address is one that anybody's site may be at: not loopback, private, link-local, shared,
// reserved, or one that leads on to such an address.
func Public(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a.WithZone("")) })
}
