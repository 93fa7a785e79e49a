package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

// capturePatience is how long one response may take from the press that causes it to OnHeld.
const capturePatience = time.Minute

// capture is one way for a response to come to a browser. Its page has a control #go; pressing it brings the response
// whose reference is the way's name. In a page, /r/ stands for the path that answers so, and CROSS for another site.
type capture struct {
	name string
	page string
	// unseen is why Chromium does not show such a response to whoever holds responses; empty for one that is held.
	unseen string
}

// captures are the rows of the coverage matrix. A forged response must not be seen; the other unseen ones are what the
// package's comment does not promise.
var captures = []capture{
	{"form", `<form method=post action="/r/form"><button id=go>Go</button></form>`, ""},
	{"link", `<a id=go href="/r/link">Go</a>`, ""},
	{"empty-body", `<a id=go href="/r/empty-body?empty=1">Go</a>`, ""},
	{"attachment", `<a id=go href="/r/attachment?attachment=1">Go</a>`, ""},
	{"no-content", `<a id=go href="/r/no-content?status=204">Go</a>`, ""},
	{"redirect-hop", `<form method=post action="/r/redirect-hop?status=303"><button id=go>Go</button></form>`, ""},
	{"fetch", script(`fetch('/r/fetch', {method: 'POST'})`), ""},
	{"fetch-redirect-hop", script(`fetch('/r/fetch-redirect-hop?status=302')`), ""},
	{"xhr", script(`const x = new XMLHttpRequest(); x.open('POST', '/r/xhr'); x.send()`), ""},
	{"lower-case", script(`fetch('/r/lower-case?name=poppy-operation')`), ""},
	{"upper-case", script(`fetch('/r/upper-case?name=POPPY-OPERATION')`), ""},
	{"two-lines", script(`fetch('/r/two-lines?lines=2')`), ""},
	{"image", script(`document.body.append(Object.assign(new Image(), {src: '/r/image'}))`), ""},
	{"event-source", script(`new EventSource('/r/event-source')`), ""},
	{"beacon", script(`navigator.sendBeacon('/r/beacon', 'x')`), ""},
	{"keepalive", script(`fetch('/r/keepalive', {method: 'POST', keepalive: true})`), ""},
	{"pagehide-beacon", script(`addEventListener('pagehide', () => navigator.sendBeacon('/r/pagehide-beacon', 'x')); location = '/blank'`), ""},
	{"pagehide-keepalive", script(`addEventListener('pagehide', () => fetch('/r/pagehide-keepalive', {method: 'POST', keepalive: true})); location = '/blank'`), ""},
	{"frame", script(frame(`f.src = '/r/frame'`)), ""},
	{"sandboxed-frame", script(frame(`f.sandbox = ''; f.src = '/r/sandboxed-frame'`)), ""},
	{"srcdoc-frame", script(frame("f.srcdoc = `<script>fetch('/r/srcdoc-frame')<\\/script>`")), ""},
	{"cross-site-frame", script(frame(`f.src = 'CROSS/r/cross-site-frame'`)), ""},
	{"cross-site-frame-fetch", script(frame(`f.src = 'CROSS/does?' + encodeURIComponent("fetch('/r/cross-site-frame-fetch')")`)), ""},
	{"popup", script(`open('/r/popup')`), ""},
	{"popup-without-opener", script(`open('/r/popup-without-opener', '_blank', 'noopener')`), ""},
	{"cross-site-popup", script(`open('CROSS/r/cross-site-popup')`), ""},
	{"popup-fetch", script(`open('/does?' + encodeURIComponent("fetch('/r/popup-fetch')"))`), ""},
	{"blank-link", `<a id=go target=_blank href="/r/blank-link">Go</a>`, ""},
	{"blank-form", `<form method=post target=_blank action="/r/blank-form"><button id=go>Go</button></form>`, ""},
	{"worker", script(`new Worker('/do.js?' + encodeURIComponent("fetch('/r/worker')"))`), ""},
	{"nested-worker", script("new Worker('/do.js?' + encodeURIComponent(`new Worker('/do.js?' + encodeURIComponent(\"fetch('/r/nested-worker')\"))`))"), ""},
	{"shared-worker", script(`new SharedWorker('/do.js?' + encodeURIComponent("fetch('/r/shared-worker')"))`), ""},
	{"service-worker-install", script(`navigator.serviceWorker.register('/do.js?' + encodeURIComponent("fetch('/r/service-worker-install')"), {scope: '/none/'})`), ""},
	{"cross-origin", script(`fetch('CROSS/r/cross-origin?cors=1')`), ""},
	{"cross-origin-refused", script(`fetch('CROSS/r/cross-origin-refused').catch(() => {})`), ""},
	{"preflight", script(`fetch('CROSS/r/preflight', {method: 'PUT'}).catch(() => {})`), ""},
	{"cache", script(`fetch('/r/cache?cache=1').then(() => fetch('/r/cache?cache=1', {cache: 'force-cache'}))`), ""},
	{"opaque", script(`fetch('CROSS/r/opaque', {mode: 'no-cors'})`), ""},
	{"websocket", script(`const s = new WebSocket('ws://' + location.host + '/r/websocket'); s.onerror = end`), "a WebSocket's handshake is no request that Chromium shows"},
	{"service-worker-passes", serviceWorker("/pass.js", `fetch('/r/service-worker-passes', {method: 'POST'})`), ""},
	{"service-worker-rewrites", serviceWorker("/rewrite.js", `fetch('/r/service-worker-rewrites')`), ""},
	{"forged-fetch", serviceWorker("/forge.js", `fetch('/forged').finally(end)`), madeUp},
	{"forged-document", serviceWorker("/forge.js", frame(`f.onload = end; f.src = '/forged'`)), madeUp},
}

