package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/secret"
)

const field = "Poppy-Operation"

// heldLog collects what a browser gave to OnHeld.
type heldLog struct {
	mu   sync.Mutex
	list []browser.Held
}

func (l *heldLog) add(_ context.Context, h browser.Held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, h)
}

func (l *heldLog) all() []browser.Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]browser.Held(nil), l.list...)
}

// start starts a Chromium with driver whose held responses go to onHeld, and ends it with the test. The test fails when anything
// of it is left.
func start(t *testing.T, driver browser.Driver, onHeld func(context.Context, browser.Held)) *browser.Browser {
	t.Helper()
	return startWith(t, browser.Config{Driver: driver, OnHeld: onHeld})
}

// startWith is start with what else a configuration may say.
func startWith(t *testing.T, cfg browser.Config) *browser.Browser {
	t.Helper()
	t.Setenv("TMPDIR", shortTempDir(t))
	cfg.NoSandbox = os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0
	cfg.Watch = field
	if cfg.Private == nil {
		cfg.Private = func(host string) bool { return host == "127.0.0.1" }
	}
	b, err := browser.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "papaver-chromium-*")); len(left) > 0 {
			t.Errorf("a profile is left: %v", left)
		}
	})
	return b
}

// shortTempDir is a temporary folder whose path leaves room for Chromium's socket names.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func newContext(t *testing.T, b *browser.Browser) *browser.Context {
	t.Helper()
	c, err := b.NewContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func do(t *testing.T, c *browser.Context, act browser.Act) *browser.Made {
	t.Helper()
	made, err := c.Do(t.Context(), act)
	if err != nil {
		t.Fatalf("%s %s%v: %v", act.Kind, act.URL, act.Selectors, err)
	}
	return made
}

// shop is a site with the four kinds of refusal the program meets.
func shop(t *testing.T) (url string, count func(string) int) {
	t.Helper()
	var mu sync.Mutex
	counts := make(map[string]int)
	refuse := func(w http.ResponseWriter, page string) {
		w.Header().Set(field, `sid="ses_x", ref="ref_1"`)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, page)
	}
	mux := http.NewServeMux()
	page := func(path, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<!doctype html><meta charset=utf-8>"+body)
		})
	}
	page("/form", `<form method="post" action="/act"><label>Size <select name="size"><option>M<option>L</select></label><input name="note"><button id="buy">Exchange</button></form>`)
	page("/continue", `<form method="post" action="/wait"><button id="buy">Cancel</button></form>`)
	page("/fetch", `<button id="buy" onclick="fetch('/call',{method:'POST'})">Save</button>`)
	count = func(path string) int { mu.Lock(); defer mu.Unlock(); return counts[path] }
	counted := func(path, page string) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			mu.Lock()
			counts[path]++
			counts[path+"?"+r.PostForm.Encode()]++
			mu.Unlock()
			refuse(w, page)
		})
	}
	counted("/act", `<p>waiting`)
	counted("/wait", `<form method="post" action="/wait"><button>Continue</button></form>`)
	counted("/call", `{}`)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, count
}

func click(selector string) browser.Act {
	return browser.Act{Kind: browser.Click, Selectors: [][]string{{selector}}}
}

// Clauses: OPS3-4.34, OPS3-4.35
func TestARefusalIsHeldBeforeThePageSeesItAndTheActIsMadeAgainInTheWayThatFits(t *testing.T) {
	eachDriver(t, testARefusalIsHeldBeforeThePageSeesItAndTheActIsMadeAgainInTheWayThatFits)
}

func testARefusalIsHeldBeforeThePageSeesItAndTheActIsMadeAgainInTheWayThatFits(t *testing.T, driver browser.Driver) {
	url, count := shop(t)
	for _, tc := range []struct {
		page, path string
		how        browser.How
	}{
		{"/form", "/act", browser.ByReload},
		{"/continue", "/wait", browser.ByContinue},
		{"/fetch", "/call", browser.ByRepeat},
	} {
		t.Run(string(tc.how), func(t *testing.T) {
			var log heldLog
			b := start(t, driver, log.add)
			c := newContext(t, b)
			do(t, c, browser.Act{Kind: browser.Navigate, URL: url + tc.page})
			if tc.page == "/form" {
				do(t, c, browser.Act{Kind: browser.Change, Selectors: [][]string{{"select[name=size]"}}, Value: secret.New("L")})
				do(t, c, browser.Act{Kind: browser.Change, Selectors: [][]string{{"input[name=note]"}}, Value: secret.New("blue & grün")})
			}
			made := do(t, c, click("#buy"))
			held := log.all()
			if len(held) != 1 {
				t.Fatalf("%d responses were held, want 1", len(held))
			}
			h := held[0]
			if id, known := h.Context(); !known || id != c.ID() {
				t.Errorf("context = %v, %v; want %v", id, known, c.ID())
			}
			if h.Act() != made || h.Status() != http.StatusForbidden || len(h.Fields()) != 1 {
				t.Errorf("held = act %v, status %d, fields %q", h.Act(), h.Status(), h.Fields())
			}
			if tc.page == "/form" && (made.Form["size"] != "L" || made.Form["note"] != "blue & grün" || made.Control.Name != "Exchange") {
				t.Errorf("the act gave %v by %+v", made.Form, made.Control)
			}

			var permitted browser.How
			how, err := c.Again(t.Context(), made, h, func(how browser.How) error {
				if n := count(tc.path); n != 1 {
					t.Errorf("%d requests before the permit", n)
				}
				permitted = how
				return nil
			})
			if err != nil || how != tc.how || permitted != how {
				t.Fatalf("Again = %q (permitted %q), %v; want %q", how, permitted, err, tc.how)
			}
			if n := count(tc.path); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
			if tc.page == "/form" && count("/act?note=blue+%26+gr%C3%BCn&size=L") != 2 {
				t.Error("the second request is not the first one again")
			}
			if n := len(log.all()); n != 2 {
				t.Errorf("%d responses were held, want 2", n)
			}
		})
	}
}

