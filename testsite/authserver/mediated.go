package authserver

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/papaver-agent/papaver/testsite/wire"
)

const (
	signInLife   = 5 * time.Minute // for the one-time code
	maxMediated  = 16 << 10        // bytes of a request
	maxValue     = 1 << 10         // bytes of a credential
	statusDone   = "complete"
	statusCode   = "code_required"
	statusFailed = "failed"
	statusEnded  = "expired"
)

// Field is one credential that a Mediated Sign-In needs (draft 0.1, section 4.7).
type Field struct {
	Name   string `json:"name"`
	Label  string `json:"label"`
	Secret bool   `json:"secret"`
}

// Fields lists the credentials that this Company needs.
func Fields() []Field {
	return []Field{{"email", "Email", false}, {"password", "Password", true}}
}

// mediatedSignIn is one Mediated Sign-In that waits for a one-time code, or ended.
type mediatedSignIn struct {
	owner   string // client, User and Session
	session string
	account Account
	scopes  []string
	wrong   int
	state   string // empty: it waits
	expires time.Time
}

// mediatedAnswer is the answer while nothing was granted.
type mediatedAnswer struct {
	Status    string    `json:"status"`
	SignInID  string    `json:"sign_in_id,omitempty"`
	Code      *sentCode `json:"code,omitempty"`
	ExpiresAt string    `json:"expires_at,omitempty"`
}

type sentCode struct {
	SentTo string `json:"sent_to,omitempty"`
}

// Caller verifies who sends a request: the Session's credentials, signed in or out. A Denial was not written yet.
type Caller func(w http.ResponseWriter, r *http.Request) (Access, *Denial)

// SetCaller sets how a Mediated Sign-In's requests are verified. It is called before the Server is used.
func (s *Server) SetCaller(c Caller) { s.caller = c }

// mediatedEndpoint takes credentials (draft 0.1, section 4.7). They are compared, and neither kept nor sent anywhere.
func (s *Server) mediatedEndpoint(w http.ResponseWriter, r *http.Request) {
	who, m, ok := s.mediatedRequest(w, r)
	if !ok {
		return
	}
	requested, _ := wire.Text(m, "scope")
	scopes, ok := readScope(requested, AllScopes().Mediated)
	if !ok {
		s.refuse(w, broken(http.StatusBadRequest, "invalid_scope", ruleScope, "scopes that a Mediated Sign-In can't grant"))
		return
	}
	given, err := wire.Members(m["credentials"])
	email, okEmail := wire.Text(given, "email")
	password, okPassword := wire.Text(given, "password")
	if err != nil || !okEmail || !okPassword || len(email) > maxValue || len(password) > maxValue {
		s.refuse(w, broken(http.StatusBadRequest, "invalid_request", ruleMediated, "not every credential that is listed"))
		return
	}
	if wait := s.lockedFor(who.Client, email); wait > 0 {
		RetryAfter(w.Header(), wait)
		WriteJSON(w, http.StatusTooManyRequests, errorAnswer{Error: "rate_limited"})
		return
	}
	account, right := s.password(email, password)
	s.tried(who.Client, email, right)
	if !right {
		WriteJSON(w, http.StatusOK, mediatedAnswer{Status: statusFailed})
		return
	}
	if account.Code == "" {
		s.complete(w, r, who, account, scopes)
		return
	}
	s.mu.Lock()
	id := "sgn_" + s.cfg.Fresh(22)
	x := &mediatedSignIn{owner: ownerOf(who), session: who.Session, account: account, scopes: scopes, expires: s.cfg.Now().Add(signInLife)}
	s.mediated[id] = x
	s.mu.Unlock()
	WriteJSON(w, http.StatusOK, x.waiting(id, SentTo))
}

func (x *mediatedSignIn) waiting(id, sentTo string) mediatedAnswer {
	return mediatedAnswer{Status: statusCode, SignInID: id, Code: &sentCode{sentTo}, ExpiresAt: x.expires.UTC().Format(time.RFC3339)}
}

