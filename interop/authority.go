package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// authorityLife is longer than any run, and long enough for a Company's clock that a run moves ahead.
const authorityLife = 48 * time.Hour

// authority is a certificate authority of this run, for servers of ours and for Node's.
type authority struct {
	file string // its certificate, PEM
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes an authority whose certificate is in dir.
func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate("interop test authority", 1)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &authority{file: filepath.Join(dir, "authority.pem"), cert: cert, key: key}
	return a, writePEM(a.file, "CERTIFICATE", der)
}

// leaf makes a server certificate for names.
func (a *authority) leaf(names ...string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := certificate(names[0], time.Now().UnixNano())
	template.DNSNames, template.ExtKeyUsage = names, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// issue makes a server certificate for names, and leaves it and its key in two files beside the authority's.
func (a *authority) issue(names ...string) (leaf tls.Certificate, certFile, keyFile string, err error) {
	leaf, err = a.leaf(names...)
	if err != nil {
		return tls.Certificate{}, "", "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		return tls.Certificate{}, "", "", err
	}
	stem := filepath.Join(filepath.Dir(a.file), names[0])
	certFile, keyFile = stem+".crt.pem", stem+".key.pem"
	if err := writePEM(certFile, "CERTIFICATE", leaf.Certificate[0]); err != nil {
		return tls.Certificate{}, "", "", err
	}
	if err := writePEM(keyFile, "PRIVATE KEY", private); err != nil {
		return tls.Certificate{}, "", "", err
	}
	return leaf, certFile, keyFile, nil
}

func certificate(name string, serial int64) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(authorityLife),
	}
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
