package testsite

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/papaver-agent/papaver/testsite/authserver"
)

// Show implements authserver.Pages: the pages on which people sign in and decide, in the shop's own look.
func (s *Site) Show(w http.ResponseWriter, r *http.Request, status int, name, title string, may authserver.Beyond, content any) {
	policy := securityPolicy
	if may.Form != "" {
		policy = strings.Replace(policy, "form-action 'self'", "form-action 'self' "+may.Form, 1)
	}
	if may.Image != "" {
		policy = strings.Replace(policy, "img-src 'self'", "img-src 'self' "+may.Image, 1)
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	s.pages.show(w, status, "auth-"+name, page{Title: title, Path: r.URL.Path, Content: content, Issuer: true})
}

// accountState is what the account's page knows of its browser. The page holds it as JSON too, for checks by a machine.
type accountState struct {
	Session string   `json:"session_id,omitempty"`
	Account string   `json:"account,omitempty"`
	Scopes  []string `json:"scopes"`
}

// accountPage shows who the shop thinks a visitor is: a guest, an agent's browser as a guest, or one that is signed in.
func (s *Site) accountPage(w http.ResponseWriter, r *http.Request) {
	v, joined := s.visit(r)
	state := accountState{Session: v.sid, Account: v.owner.account, Scopes: append([]string{}, v.scopes...)}
	data, err := json.Marshal(state)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	name, email := s.accountName(v.owner.account)
	w.Header().Set("Cache-Control", "no-store")
	s.pages.show(w, http.StatusOK, "account", s.pageOf(r, "Account", struct {
		Joined             bool
		Agent, Name, Email string
		Scopes             []string
		State              string
	}{joined, v.agent, name, email, v.scopes, string(data)}))
}
