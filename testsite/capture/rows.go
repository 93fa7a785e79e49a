package capture

import (
	"net/http"
	"slices"
	"time"
)

// Rows are all rows, in the order in which they are shown. The caller may keep them.
func Rows() []Row {
	return slices.Concat(navigations(), scripts(), fields(), resources(), leaving(), frames(), windows(), workers(), otherSites(), caches(), unshown())
}

// navigations are documents that a page's own frame loads.
func navigations() []Row {
	link := `<a id=go href="r">Go</a>`
	form := `<form method=post action="r"><button id=go>Go</button></form>`
	return []Row{
		{Name: "link", Way: "a link", Page: link, Verdict: counts},
		{Name: "form", Way: "a form's POST", Page: form, Verdict: counts},
		{Name: "get-form", Way: "a form's GET", Page: `<form action="r"><input name=q value=1><button id=go>Go</button></form>`, Verdict: counts},
		{Name: "status-200", Way: "a link, answered with 200", Page: link, Answer: Answer{Status: http.StatusOK}, Verdict: refused(OtherStatus)},
		{Name: "status-401", Way: "a form's POST, answered with 401", Page: form, Answer: Answer{Status: http.StatusUnauthorized}, Verdict: refused(OtherStatus)},
		{Name: "no-content", Way: "a link, answered with 204", Page: link, Answer: status(http.StatusNoContent), Verdict: refused(OtherStatus)},
		{Name: "empty-body", Way: "a link, answered without a body", Page: link, Answer: Answer{Empty: true}, Verdict: counts},
		{Name: "attachment", Way: "a link, answered with an attachment", Page: link, Answer: headers("Content-Disposition", "attachment"), Verdict: counts},
		{Name: "download", Way: "a link that asks for a download", Page: `<a id=go download href="r">Go</a>`, Verdict: counts},
		{Name: "download-begins", Way: "a download that begins with 200", Page: link, Verdict: refused(OtherStatus),
			Answer: Answer{Status: http.StatusOK, Header: map[string]string{"Content-Disposition": "attachment", "Content-Type": "application/octet-stream"}}},
		{Name: "redirect-hop", Way: "a 303 that answers a form's POST", Page: form, Answer: status(http.StatusSeeOther), Verdict: refused(OtherStatus)},
		{Name: "redirect-end", Way: "where a link's 302 leads", Page: link, Answer: Answer{Serve: hop(http.StatusFound)}, Verdict: counts},
		{Name: "redirect-307", Way: "where the 307 of a form's POST leads", Page: form, Answer: Answer{Serve: hop(http.StatusTemporaryRedirect)}, Verdict: counts},
		{Name: "refresh", Way: "where a Refresh header leads", Page: script(`location = 'r'`), Verdict: counts,
			Answer: Answer{Serve: func(w http.ResponseWriter, r *http.Request, refuse func(string)) {
				if r.URL.RawQuery != "" {
					refuse("")
					return
				}
				w.Header().Set("Refresh", "0;url=r?2")
				w.Header().Set("Content-Type", "text/html")
			}}},
		{Name: "meta-refresh", Way: "where a page's own refresh leads", Page: script(`location = 'frame'`), Frame: `<meta http-equiv=refresh content="0;url=r">`, Verdict: counts},
		{Name: "opener-policy", Way: "a link, answered with Cross-Origin-Opener-Policy", Page: link, Answer: headers("Cross-Origin-Opener-Policy", "same-origin"), Verdict: counts},
		{Name: "sandbox-policy", Way: "a link, answered with a policy that sandboxes it", Page: link, Answer: headers("Content-Security-Policy", "sandbox"), Verdict: counts},
		{Name: "location", Way: "a script that sets location", Page: script(`location = 'r'`), Verdict: counts},
	}
}

// hop redirects to the answer.
func hop(code int) func(http.ResponseWriter, *http.Request, func(string)) {
	return func(w http.ResponseWriter, r *http.Request, refuse func(string)) {
		if r.URL.RawQuery != "" {
			refuse("")
			return
		}
		http.Redirect(w, r, "r?2", code)
	}
}

