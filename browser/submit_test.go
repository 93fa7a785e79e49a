package browser

import (
	"context"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/papaver-agent/papaver/internal/secret"
)

const joinURL = "https://login.test/join"

// hop is a response to a navigation of a tab's main frame.
func hop(tab *fakeTab, n int, method, url string, status int) Paused {
	return Paused{ID: PausedID(fmt.Sprintf("%s-hop-%d", tab.id, n)), Frame: tab.id, Resource: "Document", Method: method, URL: url, Status: status}
}

// lead scripts where the form leads: each response comes when the one before it was let go. A 307 or 308 that was let
// go on would post again, and ends the script.
func lead(d *fakeDriver, tab *fakeTab, hops ...Paused) {
	send := func(i int) {
		if i < len(hops) {
			d.engine.paused(hops[i])
		}
	}
	tab.onSubmit = func() { send(0) }
	d.engine.afterLetGo = func(l letGo) {
		for i, h := range hops {
			if h.ID == l.id && !l.failed {
				send(i + 1)
			}
		}
	}
}

var joinFields = []Field{{"assertion", secret.New("a.b.c")}}

func TestWhereASubmittedFormLed(t *testing.T) {
	t.Parallel()
	type step struct {
		method, url string
		status      int
	}
	for name, tc := range map[string]struct {
		steps  []step
		want   Landing
		err    error // nil with the landing's own, errFake for any
		failed int   // the response that is broken off; 0 for none
	}{
		"a page at once":      {[]step{{"POST", joinURL, 200}}, Landing{200, joinURL, 200}, nil, 0},
		"refused":             {[]step{{"POST", joinURL, 400}}, Landing{400, joinURL, 400}, nil, 0},
		"303":                 {[]step{{"POST", joinURL, 303}, {"GET", "https://shop.test/", 200}}, Landing{303, "https://shop.test/", 200}, nil, 0},
		"302, 301, 303":       {[]step{{"POST", joinURL, 302}, {"GET", "https://a.test/", 301}, {"GET", "https://b.test/", 303}, {"GET", "https://shop.test/", 404}}, Landing{302, "https://shop.test/", 404}, nil, 0},
		"307 at once":         {[]step{{"POST", joinURL, 307}, {"POST", "https://evil.test/", 200}}, Landing{307, joinURL, 307}, ErrRepost, 1},
		"308 at once":         {[]step{{"POST", joinURL, 308}, {"POST", "https://evil.test/", 200}}, Landing{308, joinURL, 308}, ErrRepost, 1},
		"307 of another kind": {[]step{{"PUT", joinURL, 307}, {"PUT", "https://evil.test/", 200}}, Landing{307, joinURL, 307}, ErrRepost, 1},
		"307 of a GET":        {[]step{{"POST", joinURL, 303}, {"GET", "https://app.test/login", 307}, {"GET", "https://app.test/done", 308}, {"GET", "https://shop.test/", 200}}, Landing{303, "https://shop.test/", 200}, nil, 0},
		"no connection":       {[]step{{"POST", joinURL, 0}}, Landing{0, joinURL, 0}, errFake, 0},
		"a lost redirect":     {[]step{{"POST", joinURL, 303}, {"GET", "https://shop.test/", 0}}, Landing{303, "https://shop.test/", 0}, errFake, 0},
		"no end of redirects": {[]step{{"POST", joinURL, 303}}, Landing{303, joinURL, 303}, context.DeadlineExceeded, 0},
		"no answer":           {nil, Landing{}, context.DeadlineExceeded, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, d := startFake(t, nobodyHolds)
				c := fakeContext(t, b)
				tab := tabOf(c)
				var hops []Paused
				for i, s := range tc.steps {
					hops = append(hops, hop(tab, i+1, s.method, s.url, s.status))
				}
				lead(d, tab, hops...)
				got, err := c.SubmitForm(t.Context(), joinURL, joinFields)
				if got != tc.want {
					t.Errorf("landing %+v, want %+v", got, tc.want)
				}
				if (err == nil) != (tc.err == nil) || tc.err != errFake && !errors.Is(err, tc.err) {
					t.Errorf("err = %v, want %v", err, tc.err)
				}
				synctest.Wait()
				for i := range hops {
					went := d.engine.of(hops[i].ID)
					reached := tc.failed == 0 || i < tc.failed
					if reached && (len(went) != 1 || went[0].failed != (i+1 == tc.failed)) || !reached && len(went) != 0 {
						t.Errorf("response %d was let go %v", i+1, went)
					}
				}
				mustClose(t, b)
			})
		})
	}
}

