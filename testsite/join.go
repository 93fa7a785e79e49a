package testsite

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/testsite/authserver"
)

// The join and the browser sessions it makes.
const (
	cookieName   = "__Host-stormline"
	browserLife  = time.Hour           // the website keeps a browser's session short
	cookieLife   = 30 * 24 * time.Hour // for which a draft's cookie is remembered; its Session ends it
	typAssertion = "poppy-browser+jwt"
)

// joined is a browser that was joined to a Session.
type joined struct {
	owner    owner
	sid      string
	agent    string // the agent's name, for the page's header
	declared bool   // the join declared version 3 of operations
	expires  time.Time
	signIn   *authserver.SignIn // of a join with an access token
}

// browsers are the joined browsers by their cookie. It is safe for concurrent use.
type browsers struct {
	now    func() time.Time
	single bool // each join of a Session replaces its cookie (draft 0.1, section 5)

	mu     sync.Mutex
	joined map[string]joined
}

// add gives a browser its cookie, in place of the one it had.
func (b *browsers) add(before, cookie string, j joined) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.joined, before)
	for key, old := range b.joined {
		if b.now().After(old.expires) || b.single && old.sid == j.sid {
			delete(b.joined, key)
		}
	}
	b.joined[cookie] = j
}

func (b *browsers) forget(cookie string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.joined, cookie)
}