// mediatedCode takes a one-time code. Only the Session that began the sign-in can finish it.
func (s *Server) mediatedCode(w http.ResponseWriter, r *http.Request) {
	who, m, ok := s.mediatedRequest(w, r)
	if !ok {
		return
	}
	code, ok := wire.Text(m, "code")
	if !ok || len(code) > maxValue {
		s.refuse(w, broken(http.StatusBadRequest, "invalid_request", ruleMediated, "no code"))
		return
	}
	id := r.PathValue("id")
	s.mu.Lock()
	x := s.mediated[id]
	if x == nil || x.owner != ownerOf(who) {
		s.mu.Unlock()
		f := refused(http.StatusNotFound, s.cfg.Profile.UnknownSignIn)
		if x != nil {
			f.rule, f.seen = ruleMediatedOther, "the sign-in of another Session"
		}
		s.refuse(w, f)
		return
	}
	status := x.try(code, s.cfg.Now())
	if status != statusCode && !s.cfg.Profile.KeepsEnded {
		delete(s.mediated, id)
	}
	s.mu.Unlock()
	switch status {
	case statusDone:
		s.complete(w, r, who, x.account, x.scopes)
	case statusCode:
		WriteJSON(w, http.StatusOK, x.waiting(id, ""))
	default:
		WriteJSON(w, http.StatusOK, mediatedAnswer{Status: status})
	}
}

// try compares a code and gives the status that follows.
func (x *mediatedSignIn) try(code string, now time.Time) string {
	switch {
	case x.state != "":
		return x.state
	case now.After(x.expires):
		x.state = statusEnded
		return x.state
	case subtle.ConstantTimeCompare([]byte(code), []byte(x.account.Code)) == 1:
		x.state = statusFailed // a code that worked works once
		return statusDone
	}
	if x.wrong++; x.wrong >= maxCodes {
		x.state = statusFailed
		return x.state
	}
	return statusCode
}

// complete signs the Session in.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, who Access, account Account, scopes []string) {
	client, err := s.cfg.Clients.Find(r.Context(), who.Client)
	if err != nil {
		s.refuse(w, refused(http.StatusUnauthorized, "invalid_client"))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var p *proof
	if s.cfg.Profile.SessionTokens {
		// The new token is bound to the key of this request's proof, which Access checked.
		p = &proof{thumbprint: s.keyOfLocked(r)}
	}
	answer, failed := s.finishLocked(client, account.ID, scopes, url.Values{"session_id": {who.Session}}, p)
	if failed != nil {
		s.refuse(w, failed)
		return
	}
	if !s.cfg.Profile.SessionTokens {
		s.grants[len(s.grants)-1].user = who.User
	}
	answer.Status = statusDone
	WriteJSON(w, http.StatusOK, answer)
}

// keyOfLocked gives the key that the request's own token is bound to.
func (s *Server) keyOfLocked(r *http.Request) string {
	_, value, _, _ := Credential(r)
	if t := s.tokens[hash(value)]; t != nil {
		return t.key
	}
	return ""
}

func ownerOf(who Access) string { return who.Client + " " + who.User + " " + who.Session }

// mediatedRequest verifies the sender and reads the JSON object.
func (s *Server) mediatedRequest(w http.ResponseWriter, r *http.Request) (Access, map[string]json.RawMessage, bool) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		WriteJSON(w, http.StatusMethodNotAllowed, errorAnswer{Error: "invalid_request"})
		return Access{}, nil, false
	}
	who, denial := s.caller(w, r)
	if denial != nil {
		denial.Write(w)
		return Access{}, nil, false
	}
	if s.limited(w, who.Client) {
		return Access{}, nil, false
	}
	m, err := ReadJSON(w, r, maxMediated)
	if err != nil {
		s.refuse(w, broken(http.StatusBadRequest, "invalid_request", ruleMediated, "a body that isn't a JSON object"))
		return Access{}, nil, false
	}
	return who, m, true
}

// ReadJSON reads a JSON object of at most limit bytes that an agent sent with its media type.
func ReadJSON(w http.ResponseWriter, r *http.Request, limit int64) (map[string]json.RawMessage, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, errors.New("another content type than application/json")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, errors.New("a body that is too large or ends early")
	}
	return wire.Members(data)
}
