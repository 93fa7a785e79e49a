// Package signin gets the agent access to the User's account at a Company, in the three ways a Company may offer
// (draft 0.1, sections 4.4 to 4.7): Direct, on the Company's page in the User's own browser; Device, on any device by a
// link and a code; Mediated, with credentials that the User gives to the agent.
//
// Direct and Device belong to the User: nothing here opens the Company's page, in our browser or another. Each type is
// a small machine that waits for one thing at a time, each wait has an end, and the User is reached through [UI] alone,
// so that it works without a terminal. What comes of it, the Account Token, is kept by package account before it is
// used; until then, and when it fails, what was kept before stands.
//
// What this does not promise: credentials and codes are overwritten in our own memory when they were sent, and copies
// that the TLS and HTTP libraries made for the sending are not.
package signin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/session"
)

var (
	// ErrDeclined is returned when the User declined on the Company's page.
	ErrDeclined = errors.New("the sign-in was declined on the Company's page")
	// ErrExpired is returned when the sign-in was not finished in time.
	ErrExpired = errors.New("the sign-in was not finished in time")
	// ErrFailed is returned when the Company did not take the credentials or the codes.
	ErrFailed = errors.New("the Company did not take what was given")
	// ErrAccountMismatch is returned when the Session belongs to another account already: the sign-in needs a new
	// Session.
	ErrAccountMismatch = errors.New("the Session is signed in to another account; a new Session is needed")
	// ErrNewSession is returned when the Company ended the Session while the User signed in.
	ErrNewSession = errors.New("the Company ended the Session during the sign-in")
	// ErrUnsafeLink is returned for a link that is not on a host of the Company.
	ErrUnsafeLink = errors.New("the link leads elsewhere than to the Company")
	// ErrAnswer is returned for an answer that is not what it should be.
	ErrAnswer = errors.New("the Company's answer can't be used")
	// ErrEmpty is returned when the UI gave nothing, or far too much, where a value is needed. Nothing was sent.
	ErrEmpty = errors.New("a value of 1 to 4096 bytes is needed")
	// ErrNoAccountToken is returned when the Company granted access and gave no Account Token.
	ErrNoAccountToken = errors.New("the Company granted access, and gave no token for an account that could be kept")
)

// LockedError says that the Company takes no attempts for a while.
type LockedError struct {
	Wait time.Duration // zero when the Company does not say
}

// Error says for how long.
func (e *LockedError) Error() string {
	if e.Wait <= 0 {
		return "the Company takes no more attempts for now"
	}
	return fmt.Sprintf("the Company takes no more attempts for %s", e.Wait)
}

// Server is the Company's authorization server. *[session.Server] is one.
type Server interface {
	account.Server
	// Token makes a token request: form holds what belongs to its grant type. Once it was sent its answer is heard, also
	// when ctx ends: the code in it is spent.
	Token(ctx context.Context, form url.Values, key *session.ProofKey) (session.Grant, error)
	// Device begins a device authorization.
	Device(ctx context.Context, scope []string) (session.DeviceAuthorization, error)
	// ReadGrant reads what came by another way than the token endpoint.
	ReadGrant(data []byte, sessionID string, scope []string, asked time.Time) (session.Grant, error)
}

// Session is the Session that is signed in. *[session.Session] is one.
type Session interface {
	// Start starts the Session where that is needed, and returns its ID.
	Start(ctx context.Context) (string, error)
	// Key is the key its tokens are bound to; nil where they are bound to none.
	Key() *session.ProofKey
	// Do sends a request under the Session's token.
	Do(ctx context.Context, client *http.Client, req *http.Request) (*http.Response, error)
	// Use takes a new token into use.
	Use(g session.Grant) error
}

// Config is what a sign-in needs. All but Now and Rand, Label and Name are required.
type Config struct {
	Company  *company.Company
	Server   Server
	Session  Session
	Client   *http.Client // for the Mediated endpoint; it must follow no redirects by itself
	Accounts *account.Store
	Label    string        // which of the User's accounts there
	Place    account.Place // where the token is kept
	ClientID string
	Redirect string // the agent's redirect URI
	UI       UI
	Now      func() time.Time
	Rand     io.Reader
}

// Result is what a sign-in came to.
type Result struct {
	Type  Type
	Asked []string
	Kept  account.Kept
	// Unused is why the Session could not take what was granted into use, such as that it was given up meanwhile; nil
	// when it did. The access is kept all the same, for another Session.
	Unused error
}