func TestWhatIsNotPermittedIsNotMadeAgain(t *testing.T) {
	eachDriver(t, testWhatIsNotPermittedIsNotMadeAgain)
}

func testWhatIsNotPermittedIsNotMadeAgain(t *testing.T, driver browser.Driver) {
	url, count := shop(t)
	var log heldLog
	b := start(t, driver, log.add)
	c := newContext(t, b)
	do(t, c, browser.Act{Kind: browser.Navigate, URL: url + "/form"})
	made := do(t, c, click("#buy"))
	refused := fmt.Errorf("no")
	if _, err := c.Again(t.Context(), made, log.all()[0], func(browser.How) error { return refused }); err != refused {
		t.Errorf("err = %v", err)
	}
	if n := count("/act"); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestAnActIsNotMadeAgainOnAnotherPage(t *testing.T) {
	eachDriver(t, testAnActIsNotMadeAgainOnAnotherPage)
}

func testAnActIsNotMadeAgainOnAnotherPage(t *testing.T, driver browser.Driver) {
	url, count := shop(t)
	var log heldLog
	b := start(t, driver, log.add)
	c := newContext(t, b)
	for _, page := range []string{"/form", "/fetch"} {
		do(t, c, browser.Act{Kind: browser.Navigate, URL: url + page})
		made := do(t, c, click("#buy"))
		held := log.all()
		do(t, c, browser.Act{Kind: browser.Navigate, URL: url + page})
		_, err := c.Again(t.Context(), made, held[len(held)-1], func(browser.How) error { t.Error("permitted"); return nil })
		if err == nil || !strings.Contains(err.Error(), "has left the page") {
			t.Errorf("%s: err = %v", page, err)
		}
	}
	if count("/act") != 1 || count("/call") != 1 {
		t.Error("an act was made again")
	}
}

func TestAHeldResponseIsReleasedWhenOnHeldDoesNotReturn(t *testing.T) {
	eachDriver(t, testAHeldResponseIsReleasedWhenOnHeldDoesNotReturn)
}

func testAHeldResponseIsReleasedWhenOnHeldDoesNotReturn(t *testing.T, driver browser.Driver) {
	url, _ := shop(t)
	stuck := make(chan struct{})
	b := start(t, driver, func(ctx context.Context, _ browser.Held) {
		<-ctx.Done()
		close(stuck)
	})
	c := newContext(t, b)
	do(t, c, browser.Act{Kind: browser.Navigate, URL: url + "/form"})
	do(t, c, click("#buy"))
	<-stuck
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := c.Do(ctx, browser.Act{Kind: browser.Wait, Selectors: [][]string{{"text/waiting"}}}); err != nil {
		t.Errorf("the page never got its answer: %v", err)
	}
}

// TestAFormWhoseRepeatWasLostIsMadeAgain cuts the connection of the first repeats: the tab then shows an error page.
//
// Clauses: OPS3-7.16
func TestAFormWhoseRepeatWasLostIsMadeAgain(t *testing.T) {
	eachDriver(t, testAFormWhoseRepeatWasLostIsMadeAgain)
}

func testAFormWhoseRepeatWasLostIsMadeAgain(t *testing.T, driver browser.Driver) {
	for name, lose := range map[string]http.HandlerFunc{
		"no answer":    func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
		"server error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) },
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			posts, losing := 0, false
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				w.Header().Set("Content-Type", "text/html")
				switch {
				case r.Method == http.MethodGet:
					_, _ = fmt.Fprint(w, `<!doctype html><form method=post action="/act"><input name=n value=7><button id=buy>Buy</button></form>`)
				case losing:
					lose(w, r)
				default:
					posts++
					if posts == 1 {
						w.Header().Set(field, `sid="ses_x", ref="r"`)
						w.WriteHeader(http.StatusForbidden)
					}
					_, _ = fmt.Fprintf(w, "post %d of %s", posts, r.PostFormValue("n"))
				}
			}))
			t.Cleanup(server.Close)
			set := func(l bool) { mu.Lock(); defer mu.Unlock(); losing = l }
			var log heldLog
			c := newContext(t, start(t, driver, log.add))
			do(t, c, browser.Act{Kind: browser.Navigate, URL: server.URL})
			made := do(t, c, click("#buy"))
			again := func() {
				t.Helper()
				how, err := c.Again(t.Context(), made, log.all()[0], func(browser.How) error { return nil })
				if err != nil || how != browser.ByReload {
					t.Fatalf("Again = %q, %v", how, err)
				}
			}
			set(true)
			again()
			set(false)
			again()
			if text, err := c.Text(t.Context()); err != nil || text != "post 2 of 7" {
				t.Errorf("the page says %q, %v", text, err)
			}
		})
	}
}
