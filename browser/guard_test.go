package browser_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

// TestAPageReachesNoAddressOfThisMachineThatNobodyNamed lets a page try loopback in several spellings, by fetch and by
// navigation.
func TestAPageReachesNoAddressOfThisMachineThatNobodyNamed(t *testing.T) {
	eachDriver(t, testAPageReachesNoAddressOfThisMachineThatNobodyNamed)
}

func testAPageReachesNoAddressOfThisMachineThatNobodyNamed(t *testing.T, driver browser.Driver) {
	var reached atomic.Int32
	inside := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
	})}
	listener, err := net.Listen("tcp", "127.0.0.2:0") // not the address the page itself is at, which is named
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = inside.Serve(listener) }()
	t.Cleanup(func() { _ = inside.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())

	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!doctype html><pre id=r></pre><img src="http://127.0.0.2:%[1]s/i"><iframe src="http://127.0.0.2:%[1]s/f"></iframe><script>
			(async () => {
				for (const u of ['http://127.0.0.2:%[1]s/', 'http://0x7f.2:%[1]s/', 'http://2130706434:%[1]s/', 'http://localhost:%[1]s/', 'http://[::ffff:127.0.0.2]:%[1]s/'])
					r.textContent += await fetch(u).then(() => 'reached ', () => 'kept-off ');
				r.textContent += 'end';
			})()</script>`, port)
	}))
	t.Cleanup(page.Close)

	b := start(t, driver, func(context.Context, browser.Held) {})
	c := newContext(t, b)
	do(t, c, browser.Act{Kind: browser.Navigate, URL: page.URL})
	do(t, c, browser.Act{Kind: browser.Wait, Selectors: [][]string{{"text/kept-off kept-off kept-off kept-off kept-off end"}}})
	if _, err := c.Do(t.Context(), browser.Act{Kind: browser.Navigate, URL: "http://127.0.0.2:" + port + "/"}); err == nil {
		t.Error("a navigation there came through")
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests reached it", n)
	}
}
