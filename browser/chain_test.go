package browser_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/secret"
)

// A join may lead over a provider's host and back through the application's own login before a page comes: the browser
// follows, keeps what each host set, and the landing is the last page.
//
// Clauses: C10-9.03
func TestAFormsRedirectsOverSeveralHostsAreFollowedToThePage(t *testing.T) {
	eachDriver(t, testAFormsRedirectsOverSeveralHostsAreFollowedToThePage)
}

func testAFormsRedirectsOverSeveralHostsAreFollowedToThePage(t *testing.T, driver browser.Driver) {
	var mu sync.Mutex
	var seen []string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ":")
		mu.Lock()
		seen = append(seen, r.Method+" "+host+r.URL.Path)
		mu.Unlock()
		port := r.Host[strings.LastIndexByte(r.Host, ':'):]
		next := map[string]string{
			"/join": "http://login.test" + port + "/authorize", "/authorize": "http://app.test" + port + "/callback",
			"/callback": "http://app.test" + port + "/orders",
		}[r.URL.Path]
		if next == "" {
			_, err := r.Cookie("app")
			_, _ = w.Write([]byte(map[bool]string{true: "known", false: "unknown"}[err == nil]))
			return
		}
		if r.URL.Path == "/callback" {
			http.SetCookie(w, &http.Cookie{Name: "app", Value: "1", Path: "/", SameSite: http.SameSiteLaxMode})
		}
		http.Redirect(w, r, next, http.StatusFound)
	}))
	t.Cleanup(site.Close)
	c := newContext(t, startWith(t, browser.Config{
		Driver: driver, OnHeld: func(context.Context, browser.Held) {}, HostResolverRules: "MAP login.test 127.0.0.1, MAP app.test 127.0.0.1",
	}))
	l, err := c.SubmitForm(t.Context(), site.URL+"/join", []browser.Field{{Name: "x", Value: secret.New("y")}})
	if err != nil || l.First != http.StatusFound || l.Last != http.StatusOK || !strings.HasSuffix(l.URL, "/orders") {
		t.Errorf("SubmitForm = %+v, %v", l, err)
	}
	if text, err := c.Text(t.Context()); err != nil || text != "known" {
		t.Errorf("the page says %q, %v", text, err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{"POST 127.0.0.1/join", "GET login.test/authorize", "GET app.test/callback", "GET app.test/orders"}
	if got := slices.DeleteFunc(slices.Clone(seen), func(s string) bool { return strings.HasSuffix(s, "/favicon.ico") }); !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
}
