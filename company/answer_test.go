package company_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

func TestAnAnswerThatIsNoDocumentIsRefusedWithTheRule(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	publish := func(p page) func(map[string]page) { return func(pages map[string]page) { pages[poppyURL] = p } }
	for name, tc := range map[string]struct {
		page   page
		family error
		rule   string
		cause  error
	}{
		"unreachable":        {page{err: down}, company.ErrUnreachable, "no answer", down},
		"a server error":     {page{status: 500, body: goodPoppy}, company.ErrUnreadable, "not a document", nil},
		"forbidden":          {page{status: 403, body: goodPoppy}, company.ErrUnreadable, "not a document", nil},
		"no content":         {page{status: 204}, company.ErrUnreadable, "not a document", nil},
		"a page":             {page{body: goodPoppy, media: "text/html"}, company.ErrUnreadable, "content type", nil},
		"a near content":     {page{body: goodPoppy, media: "application/jsonp"}, company.ErrUnreadable, "content type", nil},
		"a broken type":      {page{body: goodPoppy, media: ";"}, company.ErrUnreadable, "content type", nil},
		"empty":              {page{}, company.ErrUnreadable, "JSON", strictjson.ErrSyntax},
		"not JSON":           {page{body: "<html>"}, company.ErrUnreadable, "JSON", strictjson.ErrSyntax},
		"null":               {page{body: "null"}, company.ErrUnreadable, "JSON", strictjson.ErrNull},
		"a list":             {page{body: "[]"}, company.ErrUnreadable, "JSON", strictjson.ErrWrongType},
		"a member twice":     {page{body: strings.Replace(goodPoppy, `"web"`, `"web": {}, "web"`, 1)}, company.ErrUnreadable, "JSON", strictjson.ErrDuplicateMember},
		"an inner one twice": {page{body: strings.Replace(goodPoppy, `"version": "3"`, `"version": "2", "version": "3"`, 1)}, company.ErrUnreadable, "JSON", strictjson.ErrDuplicateMember},
		"two values":         {page{body: goodPoppy + goodPoppy}, company.ErrUnreadable, "JSON", strictjson.ErrTrailing},
		"not UTF-8":          {page{body: strings.Replace(goodPoppy, "Shop", "Sh\xffp", 1)}, company.ErrUnreadable, "JSON", strictjson.ErrInvalidUTF8},
		"too large":          {page{body: goodPoppy + strings.Repeat(" ", 100<<10)}, company.ErrUnreadable, "JSON", strictjson.ErrTooLarge},
		"too deep":           {page{body: `{"a":` + strings.Repeat("[", 16) + strings.Repeat("]", 16) + `}`}, company.ErrUnreadable, "JSON", strictjson.ErrTooDeep},
		"a redirect to http": {page{status: 302, location: "http://example.com/poppy.json"}, company.ErrUnreadable, "redirects", nil},
		"one to a file":      {page{status: 302, location: "file:///etc/passwd"}, company.ErrUnreadable, "redirects", nil},
		"one to no URL":      {page{status: 302, location: "https://[x"}, company.ErrUnreachable, "no answer", nil},
		"one to nowhere":     {page{status: 302}, company.ErrUnreadable, "not a document", nil},
		"one to itself":      {page{status: 302, location: poppyURL}, company.ErrUnreadable, "more than 3 redirects", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := example(publish(tc.page))
			c, err := w.discover(t)
			wantDocumentError(t, c, err, tc.family, poppyURL, tc.rule)
			if tc.cause != nil && !errors.Is(err, tc.cause) {
				t.Errorf("err = %v does not wrap %v", err, tc.cause)
			}
			for _, asked := range w.asked {
				if asked != poppyURL {
					t.Errorf("%s was asked for", asked)
				}
			}
		})
	}
}

func TestADocumentOfTheLargestSizeAndDepthIsRead(t *testing.T) {
	t.Parallel()
	deep := strings.Replace(goodPoppy, "{", `{"deep":`+strings.Repeat("[", 15)+strings.Repeat("]", 15)+",", 1)
	full := deep + strings.Repeat(" ", 100<<10-len(deep))
	if _, err := example(func(p map[string]page) { p[poppyURL] = page{body: full} }).discover(t); err != nil {
		t.Error(err)
	}
}