// forged reports whether a row's response was made up by a service worker.
func (c capture) forged() bool { return c.unseen == madeUp }

// madeUp is why a response that a service worker made up is not seen.
const madeUp = "a service worker made it up"

// script is a page whose control runs code. What is not seen says by end() when it is over.
func script(code string) string {
	return `<button id=go>Go</button><script>
		const end = () => document.body.append('ov' + 'er');
		document.getElementById('go').onclick = () => { ` + code + ` };</script>`
}

func frame(code string) string {
	return `const f = document.createElement('iframe'); ` + code + `; document.body.append(f)`
}

// serviceWorker is a page whose control runs code when a service worker controls it.
func serviceWorker(worker, code string) string {
	return script(`navigator.serviceWorker.register('` + worker + `').then(() => navigator.serviceWorker.ready).then(() => new Promise((go) => {
		if (navigator.serviceWorker.controller) go(); else navigator.serviceWorker.oncontrollerchange = go;
	})).then(() => { ` + code + ` })`)
}

// captureSite serves the pages of the matrix, and a reference at each /r/ path.
func captureSite(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	page := func(path, kind string, content func(r *http.Request) string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = fmt.Fprint(w, content(r))
		})
	}
	query := func(r *http.Request) string {
		code := r.URL.Query()
		for c := range code {
			return c
		}
		return ""
	}
	page("/blank", "text/html", func(*http.Request) string { return "<!doctype html>" })
	page("/does", "text/html", func(r *http.Request) string { return "<!doctype html><script>" + query(r) + "</script>" })
	page("/do.js", "text/javascript", query)
	for worker, respond := range map[string]string{
		"/forge.js":   `if (new URL(e.request.url).pathname === '/forged') e.respondWith(forged())`,
		"/pass.js":    `e.respondWith(fetch(e.request))`,
		"/rewrite.js": `e.respondWith(fetch(e.request).then(forged))`,
	} {
		page(worker, "text/javascript", func(*http.Request) string {
			return `addEventListener('install', () => skipWaiting()); addEventListener('activate', (e) => e.waitUntil(clients.claim()));
				const forged = () => new Response('x', {status: 403, headers: {'` + field + `': 'sid="s", ref="forged"'}});
				addEventListener('fetch', (e) => { ` + respond + ` })`
		})
	}
	page("/page/{name}", "text/html", func(r *http.Request) string {
		for _, c := range captures {
			if c.name == r.PathValue("name") {
				return `<!doctype html><meta charset=utf-8><link rel=icon href="data:,">` + strings.ReplaceAll(c.page, "CROSS", "http://cross.test")
			}
		}
		return ""
	})
	mux.HandleFunc("/r/{name}", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		name, status := field, http.StatusForbidden
		if n := q.Get("name"); n != "" {
			name = n
		}
		if s, err := strconv.Atoi(q.Get("status")); err == nil {
			status = s
			w.Header().Set("Location", "/blank")
		}
		if q.Get("cors") != "" {
			w.Header().Set("Access-Control-Allow-Origin", "*")
		}
		if q.Get("cache") != "" {
			w.Header().Set("Cache-Control", "max-age=3600")
		}
		if q.Get("attachment") != "" {
			w.Header().Set("Content-Disposition", "attachment")
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header()[name] = []string{`sid="s", ref="` + r.PathValue("name") + `"`}
		if q.Get("lines") != "" {
			w.Header()[name] = []string{`sid="s"`, `ref="` + r.PathValue("name") + `"`}
		}
		w.WriteHeader(status)
		if q.Get("empty") == "" && status != http.StatusNoContent {
			_, _ = fmt.Fprint(w, "refused")
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// figures are what a driver made of the matrix.
type figures struct {
	seen    int // with the right reference, of the right browser context
	forged  int // seen, and made up by a service worker
	unseen  int // made up, and rightly not seen
	unshown int // of a kind that Chromium shows to nobody
	missed  int
	wrong   int // seen instead of another, or of another context
}

// testCaptures runs the matrix with a driver: each row in a browser context of its own, all in one Chromium.
func testCaptures(t *testing.T, driver browser.Driver) (f figures) {
	site := captureSite(t)
	t.Setenv("TMPDIR", shortTempDir(t))
	held := make(chan browser.Held, 64)
	b, err := browser.Start(t.Context(), browser.Config{
		Driver: driver, NoSandbox: os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0, Watch: field,
		HostResolverRules: "MAP cross.test:80 " + site.Listener.Addr().String(),
		Private:           func(host string) bool { return host == "127.0.0.1" || host == "cross.test" },
		OnHeld:            func(_ context.Context, h browser.Held) { held <- h },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	earlier := make(map[browser.ContextID]bool)
	for _, row := range captures {
		c := newContext(t, b)
		do(t, c, browser.Act{Kind: browser.Navigate, URL: site.URL + "/page/" + row.name})
		do(t, c, browser.Act{Kind: browser.Click, Selectors: [][]string{{"#go"}}, Timeout: capturePatience})
		if row.unseen != "" {
			do(t, c, browser.Act{Kind: browser.Wait, Selectors: [][]string{{"text/over"}}, Timeout: capturePatience})
			if row.forged() {
				f.unseen++
			} else {
				f.unshown++
			}
		}
		for waiting := row.unseen == ""; waiting; {
			ctx, cancel := context.WithTimeout(t.Context(), capturePatience)
			select {
			case h := <-held:
				ref := `ref="` + row.name + `"`
				if id, _ := h.Context(); earlier[id] {
					break // of a row before, once more
				}
				if !strings.Contains(strings.Join(h.Fields(), ", "), ref) {
					f.wrong++
					t.Errorf("%s: seen instead: %q at %s", row.name, h.Fields(), h.URL())
					break
				}
				if id, known := h.Context(); !known || id != c.ID() {
					f.wrong++
					t.Errorf("%s: of context %q, %v; want %q", row.name, id, known, c.ID())
				}
				if want := map[bool]int{true: 2, false: 1}[row.name == "two-lines"]; len(h.Fields()) != want {
					t.Errorf("%s: %d header lines, want %d", row.name, len(h.Fields()), want)
				}
				f.seen++
				waiting = false
			case <-ctx.Done():
				f.missed++
				t.Errorf("%s: missed", row.name)
				waiting = false
			}
			cancel()
		}
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		for again := true; again; { // what comes twice, from a cache or by another try of the page's, is no other row's
			select {
			case h := <-held:
				if id, _ := h.Context(); !earlier[id] && (!strings.Contains(h.URL(), "/r/"+row.name) || row.unseen != "") {
					if row.forged() {
						f.forged++
						f.unseen--
					} else {
						f.wrong++
					}
					t.Errorf("%s: %q at %s was seen", row.name, h.Fields(), h.URL())
				}
			default:
				again = false
			}
		}
		earlier[c.ID()] = true
	}
	return f
}

// Clauses: OPS3-4.36
func TestTheCaptureMatrix(t *testing.T) {
	table := "driver     rows  seen  rightly unseen  not shown by Chromium  missed  forged  wrong\n"
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		f := testCaptures(t, driver)
		table += fmt.Sprintf("%-9s%6d%6d%16d%23d%8d%8d%7d\n", path.Base(t.Name()), len(captures), f.seen, f.unseen, f.unshown, f.missed, f.forged, f.wrong)
		if f.seen+f.unseen+f.unshown != len(captures) {
			t.Errorf("the rows are not accounted for: %+v", f)
		}
	})
	t.Log("\n" + table)
}
