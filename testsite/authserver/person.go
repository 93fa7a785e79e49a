package authserver

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// personCookie is a person's own browser at the issuer. No agent's join sets it.
const personCookie = "__Host-stormline-person"

// person is one browser at the issuer, signed in or not.
type person struct {
	csrf    string
	account string // empty: not signed in
	half    string // the account whose one-time code is awaited
	wrong   int    // one-time codes
	expires time.Time
}

// personOf gives the browser of a request. A new one gets its cookie.
func (s *Server) personOf(w http.ResponseWriter, r *http.Request) person {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.personLocked(r); p != nil {
		return *p
	}
	return *s.newPersonLocked(w, person{})
}

func (s *Server) personLocked(r *http.Request) *person {
	cookie, err := r.Cookie(personCookie)
	if err != nil {
		return nil
	}
	p := s.persons[hash(cookie.Value)]
	if p == nil || s.cfg.Now().After(p.expires) {
		return nil
	}
	return p
}

// newPersonLocked gives the browser a new cookie: at first, and whenever it signs in, so that nobody can prepare one.
func (s *Server) newPersonLocked(w http.ResponseWriter, p person) *person {
	now := s.cfg.Now()
	for key, old := range s.persons {
		if now.After(old.expires) {
			delete(s.persons, key)
		}
	}
	value := s.cfg.Fresh(32)
	p.csrf, p.expires = s.cfg.Fresh(22), now.Add(personLife)
	s.persons[hash(value)] = &p
	http.SetCookie(w, &http.Cookie{Name: personCookie, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	return &p
}

// person wraps what a person's form does: it must come from a page of ours, in the browser that was given the page.
func (s *Server) person(next func(w http.ResponseWriter, r *http.Request, p person, form url.Values)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		form, err := readPersonForm(w, r)
		if err != nil {
			s.wrong(w, r, http.StatusBadRequest, "The form could not be read.")
			return
		}
		s.mu.Lock()
		found := s.personLocked(r)
		var p person
		if found != nil {
			p = *found
		}
		s.mu.Unlock()
		if found == nil || subtle.ConstantTimeCompare([]byte(form.Get("csrf")), []byte(p.csrf)) != 1 {
			s.wrong(w, r, http.StatusForbidden, "This page is too old, or it isn't ours. Nothing was done.")
			return
		}
		next(w, r, p, form)
	}
}

// readPersonForm reads a page's form. Checkboxes may come several times.
func readPersonForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	return r.PostForm, nil
}

// wrong shows a page that says what can't be done.
func (s *Server) wrong(w http.ResponseWriter, r *http.Request, status int, what string) {
	s.cfg.Pages.Show(w, r, status, "wrong", "That didn't work", Beyond{}, what)
}

// local says whether a path is one of our pages that a sign-in may lead to, so that a link can't lead anybody elsewhere.
func local(path string) bool {
	u, err := url.Parse(path)
	return err == nil && u.Scheme == "" && u.Host == "" && slices.Contains([]string{AuthorizePath, devicePage, AccountPath}, u.Path) &&
		!strings.ContainsAny(path, "\\\r\n")
}

// needsSignIn sends a person who isn't signed in to the sign-in page, and says so.
func (s *Server) needsSignIn(w http.ResponseWriter, r *http.Request, p person, then string) bool {
	if p.account != "" {
		return false
	}
	http.Redirect(w, r, signInPage+"?"+url.Values{"then": {then}}.Encode(), http.StatusSeeOther)
	return true
}

// signInView is the sign-in page.
type signInView struct {
	CSRF, Then, Wrong string
	Half              bool // the one-time code is asked for
	SentTo            string
}

func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) {
	then := r.URL.Query().Get("then")
	if !local(then) {
		then = AccountPath
	}
	p := s.personOf(w, r)
	s.showSignIn(w, r, p, then, "")
}

func (s *Server) showSignIn(w http.ResponseWriter, r *http.Request, p person, then, wrong string) {
	status := http.StatusOK
	if wrong != "" {
		status = http.StatusUnprocessableEntity
	}
	s.cfg.Pages.Show(w, r, status, "sign-in", "Sign in", Beyond{}, signInView{CSRF: p.csrf, Then: then, Wrong: wrong, Half: p.half != "", SentTo: SentTo})
}

// signInTry is a person's try: email and password, or the one-time code.
func (s *Server) signInTry(w http.ResponseWriter, r *http.Request, p person, form url.Values) {
	then := form.Get("then")
	if !local(then) {
		then = AccountPath
	}
	if p.half != "" && form.Has("code") {
		s.personCode(w, r, form.Get("code"), then)
		return
	}
	email := form.Get("email")
	if wait := s.lockedFor(personCookie, email); wait > 0 {
		RetryAfter(w.Header(), wait)
		s.wrong(w, r, http.StatusTooManyRequests, "There were too many wrong tries. Please wait a quarter of an hour.")
		return
	}
	account, right := s.password(email, form.Get("password"))
	s.tried(personCookie, email, right)
	if !right {
		s.showSignIn(w, r, p, then, "Email and password don't belong to an account.")
		return
	}
	s.mu.Lock()
	if account.Code != "" {
		p = *s.newPersonLocked(w, person{half: account.ID})
		s.mu.Unlock()
		s.showSignIn(w, r, p, then, "")
		return
	}
	s.newPersonLocked(w, person{account: account.ID})
	s.mu.Unlock()
	http.Redirect(w, r, then, http.StatusSeeOther)
}

// personCode is a person's one-time code.
func (s *Server) personCode(w http.ResponseWriter, r *http.Request, code, then string) {
	s.mu.Lock()
	p := s.personLocked(r)
	if p == nil {
		s.mu.Unlock()
		http.Redirect(w, r, signInPage, http.StatusSeeOther)
		return
	}
	account, _ := s.account(p.half)
	if account.Code == "" || subtle.ConstantTimeCompare([]byte(code), []byte(account.Code)) != 1 {
		wrong := "That isn't the code."
		if p.wrong++; p.wrong >= maxCodes {
			p.half, p.wrong = "", 0
			wrong = "That wasn't the code either. Please start again."
		}
		shown := *p
		s.mu.Unlock()
		s.showSignIn(w, r, shown, then, wrong)
		return
	}
	s.newPersonLocked(w, person{account: account.ID})
	s.mu.Unlock()
	http.Redirect(w, r, then, http.StatusSeeOther)
}

// signOut signs the person out of this browser.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request, _ person, _ url.Values) {
	s.mu.Lock()
	if cookie, err := r.Cookie(personCookie); err == nil {
		delete(s.persons, hash(cookie.Value))
	}
	s.mu.Unlock()
	http.Redirect(w, r, signInPage, http.StatusSeeOther)
}