// scripts are requests that a page's script makes.
func scripts() []Row {
	return []Row{
		{Name: "fetch", Way: "fetch", Page: script(`fetch('r')`), Verdict: counts},
		{Name: "fetch-post", Way: "fetch with POST", Page: script(`fetch('r', {method: 'POST', body: 'x'})`), Verdict: counts},
		{Name: "fetch-options", Way: "fetch with OPTIONS, as a page may", Page: script(`fetch('r', {method: 'OPTIONS'})`), Verdict: refused(Preflight)},
		{Name: "fetch-redirect-hop", Way: "a 302 that answers fetch", Page: script(`fetch('r')`), Answer: status(http.StatusFound), Verdict: refused(OtherStatus)},
		{Name: "fetch-redirect-end", Way: "where the 302 that answers fetch leads", Page: script(`fetch('r')`), Answer: Answer{Serve: hop(http.StatusFound)}, Verdict: counts},
		{Name: "fetch-given-up", Way: "fetch, given up when the answer's head is there", Page: script(`const c = new AbortController(); fetch('r', {signal: c.signal}).then(() => c.abort())`), Verdict: counts},
		{Name: "xhr", Way: "XMLHttpRequest", Page: script(`const x = new XMLHttpRequest(); x.open('POST', 'r'); x.send()`), Verdict: counts},
		{Name: "synchronous-xhr", Way: "XMLHttpRequest that the page waits for", Page: script(`const x = new XMLHttpRequest(); x.open('GET', 'r', false); x.send()`), Verdict: counts},
		{Name: "event-source", Way: "EventSource", Page: script(`new EventSource('r')`), Verdict: counts},
	}
}

// fields are header fields of different making.
func fields() []Row {
	get := script(`fetch('r')`)
	post := `<form method=post action="PARTNER/r"><button id=go>Go</button></form>` // to HTTP/1.1, which keeps a name's case
	dropped := Verdict{Counts: true, Note: "Chromium drops the byte before it shows the field to anybody; the Company answers what is left, if it knows no such reference, with 400"}
	return []Row{
		{Name: "usual-case", Way: "Poppy-Operation over HTTP/1.1", Page: post, Verdict: counts},
		{Name: "lower-case", Way: "poppy-operation over HTTP/1.1", Page: post, Answer: Answer{Name: "poppy-operation"}, Verdict: counts},
		{Name: "upper-case", Way: "POPPY-OPERATION over HTTP/1.1", Page: post, Answer: Answer{Name: "POPPY-OPERATION"}, Verdict: counts},
		{Name: "two-lines", Way: "two lines that are one dictionary, HTTP/2", Page: get, Answer: lines(`sid="SID"`, `ref="REF"`), Verdict: counts},
		{Name: "two-lines-http1", Way: "two lines that are one dictionary, HTTP/1.1", Page: post, Answer: lines(`sid="SID"`, `ref="REF"`), Verdict: counts},
		{Name: "two-references", Way: "two lines with a ref each: the last one holds", Page: get, Answer: lines(`sid="SID", ref="earlier"`, `ref="REF"`), Verdict: counts},
		{Name: "two-sessions", Way: "two lines, the last of which names another Session", Page: get, Answer: lines(`sid="SID", ref="REF"`, `sid="ses_other"`), Verdict: refused(OtherSid)},
		{Name: "other-session", Way: "another Session's sid", Page: get, Answer: lines(`sid="ses_other", ref="REF"`), Verdict: refused(OtherSid)},
		{Name: "no-sid", Way: "no sid", Page: get, Answer: lines(`ref="REF"`), Verdict: refused(NoSid)},
		{Name: "no-ref", Way: "no ref", Page: get, Answer: lines(`sid="SID"`), Verdict: refused(NoRef)},
		{Name: "token", Way: "ref as a Token", Page: get, Answer: lines(`sid="SID", ref=REF`), Verdict: refused(NoRef)},
		{Name: "inner-list", Way: "ref as an inner list", Page: get, Answer: lines(`sid="SID", ref=("REF")`), Verdict: refused(NoRef)},
		{Name: "parameters", Way: "members with parameters, and one nobody knows", Page: get, Answer: lines(`sid="SID";a=1, x=(1 2), ref="REF";b`), Verdict: counts},
		{Name: "bad-alphabet", Way: "ref with a slash", Page: get, Answer: lines(`sid="SID", ref="../REF"`), Verdict: refused(BadRef)},
		{Name: "utf-8", Way: "a letter in UTF-8 in ref", Page: get, Answer: lines("sid=\"SID\", ref=\"REFé\""), Verdict: refused(Malformed)},
		{Name: "latin-1", Way: "a byte in ref that is no UTF-8, HTTP/2", Page: get, Answer: lines("sid=\"SID\", ref=\"REF\xe9\""), Verdict: dropped},
		{Name: "latin-1-http1", Way: "a byte in ref that is no UTF-8, HTTP/1.1", Page: post, Answer: lines("sid=\"SID\", ref=\"REF\xe9\""), Verdict: dropped},
		{Name: "json", Way: "JSON", Page: get, Answer: lines(`{"sid":"SID","ref":"REF"}`), Verdict: refused(Malformed)},
	}
}

