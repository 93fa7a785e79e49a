package authserver

import (
	"net/http"
	"net/url"
)

// scopeView is one checkbox of a consent page.
type scopeView struct{ Name, Means string }

// consentView is the page on which a person decides: which agent asks, and for what.
type consentView struct {
	CSRF    string
	Action  string // where the form goes
	Hidden  string // the name of the field that names the request, and its value
	Value   string
	Client  string // its address
	Name    string
	Logo    string
	Account Account
	Scopes  []scopeView
}

func (s *Server) consent(p person, client Client, scopes []string) consentView {
	account, _ := s.account(p.account)
	account.Password, account.Code = "", ""
	v := consentView{CSRF: p.csrf, Client: client.ID, Name: client.Name, Logo: client.Logo, Account: account}
	for _, scope := range scopes {
		v.Scopes = append(v.Scopes, scopeView{scope, AllScopes().Meaning[scope]})
	}
	return v
}

// authorizePage is where an agent sends its User (draft 0.1, section 4.5, step 2). Opening it grants nothing.
func (s *Server) authorizePage(w http.ResponseWriter, r *http.Request) {
	p := s.personOf(w, r)
	id := r.URL.Query().Get("request")
	if id == "" {
		a, back, failed := s.readAuthorization(r)
		switch {
		case failed != nil:
			s.cfg.Broken(failed.rule, failed.seen)
			s.wrong(w, r, failed.status, "The personal agent that sent you here didn't say correctly who it is or where you go back to. You were not signed in.")
			return
		case back != "":
			http.Redirect(w, r, back, http.StatusSeeOther)
			return
		}
		s.keep(a)
		id = a.id
	}
	if s.needsSignIn(w, r, p, AuthorizePath+"?"+url.Values{"request": {id}}.Encode()) {
		return
	}
	s.mu.Lock()
	a := s.requests[id]
	waiting := a != nil && a.decision == undecided && !s.cfg.Now().After(a.expires)
	s.mu.Unlock()
	if !waiting {
		s.wrong(w, r, http.StatusNotFound, "This request has ended. Please start again in your personal agent.")
		return
	}
	v := s.consent(p, a.client, a.scopes)
	v.Action, v.Hidden, v.Value = AuthorizePath, "request", id
	s.cfg.Pages.Show(w, r, http.StatusOK, "consent", "Allow access", Beyond{Form: originOf(a.redirect), Image: originOf(a.client.Logo)}, v)
}

// authorizeDecision is the person's answer on the consent page.
func (s *Server) authorizeDecision(w http.ResponseWriter, r *http.Request, p person, form url.Values) {
	if s.needsSignIn(w, r, p, AuthorizePath+"?"+url.Values{"request": {form.Get("request")}}.Encode()) {
		return
	}
	back, ok := s.decide(form.Get("request"), p.account, allowed(form), chosen(form))
	if !ok {
		s.wrong(w, r, http.StatusUnprocessableEntity, "Please choose at least one thing to allow, or decline. If you did, this request has ended.")
		return
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// devicePage is where a person types the code of a Device Sign-In. A link with the code fills it in, and approves
// nothing (draft 0.1, section 4.6).
func (s *Server) devicePage(w http.ResponseWriter, r *http.Request) {
	p := s.personOf(w, r)
	code := r.URL.Query().Get("user_code")
	then := devicePage
	if code != "" {
		then += "?" + url.Values{"user_code": {code}}.Encode()
	}
	if s.needsSignIn(w, r, p, then) {
		return
	}
	s.cfg.Pages.Show(w, r, http.StatusOK, "device", "Connect a personal agent", Beyond{}, deviceView{CSRF: p.csrf, Code: code})
}

// deviceView is the page that takes a code.
type deviceView struct{ CSRF, Code, Wrong string }

// deviceDecision takes the code, and then the person's answer.
func (s *Server) deviceDecision(w http.ResponseWriter, r *http.Request, p person, form url.Values) {
	code := form.Get("user_code")
	if s.needsSignIn(w, r, p, devicePage+"?"+url.Values{"user_code": {code}}.Encode()) {
		return
	}
	if wait := s.lockedFor("device", p.account); wait > 0 { // RFC 8628, section 5.1: codes are short
		RetryAfter(w.Header(), wait)
		s.wrong(w, r, http.StatusTooManyRequests, "There were too many wrong codes. Please wait a quarter of an hour.")
		return
	}
	s.mu.Lock()
	d := s.deviceLocked(code)
	s.mu.Unlock()
	if d == nil {
		s.tried("device", p.account, false)
		s.cfg.Pages.Show(w, r, http.StatusUnprocessableEntity, "device", "Connect a personal agent", Beyond{},
			deviceView{CSRF: p.csrf, Code: code, Wrong: "No request waits under this code. Please compare it with what your personal agent shows."})
		return
	}
	s.tried("device", p.account, true)
	switch {
	case !form.Has("decision"):
		v := s.consent(p, d.client, d.scopes)
		v.Action, v.Hidden, v.Value = devicePage, "user_code", d.userCode
		s.cfg.Pages.Show(w, r, http.StatusOK, "consent", "Allow access", Beyond{Image: originOf(d.client.Logo)}, v)
	case !allowed(form):
		s.DenyDevice(code)
		s.cfg.Pages.Show(w, r, http.StatusOK, "told", "Declined", Beyond{}, "Your personal agent gets no access. You can close this page.")
	default:
		if _, ok := s.ApproveDevice(code, p.account, chosen(form)); !ok {
			s.wrong(w, r, http.StatusUnprocessableEntity, "Please choose at least one thing to allow, or decline.")
			return
		}
		s.cfg.Pages.Show(w, r, http.StatusOK, "told", "Connected", Beyond{}, "Your personal agent goes on by itself. You can close this page.")
	}
}

func allowed(form url.Values) bool { return form.Get("decision") == "allow" }

// chosen gives the ticked scopes; none is an empty list, and never all.
func chosen(form url.Values) []string { return append([]string{}, form["scope"]...) }

// originOf is an address's scheme and host.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// accountView is the account's page.
type accountView struct {
	CSRF        string
	Account     Account
	Connections []connectionView
}

type connectionView struct {
	Connection
	Means []string
}

// accountPage shows a person their account and the agents that may use it.
func (s *Server) accountPage(w http.ResponseWriter, r *http.Request) {
	p := s.personOf(w, r)
	if s.needsSignIn(w, r, p, AccountPath) {
		return
	}
	account, _ := s.account(p.account)
	account.Password, account.Code = "", ""
	v := accountView{CSRF: p.csrf, Account: account}
	for _, c := range s.Connections(p.account) {
		view := connectionView{Connection: c}
		for _, scope := range c.Scopes {
			view.Means = append(view.Means, AllScopes().Meaning[scope])
		}
		v.Connections = append(v.Connections, view)
	}
	s.cfg.Pages.Show(w, r, http.StatusOK, "account", "Your account", Beyond{}, v)
}

// accountDisconnect ends what an agent may do (draft 0.1, section 4.9).
func (s *Server) accountDisconnect(w http.ResponseWriter, r *http.Request, p person, form url.Values) {
	if s.needsSignIn(w, r, p, AccountPath) {
		return
	}
	s.Disconnect(form.Get("client_id"), p.account)
	http.Redirect(w, r, AccountPath, http.StatusSeeOther)
}
