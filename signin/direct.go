package signin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/session"
)

const (
	// directWait is how long the User has for the Company's page.
	directWait = 15 * time.Minute
	// exchangeWait is for the code's exchange. It is not the User's time.
	exchangeWait = time.Minute
	randomBytes  = 32 // of the state and of the PKCE verifier; RFC 7636, section 4.1
)

// direct is the authorization code flow with PKCE: show the page, wait for the address the browser ends at, check that
// it answers this sign-in, exchange its code (draft 0.1, section 4.5).
func (f *flow) direct(ctx context.Context) (session.Grant, error) {
	state, err := f.random()
	if err != nil {
		return session.Grant{}, err
	}
	verifier, err := f.random()
	if err != nil {
		return session.Grant{}, err
	}
	address, err := f.authorization(state, verifier)
	if err != nil {
		return session.Grant{}, err
	}
	// The Session is there before the User goes to the page, so that nothing can fail after they approved but the
	// exchange itself.
	if _, err := f.Session.Start(ctx); err != nil {
		return session.Grant{}, err
	}
	back, err := f.callback(ctx, address, state)
	if err != nil {
		return session.Grant{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, exchangeWait)
	defer cancel()
	return f.token(ctx, url.Values{
		"grant_type":    {session.GrantCode},
		"code":          {back.code.Reveal()},
		"redirect_uri":  {f.Redirect},
		"code_verifier": {verifier},
	})
}

// callback shows the page and waits for the address that answers it. One that does not is refused, and the waiting
// goes on.
func (f *flow) callback(ctx context.Context, address, state string) (callback, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, directWait, ErrExpired)
	defer cancel()
	if err := f.UI.Address(ctx, AddressPrompt{Party: f.party(), URL: address, Redirect: f.Redirect, Ends: f.Now().Add(directWait)}); err != nil {
		return callback{}, err
	}
	var refused error
	for {
		text, err := f.UI.Callback(ctx, refused)
		if errors.Is(context.Cause(ctx), ErrExpired) {
			return callback{}, ErrExpired
		}
		if err != nil {
			return callback{}, err
		}
		back, err := parseCallback(text, f.Redirect)
		if err == nil {
			err = back.belongs(state, f.Company.Issuer)
		}
		switch {
		case err != nil:
			refused = err
		case back.fault == "access_denied":
			return callback{}, ErrDeclined
		case back.fault != "":
			return callback{}, &PageError{Code: back.fault}
		default:
			return back, nil
		}
	}
}

// authorization is the address of the Company's page for this sign-in.
func (f *flow) authorization(state, verifier string) (string, error) {
	u, err := url.Parse(f.Company.Server.Authorization)
	if err != nil || u.Scheme != "https" {
		return "", fmt.Errorf("the authorization endpoint of %s: %w", f.Company.Domain, ErrUnsafeLink)
	}
	challenge := sha256.Sum256([]byte(verifier))
	q := u.Query()
	for name, value := range map[string]string{
		"response_type":         "code",
		"client_id":             f.ClientID,
		"redirect_uri":          f.Redirect,
		"scope":                 strings.Join(f.scope, " "),
		"state":                 state,
		"code_challenge":        base64.RawURLEncoding.EncodeToString(challenge[:]),
		"code_challenge_method": "S256",
	} {
		q.Set(name, value)
	}
	if f.Company.Profile.TokenResource {
		q.Set("resource", f.Company.Resource)
	}
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String(), nil
}

// random is a value that nobody guesses, in characters that need no escape.
func (f *flow) random() (string, error) {
	var b [randomBytes]byte
	if _, err := io.ReadFull(f.Rand, b[:]); err != nil {
		return "", fmt.Errorf("random bytes: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}
