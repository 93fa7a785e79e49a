package browser_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/roddriver"
)

// elsewhere listens at every address of this machine, for streams and for datagrams, and remembers what came: the path of
// a request, and the address that a connection was made to.
type elsewhere struct {
	port, datagrams string

	mu   sync.Mutex
	came map[string]bool
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	e := &elsewhere{came: make(map[string]bool)}
	stream, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	packets, err := net.ListenPacket("udp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_, e.port, _ = net.SplitHostPort(stream.Addr().String())
	_, e.datagrams, _ = net.SplitHostPort(packets.LocalAddr().String())
	server := &http.Server{
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateNew {
				e.add(c.LocalAddr().String())
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e.add(r.URL.Path)
			w.Header().Set("Access-Control-Allow-Origin", "*")
		}),
	}
	go func() { _ = server.Serve(stream) }()
	var reading sync.WaitGroup
	reading.Go(func() {
		buffer := make([]byte, 2048)
		for {
			if _, _, err := packets.ReadFrom(buffer); err != nil {
				return
			}
			e.add("/datagram")
		}
	})
	t.Cleanup(func() {
		_ = server.Close()
		_ = packets.Close()
		reading.Wait()
	})
	return e
}

func (e *elsewhere) add(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.came[what] = true
}

func (e *elsewhere) has(what string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.came[what]
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !so() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Errorf("%s: not so", what)
			return
		}
	}
}

func (e *elsewhere) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []string
	for what := range e.came {
		list = append(list, what)
	}
	slices.Sort(list)
	return list
}

// wanderer is a page that tries every way it has to reach %[1]s, a port of this machine, and %[2]s, one for datagrams. Each
// tries another address. It says end when it was told how each one ended.
const wanderer = `<!doctype html><link rel=icon href="data:,"><body><pre id=r></pre><button id=go>Go</button><button id=send>Send</button><script>
const port = '%[1]s', datagrams = '%[2]s', at = (n, path) => 'http://127.0.0.' + n + ':' + port + path;
const ended = (f) => new Promise((end) => { try { f(end) } catch (e) { end() } });
const socket = (u) => ended((end) => { const w = new WebSocket(u); w.onerror = w.onopen = w.onclose = end });
const said = (w, more) => ended((end) => { w.onmessage = w.onerror = end; more && more(end) });
const script = (text) => URL.createObjectURL(new Blob([text], {type: 'text/javascript'}));
const asks = (u, ws) => "Promise.allSettled([fetch('" + u + "', {mode: 'no-cors'}), new Promise(e => { const w = new WebSocket('" + ws + "'); w.onerror = w.onopen = w.onclose = e })]).then(() => SAY)";
const element = (html) => ended((end) => { const d = document.createElement('div'); d.innerHTML = html; d.firstChild.onload = d.firstChild.onerror = end; document.body.append(d) });
const connection = (config, more) => ended(async (end) => {
	const pc = new RTCPeerConnection(config); pc.createDataChannel('x'); (window.kept ??= []).push(pc);
	pc.onicecandidate = (e) => { if (!e.candidate) end() };
	await pc.setLocalDescription(await pc.createOffer()); more && await more(pc);
});
const peers = () => connection({}, async (a) => {
	const b = new RTCPeerConnection();
	await b.setRemoteDescription(a.localDescription); await b.setLocalDescription(await b.createAnswer()); await a.setRemoteDescription(b.localDescription);
	await a.addIceCandidate({candidate: 'candidate:1 1 udp 2122260223 127.0.0.30 ' + datagrams + ' typ host', sdpMid: '0', sdpMLineIndex: 0});
	await a.addIceCandidate({candidate: 'candidate:2 1 tcp 1518280447 127.0.0.31 ' + port + ' typ host tcptype passive', sdpMid: '0', sdpMLineIndex: 0});
});
document.getElementById('go').onclick = () => window.open(at(32, '/popup'));
document.getElementById('send').onclick = () => {
	const f = document.createElement('form');
	f.action = at(33, '/form'); f.target = '_blank'; document.body.append(f); f.submit();
};
const hints = document.createElement('div');
hints.innerHTML = '<link rel=preconnect href="' + at(34, '') + '"><link rel=prefetch href="' + at(35, '/prefetch') + '"><link rel=dns-prefetch href="' + at(36, '') + '">';
document.head.append(...hints.children);
navigator.sendBeacon(at(37, '/beacon'), 'x');
Promise.allSettled([
	fetch(at(2, '/fetch'), {mode: 'no-cors'}), fetch('http://other.test:' + port + '/name', {mode: 'no-cors'}), fetch('/to?' + encodeURIComponent(at(3, '/redirect')), {mode: 'no-cors'}),
	ended((end) => { const x = new XMLHttpRequest(); x.onloadend = end; x.open('POST', at(4, '/xhr')); x.send() }),
	socket('ws://127.0.0.5:' + port + '/socket'), socket('ws://other.test:' + port + '/socket-name'), socket('ws://localhost:' + port + '/socket-localhost'),
	ended((end) => { const s = new EventSource(at(6, '/events')); s.onerror = () => { s.close(); end() } }),
	element('<img src="' + at(7, '/image') + '">'), element('<iframe src="' + at(8, '/frame') + '"></iframe>'),
	element('<iframe sandbox="allow-scripts" srcdoc="<img src=' + at(9, '/srcdoc') + '>"></iframe>'),
	said(new Worker(script(asks(at(10, '/worker'), 'ws://127.0.0.11:' + port + '/worker-socket').replace('SAY', 'postMessage(1)')))),
	said(new SharedWorker(script('onconnect = (c) => ' + asks(at(12, '/shared'), 'ws://127.0.0.13:' + port + '/shared-socket').replace('SAY', 'c.ports[0].postMessage(1)'))).port),
	ended(async (end) => {
		await navigator.serviceWorker.register('/service.js');
		navigator.serviceWorker.onmessage = end; (await navigator.serviceWorker.ready).active.postMessage(asks(at(14, '/service'), 'ws://127.0.0.15:' + port + '/service-socket').replace('SAY', 'e.source.postMessage(1)'));
	}),
	connection({iceServers: [{urls: 'stun:127.0.0.16:' + datagrams}, {urls: 'turn:127.0.0.17:' + port + '?transport=tcp', username: 'a', credential: 'b'}]}), peers(),
	ended(async (end) => { await new WebTransport('https://127.0.0.18:' + datagrams + '/').ready.catch(() => {}); end() }),
]).then(() => { document.getElementById('r').textContent = 'end' });
</script>`