// resources are what documents load by themselves.
func resources() []Row {
	return []Row{
		{Name: "image", Way: "an image", Page: script(`put('img', {src: 'r'})`), Verdict: counts},
		{Name: "script", Way: "a script", Page: script(`put('script', {src: 'r'})`), Verdict: counts},
		{Name: "module", Way: "a module that a script imports", Page: script(`import('./r')`), Verdict: counts},
		{Name: "style", Way: "a style sheet", Page: script(`put('link', {rel: 'stylesheet', href: 'r'})`), Verdict: counts},
		{Name: "font", Way: "a font", Page: script(`new FontFace('f', 'url(r)').load()`), Verdict: counts},
		{Name: "video", Way: "a video", Page: script(`put('video', {src: 'r', preload: 'auto'})`), Verdict: counts},
		{Name: "object", Way: "an object", Page: script(`put('object', {data: 'r'})`), Verdict: counts},
		{Name: "preload", Way: "a link to preload", Page: script(`put('link', {rel: 'preload', as: 'fetch', href: 'r'})`), Verdict: counts},
		{Name: "prefetch", Way: "a link to prefetch", Page: script(`put('link', {rel: 'prefetch', href: 'r'})`), Verdict: counts},
		{Name: "ping", Way: "a link's ping", Page: `<a id=go href="blank" ping="r">Go</a>`, Verdict: counts},
		{Name: "policy-report", Way: "the report of a broken Content-Security-Policy", Page: script(`put('img', {src: 'data:,'})`), Verdict: counts,
			Head: http.Header{"Content-Security-Policy": {"img-src 'none'; report-uri r"}}},
	}
}

// leaving are requests of a page that goes away.
func leaving() []Row {
	atEnd := func(code string) string {
		return script(`addEventListener('pagehide', () => ` + code + `); location = 'blank'`)
	}
	return []Row{
		{Name: "beacon", Way: "a beacon", Page: script(`navigator.sendBeacon('r', 'x')`), Verdict: counts},
		{Name: "keepalive", Way: "fetch with keepalive", Page: script(`fetch('r', {method: 'POST', keepalive: true})`), Verdict: counts},
		{Name: "pagehide-beacon", Way: "a beacon of a page that ends", Page: atEnd(`navigator.sendBeacon('r', 'x')`), Verdict: counts},
		{Name: "pagehide-keepalive", Way: "fetch with keepalive of a page that ends", Page: atEnd(`fetch('r', {method: 'POST', keepalive: true})`), Verdict: counts},
		{Name: "fetch-later", Way: "fetchLater of a page that ends", Page: script(`fetchLater('r'); location = 'blank'`), Verdict: counts},
		{Name: "closing-keepalive", Way: "fetch with keepalive of a window that closes", Page: script(`open('frame')`),
			Frame: does(`fetch('r', {method: 'POST', keepalive: true}); close()`), Verdict: counts},
		{Name: "closing-beacon", Way: "a beacon of a window that closes", Page: script(`open('frame')`),
			Frame: does(`addEventListener('pagehide', () => navigator.sendBeacon('r', 'x')); close()`), Verdict: counts},
		{Name: "closed-after", Way: "fetch in a window that closes itself when it has the answer", Page: script(`open('frame')`), Frame: does(`fetch('r').then(close)`), Verdict: counts},
		{Name: "frame-removed", Way: "fetch with keepalive in a frame that is removed", Page: script(`const f = document.createElement('iframe'); f.src = 'frame'; onmessage = () => f.remove(); document.body.append(f)`),
			Frame: does(`fetch('r', {method: 'POST', keepalive: true}); parent.postMessage('', '*')`), Verdict: counts},
	}
}

