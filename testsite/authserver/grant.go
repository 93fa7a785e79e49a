package authserver

import (
	"net/http"
	"net/url"
	"slices"
	"time"
)

// grant is what one sign-in gave an agent: the family of one Account Token (draft 0.1, section 4.4, "How sign-in is
// remembered").
type grant struct {
	client  string
	name    string // the agent's client_name
	logo    string
	user    string // the User ID; in 1.0 empty until a Session header came with a token of it
	account string
	scopes  []string
	since   time.Time
	expires time.Time
	revoked bool
}

// refreshToken is one Account Token of a family. Only the newest is good.
type refreshToken struct {
	grant   *grant
	rotated bool
}

// aliveLocked says whether the grant still gives access.
func (s *Server) aliveLocked(g *grant) bool {
	return g != nil && !g.revoked && s.cfg.Now().Before(g.expires)
}

// grantLocked makes a grant, and its first Account Token.
func (s *Server) grantLocked(client Client, user, account string, scopes []string) (*grant, string) {
	g := &grant{
		client: client.ID, name: client.Name, logo: client.Logo, user: user, account: account, scopes: scopes,
		since: s.cfg.Now(), expires: s.cfg.Now().Add(grantLife),
	}
	s.grants = append(s.grants, g)
	return g, s.accountTokenLocked(g)
}

// accountTokenLocked makes an Account Token of the family.
func (s *Server) accountTokenLocked(g *grant) string {
	value := "pat_" + s.cfg.Fresh(32)
	s.refresh[hash(value)] = &refreshToken{grant: g}
	return value
}

// refreshGrant answers grant_type=refresh_token (draft 0.1, section 4.8).
func (s *Server) refreshGrant(r *http.Request, client Client, form url.Values, p *proof) (tokenAnswer, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.refresh[hash(form.Get("refresh_token"))]
	switch {
	case held == nil:
		return tokenAnswer{}, broken(http.StatusBadRequest, "invalid_grant", ruleAccountOld, "an Account Token that this Company didn't issue")
	case held.grant.client != client.ID:
		return tokenAnswer{}, broken(http.StatusBadRequest, "invalid_grant", ruleAccountTokenOf, "an Account Token of another agent")
	case held.rotated:
		if s.cfg.Profile.ReuseRevokes {
			held.grant.revoked = true
		}
		return tokenAnswer{}, broken(http.StatusBadRequest, "invalid_grant", ruleAccountOld, "an Account Token that was replaced")
	case !s.aliveLocked(held.grant):
		// An agent learns of an expiry, or of a disconnect, by this answer; it breaks nothing.
		return tokenAnswer{}, refused(http.StatusBadRequest, "invalid_grant")
	}
	g := held.grant
	scopes := g.scopes
	if form.Has("scope") {
		narrower, ok := readScope(form.Get("scope"), g.scopes)
		if !ok {
			return tokenAnswer{}, broken(http.StatusBadRequest, "invalid_scope", ruleScopeWider, "scopes that the Account Token doesn't have")
		}
		scopes = narrower
	}
	answer, failed := s.signedInLocked(client, g, scopes, form, p)
	if failed != nil {
		return tokenAnswer{}, failed
	}
	held.rotated = true
	answer.AccountToken = s.accountTokenLocked(g)
	answer.AccountExpiresIn = s.leftLocked(g)
	return answer, nil
}

// signedInLocked signs the Session that the form names in, or a new one, and issues its token. In 1.0 there is no
// Session to sign in.
func (s *Server) signedInLocked(client Client, g *grant, scopes []string, form url.Values, p *proof) (tokenAnswer, *refusal) {
	if !s.cfg.Profile.SessionTokens {
		return s.issueLocked(nil, g, scopes, form.Get("resource"), p), nil
	}
	var x *Session
	if id := form.Get("session_id"); id != "" || form.Get("grant_type") != "refresh_token" {
		owned, failed := s.ownedLocked(id, client, g.user)
		if failed != nil {
			return tokenAnswer{}, failed
		}
		x = owned
	} else {
		x = s.startLocked(client, g.user)
	}
	if failed := s.bindLocked(x.client, x.user, p); failed != nil {
		return tokenAnswer{}, failed
	}
	if failed := s.signInLocked(x, g, scopes); failed != nil {
		return tokenAnswer{}, failed
	}
	return s.issueLocked(x, g, scopes, form.Get("resource"), p), nil
}

// leftLocked is the grant's life that is left, in seconds.
func (s *Server) leftLocked(g *grant) int64 {
	return int64(g.expires.Sub(s.cfg.Now()) / time.Second)
}

// Disconnect revokes what an agent got for an account, as the User does in the account's settings (draft 0.1, section
// 4.9). It gives the number of grants that ended.
func (s *Server) Disconnect(client, account string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, g := range s.grants {
		if g.client == client && g.account == account && s.aliveLocked(g) {
			g.revoked = true
			n++
		}
	}
	return n
}

// Connection is an agent that may use an account, as the account's page shows it.
type Connection struct {
	Client string
	Name   string
	Logo   string
	Scopes []string
	Since  time.Time
}

// Connections lists the agents that may use the account, the first one first, with their scopes together.
func (s *Server) Connections(account string) []Connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Connection
	for _, g := range s.grants {
		if g.account != account || !s.aliveLocked(g) {
			continue
		}
		i := slices.IndexFunc(list, func(c Connection) bool { return c.Client == g.client })
		if i < 0 {
			list = append(list, Connection{Client: g.client, Name: g.name, Logo: g.logo, Scopes: slices.Clone(g.scopes), Since: g.since})
			continue
		}
		list[i].Scopes = append(list[i].Scopes, without(g.scopes, list[i].Scopes)...)
	}
	return list
}

// revokeEndpoint answers the revocation endpoint (RFC 7009; draft 0.1, section 4.9): the Account Token ends, and with it
// the sign-in of every Session that it signed in. An access token that is revoked ends alone.
func (s *Server) revokeEndpoint(w http.ResponseWriter, r *http.Request) {
	form, client, ok := s.clientForm(w, r)
	if !ok {
		return
	}
	if form.Get("token") == "" {
		s.refuse(w, broken(http.StatusBadRequest, "invalid_request", ruleForm, "no token to revoke"))
		return
	}
	s.mu.Lock()
	key := hash(form.Get("token"))
	if held := s.refresh[key]; held != nil {
		if held.grant.client == client.ID {
			held.grant.revoked = true
		} else {
			defer s.cfg.Broken(ruleAccountTokenOf, "another agent's Account Token at the revocation endpoint")
		}
	} else if t := s.tokens[key]; t != nil && t.client == client.ID {
		delete(s.tokens, key)
	}
	s.mu.Unlock()
	WriteJSON(w, http.StatusOK, struct{}{}) // RFC 7009, section 2.2: also for a token that is unknown
}
