package signin_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

const (
	clientID    = "https://agent.example/agent.json"
	redirectURI = "https://agent.example/oauth/callback"
	mediatedURL = "https://auth.example.com/poppy/sign-in"
)

// example is a Company that offers everything.
func example(p profile.Profile) *company.Company {
	return &company.Company{
		Domain: "example.com", Name: "Example", Issuer: "https://auth.example.com", Profile: p, Resource: "https://example.com",
		Server: company.Server{
			Token: "https://auth.example.com/oauth/token", Revocation: "https://auth.example.com/oauth/revoke",
			Authorization: "https://auth.example.com/oauth/authorize", Device: "https://auth.example.com/oauth/device",
		},
		SignIn: company.SignIn{
			Direct: &company.Direct{Scopes: []string{"poppy:read", "poppy:write", "addresses"}},
			Device: &company.Device{Scopes: []string{"poppy:read", "poppy:write"}},
			Mediated: &company.Mediated{Scopes: []string{"poppy:read"}, Endpoint: mediatedURL, Fields: []company.Field{
				{Name: "email", Label: "Email"}, {Name: "password", Label: "Password", Secret: true},
			}},
			Scopes: map[string]string{"addresses": "Manage saved shipping addresses"},
		},
	}
}

// granted is what the Company gives at the end.
func granted(token string, scope ...string) session.Grant {
	return session.Grant{
		AccessToken: secret.New("access-" + token), Type: "DPoP", AccountToken: secret.New(token), Scope: scope, SessionID: "ses_1", SignedIn: true,
	}
}

// server is the Company's authorization server, as a script.
type server struct {
	script  []any // of token requests: a session.Grant, an error or both; the last one is repeated
	code    session.DeviceAuthorization
	codeErr error
	now     func() time.Time

	forms   []url.Values
	at      []time.Time // of the token requests
	scopes  [][]string  // of the device requests
	revoked []string
	read    [][]byte // by ReadGrant
	unread  string   // the Account Token of an answer that ReadGrant can't use otherwise
}

func (s *server) Token(_ context.Context, form url.Values, _ *session.ProofKey) (session.Grant, error) {
	s.forms = append(s.forms, form)
	s.at = append(s.at, s.now())
	if len(s.script) == 0 {
		return session.Grant{}, errors.New("the script is over")
	}
	step := s.script[0]
	if len(s.script) > 1 {
		s.script = s.script[1:]
	}
	switch step := step.(type) {
	case error:
		return session.Grant{}, step
	case unusable:
		return session.Grant{AccountToken: secret.New(string(step))}, session.ErrUnreadable
	case func() session.Grant:
		return step(), nil
	default:
		return step.(session.Grant), nil
	}
}

// unusable is an answer with nothing that can be used but an Account Token.
type unusable string

func (*server) ClientID() string { return clientID }

func (s *server) Device(_ context.Context, scope []string) (session.DeviceAuthorization, error) {
	s.scopes = append(s.scopes, scope)
	return s.code, s.codeErr
}

func (s *server) Refresh(context.Context, secret.Text, string, []string, *session.ProofKey) (session.Grant, error) {
	return session.Grant{}, errors.New("no refresh belongs to a sign-in")
}

func (s *server) Revoke(_ context.Context, token secret.Text) error {
	s.revoked = append(s.revoked, token.Reveal())
	return nil
}

func (s *server) ReadGrant(data []byte, sessionID string, scope []string, _ time.Time) (session.Grant, error) {
	s.read = append(s.read, slices.Clone(data))
	if s.unread != "" {
		return session.Grant{AccountToken: secret.New(s.unread)}, session.ErrUnreadable
	}
	g := granted("mediated", scope...)
	g.SessionID = sessionID
	return g, nil
}

// oneSession is the Session that is signed in.
type oneSession struct {
	id      string
	handler http.Handler // of the Mediated endpoint
	used    []session.Grant
	sent    []*http.Request
	refuses error // what Use says
}

func (s *oneSession) Start(context.Context) (string, error) { return s.id, nil }
func (s *oneSession) Key() *session.ProofKey                { return nil }

func (s *oneSession) Use(g session.Grant) error {
	s.used = append(s.used, g)
	return s.refuses
}

func (s *oneSession) Do(_ context.Context, _ *http.Client, req *http.Request) (*http.Response, error) {
	s.sent = append(s.sent, req)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, req)
	if w.Code >= 300 {
		return nil, &session.ServerError{Status: w.Code}
	}
	return w.Result(), nil
}

// user is the User, as a script.
type user struct {
	callbacks func(address string) []string // what they paste, one after another
	given     map[string]string
	codes     []string

	address  signin.AddressPrompt
	pasted   []string
	refused  []error
	shown    []signin.CodePrompt
	waiting  []signin.Waiting
	asked    []signin.CredentialsPrompt
	oneTimes []signin.OneTimePrompt
	held     [][]byte // the slices that were handed over
}

func (u *user) Address(_ context.Context, p signin.AddressPrompt) error {
	u.address = p
	if u.callbacks != nil {
		u.pasted = u.callbacks(p.URL)
	}
	return nil
}

func (u *user) Callback(ctx context.Context, refused error) (string, error) {
	if refused != nil {
		u.refused = append(u.refused, refused)
	}
	if len(u.pasted) == 0 {
		<-ctx.Done()
		return "", ctx.Err()
	}
	text := u.pasted[0]
	u.pasted = u.pasted[1:]
	return text, nil
}

func (u *user) Code(_ context.Context, p signin.CodePrompt) error {
	u.shown = append(u.shown, p)
	return nil
}

func (u *user) Waiting(w signin.Waiting) { u.waiting = append(u.waiting, w) }

func (u *user) Credentials(_ context.Context, p signin.CredentialsPrompt) (map[string][]byte, error) {
	u.asked = append(u.asked, p)
	given := make(map[string][]byte)
	for name, value := range u.given {
		given[name] = []byte(value)
		u.held = append(u.held, given[name])
	}
	return given, nil
}

func (u *user) OneTimeCode(ctx context.Context, p signin.OneTimePrompt) ([]byte, error) {
	u.oneTimes = append(u.oneTimes, p)
	if len(u.codes) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	code := []byte(u.codes[0])
	u.codes = u.codes[1:]
	u.held = append(u.held, code)
	return code, nil
}

// bench is one sign-in with all its other sides.
type bench struct {
	signin.Config
	server  *server
	session *oneSession
	user    *user
}

func newBench(t *testing.T) *bench {
	t.Helper()
	accounts, err := account.Open(account.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{server: &server{now: time.Now}, session: &oneSession{id: "ses_1"}, user: &user{}}
	b.Config = signin.Config{
		Company: example(profile.V01()), Server: b.server, Session: b.session, Client: http.DefaultClient, Accounts: accounts,
		Place: account.PlaceFile, ClientID: clientID, Redirect: redirectURI, UI: b.user,
	}
	return b
}

func (b *bench) signIn(t *testing.T, kind signin.Type, scope ...string) (signin.Result, error) {
	t.Helper()
	return signin.SignIn(t.Context(), b.Config, kind, scope)
}

// kept is what is on disk of the account.
func (b *bench) kept(t *testing.T) (account.Account, error) {
	t.Helper()
	return b.Accounts.Find(account.Key{Issuer: b.Company.Issuer, Label: b.Label})
}