// wander serves the wanderer's page at 127.0.0.1.
func wander(t *testing.T, away *elsewhere) *httptest.Server {
	t.Helper()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		switch r.URL.Path {
		case "/to":
			to, _ := url.QueryUnescape(r.URL.RawQuery)
			http.Redirect(w, r, to, http.StatusFound)
		case "/service.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = fmt.Fprint(w, `onmessage = (e) => e.waitUntil(eval(e.data))`)
		case "/asset":
			_, _ = fmt.Fprint(w, "it came")
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprintf(w, wanderer, away.port, away.datagrams)
		}
	}))
	t.Cleanup(page.Close)
	return page
}

// ways are what tells that each way of the wanderer's page led somewhere.
func ways(away *elsewhere) []string {
	return []string{
		"/fetch", "/name", "/redirect", "/xhr", "/socket", "/socket-name", "/socket-localhost", "/events", "/image", "/frame", "/srcdoc", "/worker", "/worker-socket",
		"/shared", "/shared-socket", "/service", "/service-socket", "/beacon", "/prefetch", "/popup", "/form", "/datagram", "127.0.0.17:" + away.port, "127.0.0.31:" + away.port,
	}
}

// TestEveryWayOfTheWanderingPageLeadsSomewhere shows that a page which nothing keeps off reaches what the tests after this one
// keep it off.
func TestEveryWayOfTheWanderingPageLeadsSomewhere(t *testing.T) {
	away := newElsewhere(t)
	page := wander(t, away)
	c := newContext(t, startWith(t, browser.Config{
		Driver: roddriver.Driver{}, OnHeld: func(context.Context, browser.Held) {}, Private: func(string) bool { return true },
		HostResolverRules: fmt.Sprintf("MAP other.test:%s 127.0.0.19:%[1]s", away.port),
	}))
	do(t, c, browser.Act{Kind: browser.Navigate, URL: page.URL})
	do(t, c, click("#go"))
	do(t, c, click("#send"))
	for _, way := range ways(away) {
		await(t, way, func() bool { return away.has(way) })
	}
}

