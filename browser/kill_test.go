package browser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

// chromium is the process id of the one Chromium that was started in this test's folder, see start.
func chromium(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	profile := []byte("--user-data-dir=" + os.TempDir() + "/papaver-chromium-")
	for _, file := range files {
		command, err := os.ReadFile(file)
		if err == nil && bytes.Contains(command, profile) && !bytes.Contains(command, []byte("--type=")) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("no Chromium runs")
	return 0
}

// TestAKilledChromiumEndsEveryWait kills Chromium while contexts of it wait, one for each wait but the last, whose page
// answers nothing to several. What tells that a wait ended at once is that its error is not that of its deadline.
func TestAKilledChromiumEndsEveryWait(t *testing.T) { eachDriver(t, testAKilledChromiumEndsEveryWait) }

func testAKilledChromiumEndsEveryWait(t *testing.T, driver browser.Driver) {
	asked, stop := make(chan struct{}, 8), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, `<!doctype html><button id=buy onclick="fetch('/act', {method: 'POST'})">Buy</button>
				<button id=slow onclick="fetch('/slow')">Slow</button>
				<button id=stuck onclick="setTimeout(() => { for (;;); })">Stuck</button>`)
		case "/act":
			w.Header().Set(field, `sid="s", ref="r"`)
			w.WriteHeader(http.StatusForbidden)
		case "/slow":
			asked <- struct{}{}
			<-stop
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(stop) })
	var log heldLog
	b := start(t, driver, log.add)
	stuck, requests := newContext(t, b), newContext(t, b)
	for _, c := range []*browser.Context{stuck, requests} {
		do(t, c, browser.Act{Kind: browser.Navigate, URL: server.URL})
	}
	made := do(t, stuck, click("#buy"))
	held := log.all()[0]
	do(t, stuck, click("#stuck"))

	type end struct {
		what string
		err  error
	}
	ended := make(chan end, 8)
	n := 0
	wait := func(what string, f func(context.Context) error) {
		n++
		go func() { ended <- end{what, f(context.Background())} }()
	}
	form, navigation := newContext(t, b), newContext(t, b)
	wait("SubmitForm", func(ctx context.Context) error { _, err := form.SubmitForm(ctx, server.URL+"/slow", nil); return err })
	wait("Do, a navigation", func(ctx context.Context) error {
		_, err := navigation.Do(ctx, browser.Act{Kind: browser.Navigate, URL: server.URL + "/slow"})
		return err
	})
	wait("Do, its requests", func(ctx context.Context) error { _, err := requests.Do(ctx, click("#slow")); return err })
	for range n {
		<-asked
	}
	wait("Do, its element", func(ctx context.Context) error { _, err := stuck.Do(ctx, click("#buy")); return err })
	wait("Again", func(ctx context.Context) error {
		_, err := stuck.Again(ctx, made, held, func(browser.How) error { t.Error("permitted"); return nil })
		return err
	})
	wait("Text", func(ctx context.Context) error { _, err := stuck.Text(ctx); return err })
	wait("Location", func(ctx context.Context) error { _, err := stuck.Location(ctx); return err })
	if err := syscall.Kill(chromium(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range n {
		e := <-ended
		if !errors.Is(e.err, browser.ErrGone) || errors.Is(e.err, context.DeadlineExceeded) || errors.Is(e.err, browser.ErrNoAnswer) {
			t.Errorf("%s: %v", e.what, e.err)
		}
	}
}
