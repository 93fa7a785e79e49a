package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// process describes a Chromium for a driver alone.
func process(t *testing.T) browser.Process {
	t.Helper()
	bin, err := browser.Find("")
	if err != nil {
		t.Fatal(err)
	}
	flags := []browser.Flag{{Name: "headless"}}
	if os.Getenv("PAPAVER_TEST_SANDBOX") == "off" {
		flags = append(flags, browser.Flag{Name: "no-sandbox"})
	}
	return browser.Process{Bin: bin, ProfileDir: shortTempDir(t), Flags: flags, Env: []string{"PATH=" + os.Getenv("PATH")}}
}

// startEngine starts what p describes, lets every response go on, and ends it with the test.
func startEngine(t *testing.T, driver browser.Driver, p browser.Process) browser.Engine {
	t.Helper()
	engines := make(chan browser.Engine, 1)
	e, err := driver.Start(t.Context(), p, func(p browser.Paused) {
		go func() {
			e := <-engines
			engines <- e
			_ = e.Release(context.Background(), p.ID)
		}()
	})
	if err != nil {
		t.Fatal(err)
	}
	engines <- e
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

func newTab(t *testing.T, e browser.Engine) browser.Tab {
	t.Helper()
	id, err := e.NewContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tab, err := e.NewTab(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// TestAPageWithAWorkerBecomesQuiet loads a worker, whose script's answer is not reported to the page's session, and has the
// page ask for more than is told of.
func TestAPageWithAWorkerBecomesQuiet(t *testing.T) { eachDriver(t, testAPageWithAWorkerBecomesQuiet) }

func testAPageWithAWorkerBecomesQuiet(t *testing.T, driver browser.Driver) {
	worked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, `<!doctype html><link rel=icon href="data:,"><script>new Worker('/worker.js')</script>`)
		case "/worker.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = fmt.Fprint(w, `fetch('/worked')`)
		case "/worked":
			worked <- struct{}{}
		}
	}))
	t.Cleanup(server.Close)
	var told atomic.Int64
	after := make(chan struct{}, 1)
	p := process(t)
	p.Sent = func(r browser.SentRequest) {
		told.Add(1)
		if strings.HasSuffix(r.URL, "/after") {
			after <- struct{}{}
		}
	}
	tab := newTab(t, startEngine(t, driver, p))
	if err := tab.Navigate(t.Context(), server.URL); err != nil {
		t.Fatal(err)
	}
	<-worked
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	quiet := func() {
		t.Helper()
		for {
			n, changed := tab.Activity()
			if n == 0 {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				t.Fatalf("%d requests are under way for ever", n)
			}
		}
	}
	quiet()

	// A flood of requests is not told of to its end, and the next ones are.
	const flood = 400
	if err := tab.Call(ctx, `async (flood) => { for (let i = 0; i < flood; i++) await fetch('/flood?' + i); return true; }`, new(bool), flood); err != nil {
		t.Fatal(err)
	}
	quiet()
	if n := told.Load(); n >= flood {
		t.Errorf("all %d were told of", n)
	}
	if err := tab.Follow(ctx); err != nil {
		t.Fatal(err)
	}
	if err := tab.Call(ctx, `async () => { await fetch('/after'); return true; }`, new(bool)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-after:
	case <-ctx.Done():
		t.Error("what came after the flood was not told of")
	}
}
