package testsite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// fetchTimeout bounds one request for what an agent publishes.
const fetchTimeout = 5 * time.Second

// fetcher reaches the agents that were named, and nothing else. It is safe for concurrent use.
type fetcher struct {
	roots *x509.CertPool

	mu sync.Mutex
	at map[string]string // HOST:PORT to ADDR:PORT
}

// newFetcher makes one for the rules, HOST:PORT:ADDR:PORT each.
func newFetcher(rules []string, cas []byte) (*fetcher, error) {
	f := &fetcher{at: map[string]string{}}
	for _, rule := range rules {
		parts := strings.SplitN(rule, ":", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("%q isn't HOST:PORT:ADDR:PORT", rule)
		}
		f.at[strings.ToLower(parts[0])+":"+parts[1]] = parts[2]
	}
	if len(cas) > 0 {
		f.roots = x509.NewCertPool()
		if !f.roots.AppendCertsFromPEM(cas) {
			return nil, errors.New("no certificate in the PEM of the agents' authorities")
		}
	}
	return f, nil
}

// add makes a name be reached at an address.
func (f *fetcher) add(hostPort, address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at[strings.ToLower(hostPort)] = address
}

// client gives an HTTP client that reaches the named agents and follows no redirect.
func (f *fetcher) client() *http.Client {
	dialer := &net.Dialer{Timeout: fetchTimeout}
	return &http.Client{
		Timeout:       fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: f.roots, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				f.mu.Lock()
				to, known := f.at[strings.ToLower(address)]
				f.mu.Unlock()
				if !known {
					return nil, fmt.Errorf("no agent is known at %s", address)
				}
				return dialer.DialContext(ctx, network, to)
			},
		},
	}
}
