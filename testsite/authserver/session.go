package authserver

import (
	"net/http"
	"time"
)

// Session is one Session of the drafts: one User's at one agent (draft 0.1, section 4). Its state changes as the User
// signs in and out; read it by the Server's methods.
type Session struct {
	id      string
	client  string
	user    string
	name    string // the agent's client_name
	expires time.Time
	ended   bool
	account string // that it is, or was, signed in to
	grant   *grant // that it is signed in by, as long as that lives
	scopes  []string
	newest  map[string]*token // by resource: the last token that was used
}

// SessionState is a Session as it is at one moment.
type SessionState struct {
	ID       string
	Client   string
	User     string
	Agent    string // the agent's name
	Account  string // empty when it is signed out
	Scopes   []string
	SignedIn bool
}

// stateLocked gives the present state.
func (s *Server) stateLocked(x *Session) SessionState {
	out := SessionState{ID: x.id, Client: x.client, User: x.user, Agent: x.name}
	if s.aliveLocked(x.grant) {
		out.Account, out.Scopes, out.SignedIn = x.account, append([]string{}, x.scopes...), true
	}
	return out
}

// Session gives the present state of a Session, and whether it is active.
func (s *Server) Session(id string) (SessionState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.activeLocked(id)
	if x == nil {
		return SessionState{}, false
	}
	return s.stateLocked(x), true
}

// activeLocked gives the Session if it hasn't ended.
func (s *Server) activeLocked(id string) *Session {
	x := s.sessions[id]
	if x == nil || x.ended || s.cfg.Now().After(x.expires) {
		return nil
	}
	return x
}

// EndSession ends a Session: it answers invalid_session from now on. Its Account Token stays (draft 0.1, section 4).
// In 1.0 the id is the sid. It says whether there was one; every sid is one.
func (s *Server) EndSession(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.cfg.Profile.SessionTokens {
		s.endedSIDs[id] = true
		return true
	}
	x := s.activeLocked(id)
	if x == nil {
		return false
	}
	x.ended = true
	return true
}

// EndedSession says whether a Session of 1.0 was ended by this Company.
func (s *Server) EndedSession(sid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endedSIDs[sid]
}

// startLocked makes a Session.
func (s *Server) startLocked(client Client, user string) *Session {
	x := &Session{id: "ses_" + s.cfg.Fresh(22), client: client.ID, user: user, name: client.Name, newest: map[string]*token{}}
	x.expires = s.cfg.Now().Add(sessionLife)
	s.sessions[x.id] = x
	return x
}

// ownedLocked gives the Session that a request names, if it is the client's; and the User's, unless user is empty.
func (s *Server) ownedLocked(id string, client Client, user string) (*Session, *refusal) {
	x := s.activeLocked(id)
	if x == nil {
		return nil, refused(http.StatusBadRequest, "invalid_session")
	}
	if x.client != client.ID || user != "" && x.user != user {
		return nil, broken(http.StatusBadRequest, "invalid_session", ruleSessionOther, "a Session of another agent or User")
	}
	return x, nil
}

// signInLocked signs a Session in by a grant, or says why not.
func (s *Server) signInLocked(x *Session, g *grant, scopes []string) *refusal {
	if x.account != "" && x.account != g.account && (s.cfg.Profile.OneAccount || s.aliveLocked(x.grant)) {
		return broken(http.StatusBadRequest, "account_mismatch", ruleAccountMismatch, "a Session of another account")
	}
	x.account, x.grant, x.scopes = g.account, g, scopes
	return nil
}
