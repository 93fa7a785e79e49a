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
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

const (
	shortly  = 2 * time.Second // for an act whose page never comes
	manyTabs = 32              // the most that a context has
	bigBody  = 200 << 20       // bytes of one response
	maxMore  = 32 << 20        // bytes that our own memory may take more for it
	flood    = 1000            // responses of a page that asks and asks; a tenth of them is held
)

// hostileSite answers as no site should. What never ends ends with the test.
func hostileSite(t *testing.T) string {
	t.Helper()
	stop := make(chan struct{})
	mux := http.NewServeMux()
	page := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, `<!doctype html><link rel=icon href="data:,"><body>`+body)
		})
	}
	page("/{$}", "fine")
	mux.HandleFunc("/redirects", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.RawQuery)
		http.Redirect(w, r, fmt.Sprintf("/redirects?%d", n+1), http.StatusFound)
	})
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<!doctype html>begun"+strings.Repeat(" ", 2048))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) {
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for sent := 0; sent < bigBody; sent += len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/one", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("held") {
			w.Header().Set(field, fmt.Sprintf("sid=\"s\", ref=%q", r.URL.RawQuery))
			w.WriteHeader(http.StatusForbidden)
		}
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="x.bin"`)
		if r.URL.Query().Has("refused") {
			w.Header().Set(field, `sid="s", ref="download"`)
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = fmt.Fprint(w, "bytes")
	})
	page("/leave", `<button id=go onclick="used = 1">Go</button><script>onbeforeunload = (e) => { e.preventDefault(); e.returnValue = 'stay' }</script>`)
	page("/dialogs", `<script>for (let i = 0; i < 40; i++) { alert(i); confirm(i); prompt(i) }</script>through`)
	page("/dialogs-for-ever", `<script>setTimeout(() => { for (;;) alert('again') })</script>`)
	page("/popups", `<button id=go>Go</button><script>document.getElementById('go').onclick = () => { for (let i = 0; i < 100; i++) window.open('/?' + i) }</script>`)
	page("/closes", `<button id=go onclick="window.close()">Go</button><a id=open target=_blank href="/closes-itself">Open</a>`)
	page("/closes-itself", `<script>window.close()</script>`)
	page("/moves", `<button id=go onclick="this.remove(); location = '/?moved'; location = '/?again'">Go</button>`)
	page("/wanders", `<button id=go>Go</button><pre id=r></pre><script>document.getElementById('go').onclick = () => {
		for (const u of ['file:///etc/passwd', 'chrome://version', 'chrome://crash', 'data:text/html,gone', 'view-source:' + location, 'about:blank#x'])
			try { const a = document.createElement('a'); a.href = u; document.body.append(a); if (!u.startsWith('about')) location = u; } catch (e) {}
		location = 'javascript:void(document.getElementById("r").textContent = "ours still")';
	}</script>`)
	page("/reads", `<pre id=r></pre><script>fetch('/big').then(async (a) => { let n = 0; for (const r = a.body.getReader();;) { const {done, value} = await r.read(); if (done) break; n += value.length } document.getElementById('r').textContent = 'read ' + n })</script>`)
	page("/floods", fmt.Sprintf(`<pre id=r></pre><script>(async () => { let n = 0; const ask = async (i) => { const a = await fetch('/one?' + (i %% 10 ? 'x' : 'held') + '=' + i, {cache: 'no-store'}); n += a.status == (i %% 10 ? 200 : 403) };
		for (let i = 0; i < %d; i += 20) await Promise.all(Array.from({length: 20}, (_, k) => ask(i + k))); document.getElementById('r').textContent = 'answered ' + n })()</script>`, flood))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(stop) })
	return server.URL
}

// TestHostilePagesEndInAnErrorOrInSuccess has one Chromium meet each kind of page, in a browser context of its own. What a page
// did must not reach the next one; when all is over nothing is left, see start.
func TestHostilePagesEndInAnErrorOrInSuccess(t *testing.T) {
	eachDriver(t, testHostilePagesEndInAnErrorOrInSuccess)
}

func testHostilePagesEndInAnErrorOrInSuccess(t *testing.T, driver browser.Driver) {
	site := hostileSite(t)
	var sighted atomic.Int32
	b := start(t, driver, func(context.Context, browser.Held) { sighted.Add(1) })
	open := func(path string) browser.Act { return browser.Act{Kind: browser.Navigate, URL: site + path} }
	says := func(text string) browser.Act {
		return browser.Act{Kind: browser.Wait, Selectors: [][]string{{"text/" + text}}, Timeout: patience}
	}
	for _, tc := range []struct {
		name string
		does func(t *testing.T, c *browser.Context)
	}{
		{"endless redirects", func(t *testing.T, c *browser.Context) {
			_, err := c.Do(t.Context(), open("/redirects"))
			if load, ok := errors.AsType[*browser.LoadError](err); !ok || load.Text != "net::ERR_TOO_MANY_REDIRECTS" {
				t.Errorf("err = %v", err)
			}
		}},
		{"headers that never come", func(t *testing.T, c *browser.Context) {
			act := open("/silent")
			act.Timeout = shortly
			if _, err := c.Do(t.Context(), act); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("err = %v", err)
			}
		}},
		{"a body that never ends", func(t *testing.T, c *browser.Context) {
			do(t, c, open("/endless"))
			do(t, c, says("begun"))
		}},
		{"a page that will not be left", func(t *testing.T, c *browser.Context) {
			do(t, c, open("/leave"))
			do(t, c, click("#go"))
		}},
		{"a storm of dialogs", func(t *testing.T, c *browser.Context) {
			do(t, c, open("/dialogs"))
			do(t, c, says("through"))
		}},
		{"dialogs for ever", func(t *testing.T, c *browser.Context) {
			do(t, c, open("/dialogs-for-ever"))
		}},
		{"a storm of windows", func(t *testing.T, c *browser.Context) {
			do(t, c, open("/popups"))
			do(t, c, click("#go"))
			if tabs, err := c.Tabs(t.Context()); err != nil || len(tabs) > manyTabs {
				t.Errorf("%d tabs, %v", len(tabs), err)
			}
		}},
		{"a page that closes itself", func(t *testing.T, c *browser.Context) {
			do(t, c, open("/closes"))
			do(t, c, click("#go"))
			do(t, c, open("/closes"))
			do(t, c, click("#open"))
		}},
		{"a page that goes away during the click", func(t *testing.T, c *browser.Context) {
			do(t, c, open("/moves"))
			do(t, c, click("#go"))
			do(t, c, browser.Act{Kind: browser.WaitURL, URL: site + "/?again", Timeout: patience})
		}},
		{"navigations of a page to what is no web page", func(t *testing.T, c *browser.Context) {
			do(t, c, open("/wanders"))
			do(t, c, click("#go"))
			do(t, c, says("ours still"))
			if at, err := c.Location(t.Context()); err != nil || at != site+"/wanders" {
				t.Errorf("it is at %s, %v", at, err)
			}
		}},
		{"navigations of ours to what is no web page", func(t *testing.T, c *browser.Context) {
			for _, to := range []string{"file:///etc/passwd", "data:text/html,x", "javascript:alert(1)", "chrome://version", "view-source:" + site, "blob:x", "about:config", ""} {
				if _, err := c.Do(t.Context(), browser.Act{Kind: browser.Navigate, URL: to}); err == nil || to != "" && !errors.Is(err, browser.ErrNotAWebPage) {
					t.Errorf("%q: %v", to, err)
				}
			}
		}},
		{"a download that nobody asked for", func(t *testing.T, c *browser.Context) {
			_, err := c.Do(t.Context(), open("/file"))
			if load, ok := errors.AsType[*browser.LoadError](err); !ok || load.Text != "net::ERR_ABORTED" {
				t.Errorf("err = %v", err)
			}
			before := sighted.Load()
			_, _ = c.Do(t.Context(), open("/file?refused")) // Chromium may show a page for it, or none
			if sighted.Load() != before+1 {
				t.Error("the reference that came with it was missed")
			}
			if files := downloads(t); len(files) > 0 {
				t.Errorf("it is kept: %q", files)
			}
		}},
		{"a response of 200 MB", func(t *testing.T, c *browser.Context) {
			before := memory()
			do(t, c, open("/reads"))
			do(t, c, says(fmt.Sprintf("read %d", bigBody)))
			if more := memory() - before; more > maxMore {
				t.Errorf("our own memory grew by %d bytes", more)
			}
		}},
		{"a flood of responses", func(t *testing.T, c *browser.Context) {
			before := sighted.Load()
			do(t, c, open("/floods"))
			answered := says(fmt.Sprintf("answered %d", flood))
			answered.Timeout = 4 * patience // a busy machine takes its time
			do(t, c, answered)
			if n := sighted.Load() - before; n != flood/10 {
				t.Errorf("%d of %d were held", n, flood/10)
			}
		}},
		{"a renderer that crashes", func(t *testing.T, c *browser.Context) {
			do(t, c, open("/"))
			for _, pid := range renderers(t) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // one may have ended by itself
			}
			if _, err := c.Do(t.Context(), browser.Act{Kind: browser.Wait, Selectors: [][]string{{"#never"}}, Timeout: shortly}); err == nil {
				t.Error("an act in a page that has crashed succeeded")
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newContext(t, b)
			tc.does(t, c)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := c.Close(ctx); err != nil {
				t.Errorf("its context: %v", err)
			}
			next := newContext(t, b)
			do(t, next, open("/"))
			if text, err := next.Text(ctx); err != nil || text != "fine" {
				t.Errorf("the next page says %q, %v", text, err)
			}
			if err := next.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// memory is what is live of our own, after a collection.
func memory() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// renderers are the processes in which pages of the test's Chromium run.
func renderers(t *testing.T) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for _, file := range files {
		command, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(command, []byte("--type=renderer")) || !descends(filepath.Dir(file), chromium(t)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			list = append(list, pid)
		}
	}
	if len(list) == 0 {
		t.Fatal("no renderer runs")
	}
	return list
}

// descends reports whether a process, by its folder in /proc, is in the group that pid leads.
func descends(folder string, pid int) bool {
	of, err := strconv.Atoi(filepath.Base(folder))
	if err != nil {
		return false
	}
	group, err := syscall.Getpgid(of)
	return err == nil && group == pid
}

// downloads are files that a Chromium of the test's kept.
func downloads(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/papaver-chromium-*/Downloads/*", "/papaver-chromium-*/*.bin", "/papaver-chromium-*/*/*.bin", "/*.bin", "/*.crdownload"} {
		files, err := filepath.Glob(os.TempDir() + pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, files...)
	}
	return found
}
