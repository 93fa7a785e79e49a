package browser_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

// inside is a server at a loopback address that nobody named. It remembers the paths that were asked for.
func inside(t *testing.T, address string) (port string, paths func() []string) {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Host+r.URL.Path)
		w.Header().Set("Access-Control-Allow-Origin", "*")
	})}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port, func() []string { mu.Lock(); defer mu.Unlock(); return append([]string(nil), asked...) }
}

// spellings are the ways to write an address of this machine in a URL. %s is the port.
var spellings = []string{
	"http://127.0.0.2:%s/", "http://u:p@127.0.0.2:%s/", "http://u@127.0.0.2:%s/", "http://:p@127.0.0.2:%s/", "http://shop.test@127.0.0.2:%s/",
	"http://u%%40x:p@127.0.0.2:%s/", "http://127.0.0.2.:%s/", "http://127.2:%s/", "http://2130706434:%s/", "http://0x7f000002:%s/", "http://0177.0.0.2:%s/",
	"http://0x7f.2:%s/", "http://u:p@2130706434:%s/", "http://[::ffff:127.0.0.2]:%s/", "http://[::ffff:7f00:2]:%s/", "http://u:p@[::ffff:127.0.0.2]:%s/",
	"http://localhost:%s/", "http://u:p@localhost:%s/", "http://LOCALHOST:%s/", "http://localhost.:%s/", "http://a.localhost:%s/", "http://u:p@a.localhost:%s/",
	"http://１２７.0.0.2:%s/", "http://127%%2e0.0.2:%s/", "http://0:%s/", "http://u:p@0:%s/",
}

// TestNoNavigationOrRedirectOfAPageReachesThisMachine lets a page navigate itself and its frames, and be redirected, to
// each spelling of an address of this machine.
func TestNoNavigationOrRedirectOfAPageReachesThisMachine(t *testing.T) {
	eachDriver(t, testNoNavigationOrRedirectOfAPageReachesThisMachine)
}

func testNoNavigationOrRedirectOfAPageReachesThisMachine(t *testing.T, driver browser.Driver) {
	port, asked := inside(t, "0.0.0.0:0") // whatever address of this machine is reached, it is there
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if to := r.URL.Query().Get("go"); to != "" {
			_, _ = fmt.Fprintf(w, `<!doctype html><script>location = %q</script>`, to)
			return
		}
		var b strings.Builder
		for _, s := range spellings {
			to := fmt.Sprintf(s, port)
			_, _ = fmt.Fprintf(&b, "%q, %q,", to, "/?to="+url.QueryEscape(to))
		}
		_, _ = fmt.Fprintf(w, `<!doctype html><button id=go>Go</button><script>
			document.getElementById('go').onclick = () => {
				for (const to of [%s]) {
					const f = document.createElement('iframe');
					document.body.append(f);
					f.contentWindow.location = to;
				}
			}</script>`, b.String())
	}))
	t.Cleanup(page.Close)
	c := newContext(t, start(t, driver, func(context.Context, browser.Held) {}))
	do(t, c, browser.Act{Kind: browser.Navigate, URL: page.URL})
	do(t, c, browser.Act{Kind: browser.Click, Selectors: [][]string{{"#go"}}, Timeout: capturePatience})
	if paths := asked(); len(paths) > 0 {
		t.Errorf("%d requests of frames reached this machine: %q", len(paths), paths)
	}
	for _, s := range spellings {
		to := fmt.Sprintf(s, port)
		if _, err := c.Do(t.Context(), browser.Act{Kind: browser.Navigate, URL: to}); err == nil {
			t.Errorf("%s: a navigation of ours came through", to)
		}
		if strings.Contains(s, "@") { // Chromium itself refuses a frame a name and password
			do(t, c, browser.Act{Kind: browser.Navigate, URL: page.URL + "/?go=" + url.QueryEscape("/?to="+url.QueryEscape(to))})
		}
	}
	if paths := asked(); len(paths) > 0 {
		t.Errorf("%d requests reached this machine: %q", len(paths), paths)
	}
}
