package testsite

import (
	"net/http"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/papaver-agent/papaver/testsite/authserver"
)

// malformedHeader is a Poppy-Operation that isn't an RFC 9651 Dictionary.
const malformedHeader = `sid="ses_`

// guarded is one guarded action as the pages show it.
type guarded struct {
	ask    ask
	Doing  string // "This exchange"
	Done   string // heading of the result
	Result string // one sentence
	Back   string // path of the page the action starts on
	Action string // path that the request goes to
	Button string // label of the control that asks for it

	// Continue says that the waiting page has a button that makes the request again.
	Continue bool
	// StatusURL is where a script asks how its request stands, if it waits by itself.
	StatusURL string
	// Fields are the form's values, for a page that repeats it.
	Fields map[string]string
}

// guard answers a request for a guarded action. A browser that is joined to a Session whose join declared the
// extension needs an approval (Operations v3, sections 4 and 6); anybody else gets the website's own confirmation.
// Nothing that the browser sends can approve an operation.
func (s *Site) guard(w http.ResponseWriter, r *http.Request, g guarded, confirmed bool) {
	j, isJoined := s.visit(r)
	if !j.may(authserver.ScopeWrite) {
		s.tooFew(w, r, authserver.ScopeWrite)
		return
	}
	if !isJoined || !j.declared {
		s.confirm(w, r, g, confirmed)
		return
	}
	out := s.ops.request(j.owner, j.sid, g.ask)
	s.record.findings(out.findings)
	switch out.verdict {
	case verdictDone:
		if s.faults.take(func(f *Faults) *int { return &f.LoseResults }) {
			cut()
		}
		s.ops.delivered(out.rev)
		s.showDone(w, r, g)
	case verdictBusy:
		// Operations v3, section 7: nothing that sounds as if it had failed.
		w.Header().Set("Retry-After", "1")
		if wantsJSON(r) {
			writeJSON(w, http.StatusServiceUnavailable, pageAnswer{Error: "performing", StatusURL: g.StatusURL})
			return
		}
		s.pages.show(w, http.StatusServiceUnavailable, "busy", s.pageOf(r, "Still working on it", g))
	default:
		s.showWaiting(w, r, g, j.sid, out.ref)
	}
}

// pageAnswer is what a script of ours gets.
type pageAnswer struct {
	Error     string `json:"error,omitempty"`
	StatusURL string `json:"status_url,omitempty"`
	Status    string `json:"status,omitempty"`
	Message   string `json:"message,omitempty"`
}

// showWaiting answers with the reference, and a body for whatever made the request. The body doesn't carry the operation.
func (s *Site) showWaiting(w http.ResponseWriter, r *http.Request, g guarded, sid, ref string) {
	switch {
	case s.faults.take(func(f *Faults) *int { return &f.OmitHeaders }):
	case s.faults.take(func(f *Faults) *int { return &f.MalformHeaders }):
		w.Header().Set("Poppy-Operation", malformedHeader)
	default:
		header, err := operationHeader(sid, ref)
		if err != nil {
			http.Error(w, "internal error", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Poppy-Operation", header)
		s.record.count(func(report *Report) { report.References++ })
	}
	w.Header().Set("Cache-Control", "no-store")
	if wantsJSON(r) {
		writeJSON(w, http.StatusForbidden, pageAnswer{Error: "approval_required", StatusURL: g.StatusURL})
		return
	}
	s.pages.show(w, http.StatusForbidden, "waiting", s.pageOf(r, "Waiting for approval", g))
}

// operationHeader writes the Dictionary of Operations v3, section 4.
func operationHeader(sid, ref string) (string, error) {
	d := httpsfv.NewDictionary()
	d.Add("sid", httpsfv.NewItem(sid))
	d.Add("ref", httpsfv.NewItem(ref))
	return httpsfv.Marshal(d)
}

// showDone answers with the action's result.
func (s *Site) showDone(w http.ResponseWriter, r *http.Request, g guarded) {
	if wantsJSON(r) {
		writeJSON(w, http.StatusOK, pageAnswer{Status: "done", Message: g.Done + ". " + g.Result})
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.pages.show(w, http.StatusOK, "done", s.pageOf(r, g.Done, g))
}

// confirm is the website's own approval, for a visitor who is not an agent's browser in a Session with the extension.
func (s *Site) confirm(w http.ResponseWriter, r *http.Request, g guarded, confirmed bool) {
	if confirmed {
		o := owner{}
		if j, found := s.visit(r); found {
			o = j.owner
		}
		s.shop.apply(o, g.ask)
		s.showDone(w, r, g)
		return
	}
	if wantsJSON(r) {
		writeJSON(w, http.StatusConflict, pageAnswer{Error: "confirmation_required", Message: s.shop.quote(g.ask).summary})
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.pages.show(w, http.StatusOK, "confirm", s.pageOf(r, "Please confirm", struct {
		guarded
		Summary string
	}{g, s.shop.quote(g.ask).summary}))
}

// tooFew answers a browser that is signed in without the scope: the website applies the Session's scopes, as the APIs do
// (draft 0.1, section 5).
func (s *Site) tooFew(w http.ResponseWriter, r *http.Request, scope string) {
	if wantsJSON(r) {
		writeJSON(w, http.StatusForbidden, pageAnswer{Error: "insufficient_scope", Message: "Your personal agent may not do this for you."})
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.pages.show(w, http.StatusForbidden, "scope", s.pageOf(r, "Not allowed yet", scope))
}

// wantsJSON says whether the request is a script's that accepts JSON.
func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/json")
}

// humanDate writes an RFC 3339 date out for people.
func humanDate(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return t.Format("2 January 2006")
}
