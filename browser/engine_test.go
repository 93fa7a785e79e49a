package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
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

// TestAPageWithAWorkerBecomesQuiet loads a worker, whose script's answer is not reported to the page's session.
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
	tab := newTab(t, startEngine(t, driver, process(t)))
	if err := tab.Navigate(t.Context(), server.URL); err != nil {
		t.Fatal(err)
	}
	<-worked
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
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
