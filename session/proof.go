package session

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/internal/randomid"
	"github.com/papaver-agent/papaver/internal/secret"
)

const (
	proofTyp   = "dpop+jwt"
	nonceField = "DPoP-Nonce"
	maxNonce   = 512 // bytes
	maxServers = 64  // whose nonces a key remembers
)

// ProofKey is the key a Session's tokens are bound to in the drafts, by DPoP (RFC 9449; draft 0.1, section 4.3). It is
// made for one Session, is in no key set and in no file, and ends with the process. It remembers the newest nonce of
// each server. Safe for concurrent use.
type ProofKey struct {
	signer *Signer
	jwk    map[string]any // kty, crv, x and y alone
	now    func() time.Time
	random io.Reader

	mu     sync.Mutex
	nonces map[nonceOf]string
}

// nonceOf is who made a nonce. An authorization server and an API at one origin may each make their own.
type nonceOf struct {
	origin string
	token  bool // the proof stands beside a token: the server is an API
}

// NewProofKey makes a key.
func NewProofKey(now func() time.Time, random io.Reader) (*ProofKey, error) {
	signer, err := NewSigner(random)
	if err != nil {
		return nil, fmt.Errorf("DPoP key: %w", err)
	}
	jwk := make(map[string]any)
	for _, name := range []string{"kty", "crv", "x", "y"} {
		jwk[name] = signer.PublicJWK()[name]
	}
	return &ProofKey{signer: signer, jwk: jwk, now: now, random: random, nonces: make(map[nonceOf]string)}, nil
}

// Thumbprint is the key's RFC 7638 thumbprint, which is how servers name it (jkt).
func (k *ProofKey) Thumbprint() string { return k.signer.KeyID() }

// Format implements [fmt.Formatter]: the key stays inside.
func (k *ProofKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "redacted") }

// Proof returns a proof for one request. accessToken is the token beside it, and empty for a request to the token
// endpoint. The proof must be used once.
func (k *ProofKey) Proof(method, address string, accessToken secret.Text) (secret.Text, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Opaque != "" {
		return secret.Text{}, errors.New("DPoP proof: the address is no absolute URL")
	}
	jti, err := randomid.Long(k.random, "")
	if err != nil {
		return secret.Text{}, err
	}
	payload := claims{"jti": jti, "htm": method, "htu": proofURL(u), "iat": k.now().Unix()}
	if !accessToken.Empty() {
		payload["ath"] = tokenHash(accessToken)
	}
	if nonce := k.nonce(origin(u), !accessToken.Empty()); nonce != "" {
		payload["nonce"] = nonce
	}
	return k.signer.Sign(claims{"typ": proofTyp, "jwk": k.jwk}, payload)
}

// Heard remembers the nonce that an answer to a request brought, if any. withToken says that the request's proof stood
// beside a token. It reports whether there was one.
func (k *ProofKey) Heard(u *url.URL, header http.Header, withToken bool) bool {
	fields := header.Values(nonceField)
	if len(fields) != 1 || fields[0] == "" || len(fields[0]) > maxNonce || strings.ContainsFunc(fields[0], func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\\' // RFC 9449, section 8.1
	}) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	of := nonceOf{origin(u), withToken}
	if _, known := k.nonces[of]; !known && len(k.nonces) >= maxServers {
		clear(k.nonces)
	}
	k.nonces[of] = fields[0]
	return true
}

// nonce is the newest of a server. Where only the other kind of server at its origin gave one, that is tried: often
// both are one.
func (k *ProofKey) nonce(origin string, withToken bool) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if nonce, ok := k.nonces[nonceOf{origin, withToken}]; ok {
		return nonce
	}
	return k.nonces[nonceOf{origin, !withToken}]
}

// proofURL is htu: the URL without query and fragment, its path as it is sent. Companies compare it as text, so the
// port shows only where it is not https's own, and the host is in lower case.
func proofURL(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	return origin(u) + path
}

// origin is the scheme, host and port of a URL, in one spelling.
func origin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	return scheme + "://" + strings.TrimSuffix(host, ":")
}

// tokenHash is what binds a statement to a token: its SHA-256 in base64url (RFC 9449, section 4.2).
func tokenHash(token secret.Text) string {
	sum := sha256.Sum256([]byte(token.Reveal()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
