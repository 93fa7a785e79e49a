package capture

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Path is below which a Matrix answers.
const Path = "/capture/"

// header is the response header that all this is about.
const header = "Poppy-Operation"

// noSession stands in an address for the Session of a browser that has none.
const noSession = "none"

// Matrix serves the rows. It is safe for concurrent use.
type Matrix struct {
	partner string // its origin
	sid     func(*http.Request) string
	rows    map[string]Row
	mux     *http.ServeMux

	mu    sync.Mutex
	asked map[string]int
}

// New makes a Matrix for a Company and a partner at that origin. sid gives the Session that a request's browser is joined to;
// empty when there is none.
func New(partner string, sid func(*http.Request) string) *Matrix {
	m := &Matrix{partner: partner, sid: sid, rows: make(map[string]Row), mux: http.NewServeMux(), asked: make(map[string]int)}
	for _, row := range Rows() {
		m.rows[row.Name] = row
	}
	m.mux.HandleFunc("GET "+Path+"{$}", m.list)
	m.document("page", "text/html; charset=utf-8", func(row Row) string {
		return `<!doctype html><meta charset=utf-8><title>` + row.Name + `</title><link rel=icon href="data:,"><body>` + row.Page
	})
	m.document("frame", "text/html; charset=utf-8", func(row Row) string { return "<!doctype html><meta charset=utf-8><body>" + row.Frame })
	m.document("script.js", "text/javascript", func(row Row) string { return row.Script })
	m.document("blank", "text/html; charset=utf-8", func(Row) string { return "<!doctype html>" })
	m.mux.HandleFunc(Path+"{sid}/{row}/r", m.answer)
	return m
}

// ServeHTTP implements [http.Handler].
func (m *Matrix) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Asked says how often a row's answer was asked for in the name of a Session.
func (m *Matrix) Asked(sid, row string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[sid+"/"+row]
}

// Page is the path of a row's page, for a header that names the Session sid.
func Page(sid, row string) string { return Path + url.PathEscape(sid) + "/" + row + "/page" }

// document serves one of the documents that each row has.
func (m *Matrix) document(name, kind string, content func(Row) string) {
	m.mux.HandleFunc(Path+"{sid}/{row}/"+name, func(w http.ResponseWriter, r *http.Request) {
		row, found := m.rows[r.PathValue("row")]
		sid := r.PathValue("sid")
		if !found || !plain(sid) {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "same-origin")
		if name == "page" {
			for name, values := range row.Head {
				h[name] = values
			}
		}
		_, _ = fmt.Fprint(w, strings.NewReplacer("PARTNER/", m.partner+Path+sid+"/"+row.Name+"/", "SID", sid).Replace(content(row)))
	})
}

// plain says whether a Session's ID can stand in a document as it is.
func plain(sid string) bool {
	return strings.IndexFunc(sid, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

// answer is the response that carries the header.
func (m *Matrix) answer(w http.ResponseWriter, r *http.Request) {
	row, found := m.rows[r.PathValue("row")]
	sid := r.PathValue("sid")
	if !found || !plain(sid) {
		http.NotFound(w, r)
		return
	}
	m.mu.Lock()
	m.asked[sid+"/"+row.Name]++
	m.mu.Unlock()
	refuse := func(more string) { row.Answer.write(w, sid, row.Name+more) }
	if row.Answer.Serve != nil {
		row.Answer.Serve(w, r, refuse)
		return
	}
	refuse("")
}

func (a Answer) write(w http.ResponseWriter, sid, ref string) {
	h := w.Header()
	name, lines, code := a.Name, a.Lines, a.Status
	if name == "" {
		name = header
	}
	if lines == nil {
		lines = []string{`sid="SID", ref="REF"`}
	}
	if code == 0 {
		code = http.StatusForbidden
	}
	h.Set("Content-Type", "text/html")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	for name, value := range a.Header {
		h.Set(name, value)
	}
	for _, line := range lines {
		h[name] = append(h[name], strings.NewReplacer("SID", sid, "REF", ref).Replace(line))
	}
	w.WriteHeader(code)
	if !a.Empty && code != http.StatusNoContent && code != http.StatusNotModified {
		_, _ = fmt.Fprint(w, "refused")
	}
}

var listPage = template.Must(template.New("list").Parse(`<!doctype html><meta charset=utf-8><title>Capture</title>
<style>body{font:16px/1.5 sans-serif;margin:2em}td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ccc}</style>
<h1>Capture</h1>
<p>Each row brings a response with Poppy-Operation to this browser, in a way of its own.
{{if .Sid}}It names your Session, {{.Sid}}.{{else}}This browser is joined to no Session: each is refused for that reason.{{end}}</p>
<table><tr><th>Row<th>How the response comes<th>What an agent makes of it</tr>
{{$sid := .At}}{{range .Rows}}<tr><td><a href="{{$sid}}/{{.Name}}/page">{{.Name}}</a><td>{{.Way}}<td>{{.Verdict}}</tr>
{{end}}</table>
`))

// list is the page with all rows.
func (m *Matrix) list(w http.ResponseWriter, r *http.Request) {
	sid := m.sid(r)
	at := sid
	if !plain(sid) || sid == "" {
		at = noSession
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_ = listPage.Execute(w, struct {
		Sid, At string
		Rows    []Row
	}{sid, at, Rows()}) // what fails is the connection
}