func TestA307IsBrokenOffForTheFormAloneUntilAPageCame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, d := startFake(t, nobodyHolds)
		c := fakeContext(t, b)
		tab := tabOf(c)
		let := func(p Paused) bool {
			t.Helper()
			d.engine.paused(p)
			synctest.Wait()
			went := d.engine.of(p.ID)
			if len(went) != 1 {
				t.Fatalf("%s was let go %v", p.ID, went)
			}
			return !went[0].failed
		}
		if !let(hop(tab, 10, "POST", "https://shop.test/a", 307)) {
			t.Error("broken off before any form")
		}
		tab = nil
		joined := make(chan error, 1)
		go func() {
			_, err := c.SubmitForm(context.Background(), joinURL, joinFields) // in a fresh tab
			joined <- err
		}()
		synctest.Wait()
		tab = tabOf(c)
		fetch := hop(tab, 1, "POST", "https://shop.test/api", 307)
		fetch.Resource = "Fetch"
		other := hop(tab, 2, "POST", joinURL, 307)
		other.Frame = "another-frame"
		if !let(fetch) || !let(other) {
			t.Error("broken off what is no answer to the form")
		}
		if let(hop(tab, 3, "POST", joinURL, 308)) {
			t.Error("the form would be posted again")
		}
		if err := <-joined; !errors.Is(err, ErrRepost) {
			t.Errorf("err = %v", err)
		}
		if let(hop(tab, 4, "POST", joinURL, 307)) {
			t.Error("an answer that came too late would post the form again")
		}
		mustClose(t, b)
	})
}

func TestEveryFormIsSubmittedFromABlankTabOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, d := startFake(t, nobodyHolds)
		c := fakeContext(t, b)
		first := tabOf(c)
		if _, err := c.SubmitForm(t.Context(), joinURL, joinFields); !errors.Is(err, context.DeadlineExceeded) { // no answer comes
			t.Fatal(err)
		}
		if first.html == "" {
			t.Error("the context's first, blank tab was not used")
		}
		// The second one's answers are its own, though the first one's comes now.
		done := make(chan Landing, 1)
		go func() {
			l, err := c.SubmitForm(context.Background(), joinURL, joinFields)
			if err != nil {
				t.Error(err)
			}
			done <- l
		}()
		synctest.Wait()
		second := tabOf(c)
		if second == first || second.html == "" || !first.isClosed {
			t.Fatal("the second form is in the tab of the first")
		}
		d.engine.paused(hop(first, 1, "POST", joinURL, 400))
		synctest.Wait()
		d.engine.paused(hop(second, 1, "POST", joinURL, 200))
		if l := <-done; l.First != 200 {
			t.Errorf("landing %+v", l)
		}
		mustClose(t, b)
	})
}