// TestNothingOfAPageReachesAHostThatIsNotAllowed switches off what would keep the page off by the addresses.
func TestNothingOfAPageReachesAHostThatIsNotAllowed(t *testing.T) {
	eachDriver(t, testNothingOfAPageReachesAHostThatIsNotAllowed)
}

func testNothingOfAPageReachesAHostThatIsNotAllowed(t *testing.T, driver browser.Driver) {
	away := newElsewhere(t)
	page := wander(t, away)
	var mu sync.Mutex
	off := make(map[string]bool)
	here := page.Listener.Addr().String()
	c := newContext(t, startWith(t, browser.Config{
		Driver: driver, OnHeld: func(context.Context, browser.Held) {}, Private: func(string) bool { return true },
		Allowed:           []string{"127.0.0.1", "shop.test", "*.shop.test"},
		HostResolverRules: fmt.Sprintf("MAP other.test:%s 127.0.0.19:%[1]s, MAP shop.test:80 %s, MAP cdn.shop.test:80 %[2]s", away.port, here),
		OnKeptOff: func(address string, why error) {
			mu.Lock()
			defer mu.Unlock()
			if u, err := url.Parse(address); err == nil && errors.Is(why, browser.ErrNotAllowed) {
				off[u.Path] = true
			}
		},
	}))
	do(t, c, browser.Act{Kind: browser.Navigate, URL: page.URL})
	do(t, c, click("#go"))
	do(t, c, click("#send"))
	do(t, c, browser.Act{Kind: browser.Wait, Selectors: [][]string{{"text/end"}}, Timeout: patience})
	for _, way := range ways(away) {
		// What a popup asks for first may come before anything of it is paused.
		unseen := strings.Contains(way, "socket") || strings.Contains(way, ":") || slices.Contains([]string{"/datagram", "/popup", "/form"}, way)
		if !unseen {
			await(t, way+" is told", func() bool { mu.Lock(); defer mu.Unlock(); return off[way] })
		}
	}
	if came := away.all(); len(came) > 0 {
		t.Errorf("the page reached %q", came)
	}
	for _, host := range []string{"shop.test", "cdn.shop.test"} {
		do(t, c, browser.Act{Kind: browser.Navigate, URL: "http://" + host + "/asset"})
		if text, err := c.Text(t.Context()); err != nil || text != "it came" {
			t.Errorf("%s, which is allowed: %q, %v", host, text, err)
		}
	}
}

// TestAPageOfAPublicAddressSendsNothingToAPrivateOne is Chromium's own rule, which closes what the guard of addresses in URLs
// does not see: WebSockets, WebRTC, and names that resolve to such an address. Chromium may open a connection to find out;
// nothing is sent. It does not hold for what a tab navigates to.
func TestAPageOfAPublicAddressSendsNothingToAPrivateOne(t *testing.T) {
	away := newElsewhere(t)
	page := wander(t, away)
	p := process(t)
	cfg := browser.Config{NoSandbox: os.Getenv("PAPAVER_TEST_SANDBOX") == "off", HostResolverRules: fmt.Sprintf("MAP other.test:%s 127.0.0.19:%[1]s", away.port)}
	p.Flags = append(browser.FlagsOf(cfg), browser.Flag{Name: "ip-address-space-overrides", Value: page.Listener.Addr().String() + "=public"})
	tab := newTab(t, startEngine(t, roddriver.Driver{}, p))
	if err := tab.Navigate(t.Context(), page.URL); err != nil {
		t.Fatal(err)
	}
	await(t, "the page ends", func() bool {
		var text string
		return tab.Call(t.Context(), `() => document.getElementById('r').textContent`, &text) == nil && text == "end"
	})
	for _, came := range away.all() {
		if strings.HasPrefix(came, "/") {
			t.Errorf("the page reached %q", came)
		}
	}
}