// of gives the Session that the request's browser is joined to.
func (b *browsers) of(r *http.Request) (joined, bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return joined{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	j, found := b.joined[cookie.Value]
	if !found || b.now().After(j.expires) {
		return joined{}, false
	}
	return j, true
}

// join answers the browser's form POST of a signed assertion (shape A of the join). Every check passes and the browser
// gets a cookie of its own and a redirect to return_to, or it gets an error page and no cookie.
func (s *Site) join(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	if s.faults.take(func(f *Faults) *int { return &f.RedirectJoins }) {
		http.Redirect(w, r, s.elsewhereURL(), http.StatusTemporaryRedirect)
		return
	}
	form, failed := readJoin(w, r)
	if failed != nil {
		s.refuseJoin(w, r, failed)
		return
	}
	j, returnTo, failed := s.asks(r, form)
	if failed == nil && !s.onOurDomain(returnTo) {
		failed = &refusal{ruleJoinReturnTo, "return_to isn't an HTTPS URL on " + s.shopHost()}
	}
	if failed != nil {
		s.refuseJoin(w, r, failed)
		return
	}
	if s.faults.take(func(f *Faults) *int { return &f.RefuseJoins }) {
		s.refuseJoin(w, r, nil)
		return
	}
	if s.limited(w, j.owner.client) {
		return
	}
	cookie, before := s.fresh(32), ""
	if had, err := r.Cookie(cookieName); err == nil {
		before = had.Value
	}
	s.browsers.add(before, cookie, j)
	s.record.count(func(report *Report) { report.Joins++ })
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: cookie, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	w.Header().Set("Location", returnTo)
	w.WriteHeader(http.StatusSeeOther)
}

// joinForm is what the browser posted.
type joinForm struct {
	assertion string
	token     string // an access token, or empty
	declared  bool   // version 3 of operations
}

// readJoin reads the form: one assertion, and in 1.0 the extensions that the browser's requests declare from now on, and
// the access token of a signed-in join.
func readJoin(w http.ResponseWriter, r *http.Request) (joinForm, *refusal) {
	if r.Method != http.MethodPost {
		return joinForm{}, &refusal{ruleJoinForm, "another method than POST"}
	}
	form, err := authserver.ReadForm(w, r)
	if err != nil {
		return joinForm{}, &refusal{ruleJoinForm, "a form that can't be read"}
	}
	if form.Get("assertion") == "" {
		return joinForm{}, &refusal{ruleJoinForm, "no assertion"}
	}
	declared, ok := declaresOperations(form["extensions"])
	if !ok {
		return joinForm{}, &refusal{ruleJoinExtensions, "extensions that aren't one List of Strings"}
	}
	if form.Has("access_token") && form.Get("access_token") == "" {
		return joinForm{}, &refusal{ruleJoinToken, "an empty access token"}
	}
	return joinForm{assertion: form.Get("assertion"), token: form.Get("access_token"), declared: declared}, nil
}

// asks verifies what the browser posted, by the profile's rules, and gives the Session that it joins.
func (s *Site) asks(r *http.Request, form joinForm) (j joined, returnTo string, failed *refusal) {
	if s.profile.SessionTokens {
		b, suffix, seen := s.auth.Join(r.Context(), form.assertion, s.joinURL())
		if suffix != "" {
			return joined{}, "", &refusal{prefixJoin + suffix, seen}
		}
		// The cookie lives as long as its Session, which is looked up with each request.
		return joined{
			owner: owner{client: b.Session.Client, user: b.Session.User}, sid: b.Session.ID, agent: b.Session.Agent, expires: s.now().Add(cookieLife),
		}, b.ReturnTo, nil
	}
	c, advice, failed := s.verifier.verify(r.Context(), form.assertion, expectation{prefix: prefixJoin, typ: typAssertion, audience: s.joinURL()})
	for _, a := range advice {
		s.record.broken(a.rule, a.seen)
	}
	if failed == nil {
		failed = boundTo(c, form.token, prefixJoin)
	}
	if failed != nil {
		return joined{}, "", failed
	}
	if s.auth.EndedSession(c.sid) {
		return joined{}, "", &refusal{} // the agent named it rightly, and learns only now that it has ended
	}
	j = joined{owner: c.owner, sid: c.sid, agent: c.agent, declared: form.declared, expires: s.now().Add(browserLife)}
	if form.token != "" {
		if _, denial := s.auth.Bearer(form.token, c.owner.client, c.owner.user, c.sid); denial != nil {
			return joined{}, "", &refusal{} // what was broken is written down; a sign-in that ended breaks nothing
		}
		j.signIn = s.auth.SignInOf(form.token)
	}
	return j, c.returnTo, nil
}

// boundTo checks that a Session JWT or an assertion is bound to the access token beside it (PROTOCOL, section 18, rows 4
// and 13): by its hash, and to none when there is none.
func boundTo(c credential, token, prefix string) *refusal {
	switch sum := sha256.Sum256([]byte(token)); {
	case token == "" && c.ath != "":
		return &refusal{prefix + credToken, "an ath, and no access token beside it"}
	case token != "" && c.ath != base64.RawURLEncoding.EncodeToString(sum[:]):
		return &refusal{prefix + credToken, "no ath, or another token's, and an access token beside it"}
	}
	return nil
}

// refuseJoin answers with 400, an error page and no cookie. Without a failed check it is a fault of ours.
func (s *Site) refuseJoin(w http.ResponseWriter, r *http.Request, failed *refusal) {
	s.record.count(func(report *Report) { report.JoinsRefused++ })
	if failed != nil && failed.rule != "" {
		s.record.broken(failed.rule, failed.seen)
	}
	s.pages.show(w, http.StatusBadRequest, "refused", s.pageOf(r, "Couldn't start your visit", nil))
}

// onOurDomain says whether the URL is an HTTPS one on the shop's domain or below it, on the usual port.
func (n names) onOurDomain(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Opaque != "" {
		return false
	}
	host := strings.ToLower(u.Host)
	return host == n.shopHost() || strings.HasSuffix(host, "."+n.shopHost())
}

// leave forgets the browser: the shop knows it no more, whatever Session it was joined to.
func (s *Site) leave(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		s.browsers.forget(cookie.Value)
	}
	dropCookie(w)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// forgetEnded takes the cookie of a Session that is no more from the browser: it must not outlive the Session (draft 0.1,
// section 5), and the agent sees that its browser has to be joined again.
func (s *Site) forgetEnded(w http.ResponseWriter, r *http.Request) {
	if _, err := r.Cookie(cookieName); err != nil {
		return
	}
	if _, known := s.visit(r); !known {
		dropCookie(w)
	}
}

func dropCookie(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}