// frames are what comes to frames of the page.
func frames() []Row {
	frame := func(code string) string {
		return script(`const f = document.createElement('iframe'); ` + code + `; document.body.append(f)`)
	}
	fetches := does(`fetch('r')`)
	return []Row{
		{Name: "frame", Way: "a frame's document", Page: frame(`f.src = 'r'`), Verdict: counts},
		{Name: "frame-fetch", Way: "fetch in a frame", Page: frame(`f.src = 'frame'`), Frame: fetches, Verdict: counts},
		{Name: "form-into-frame", Way: "a form whose target is a frame", Page: `<iframe name=f></iframe><form method=post action="r" target=f><button id=go>Go</button></form>`, Verdict: counts},
		{Name: "nested-frames", Way: "fetch in a frame of a frame", Page: frame(`f.src = 'frame?1'`),
			Frame: does(`if (location.search) { const f = document.createElement('iframe'); f.src = 'frame'; document.body.append(f) } else fetch('r')`), Verdict: counts},
		{Name: "sandboxed-frame", Way: "a sandboxed frame's document", Page: frame(`f.sandbox = ''; f.src = 'r'`), Verdict: counts},
		{Name: "sandboxed-frame-fetch", Way: "fetch in a sandboxed frame", Page: frame(`f.sandbox = 'allow-scripts'; f.src = 'frame'`), Frame: fetches, Verdict: counts},
		{Name: "srcdoc-frame", Way: "fetch in a frame whose document is in the page", Page: frame("f.srcdoc = `<script>fetch('r')<\\/script>`"), Verdict: counts},
		{Name: "blank-frame", Way: "fetch in an empty frame, called by the page", Page: script(`put('iframe'); frames[0].fetch('r')`), Verdict: counts},
		{Name: "cross-site-frame", Way: "the document of another site's frame", Page: frame(`f.src = 'PARTNER/r'`), Verdict: counts},
		{Name: "cross-site-frame-fetch", Way: "fetch in another site's frame", Page: frame(`f.src = 'PARTNER/frame'`), Frame: fetches, Verdict: counts},
		{Name: "nested-in-cross-site", Way: "fetch in a frame of another site's frame, both of that site", Page: frame(`f.src = 'PARTNER/frame?1'`),
			Frame: does(`if (location.search) { const f = document.createElement('iframe'); f.src = 'frame'; document.body.append(f) } else fetch('r')`), Verdict: counts},
		{Name: "back-in-cross-site", Way: "fetch in a frame of the Company's in another site's frame", Page: script(`const f = document.createElement('iframe');
onmessage = (e) => e.source.postMessage(location.href, '*'); f.src = 'PARTNER/frame'; document.body.append(f)`),
			Frame: does(`if (parent !== top) fetch('r'); else { parent.postMessage('', '*'); onmessage = (e) => {
const f = document.createElement('iframe'); f.src = new URL('frame', e.data); document.body.append(f) } }`), Verdict: counts},
	}
}

