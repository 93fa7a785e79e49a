package capture

import "net/http"

// Row is one way for a response to come to a browser.
type Row struct {
	Name string // in its addresses, and its reference
	Way  string // the same in words
	// Page, Frame and Script are the body of the row's page, a second document, and a script that the page may load. In
	// them PARTNER/ stands for the row's folder at the partner's host.
	Page, Frame, Script string
	Head                http.Header // of the page, beyond its type
	Answer              Answer
	Verdict             Verdict
}

// Answer is what r answers. The zero value is a 403 with one line of the header.
type Answer struct {
	Status int      // 403 when 0
	Name   string   // the header's, as it is spelled over HTTP/1.1
	Lines  []string // of the header; SID and REF stand for the Session and the row's reference
	Header map[string]string
	Empty  bool // without a body
	// Serve answers in place of all that. refuse answers as the rest of the Answer says, with the reference REF and what
	// is added to it.
	Serve func(w http.ResponseWriter, r *http.Request, refuse func(more string))
}

// Verdict is what an agent must make of a row.
type Verdict struct {
	// Counts: the response is seen and its reference is used, once.
	Counts bool
	// Note is what else there is to say of it.
	Note string
	// Refused: the response is seen, beside the one that counts if there is one, and refused for this reason.
	Refused Reason
	// Unseen is why nobody who holds a browser's responses sees one; empty when it is seen.
	Unseen string
	// Forged: what is not seen is made up in the page's name, so that it must not be.
	Forged bool
	// Unasked: the browser must not even send the request.
	Unasked bool
}

// Reason is why a response that was seen carries no reference for an agent to use.
type Reason string

// The reasons.
const (
	OtherStatus Reason = "its status is not 403"
	Preflight   Reason = "it answers a preflight"
	Malformed   Reason = "the header is not a well-formed dictionary"
	NoSid       Reason = "sid is missing or not a String"
	NoRef       Reason = "ref is missing or not a String"
	OtherSid    Reason = "sid names a Session that this browser is not joined to"
	BadRef      Reason = "ref is not in its alphabet or length"
	Repeated    Reason = "the same reference came before, from the cache"
	Unjoined    Reason = "the browser is joined to no Session"
)

// String says the verdict in words.
func (v Verdict) String() string {
	switch {
	case v.Counts && v.Refused != "":
		return "counts; once more it is refused: " + string(v.Refused)
	case v.Note != "":
		return "counts: " + v.Note
	case v.Counts:
		return "counts"
	case v.Refused != "":
		return "refused: " + string(v.Refused)
	case v.Unasked:
		return "never asked for: " + v.Unseen
	case v.Forged:
		return "must not be seen: " + v.Unseen
	default:
		return "not shown by Chromium: " + v.Unseen
	}
}

var (
	counts   = Verdict{Counts: true}
	repeated = Verdict{Counts: true, Refused: Repeated}
	forged   = Verdict{Forged: true, Unseen: "a service worker made it up"}
)

func refused(why Reason) Verdict { return Verdict{Refused: why} }
func unseen(why string) Verdict  { return Verdict{Unseen: why} }
func status(code int) Answer {
	return Answer{Status: code, Header: map[string]string{"Location": "blank"}}
}
func lines(lines ...string) Answer {
	return Answer{Lines: lines}
}
func headers(pairs ...string) Answer {
	a := Answer{Header: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		a.Header[pairs[i]] = pairs[i+1]
	}
	return a
}

// script is a page whose control runs code. A row that waits for no response says by end() when it is over.
func script(code string) string {
	return `<button id=go>Go</button><script>
const end = () => document.body.append('ov' + 'er');
const put = (name, more) => document.body.append(Object.assign(document.createElement(name), more));
document.getElementById('go').onclick = () => { ` + code + ` };
</script>`
}

// does is a document that runs code as it loads.
func does(code string) string { return "<script>" + code + "</script>" }

// controlled is a page whose control runs code once the row's service worker controls it.
func controlled(code string) string {
	return script(`navigator.serviceWorker.register('script.js').then(() => navigator.serviceWorker.ready).then(() => new Promise((go) => {
	if (navigator.serviceWorker.controller) go(); else navigator.serviceWorker.oncontrollerchange = go;
})).then(() => { ` + code + ` })`)
}

// worker is a service worker that answers requests by code, in which e is the event and forged() a response that it made up.
func worker(code string) string {
	return `addEventListener('install', () => skipWaiting()); addEventListener('activate', (e) => e.waitUntil(clients.claim()));
const forged = () => new Response('x', {status: 403, headers: {'Poppy-Operation': 'sid="SID", ref="forged"'}});
addEventListener('fetch', (e) => { ` + code + ` });`
}
