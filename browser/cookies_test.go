package browser_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/secret"
)

func TestWhatAFormsAnswerSetIsKnownByNameAlone(t *testing.T) {
	eachDriver(t, testWhatAFormsAnswerSetIsKnownByNameAlone)
}

func testWhatAFormsAnswerSetIsKnownByNameAlone(t *testing.T, driver browser.Driver) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/join":
			http.SetCookie(w, &http.Cookie{Name: "strict", Value: "1", Path: "/", SameSite: http.SameSiteStrictMode, HttpOnly: true})
			http.SetCookie(w, &http.Cookie{Name: "lax", Value: "2", Path: "/", SameSite: http.SameSiteLaxMode, HttpOnly: true})
			http.Redirect(w, r, "/landed", http.StatusSeeOther)
		case "/forget":
			http.SetCookie(w, &http.Cookie{Name: "lax", Path: "/", MaxAge: -1})
		default:
			_, _ = w.Write([]byte("landed"))
		}
	}))
	t.Cleanup(site.Close)
	b := start(t, driver, func(context.Context, browser.Held) {})
	c, other := newContext(t, b), newContext(t, b)
	names := func(c *browser.Context) []string {
		t.Helper()
		cookies, err := c.Cookies(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := []string{}
		for _, cookie := range cookies {
			found = append(found, cookie.Name+" "+cookie.SameSite)
		}
		slices.Sort(found)
		return found
	}
	if got := names(c); len(got) != 0 {
		t.Errorf("a new context has %q", got)
	}
	if _, err := c.SubmitForm(t.Context(), site.URL+"/join", []browser.Field{{Name: "x", Value: secret.New("y")}}); err != nil {
		t.Fatal(err)
	}
	if got, want := names(c), []string{"lax Lax", "strict Strict"}; !slices.Equal(got, want) {
		t.Errorf("the context has %q, want %q", got, want)
	}
	if got := names(other); len(got) != 0 {
		t.Errorf("another context has %q", got)
	}
	if _, err := c.Do(t.Context(), browser.Act{Kind: browser.Navigate, URL: site.URL + "/forget"}); err != nil {
		t.Fatal(err)
	}
	if got, want := names(c), []string{"strict Strict"}; !slices.Equal(got, want) {
		t.Errorf("the context has %q, want %q", got, want)
	}
}

func TestAFormThatIsSubmittedAsideLeavesThePageAndItsCookie(t *testing.T) {
	eachDriver(t, testAFormThatIsSubmittedAsideLeavesThePageAndItsCookie)
}

func testAFormThatIsSubmittedAsideLeavesThePageAndItsCookie(t *testing.T, driver browser.Driver) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/join":
			http.SetCookie(w, &http.Cookie{Name: "joined", Value: "1", Path: "/", SameSite: http.SameSiteLaxMode})
			http.Redirect(w, r, "/landed", http.StatusSeeOther)
		case "/repost":
			http.Redirect(w, r, "/landed", http.StatusTemporaryRedirect)
		case "/pressed":
			_, err := r.Cookie("joined")
			_, _ = fmt.Fprintf(w, "pressed, joined: %v", err == nil)
		default:
			_, _ = w.Write([]byte(`<p>the page</p><form action="/pressed"><button id="go">Go</button></form>`))
		}
	}))
	t.Cleanup(site.Close)
	c := newContext(t, start(t, driver, func(context.Context, browser.Held) {}))
	must := func(act browser.Act) {
		t.Helper()
		if _, err := c.Do(t.Context(), act); err != nil {
			t.Fatal(err)
		}
	}
	must(browser.Act{Kind: browser.Navigate, URL: site.URL + "/page"})
	fields := []browser.Field{{Name: "x", Value: secret.New("y")}}
	if _, err := c.SubmitAside(t.Context(), site.URL+"/repost", fields); !errors.Is(err, browser.ErrRepost) {
		t.Errorf("err = %v", err)
	}
	l, err := c.SubmitAside(t.Context(), site.URL+"/join", fields)
	if err != nil || l.URL != site.URL+"/landed" {
		t.Fatalf("SubmitAside = %+v, %v", l, err)
	}
	if at, err := c.Location(t.Context()); err != nil || at != site.URL+"/page" {
		t.Errorf("the tab is at %q, %v", at, err)
	}
	must(browser.Act{Kind: browser.Click, Selectors: [][]string{{"#go"}}})
	if text, err := c.Text(t.Context()); err != nil || text != "pressed, joined: true" {
		t.Errorf("the page says %q, %v", text, err)
	}
}
