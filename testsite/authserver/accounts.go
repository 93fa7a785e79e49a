package authserver

import (
	"crypto/subtle"
	"strings"
	"time"
)

// Account is a customer's account.
type Account struct {
	ID       string `json:"account"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Password string `json:"password"`
	// Code is the one-time code of the second step, which never changes here; empty for none.
	Code string `json:"code,omitempty"`
}

// SentTo says where the one-time code of every account goes.
const SentTo = "Text to the phone number ending in 71"

// account gives the account of an id.
func (s *Server) account(id string) (Account, bool) {
	for _, a := range s.cfg.Accounts {
		if a.ID == id {
			return a, true
		}
	}
	return Account{}, false
}

// AccountOf gives the account of an id, and whether there is one.
func (s *Server) AccountOf(id string) (Account, bool) { return s.account(id) }

// password gives the account that the email and password open.
func (s *Server) password(email, password string) (Account, bool) {
	for _, a := range s.cfg.Accounts {
		if strings.EqualFold(a.Email, strings.TrimSpace(email)) {
			return a, subtle.ConstantTimeCompare([]byte(a.Password), []byte(password)) == 1
		}
	}
	return Account{}, false
}

// Bounds on guessing. They are kept for each agent and account apart, so that no agent can lock another out.
const (
	maxAttempts = 5
	lockTime    = 15 * time.Minute
	maxCodes    = 3 // wrong one-time codes of one sign-in
)

// attempts are the wrong tries of somebody at an account.
type attempts struct {
	wrong int
	until time.Time // locked, once there were too many
}

// lockedFor says for how long somebody has to leave an account alone.
func (s *Server) lockedFor(who, email string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.attempts[attemptKey(who, email)]
	if a == nil {
		return 0
	}
	return max(0, a.until.Sub(s.cfg.Now()))
}

// tried counts a try.
func (s *Server) tried(who, email string, right bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := attemptKey(who, email)
	if right {
		delete(s.attempts, key)
		return
	}
	a := s.attempts[key]
	if a == nil {
		a = &attempts{}
		s.attempts[key] = a
	}
	if !a.until.IsZero() && !s.cfg.Now().Before(a.until) {
		*a = attempts{}
	}
	if a.wrong++; a.wrong >= maxAttempts {
		a.until = s.cfg.Now().Add(lockTime)
	}
}

func attemptKey(who, email string) string {
	return who + " " + hash(strings.ToLower(strings.TrimSpace(email)))
}