// Clauses: S01-3.02, S01-3.03, S01-3.04
func TestARedirectOfEveryKindIsFollowedToHTTPSAndNeverElsewhere(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, version := range []string{"0.1", "1.0"} {
			w := example(nil)
			if version == "0.1" {
				w = draft(version)
			}
			const elsewhere = "https://host.provider.example/example.com.json"
			w.pages[elsewhere] = w.pages[poppyURL]
			w.pages[poppyURL] = page{status: status, location: elsewhere}
			if c, err := w.discover(t); err != nil || c.Domain != "example.com" {
				t.Errorf("%d: %+v, %v", status, c, err)
			}
			// Not even as one hop of several, and to a host that would answer.
			w.pages[elsewhere] = page{status: status, location: "http://host.provider.example/poppy.json"}
			w.pages["http://host.provider.example/poppy.json"] = page{status: 301, location: "https://host.provider.example/last"}
			w.pages["https://host.provider.example/last"] = page{body: goodPoppy}
			w.asked = nil
			c, err := w.discover(t)
			wantDocumentError(t, c, err, company.ErrUnreadable, poppyURL, "redirects to something else than an https URL")
			if len(w.asked) != 2 {
				t.Errorf("%d: asked for %q", status, w.asked)
			}
		}
	}
}

// asking notes the header of every request.
type asking struct {
	*web
	with []http.Header
}

func (a *asking) RoundTrip(r *http.Request) (*http.Response, error) {
	a.with = append(a.with, r.Header.Clone())
	return a.web.RoundTrip(r)
}

// Whoever serves a document, and whoever it is redirected to, learns nothing of the User.
func TestDocumentsAreAskedForWithoutCredentials(t *testing.T) {
	t.Parallel()
	a := &asking{web: example(func(p map[string]page) {
		p["https://cdn.example/poppy.json"] = p[poppyURL]
		p[poppyURL] = page{status: 302, location: "https://cdn.example/poppy.json"}
	})}
	client := &http.Client{Transport: a, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if _, err := company.Discover(t.Context(), client, mustParse(t, "example.com"), company.Options{}); err != nil {
		t.Fatal(err)
	}
	for i, header := range a.with {
		if len(header) != 1 || header.Get("Accept") != "application/json" {
			t.Errorf("%s was asked for with %q", a.asked[i], header)
		}
	}
	a.pages[poppyURL] = page{status: 302, location: "https://user:secret@cdn.example/poppy.json"}
	if c, err := a.web.discover(t); err == nil {
		t.Errorf("a redirect that gives us a password was followed: %+v", c)
	}
}

func TestRedirectsToHTTPSAreFollowedAndTheDocumentBelongsToWhereItWasAskedFor(t *testing.T) {
	t.Parallel()
	w := example(func(p map[string]page) {
		p[poppyURL] = page{status: 301, location: "/one"} // relative
		p["https://example.com/one"] = page{status: 307, location: "https://cdn.example/two"}
		p["https://cdn.example/two"] = page{status: 303, location: "https://cdn.example/three"}
		p["https://cdn.example/three"] = page{body: goodPoppy}
	})
	if c, err := w.discover(t); err != nil || c.Domain != "example.com" {
		t.Errorf("three redirects: %+v, %v", c, err)
	}
	w.pages["https://cdn.example/three"] = page{status: 302, location: "https://cdn.example/four"}
	w.pages["https://cdn.example/four"] = page{body: goodPoppy}
	c, err := w.discover(t)
	wantDocumentError(t, c, err, company.ErrUnreadable, poppyURL, "more than 3 redirects")
}

func TestADomainThatPublishesNothingIsToldFromOneThatIsBroken(t *testing.T) {
	t.Parallel()
	for status, nothing := range map[int]bool{404: true, 410: true, 400: false, 401: false, 403: false, 429: false, 500: false, 503: false} {
		w := example(func(p map[string]page) { p[poppyURL] = page{status: status} })
		_, err := w.discover(t)
		if errors.Is(err, company.ErrNothingPublished) != nothing {
			t.Errorf("status %d: err = %v", status, err)
		}
		if len(w.asked) != 1 {
			t.Errorf("status %d: asked for %q", status, w.asked)
		}
	}
}

func TestAnEndedContextEndsDiscovery(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a, err := company.ParseAddress("example.com")
	if err != nil {
		t.Fatal(err)
	}
	_, err = company.Discover(ctx, &http.Client{Transport: waits{}}, a, company.Options{})
	if !errors.Is(err, company.ErrUnreachable) || !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

// A host that sends a byte at a time, for as long as anybody listens, does not hold discovery for longer than its time for
// all documents together.
func TestASlowHostEndsDiscovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slow answers
		decode(t, []byte(`{"https://example.com/.well-known/poppy.json": {"status": 200, "padding_bytes": 100000, "trickle": {"chunk_bytes": 1, "interval_seconds": 0.5}}}`), &slow)
		began := time.Now()
		_, err := company.Discover(t.Context(), &http.Client{Transport: slow}, mustParse(t, "example.com"), company.Options{})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 20*time.Second {
			t.Errorf("err = %v after %v", err, took)
		}
	})
}

// waits answers when the request's context ends.
type waits struct{}

func (waits) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
