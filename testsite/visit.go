package testsite

import (
	"net/http"
	"slices"

	"github.com/papaver-agent/papaver/testsite/authserver"
)

// visit is what the website knows of a request's browser, at this moment: a sign-out since the last request shows.
type visit struct {
	owner    owner
	sid      string
	agent    string // the agent's name
	declared bool   // the join declared version 3 of operations
	scopes   []string
}

// signedIn says whether the browser is signed in to an account.
func (v visit) signedIn() bool { return v.owner.account != "" }

// may says whether the browser may do what the scope is for. A guest has no account, and no scopes to be kept to.
func (v visit) may(scope string) bool { return !v.signedIn() || slices.Contains(v.scopes, scope) }

// visit gives the Session that the request's browser is joined to, as long as that is active.
func (s *Site) visit(r *http.Request) (visit, bool) {
	j, found := s.browsers.of(r)
	if !found {
		return visit{}, false
	}
	v := visit{owner: j.owner, sid: j.sid, agent: j.agent, declared: j.declared}
	if s.profile.SessionTokens {
		state, active := s.auth.Session(j.sid)
		if !active { // the cookie doesn't outlive the Session (draft 0.1, section 5)
			return visit{}, false
		}
		v.owner.account, v.scopes = state.Account, state.Scopes
		return v, true
	}
	if s.auth.EndedSession(j.sid) {
		return visit{}, false
	}
	v.owner.account, v.scopes, _ = j.signIn.Account()
	return v, true
}

// accountName gives the name and email of an account.
func (s *Site) accountName(id string) (name, email string) {
	a, _ := s.auth.AccountOf(id)
	return a.Name, a.Email
}

// Accounts lists the accounts that people, and agents for them, sign in to.
func Accounts() []authserver.Account {
	return []authserver.Account{
		{ID: "acct_dana", Name: "Dana Reyes", Email: "dana@example.org", Password: "alpine start 4am", Code: "314159"},
		{ID: "acct_dana_business", Name: "Dana Reyes (Reyes Guiding)", Email: "dana@business.example.org", Password: "ridge line 2 rope"},
	}
}