// windows are what comes to windows that a page opens.
func windows() []Row {
	fetches := does(`fetch('r')`)
	child := func(from string) string {
		return does(`if (opener || location.search) { const f = document.createElement('iframe'); f.src = '` + from + `'; document.body.append(f) } else fetch('r')`)
	}
	return []Row{
		{Name: "popup", Way: "a window's document", Page: script(`open('r')`), Verdict: counts},
		{Name: "popup-without-opener", Way: "the document of a window without an opener", Page: script(`open('r', '_blank', 'noopener')`), Verdict: counts},
		{Name: "popup-fetch", Way: "fetch in a window", Page: script(`open('frame')`), Frame: fetches, Verdict: counts},
		{Name: "popup-without-opener-fetch", Way: "fetch in a window without an opener", Page: script(`open('frame', '_blank', 'noopener')`), Frame: fetches, Verdict: counts},
		{Name: "popup-frame", Way: "fetch in a frame of a window, in one process", Page: script(`open('frame?1')`), Frame: child("frame"), Verdict: counts},
		{Name: "popup-cross-site-frame", Way: "fetch in another site's frame of a window", Page: script(`open('frame?1')`), Frame: child("PARTNER/frame"), Verdict: counts},
		{Name: "cross-site-popup", Way: "the document of another site's window", Page: script(`open('PARTNER/r')`), Verdict: counts},
		{Name: "blank-popup", Way: "fetch in an empty window, called by the page", Page: script(`open('').fetch(new URL('r', location))`), Verdict: counts},
		{Name: "blank-link", Way: "a link whose target is a new window", Page: `<a id=go target=_blank href="r">Go</a>`, Verdict: counts},
		{Name: "blank-form", Way: "a form whose target is a new window", Page: `<form method=post target=_blank action="r"><button id=go>Go</button></form>`, Verdict: counts},
		{Name: "opener-policy-popup", Way: "a window that its Cross-Origin-Opener-Policy parts from the page", Page: script(`open('r')`), Answer: headers("Cross-Origin-Opener-Policy", "same-origin"), Verdict: counts},
	}
}

// patience is how long an answer waits for whoever asked to go away.
const patience = 30 * time.Second

// toNobody answers when whoever asked has gone.
func toNobody(_ http.ResponseWriter, r *http.Request, refuse func(string)) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
	case <-timer.C:
	}
	refuse("")
}

// workers are requests of workers, and of pages that a service worker controls.
func workers() []Row {
	fetches := `fetch('r')`
	return []Row{
		{Name: "worker", Way: "fetch in a worker", Page: script(`new Worker('script.js')`), Script: fetches, Verdict: counts},
		{Name: "worker-script", Way: "a worker's script", Page: script(`new Worker('r')`), Verdict: counts},
		{Name: "imported-script", Way: "a script that a worker imports", Page: script(`new Worker('script.js')`), Script: `importScripts('r')`, Verdict: counts},
		{Name: "nested-worker", Way: "fetch in a worker of a worker", Page: script(`new Worker('script.js?1')`), Script: `if (location.search) new Worker('script.js'); else fetch('r')`, Verdict: counts},
		{Name: "worker-in-cross-site-frame", Way: "fetch in a worker of another site's frame", Page: script(`put('iframe', {src: 'PARTNER/frame'})`), Frame: does(`new Worker('script.js')`), Script: fetches, Verdict: counts},
		{Name: "shared-worker", Way: "fetch in a shared worker", Page: script(`new SharedWorker('script.js')`), Script: fetches, Verdict: counts},
		{Name: "service-worker-install", Way: "fetch in a service worker that is being installed", Page: script(`navigator.serviceWorker.register('script.js')`), Script: fetches, Verdict: counts},
		{Name: "service-worker-script", Way: "a service worker's script", Page: script(`navigator.serviceWorker.register('r')`), Verdict: counts},
		{Name: "service-worker-passes", Way: "fetch that a service worker passes on", Page: controlled(`fetch('r', {method: 'POST'})`), Script: worker(`e.respondWith(fetch(e.request))`), Verdict: counts},
		{Name: "service-worker-lets-go", Way: "fetch that a service worker does not touch", Page: controlled(`fetch('r')`), Script: worker(``), Verdict: counts},
		{Name: "service-worker-rewrites", Way: "fetch whose answer a service worker rewrites", Page: controlled(`fetch('r')`), Script: worker(`e.respondWith(fetch(e.request).then(forged))`), Verdict: counts},
		{Name: "forged-fetch", Way: "fetch that a service worker answers by itself", Page: controlled(`fetch('forged').finally(end)`), Script: worker(`e.respondWith(forged())`), Verdict: forged},
		{Name: "forged-document", Way: "a frame that a service worker answers by itself", Page: controlled(`put('iframe', {src: 'forged', onload: end})`), Script: worker(`e.respondWith(forged())`), Verdict: forged},
		{Name: "forged-navigation", Way: "a window that a service worker answers by itself", Page: controlled(`const w = open('forged'); const look = setInterval(() => { if (w.document.body.innerText === 'x') { clearInterval(look); end() } }, 20)`),
			Script: worker(`e.respondWith(forged())`), Verdict: forged},
		{Name: "forged-cache", Way: "fetch that is answered from a cache which the page filled", Verdict: forged,
			Page:   controlled(`caches.open('c').then((c) => c.put('forged', new Response('x', {status: 403, headers: {'Poppy-Operation': 'sid="SID", ref="forged"'}}))).then(() => fetch('forged')).finally(end)`),
			Script: worker(`e.respondWith(caches.match(e.request))`)},
	}
}