// TestTheTabChangesWhileAResponseIsLookedAt is for the race detector: a form gets a fresh tab, and whoever holds a
// response asks for the present act all the while.
func TestTheTabChangesWhileAResponseIsLookedAt(t *testing.T) {
	t.Parallel()
	b, d := startFake(t, nobodyHolds)
	c := fakeContext(t, b)
	made, err := c.Do(t.Context(), Act{Kind: Navigate, URL: "https://shop.test/"})
	if err != nil {
		t.Fatal(err)
	}
	tab := tabOf(c)
	d.engine.paused(hop(tab, 1, "GET", "https://shop.test/", 200))
	b.holding.Wait() // the tab is used now
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tab.onClose = cancel // nothing answers the form, and nobody waits for that
	looking, stop, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for first := true; ; first = false {
			if got := c.actOf(""); got != made {
				t.Errorf("the present act is %v", got)
			}
			if first {
				close(looking)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	<-looking
	if _, err := c.SubmitForm(ctx, joinURL, joinFields); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(stop)
	<-stopped
	if tabOf(c) == tab {
		t.Error("the form got no fresh tab")
	}
	mustClose(t, b)
}

func TestHostileValuesStayInTheirFields(t *testing.T) {
	t.Parallel()
	hostile := []string{
		`"><script>alert(1)</script>`, `' onfocus='x`, `</form><form action="https://evil.test/">`, "&quot;&#34;&amp;", "a&b=c", "<!--", "é\u2028x", `\"`, "",
	}
	action := `https://login.test/join?a=1&b="><base href="https://evil.test/">`
	var fields []Field
	for _, h := range hostile {
		fields = append(fields, Field{Name: h + "name", Value: secret.New(h)})
	}
	document := formDocument(action, fields)
	tags := regexp.MustCompile(`<[^>]*>`).FindAllString(document, -1)
	if len(tags) != 4+len(fields) || strings.Count(document, "<") != len(tags) || strings.Count(document, ">") != len(tags) {
		t.Fatalf("%d tags in %s", len(tags), document)
	}
	if tags[0] != "<!doctype html>" || tags[1] != `<meta name="referrer" content="no-referrer">` || tags[len(tags)-1] != "</form>" {
		t.Errorf("tags %q", tags)
	}
	form := regexp.MustCompile(`^<form method="post" action="([^"]*)">$`).FindStringSubmatch(tags[2])
	if form == nil || html.UnescapeString(form[1]) != action {
		t.Errorf("form %q", tags[2])
	}
	for i, f := range fields {
		input := regexp.MustCompile(`^<input type="hidden" name="([^"]*)" value="([^"]*)">$`).FindStringSubmatch(tags[3+i])
		if input == nil || html.UnescapeString(input[1]) != f.Name || html.UnescapeString(input[2]) != f.Value.Reveal() {
			t.Errorf("field %q is %q", f.Name, tags[3+i])
		}
	}
	// The fields are in the document and in no URL.
	synctest.Test(t, func(t *testing.T) {
		b, d := startFake(t, nobodyHolds)
		c := fakeContext(t, b)
		tab := tabOf(c)
		lead(d, tab, hop(tab, 1, "POST", joinURL, 200))
		if _, err := c.SubmitForm(t.Context(), joinURL, joinFields); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(tab.html, `value="a.b.c"`) || len(tab.loaded) != 0 {
			t.Errorf("document %q, navigations %q", tab.html, tab.loaded)
		}
		mustClose(t, b)
	})
}

func TestOnlyWebPagesAreNavigatedTo(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://shop.test/": true, "http://shop.test": true, "HTTPS://shop.test/a?b#c": true, "https://[::1]:8443/": true,
		"": false, "shop.test": false, "/cart": false, "//shop.test/": false, "https://": false, "https:///x": false, "https:shop.test": false,
		"file:///etc/passwd": false, "javascript:alert(1)": false, "data:text/html,x": false, "about:blank": true, "blob:https://shop.test/x": false,
		"chrome://settings/": false, "chrome-error://x/": false, "view-source:https://shop.test/": false, "devtools://x/": false,
		"ws://shop.test/": false, "ftp://shop.test/": false, "https://shop.test/\x00": false, "\x1bhttps://shop.test/": false, "https://[x": false, " https://shop.test/": false,
	} {
		err := checkNavigation(url)
		if (err == nil) != want {
			t.Errorf("%q: err = %v", url, err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x00\x1b") {
			t.Errorf("%q: the error moves a cursor", url)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b, _ := startFake(t, nobodyHolds)
		c := fakeContext(t, b)
		if m, err := c.Do(t.Context(), Act{Kind: Navigate, URL: "file:///etc/passwd"}); err == nil || m != nil || len(tabOf(c).loaded) != 0 {
			t.Errorf("made %+v, %v", m, err)
		}
		mustClose(t, b)
	})
}

// TestALateRepostIsBrokenOffWhileItsTabIsReplaced has the answer to a form come at the worst moments: while the fresh
// tab opens, while the old one closes, and when it is closed.
func TestALateRepostIsBrokenOffWhileItsTabIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, d := startFake(t, nobodyHolds)
		c := fakeContext(t, b)
		first := tabOf(c)
		answer := func(n int) { d.engine.paused(hop(first, n, "POST", joinURL, 307)) }
		d.engine.onNewTab = func() { answer(1) }
		first.onClose = func() { answer(2) }
		if _, err := c.SubmitForm(t.Context(), joinURL, joinFields); !errors.Is(err, context.DeadlineExceeded) { // no answer comes in time
			t.Fatal(err)
		}
		answer(3)
		synctest.Wait()
		for n := range 3 {
			if went := d.engine.of(hop(first, n+1, "", "", 0).ID); len(went) != 1 || !went[0].failed {
				t.Errorf("answer %d was let go %v", n+1, went)
			}
		}
		mustClose(t, b)
	})
}

func TestAfterAFormWentWrongTheTabIsAFreshOne(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(*fakeDriver, *fakeTab)
		want  error
	}{
		"the document is not taken": {func(_ *fakeDriver, tab *fakeTab) { tab.setDocumentErr = errFake }, errFake},
		"the form is not sent":      {func(_ *fakeDriver, tab *fakeTab) { tab.callErr = errFake }, errFake},
		"posted again":              {func(d *fakeDriver, tab *fakeTab) { lead(d, tab, hop(tab, 1, "POST", joinURL, 307)) }, ErrRepost},
		"no connection":             {func(d *fakeDriver, tab *fakeTab) { lead(d, tab, hop(tab, 1, "POST", joinURL, 0)) }, nil},
		"no answer":                 {func(*fakeDriver, *fakeTab) {}, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, d := startFake(t, nobodyHolds)
				c := fakeContext(t, b)
				first := tabOf(c)
				tc.spoil(d, first)
				if _, err := c.SubmitForm(t.Context(), joinURL, joinFields); err == nil || tc.want != nil && !errors.Is(err, tc.want) {
					t.Errorf("err = %v", err)
				}
				if now := tabOf(c); now == first || !first.isClosed || now.html != "" {
					t.Error("the tab is still that of the form")
				}
				mustClose(t, b)
			})
		})
	}
}
