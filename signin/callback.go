package signin

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/papaver-agent/papaver/internal/secret"
)

// maxCallback is how long a callback address may be, in bytes.
const maxCallback = 16 << 10

var (
	// ErrNotCallback is the family of texts that are not the address the Company sends the User back to.
	ErrNotCallback = errors.New("this is not the callback address of this sign-in")
	// ErrMixUp is returned for a callback of another sign-in: another state, or another Company's iss. Nothing of it is
	// used.
	ErrMixUp = errors.New("this callback belongs to another sign-in; nothing of it was used")
)

// callback is what the Company sent back through the User's browser.
type callback struct {
	code  secret.Text
	state string
	iss   string
	fault string // of error; empty when there is a code
}

// parseCallback reads the whole address that the User's browser ended at. It must be redirect, exactly, with the
// answer's parameters behind it, each at most once (RFC 6749, section 4.1.2; RFC 9207). Its errors are of the family
// ErrNotCallback and quote nothing: an address holds a code.
func parseCallback(text, redirect string) (callback, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return callback{}, fmt.Errorf("%w: nothing was given", ErrNotCallback)
	case len(text) > maxCallback:
		return callback{}, fmt.Errorf("%w: it is longer than %d bytes", ErrNotCallback, maxCallback)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return callback{}, fmt.Errorf("%w: it has characters that no address has", ErrNotCallback)
	}
	where, query, _ := strings.Cut(text, "?")
	base, own, _ := strings.Cut(redirect, "?")
	if where != base {
		return callback{}, fmt.Errorf("%w: it does not begin with %s", ErrNotCallback, base)
	}
	if strings.Contains(query, "#") {
		return callback{}, fmt.Errorf("%w: it has a fragment", ErrNotCallback)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return callback{}, fmt.Errorf("%w: its parameters can't be read", ErrNotCallback)
	}
	fixed, err := url.ParseQuery(own)
	if err != nil {
		return callback{}, fmt.Errorf("%w: the redirect URI's own parameters can't be read", ErrNotCallback)
	}
	for name := range fixed {
		if values.Get(name) != fixed.Get(name) {
			return callback{}, fmt.Errorf("%w: the redirect URI's own parameters are missing", ErrNotCallback)
		}
	}
	for _, name := range []string{"code", "state", "iss", "error"} {
		if len(values[name]) > 1 {
			return callback{}, fmt.Errorf("%w: it names %s twice", ErrNotCallback, name)
		}
	}
	c := callback{code: secret.New(values.Get("code")), state: values.Get("state"), iss: values.Get("iss"), fault: values.Get("error")}
	if c.code.Empty() == (c.fault == "") {
		return callback{}, fmt.Errorf("%w: it has to have either a code or an error", ErrNotCallback)
	}
	return c, nil
}

// belongs checks that a callback answers the sign-in that was begun with state at issuer. A refusal may come without a
// state (draft 0.1, section 4.5); with one it must be the same.
func (c callback) belongs(state, issuer string) error {
	switch {
	case c.iss == "":
		return fmt.Errorf("%w: it does not say which Company it is from (iss)", ErrMixUp)
	case c.iss != issuer:
		return fmt.Errorf("%w: it is from another Company (iss)", ErrMixUp)
	case c.state == state:
		return nil
	case c.state == "" && c.fault != "":
		return nil
	default:
		return fmt.Errorf("%w: its state is not the one that was sent", ErrMixUp)
	}
}
