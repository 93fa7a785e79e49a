// Package randomid makes the identifiers that we choose ourselves, from a source of randomness that is given.
package randomid

import (
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// Long returns prefix and 128 random bits in base64url: nobody guesses it, and no two meet by chance. random must be
// cryptographically secure; its error comes back wrapped.
func Long(random io.Reader, prefix string) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("random bytes: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// Short returns eight letters and digits that a person can type, from 40 random bits: a name, never a secret. The error
// of random comes back wrapped.
func Short(random io.Reader) (string, error) {
	var b [5]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("random bytes: %w", err)
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:])), nil
}