// Missing is what was asked for and not granted: the User may approve fewer scopes.
func (r Result) Missing() []string { return Missing(r.Asked, r.Kept.Account.Scope) }

// flow is one sign-in under way.
type flow struct {
	Config
	scope []string
}

// SignIn signs the Session in by one type, for these scopes, and keeps the Account Token. Its errors are those of this
// package, *[account.LostError], the UI's own, and those of the server. After an error nothing was kept, and what was
// kept before stands.
func SignIn(ctx context.Context, cfg Config, t Type, scope []string) (Result, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if len(scope) == 0 {
		return Result{}, ErrNoScope
	}
	f := &flow{Config: cfg, scope: scope}
	var grant session.Grant
	var err error
	switch t {
	case Direct:
		grant, err = f.direct(ctx)
	case Device:
		grant, err = f.device(ctx)
	case Mediated:
		grant, err = f.mediated(ctx)
	default:
		return Result{}, fmt.Errorf("%q sign-in: %w", t, ErrNotOffered)
	}
	if err == nil {
		err = ctx.Err() // the User gave up while the answer was on its way
	}
	if err != nil {
		return Result{}, errors.Join(err, f.giveBack(ctx, grant))
	}
	return f.keep(ctx, t, grant)
}

// giveBack has the Account Token of a sign-in revoked that came to nothing: one that nobody has must not stay good at the
// Company. It may have come beside an error, in an answer that can't be used otherwise.
func (f *flow) giveBack(ctx context.Context, grant session.Grant) error {
	if grant.AccountToken.Empty() {
		return nil
	}
	return f.Server.Revoke(context.WithoutCancel(ctx), grant.AccountToken)
}

// keep puts the Account Token on disk, and only then lets the Session use what was granted.
func (f *flow) keep(ctx context.Context, t Type, grant session.Grant) (Result, error) {
	if grant.AccountToken.Empty() {
		return Result{}, ErrNoAccountToken
	}
	kept, err := f.Accounts.Keep(ctx, account.Account{
		Key: account.Key{Issuer: f.Company.Issuer, Label: f.Label}, Domain: f.Company.Domain, Name: f.Company.Name,
		ClientID: f.ClientID, Profile: f.Company.Profile.Version, Type: string(t), Scope: grant.Scope,
		Since: f.Now(), Expires: grant.AccountExpires, Place: f.Place,
	}, grant.AccountToken, f.Server)
	if err != nil {
		return Result{}, errors.Join(err, f.giveBack(ctx, grant))
	}
	grant.AccountToken = secret.Text{}
	return Result{Type: t, Asked: f.scope, Kept: kept, Unused: f.Session.Use(grant)}, nil
}

func (f *flow) party() Party {
	return Party{Domain: f.Company.Domain, Name: f.Company.Name, Scope: f.scope, Scopes: f.Company.SignIn.Scopes}
}

// token exchanges what the User's approval gave for a grant. Beside an error the grant may hold an Account Token.
func (f *flow) token(ctx context.Context, form url.Values) (session.Grant, error) {
	id, err := f.Session.Start(ctx)
	if err != nil {
		return session.Grant{}, err
	}
	form.Set("session_id", id) // left out where the profile's token requests name no Session
	grant, err := f.Server.Token(ctx, form, f.Session.Key())
	return grant, said(err)
}

// said turns the answers that mean the same in every type into this package's errors.
func said(err error) error {
	answer, ok := errors.AsType[*session.ServerError](err)
	if !ok {
		return err
	}
	switch answer.Code {
	case "access_denied":
		return ErrDeclined
	case "expired_token":
		return ErrExpired
	case "account_mismatch":
		return ErrAccountMismatch
	case "invalid_session":
		return ErrNewSession
	}
	return err
}

// hosts reports whether a link is one to the Company: https, on its domain, on its issuer's host, or below one of them.
// Draft 0.2 also allows the other domains that the issuer's metadata lists. That they are the Company's is said by nobody
// else, and a Company could list another's, to have the User approve there a code that it began itself.
func (f *flow) hosts(link string) bool {
	if strings.ContainsFunc(link, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return false
	}
	u, err := url.Parse(link)
	return err == nil && u.Scheme == "https" && u.User == nil && f.Company.Hosts(u)
}

// PageError says that the Company's page sent the User back with an error.
type PageError struct {
	Code string // the Company's own text, not sanitised
}

// Error names the code, escaped.
func (e *PageError) Error() string {
	return fmt.Sprintf("the Company's page sent the User back with the error %.100q", e.Code)
}
