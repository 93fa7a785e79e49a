package authserver

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Lives. Each is the Company's choice.
const (
	sessionLife = 24 * time.Hour      // of a draft's Session, from its last token
	tokenLife   = time.Hour           // of an access token
	grantLife   = 30 * 24 * time.Hour // of an Account Token, however often it is used
	codeLife    = time.Minute         // of an authorization code
	requestLife = 10 * time.Minute    // for the User to answer
	personLife  = time.Hour           // of a person's own sign-in
	// clockAhead is how far ahead an agent's clock may be, everywhere alike.
	clockAhead = 30 * time.Second
)

// Pages shows the pages for people. name is one of "sign-in", "consent", "device", "account", "told" and "wrong".
type Pages interface {
	// Show answers with a page.
	Show(w http.ResponseWriter, r *http.Request, status int, name, title string, may Beyond, content any)
}

// Beyond is what a page may use beside the Company's own origin. Each is an origin, or empty.
type Beyond struct {
	Form  string // where its form may lead: a browser holds a form's redirects to form-action too
	Image string // where its pictures may come from
}

// Config is what a Server needs of its Company. All members but Nonces are needed.
type Config struct {
	Profile  Profile
	Issuer   string // an origin, without a path
	Company  string // its name
	Resource string // the identifier of its API, and of the Company as a protected resource (RFC 9728)
	MCP      string // the URL of its MCP server, or empty
	Clients  *Clients
	Accounts []Account
	Pages    Pages
	Now      func() time.Time
	// Fresh gives so many random characters of base64url.
	Fresh func(characters int) string
	// Broken is told of a rule that an agent broke; seen never holds what the agent sent.
	Broken func(rule, seen string)
	// Limited says for how long a client's request has to wait, 0 for not at all. It is asked once for each request whose
	// sender is verified.
	Limited func(client string) time.Duration
	// DeviceInterval is the pause between two questions of a Device Sign-In.
	DeviceInterval time.Duration
}

// Server is the authorization server.
type Server struct {
	cfg Config

	mu         sync.Mutex
	nonces     nonces
	used       map[string]time.Time // jti of assertions and proofs, by whose they are, until they are no use
	keys       map[string]string    // whose a DPoP key is
	sessions   map[string]*Session
	grants     []*grant
	tokens     map[string]*token // access tokens by hash
	issued     int
	refresh    map[string]*refreshToken
	devices    []*deviceRequest
	requests   map[string]*authorization // by request id
	codes      map[string]*authorization // by code's hash
	mediated   map[string]*mediatedSignIn
	attempts   map[string]*attempts
	persons    map[string]*person
	serverSide map[string]string // accounts of 1.0's Sessions, by client, User and sid
	endedSIDs  map[string]bool
	caller     Caller
}

// New makes a Server.
func New(cfg Config) *Server {
	return &Server{
		cfg: cfg, used: map[string]time.Time{}, keys: map[string]string{}, sessions: map[string]*Session{},
		tokens: map[string]*token{}, refresh: map[string]*refreshToken{}, requests: map[string]*authorization{},
		codes: map[string]*authorization{}, mediated: map[string]*mediatedSignIn{}, attempts: map[string]*attempts{},
		persons: map[string]*person{}, serverSide: map[string]string{}, endedSIDs: map[string]bool{},
	}
}

// The paths of the endpoints, below the issuer.
const (
	TokenPath     = "/oauth/token"
	RevokePath    = "/oauth/revoke"
	DevicePath    = "/oauth/device"
	AuthorizePath = "/oauth/authorize"
	MediatedPath  = "/poppy/sign-in"
	AccountPath   = "/account"
	devicePage    = "/device"
	signInPage    = "/sign-in"
)

// Handler answers the issuer's endpoints and pages. Everything else is the next one's.
func (s *Server) Handler(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(TokenPath, s.tokenEndpoint)
	mux.HandleFunc(RevokePath, s.revokeEndpoint)
	mux.HandleFunc(DevicePath, s.deviceEndpoint)
	mux.HandleFunc(MediatedPath, s.mediatedEndpoint)
	mux.HandleFunc(MediatedPath+"/{id}", s.mediatedCode)
	mux.HandleFunc("GET "+AuthorizePath, s.authorizePage)
	mux.HandleFunc("POST "+AuthorizePath, s.person(s.authorizeDecision))
	mux.HandleFunc("GET "+devicePage, s.devicePage)
	mux.HandleFunc("POST "+devicePage, s.person(s.deviceDecision))
	mux.HandleFunc("GET "+signInPage, s.signInPage)
	mux.HandleFunc("POST "+signInPage, s.person(s.signInTry))
	mux.HandleFunc("POST /sign-out", s.person(s.signOut))
	mux.HandleFunc("GET "+AccountPath, s.accountPage)
	mux.HandleFunc("POST "+AccountPath+"/disconnect", s.person(s.accountDisconnect))
	mux.Handle("/", next)
	return mux
}

// Scopes are what each type of sign-in can grant, and what the Company's own ones mean (draft 0.1, section 4.4).
type Scopes struct {
	Direct, Device, Mediated []string
	// Meaning says of each scope what the User reads.
	Meaning map[string]string
}

// The scopes.
const (
	ScopeRead      = "poppy:read"
	ScopeWrite     = "poppy:write"
	ScopeAddresses = "addresses"
)

// AllScopes lists the scopes that this Company grants.
func AllScopes() Scopes {
	return Scopes{
		Direct:   []string{ScopeRead, ScopeWrite, ScopeAddresses},
		Device:   []string{ScopeRead, ScopeWrite},
		Mediated: []string{ScopeRead, ScopeWrite},
		Meaning: map[string]string{
			ScopeRead:      "See your orders and your membership",
			ScopeWrite:     "Change orders and your membership for you",
			ScopeAddresses: "Manage saved shipping addresses",
		},
	}
}

// readScope reads a requested scope against what may be granted. ok is false for a missing, unknown or unavailable one.
func readScope(requested string, available []string) (scopes []string, ok bool) {
	for scope := range strings.SplitSeq(requested, " ") {
		if !slices.Contains(available, scope) {
			return nil, false
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, len(scopes) > 0
}

// hash is what is kept of a secret.
func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// useOnce takes a jti and says whether it was free.
func (s *Server) useOnce(whose, jti string, until time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	if len(s.used) > 1000 {
		for key, end := range s.used {
			if now.After(end) {
				delete(s.used, key)
			}
		}
	}
	key := whose + " " + jti
	if end, found := s.used[key]; found && !now.After(end) {
		return false
	}
	s.used[key] = until
	return true
}

// normalURL gives an HTTPS URL as RFC 9449, section 4.3 compares it: without query and fragment, scheme and host in lower
// case, without the scheme's port, with only those characters percent-encoded that need it.
func normalURL(raw string) (string, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", false
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != "443" {
		host += ":" + port
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	return "https://" + host + normalPath(path), true
}

// normalPath decodes unreserved characters and writes the other escapes in upper case (RFC 3986, section 6.2.2).
func normalPath(escaped string) string {
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '%' || i+2 >= len(escaped) {
			b.WriteByte(escaped[i])
			continue
		}
		plain, err := url.PathUnescape(escaped[i : i+3])
		if err == nil && len(plain) == 1 && unreserved(plain[0]) {
			b.WriteString(plain)
		} else {
			b.WriteString(strings.ToUpper(escaped[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// called is the URL of a request as the agent wrote it.
func called(r *http.Request) string {
	return "https://" + r.Host + r.URL.EscapedPath()
}