// otherSites are answers of another site.
func otherSites() []Row {
	allowed := headers("Access-Control-Allow-Origin", "*")
	exposed := headers("Access-Control-Allow-Origin", "*", "Access-Control-Expose-Headers", "*")
	return []Row{
		{Name: "cross-site", Way: "fetch from another site that allows it", Page: script(`fetch('PARTNER/r')`), Answer: allowed, Verdict: counts},
		{Name: "cross-site-exposed", Way: "the same, and the page may read the header", Page: script(`fetch('PARTNER/r')`), Answer: exposed, Verdict: counts},
		{Name: "cross-site-refused", Way: "fetch from another site that does not allow it", Page: script(`fetch('PARTNER/r').catch(() => {})`), Verdict: counts},
		{Name: "preflight", Way: "the answer to a preflight, 403", Page: script(`fetch('PARTNER/r', {method: 'PUT'}).catch(() => {})`), Verdict: refused(Preflight)},
		{Name: "preflight-204", Way: "the answer to a preflight, 204", Page: script(`fetch('PARTNER/r', {method: 'PUT'}).catch(() => {})`), Answer: status(http.StatusNoContent), Verdict: refused(OtherStatus)},
		{Name: "preflighted", Way: "fetch that a preflight went before", Page: script(`fetch('PARTNER/r', {method: 'PUT'})`), Verdict: counts,
			Answer: Answer{Header: allowed.Header, Serve: func(w http.ResponseWriter, r *http.Request, refuse func(string)) {
				if r.Method != http.MethodOptions {
					refuse("")
					return
				}
				w.Header().Set("Access-Control-Allow-Origin", "*")
				w.Header().Set("Access-Control-Allow-Methods", "PUT")
				w.WriteHeader(http.StatusNoContent)
			}}},
		{Name: "opaque", Way: "fetch from another site without CORS", Page: script(`fetch('PARTNER/r', {mode: 'no-cors'})`), Verdict: counts},
		{Name: "cross-site-image", Way: "another site's image", Page: script(`put('img', {src: 'PARTNER/r'})`), Verdict: counts},
		{Name: "cross-site-beacon", Way: "a beacon to another site", Page: script(`navigator.sendBeacon('PARTNER/r', 'x')`), Verdict: counts},
		{Name: "cross-site-pagehide-beacon", Way: "a beacon to another site of a page that ends", Page: script(`addEventListener('pagehide', () => navigator.sendBeacon('PARTNER/r', 'x')); location = 'blank'`), Verdict: counts},
	}
}

