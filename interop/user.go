package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/papaver-agent/papaver/signin"
)

// errNotAsked is what the User says to a question that they don't expect.
var errNotAsked = errors.New("the User didn't expect this question")

// user plays the User in a sign-in: the Company's control port does what a browser would.
type user struct {
	control string
	account string
	scopes  []string // approved; all that is asked for when nil
	decline bool

	email, password string
	codes           []string // one-time codes, in the order in which they are given

	page string // of a Direct Sign-In
	said string // what the Company says it sent the code to
}

// Address remembers the page.
func (u *user) Address(_ context.Context, p signin.AddressPrompt) error {
	u.page = p.URL
	return nil
}

// Callback opens the page, approves, and gives the address the browser ended at.
func (u *user) Callback(ctx context.Context, refused error) (string, error) {
	if refused != nil {
		return "", refused
	}
	var answer struct {
		CallbackURL string `json:"callback_url"`
	}
	err := control(ctx, u.control, "approve-authorization", map[string]any{"authorization_url": u.page, "account": u.account, "scopes": u.scopes}, &answer)
	return answer.CallbackURL, err
}

// Code opens the link and approves, or declines.
func (u *user) Code(ctx context.Context, p signin.CodePrompt) error {
	if u.decline {
		return control(ctx, u.control, "deny-device", map[string]any{"user_code": p.UserCode}, nil)
	}
	return control(ctx, u.control, "approve-device", map[string]any{"user_code": p.UserCode, "account": u.account, "scopes": u.scopes}, nil)
}

// Waiting says that the Company asked for longer pauses, which an agent that keeps to its interval isn't told.
func (u *user) Waiting(signin.Waiting) {}

// Credentials gives email and password.
func (u *user) Credentials(_ context.Context, p signin.CredentialsPrompt) (map[string][]byte, error) {
	given := make(map[string][]byte)
	for _, field := range p.Fields {
		switch field.Name {
		case "email":
			given[field.Name] = []byte(u.email)
		case "password":
			if !field.Secret {
				return nil, errors.New("the password is no secret field")
			}
			given[field.Name] = []byte(u.password)
		default:
			return nil, fmt.Errorf("the field %q: %w", field.Name, errNotAsked)
		}
	}
	return given, nil
}

// OneTimeCode gives the next code.
func (u *user) OneTimeCode(_ context.Context, p signin.OneTimePrompt) ([]byte, error) {
	if len(u.codes) == 0 {
		return nil, errNotAsked
	}
	u.said = p.SentTo
	code := u.codes[0]
	u.codes = u.codes[1:]
	return []byte(code), nil
}
