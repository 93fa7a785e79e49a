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
	"time"
)

// Lives of the certificates, before and after the moment they are made.
const (
	certificateBefore = 24 * time.Hour
	certificateAfter  = 30 * 24 * time.Hour
)

// authority is the certificate authority of one process: ECDSA P-256, in memory, never on disk.
type authority struct {
	pem  []byte // its certificate
	leaf tls.Certificate
}

// newAuthority makes an authority and its only leaf, for the names.
func newAuthority(random io.Reader, now time.Time, names ...string) (authority, error) {
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
		PermittedDNSDomains:   []string{names[0]}, // the issuer's name is below it
	}
	rootDER, err := x509.CreateCertificate(random, root, root, &key.PublicKey, key)
	if err != nil {
		return authority{}, fmt.Errorf("authority: certificate: %w", err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return authority{}, fmt.Errorf("authority: leaf key: %w", err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: names[0]},
		DNSNames:     names,
		NotBefore:    root.NotBefore,
		NotAfter:     root.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafDER, err := x509.CreateCertificate(random, leaf, root, &leafKey.PublicKey, key)
	if err != nil {
		return authority{}, fmt.Errorf("authority: leaf: %w", err)
	}
	return authority{
		pem:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}),
		leaf: tls.Certificate{Certificate: [][]byte{leafDER, rootDER}, PrivateKey: leafKey},
	}, nil
}