// caches are answers that come more than once.
func caches() []Row {
	kept := headers("Cache-Control", "max-age=3600")
	revalidates := headers("Cache-Control", "max-age=3600", "ETag", `"1"`)
	return []Row{
		{Name: "cached", Way: "fetch, and once more from the cache", Page: script(`fetch('r').then((a) => a.text()).then(() => fetch('r', {cache: 'force-cache'}))`), Answer: kept, Verdict: repeated},
		{Name: "back", Way: "a page that is gone back to, from the cache", Page: script(`location = 'r'`), Verdict: repeated,
			Answer: Answer{Header: kept.Header, Serve: func(w http.ResponseWriter, _ *http.Request, refuse func(string)) {
				refuse("")
				_, _ = w.Write([]byte(does(`if (performance.getEntriesByType('navigation')[0].type !== 'back_forward') onload = () => setTimeout(() => location = 'frame')`)))
			}}, Frame: does(`onload = () => setTimeout(() => history.back())`)},
		{Name: "revalidated", Way: "a 304 with a reference, for a 200 without one", Verdict: refused(OtherStatus),
			Page: script(`fetch('r').then((a) => a.text()).then(() => fetch('r', {cache: 'no-cache'}))`),
			Answer: Answer{Status: http.StatusNotModified, Header: revalidates.Header, Serve: func(w http.ResponseWriter, r *http.Request, refuse func(string)) {
				if r.Header.Get("If-None-Match") != "" {
					refuse("")
					return
				}
				for name, value := range revalidates.Header {
					w.Header().Set(name, value)
				}
			}}},
		{Name: "revalidated-refusal", Way: "a 403 with a reference, when a kept 200 without one is asked about again", Verdict: counts,
			Page: script(`fetch('r').then((a) => a.text()).then(() => fetch('r', {cache: 'no-cache'}))`),
			Answer: Answer{Header: revalidates.Header, Serve: func(w http.ResponseWriter, r *http.Request, refuse func(string)) {
				if r.Header.Get("If-None-Match") != "" {
					refuse("")
					return
				}
				for name, value := range revalidates.Header {
					w.Header().Set(name, value)
				}
			}}},
		{Name: "unjoined", Way: "fetch in a browser that is joined to no Session", Page: script(`fetch('r')`), Verdict: refused(Unjoined)},
	}
}

// unshown are responses of which Chromium tells nobody, and requests that ours must not make.
func unshown() []Row {
	rules := func(kind string) string {
		return script(`put('script', {type: 'speculationrules', textContent: JSON.stringify({` + kind + `: [{urls: ['r'], eagerness: 'immediate'}]})}); put('img', {src: 'blank', onerror: end})`)
	}
	off := Verdict{Unasked: true, Unseen: "Papaver's Chromium follows no speculation rules"}
	return []Row{
		{Name: "websocket", Way: "a WebSocket's handshake", Page: script(`new WebSocket(new URL('r', location).href.replace('http', 'ws')).onerror = end`),
			Verdict: unseen("a WebSocket's handshake is no request that it pauses")},
		{Name: "early-hints", Way: "103 Early Hints before a 200", Page: script(`fetch('r').then(end)`), Verdict: unseen("it pauses the final response, and an informational one is none"),
			Answer: Answer{Status: http.StatusEarlyHints, Empty: true, Serve: func(w http.ResponseWriter, _ *http.Request, refuse func(string)) {
				refuse("")
				w.Header().Del(header)
				w.WriteHeader(http.StatusOK)
			}}},
		{Name: "service-worker-update", Way: "a service worker's script when it is updated", Verdict: unseen("Chromium asks for a newer script beside what it pauses"),
			Page: script(`navigator.serviceWorker.register('r').then((r) => r.update()).finally(end)`),
			Answer: Answer{Serve: func(w http.ResponseWriter, r *http.Request, refuse func(string)) {
				if _, err := r.Cookie("installed"); err == nil {
					refuse("")
					return
				}
				http.SetCookie(w, &http.Cookie{Name: "installed", Value: "1"})
				w.Header().Set("Content-Type", "text/javascript")
			}}},
		{Name: "navigation-preload", Way: "the preload beside a service worker's navigation", Page: controlled(`const w = open('r'); const look = setInterval(() => { if (w.document.body.innerText === 'refused') { clearInterval(look); end() } }, 20)`), Verdict: unseen("a preload is asked for beside what it pauses, and the service worker's answer is made up from it"),
			Script: worker(`if (e.request.mode === 'navigate') e.respondWith(e.preloadResponse)`) + `addEventListener('activate', (e) => e.waitUntil(registration.navigationPreload.enable()))`},
		{Name: "closed-in-flight", Way: "fetch in a window that the page closes before the answer", Page: script(`const w = open('frame'); onmessage = () => { w.close(); end() }`),
			Frame: does(`fetch('r'); fetch('blank').then(() => opener.postMessage('', '*'))`), Answer: Answer{Serve: toNobody}, Verdict: unseen("it gives the request up with the window, and receives no response")},
		{Name: "speculation-prefetch", Way: "a prefetch by speculation rules", Page: rules("prefetch"), Verdict: off},
		{Name: "speculation-prerender", Way: "a prerender by speculation rules", Page: rules("prerender"), Verdict: off},
	}
}
