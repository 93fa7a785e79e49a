package browser_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/secret"
)

func TestWhatAFormsAnswerSetIsKnownByNameAlone(t *testing.T) {
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
	b := start(t, func(context.Context, browser.Held) {})
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
