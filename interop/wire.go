package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
)

// exchange is one request that the peer's Company saw, and its answer.
type exchange struct {
	At      float64 `json:"at"` // seconds
	Request struct {
		Method  string      `json:"method"`
		URL     string      `json:"url"`
		Headers [][2]string `json:"headers"`
		Body    string      `json:"body"`
	} `json:"request"`
	Response struct {
		Status  int         `json:"status"`
		Headers [][2]string `json:"headers"`
		Body    string      `json:"body"`
	} `json:"response"`
}

// header returns the values of a request's header.
func (e *exchange) header(name string) []string {
	var values []string
	for _, h := range e.Request.Headers {
		if strings.EqualFold(h[0], name) {
			values = append(values, h[1])
		}
	}
	return values
}

// path is that of the request.
func (e *exchange) path() string {
	u, err := url.Parse(e.Request.URL)
	if err != nil {
		return e.Request.URL
	}
	return u.Path
}

// form is the request's body as a form, or nothing.
func (e *exchange) form() url.Values {
	if types := e.header("Content-Type"); len(types) != 1 || !strings.HasPrefix(types[0], "application/x-www-form-urlencoded") {
		return nil
	}
	values, _ := url.ParseQuery(e.Request.Body) // what cannot be read is no form
	return values
}

// answer is the response's body as JSON, as far as the rules look at it.
func (e *exchange) answer() (a struct {
	Error        string `json:"error"`
	AccessToken  string `json:"access_token"`
	AccountToken string `json:"refresh_token"`
	SessionID    string `json:"session_id"`
	Interval     float64
}) {
	_ = json.Unmarshal([]byte(e.Response.Body), &a) // a page is no JSON, and leaves a as it is
	return a
}

// byBrowser says whether a Chromium made the request.
func (e *exchange) byBrowser() bool {
	return strings.Contains(strings.Join(e.header("User-Agent"), " "), "Chrome/")
}

// token is what stands behind a scheme in Authorization.
func (e *exchange) token(scheme string) string {
	values := e.header("Authorization")
	if len(values) != 1 {
		return ""
	}
	token, _ := strings.CutPrefix(values[0], scheme+" ")
	if token == values[0] {
		return ""
	}
	return token
}

// statementParts are a JWT's decoded parts.
type statementParts struct {
	header, payload map[string]any
	signed          string
	signature       []byte
}

// decodeJWT decodes a compact JWT. It verifies nothing.
func decodeJWT(text string) (statementParts, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return statementParts{}, errors.New("not a compact JWT")
	}
	var p statementParts
	for i, into := range []*map[string]any{&p.header, &p.payload} {
		data, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return statementParts{}, err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return statementParts{}, err
		}
	}
	var err error
	p.signed = parts[0] + "." + parts[1]
	p.signature, err = base64.RawURLEncoding.DecodeString(parts[2])
	return p, err
}

// text is a string member, or nothing.
func (p statementParts) text(name string) string {
	s, _ := p.payload[name].(string)
	return s
}

// life is exp - iat, in seconds; 0 when one is missing.
func (p statementParts) life() float64 {
	exp, _ := p.payload["exp"].(float64)
	iat, _ := p.payload["iat"].(float64)
	return exp - iat
}

// verifiedBy checks an ES256 signature by a public JWK, which must have no private part.
func (p statementParts) verifiedBy(jwk map[string]any) error {
	if _, private := jwk["d"]; private || jwk["kty"] != "EC" || jwk["crv"] != "P-256" {
		return errors.New("the key is not a public P-256 key")
	}
	if p.header["alg"] != "ES256" || len(p.signature) != 64 {
		return errors.New("not signed with ES256")
	}
	var coordinates [2]*big.Int
	for i, name := range []string{"x", "y"} {
		text, _ := jwk[name].(string)
		data, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil || len(data) != 32 {
			return fmt.Errorf("%s is no coordinate", name)
		}
		coordinates[i] = new(big.Int).SetBytes(data)
	}
	uncompressed := append([]byte{4}, append(coordinates[0].FillBytes(make([]byte, 32)), coordinates[1].FillBytes(make([]byte, 32))...)...)
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), uncompressed)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(p.signed))
	r, s := new(big.Int).SetBytes(p.signature[:32]), new(big.Int).SetBytes(p.signature[32:])
	if !ecdsa.Verify(key, sum[:], r, s) {
		return errors.New("the signature is not this key's")
	}
	return nil
}

// hashed is base64url(SHA-256(text)).
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
