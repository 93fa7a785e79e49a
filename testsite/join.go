package testsite

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// The join and the browser sessions it makes.
const (
	cookieName      = "__Host-stormline"
	browserLife     = time.Hour // the website keeps a browser's session short
	maxJoinBody     = 32 << 10  // bytes
	typAssertion    = "poppy-browser+jwt"
	formContentType = "application/x-www-form-urlencoded"
)

// joined is a browser that was joined to a Session.
type joined struct {
	owner    owner
	sid      string
	agent    string // the agent's name, for the page's header
	declared bool   // the join declared version 3 of operations
	expires  time.Time
}

// browsers are the joined browsers by their cookie. It is safe for concurrent use.
type browsers struct {
	now func() time.Time

	mu     sync.Mutex
	joined map[string]joined
}

func (b *browsers) add(cookie string, j joined) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, old := range b.joined {
		if b.now().After(old.expires) {
			delete(b.joined, key)
		}
	}
	b.joined[cookie] = j
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
		http.Redirect(w, r, elsewhereURL, http.StatusTemporaryRedirect)
		return
	}
	assertion, declared, failed := readJoin(w, r)
	if failed != nil {
		s.refuseJoin(w, r, failed)
		return
	}
	c, advice, failed := s.verifier.verify(r.Context(), assertion, expectation{prefix: prefixJoin, typ: typAssertion, audience: joinURL})
	for _, a := range advice {
		s.record.broken(a.rule, a.seen)
	}
	if failed == nil && !onOurDomain(c.returnTo) {
		failed = &refusal{ruleJoinReturnTo, "return_to isn't an HTTPS URL on " + shopHost}
	}
	if failed != nil {
		s.refuseJoin(w, r, failed)
		return
	}
	if s.faults.take(func(f *Faults) *int { return &f.RefuseJoins }) {
		s.refuseJoin(w, r, nil)
		return
	}
	cookie := s.fresh(32)
	s.browsers.add(cookie, joined{
		owner: c.owner, sid: c.sid, agent: c.agent, declared: declared, expires: s.now().Add(browserLife),
	})
	s.record.count(func(report *Report) { report.Joins++ })
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: cookie, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	w.Header().Set("Location", c.returnTo)
	w.WriteHeader(http.StatusSeeOther)
}

// readJoin reads the form: one assertion, and the extensions that the browser's requests declare from now on.
func readJoin(w http.ResponseWriter, r *http.Request) (assertion string, declared bool, failed *refusal) {
	if r.Method != http.MethodPost {
		return "", false, &refusal{ruleJoinForm, "another method than POST"}
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != formContentType {
		return "", false, &refusal{ruleJoinForm, "another content type than " + formContentType}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxJoinBody)
	if err := r.ParseForm(); err != nil {
		return "", false, &refusal{ruleJoinForm, "a form that can't be read"}
	}
	if _, found := r.PostForm["access_token"]; found {
		return "", false, &refusal{ruleJoinToken, "an access token, though nobody can sign in here"}
	}
	if len(r.PostForm["assertion"]) != 1 {
		return "", false, &refusal{ruleJoinForm, "not exactly one assertion"}
	}
	declared, ok := declaresOperations(r.PostForm["extensions"])
	if !ok || len(r.PostForm["extensions"]) > 1 {
		return "", false, &refusal{ruleJoinExtensions, "extensions that aren't one List of Strings"}
	}
	return r.PostForm.Get("assertion"), declared, nil
}

// refuseJoin answers with 400, an error page and no cookie. Without a failed check it is a fault of ours.
func (s *Site) refuseJoin(w http.ResponseWriter, r *http.Request, failed *refusal) {
	s.record.count(func(report *Report) { report.JoinsRefused++ })
	if failed != nil {
		s.record.broken(failed.rule, failed.seen)
	}
	s.pages.show(w, http.StatusBadRequest, "refused", s.pageOf(r, "Couldn't start your visit", nil))
}

// onOurDomain says whether the URL is an HTTPS one on the shop's domain or below it, on the usual port.
func onOurDomain(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Opaque != "" {
		return false
	}
	host := strings.ToLower(u.Host)
	return host == shopHost || strings.HasSuffix(host, "."+shopHost)
}
