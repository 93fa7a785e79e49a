package testsite

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"
)

// Lives of the certificates, before and after the moment they are made.
const (
	certificateBefore = 24 * time.Hour
	certificateAfter  = 30 * 24 * time.Hour
)

// authority is the certificate authority of one process: ECDSA P-256, in memory, never on disk.
type authority struct {
	pem     []byte // its certificate
	company tls.Certificate
	partner tls.Certificate
}

// newAuthority makes an authority, a leaf for the Company's names and one for the partner's. A browser that has a connection
// for a leaf's names uses it for all of them, so the partner's name is in a leaf of its own, with the same key.
func newAuthority(random io.Reader, now time.Time, n names) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return authority{}, fmt.Errorf("authority: key: %w", err)
	}
	root := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "Stormline test authority"},
		NotBefore:             now.Add(-certificateBefore),
		NotAfter:              now.Add(certificateAfter),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
		PermittedDNSDomains:   []string{n.shopHost(), n.partnerHost()}, // the issuer's name is below the shop's
	}
	rootDER, err := x509.CreateCertificate(random, root, root, &key.PublicKey, key)
	if err != nil {
		return authority{}, fmt.Errorf("authority: certificate: %w", err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return authority{}, fmt.Errorf("authority: leaf key: %w", err)
	}
	leaf := func(serial int64, names ...string) (tls.Certificate, error) {
		certificate := &x509.Certificate{
			SerialNumber: big.NewInt(serial),
			Subject:      pkix.Name{CommonName: names[0]},
			DNSNames:     names,
			NotBefore:    root.NotBefore,
			NotAfter:     root.NotAfter,
			KeyUsage:     x509.KeyUsageDigitalSignature,
			ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		der, err := x509.CreateCertificate(random, certificate, root, &leafKey.PublicKey, key)
		if err != nil {
			return tls.Certificate{}, fmt.Errorf("authority: leaf: %w", err)
		}
		return tls.Certificate{Certificate: [][]byte{der, rootDER}, PrivateKey: leafKey}, nil
	}
	a := authority{pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER})}
	if a.company, err = leaf(2, n.shopHost(), n.issuerHost()); err != nil {
		return authority{}, err
	}
	a.partner, err = leaf(3, n.partnerHost())
	return a, err
}

// tls answers for the Company over HTTP/2 or HTTP/1.1, and for the partner over HTTP/1.1 alone.
func (a authority) tls(n names) *tls.Config {
	partner := &tls.Config{Certificates: []tls.Certificate{a.partner}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	return &tls.Config{
		Certificates: []tls.Certificate{a.company}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if strings.EqualFold(hello.ServerName, n.partnerHost()) {
				return partner, nil
			}
			return nil, nil // the one above
		},
	}
}
