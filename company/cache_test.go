package company_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/company"
)

// origin is a web whose poppy.json has header fields, and which answers a conditional request with 304 when the ETag or
// the date is the present one. Its clock is the cache's too.
type origin struct {
	*web
	now    time.Time
	header http.Header // of poppy.json
	with   []http.Header
}

func newOrigin(t *testing.T, header ...string) (*origin, *company.Cache) {
	t.Helper()
	o := &origin{web: example(nil), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	o.publish(header...)
	cache, err := company.OpenCache(filepath.Join(t.TempDir(), "companies"), func() time.Time { return o.now })
	if err != nil {
		t.Fatal(err)
	}
	return o, cache
}

// publish sets the header fields, written "Name: value".
func (o *origin) publish(header ...string) {
	o.header = make(http.Header)
	for _, field := range header {
		name, value, _ := strings.Cut(field, ": ")
		o.header.Add(name, value)
	}
}

func (o *origin) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := o.web.RoundTrip(r)
	if err != nil || r.URL.String() != poppyURL {
		return res, err
	}
	o.with = append(o.with, r.Header.Clone())
	for name, values := range o.header {
		res.Header[name] = values
	}
	tag, modified := o.header.Get("Etag"), o.header.Get("Last-Modified")
	if res.StatusCode == http.StatusOK && (tag != "" && r.Header.Get("If-None-Match") == tag ||
		tag == "" && modified != "" && r.Header.Get("If-Modified-Since") == modified) {
		res.StatusCode, res.Body = http.StatusNotModified, io.NopCloser(strings.NewReader(""))
		res.Header.Del("Content-Type")
	}
	return res, nil
}

// requests is how often poppy.json was asked for.
func (o *origin) requests() int { return len(o.with) }

func (o *origin) find(t *testing.T, cache *company.Cache) (*company.Company, error) {
	t.Helper()
	a, err := company.ParseAddress("example.com")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: o, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return company.Discover(context.Background(), client, a, company.Options{Cache: cache})
}

func (o *origin) mustFind(t *testing.T, cache *company.Cache) *company.Company {
	t.Helper()
	c, err := o.find(t, cache)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Clauses: S01-3.06
func TestADocumentIsUsedAsLongAsItsHeadersSay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		header []string
		fresh  time.Duration // 0: asked for again at once
	}{
		"max-age":                             {[]string{"Cache-Control: max-age=60"}, time.Minute},
		"max-age in capitals among others":    {[]string{"Cache-Control: private, Max-Age=60, must-revalidate"}, time.Minute},
		"max-age in quotes":                   {[]string{`Cache-Control: max-age="60"`}, time.Minute},
		"max-age behind a quoted list":        {[]string{`Cache-Control: private="max-age=0, x", max-age=60`}, time.Minute},
		"max-age on a second line":            {[]string{"Cache-Control: private", "Cache-Control: max-age=60"}, time.Minute},
		"max-age before Expires":              {[]string{"Cache-Control: max-age=60", "Expires: Sun, 01 Mar 2026 13:00:00 GMT"}, time.Minute},
		"Age":                                 {[]string{"Cache-Control: max-age=60", "Age: 20"}, 40 * time.Second},
		"an Age beyond it":                    {[]string{"Cache-Control: max-age=60", "Age: 61"}, 0},
		"an old Date":                         {[]string{"Cache-Control: max-age=60", "Date: Sun, 01 Mar 2026 11:59:30 GMT"}, 30 * time.Second},
		"Expires":                             {[]string{"Expires: Sun, 01 Mar 2026 12:01:00 GMT"}, time.Minute},
		"Expires against Date":                {[]string{"Expires: Sun, 01 Mar 2026 12:00:50 GMT", "Date: Sun, 01 Mar 2026 11:59:50 GMT"}, 50 * time.Second},
		"Expires that is none":                {[]string{"Expires: 0"}, 0},
		"Expires in the past":                 {[]string{"Expires: Sun, 01 Mar 2026 11:00:00 GMT"}, 0},
		"longer than a day":                   {[]string{"Cache-Control: max-age=99999999999999999999"}, 24 * time.Hour},
		"no-store":                            {[]string{"Cache-Control: no-store, max-age=60"}, 0},
		"no-cache":                            {[]string{"Cache-Control: no-cache, max-age=60"}, 0},
		"Vary: Accept-Encoding":               {[]string{"Cache-Control: max-age=60", "Vary: Accept-Encoding"}, time.Minute},
		"Vary by what we always send alike":   {[]string{"Cache-Control: max-age=60", "Vary: accept, Origin", "Vary: ACCEPT-ENCODING,"}, time.Minute},
		"Vary: User-Agent":                    {[]string{"Cache-Control: max-age=60", "Vary: Accept-Encoding, User-Agent"}, 0},
		"Vary: *":                             {[]string{"Cache-Control: max-age=60", "Vary: *"}, 0},
		"a clock an hour ahead":               {[]string{"Cache-Control: max-age=60", "Date: Sun, 01 Mar 2026 13:00:00 GMT"}, time.Minute},
		"a clock an hour behind":              {[]string{"Cache-Control: max-age=60", "Date: Sun, 01 Mar 2026 11:00:00 GMT"}, 0},
		"Expires, and a clock an hour ahead":  {[]string{"Expires: Sun, 01 Mar 2026 13:01:00 GMT", "Date: Sun, 01 Mar 2026 13:00:00 GMT"}, time.Minute},
		"Expires without a Date":              {[]string{"Expires: Sun, 01 Mar 2026 12:01:00 GMT"}, time.Minute},
		"a Date that is none":                 {[]string{"Cache-Control: max-age=60", "Date: yesterday"}, time.Minute},
		"two that differ":                     {[]string{"Cache-Control: max-age=60, max-age=90"}, 0},
		"negative":                            {[]string{"Cache-Control: max-age=-60"}, 0},
		"nothing":                             {nil, 0},
		"validators alone are no freshness":   {[]string{`ETag: "a"`, "Last-Modified: Sun, 01 Mar 2020 12:00:00 GMT"}, 0},
		"s-maxage is not for a private cache": {[]string{"Cache-Control: s-maxage=60"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, cache := newOrigin(t, tc.header...)
			want := *o.mustFind(t, cache)
			if tc.fresh > 0 {
				o.now = o.now.Add(tc.fresh - time.Second)
				if got := o.mustFind(t, cache); !reflect.DeepEqual(*got, want) || o.requests() != 1 {
					t.Errorf("asked for %d times within %v, got %+v", o.requests(), tc.fresh, got)
				}
				o.now = o.now.Add(time.Second)
			}
			before := o.requests()
			if o.mustFind(t, cache); o.requests() != before+1 {
				t.Errorf("not asked for again after %v", tc.fresh)
			}
		})
	}
}

func TestAStaleDocumentIsAskedForWithItsValidators(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ field, condition string }{
		"ETag":          {`ETag: "v1"`, "If-None-Match"},
		"weak ETag":     {`ETag: W/"v1"`, "If-None-Match"},
		"Last-Modified": {"Last-Modified: Sun, 01 Feb 2026 12:00:00 GMT", "If-Modified-Since"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, cache := newOrigin(t, tc.field, "Cache-Control: max-age=60", "Age: 10")
			want := *o.mustFind(t, cache)
			o.now = o.now.Add(time.Minute)
			o.publish(tc.field, "Cache-Control: max-age=120") // the 304 renews it, with its own headers
			if got := o.mustFind(t, cache); !reflect.DeepEqual(*got, want) {
				t.Errorf("after a 304: %+v", got)
			}
			_, value, _ := strings.Cut(tc.field, ": ")
			if got := o.with[1].Get(tc.condition); got != value {
				t.Errorf("%s is %q", tc.condition, got)
			}
			o.now = o.now.Add(119 * time.Second)
			if o.mustFind(t, cache); o.requests() != 2 {
				t.Errorf("the 304 renewed nothing: %d requests", o.requests())
			}
			// Another document, another validator.
			o.now = o.now.Add(time.Second)
			o.publish(`ETag: "v2"`)
			replace(poppyURL, "Example Shop", "New Shop")(o.pages)
			if got := o.mustFind(t, cache); got.Name != "New Shop" {
				t.Errorf("the old document stayed: %+v", got)
			}
		})
	}
}

// wrong304 answers conditional requests with a 304 for another version of the document.
type wrong304 struct{ *origin }

func (w wrong304) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := w.origin.RoundTrip(r)
	if r.Header.Get("If-None-Match") != "" {
		res.StatusCode, res.Body = http.StatusNotModified, io.NopCloser(strings.NewReader(""))
		res.Header.Set("Etag", `"other"`)
	}
	return res, err
}

func TestA304ForAnotherVersionIsNotBelieved(t *testing.T) {
	t.Parallel()
	o, cache := newOrigin(t, `ETag: "v1"`)
	o.mustFind(t, cache)
	replace(poppyURL, "Example Shop", "New Shop")(o.pages)
	a, err := company.ParseAddress("example.com")
	if err != nil {
		t.Fatal(err)
	}
	c, err := company.Discover(context.Background(), &http.Client{Transport: wrong304{o}}, a, company.Options{Cache: cache})
	if err != nil || c.Name != "New Shop" || o.requests() != 3 || o.with[2].Get("If-None-Match") != "" {
		t.Errorf("%+v, %v after %d requests", c, err, o.requests())
	}
}

func TestACompanyThatStopsPublishingIsSeenWhenFreshnessEnds(t *testing.T) {
	t.Parallel()
	o, cache := newOrigin(t, "Cache-Control: max-age=60", `ETag: "v1"`)
	o.mustFind(t, cache)
	poppy := o.pages[poppyURL]
	delete(o.pages, poppyURL)
	o.now = o.now.Add(59 * time.Second)
	o.mustFind(t, cache)
	o.now = o.now.Add(time.Second)
	if _, err := o.find(t, cache); err != company.ErrNothingPublished {
		t.Fatalf("err = %v", err)
	}
	// The copy is gone with it: what comes back is read whole.
	o.pages[poppyURL] = poppy
	if o.mustFind(t, cache); o.with[len(o.with)-1].Get("If-None-Match") != "" {
		t.Error("the copy of before the 404 is still there")
	}
}

func TestStoredCopiesThatDisagreeAreAskedForAnewOnce(t *testing.T) {
	t.Parallel()
	o, cache := newOrigin(t, "Cache-Control: max-age=3600")
	o.mustFind(t, cache)
	// The Company changes its issuer in all documents at once; only poppy.json is still kept.
	for _, url := range []string{resourceURL, metadataURL} {
		replace(url, "https://auth.example.com/", "https://id.example.com/")(o.pages)
	}
	o.pages["https://id.example.com/.well-known/oauth-authorization-server"] = o.pages[metadataURL]
	replace(poppyURL, `"web": {`, `"auth": {"issuer": "https://id.example.com/"}, "web": {`)(o.pages)
	if c := o.mustFind(t, cache); c.Issuer != "https://id.example.com/" {
		t.Errorf("company %+v", c)
	}
	// And a stored copy that itself breaks a rule is no reason to refuse what has been mended.
	replace(poppyURL, `"1.0"`, `"9.9"`)(o.pages)
	if _, err := o.find(t, cache.Anew()); err == nil {
		t.Fatal("the wrong document was not read")
	}
	replace(poppyURL, `"9.9"`, `"1.0"`)(o.pages)
	before := o.requests()
	if o.mustFind(t, cache); o.requests() != before+1 {
		t.Errorf("asked for %d times", o.requests()-before)
	}
	// What stays wrong is asked for once more and not for ever.
	replace(poppyURL, `"1.0"`, `"9.9"`)(o.pages)
	_, _ = o.find(t, cache.Anew())
	before = o.requests()
	if _, err := o.find(t, cache); err == nil || o.requests() != before+1 {
		t.Errorf("err = %v after %d requests", err, o.requests()-before)
	}
}

func TestAnewUsesNothingStoredAndKeepsWhatItReads(t *testing.T) {
	t.Parallel()
	o, cache := newOrigin(t, "Cache-Control: max-age=60", `ETag: "v1"`)
	o.mustFind(t, cache)
	replace(poppyURL, "Example Shop", "New Shop")(o.pages)
	if c := o.mustFind(t, cache.Anew()); c.Name != "New Shop" {
		t.Errorf("company %+v", c)
	}
	if h := o.with[1]; h.Get("If-None-Match") != "" || h.Get("Cache-Control") != "no-cache" {
		t.Errorf("asked with %v", h)
	}
	if c := o.mustFind(t, cache); c.Name != "New Shop" || o.requests() != 2 {
		t.Errorf("company %+v after %d requests", c, o.requests())
	}
}

func TestARedirectedDocumentIsKeptUnderItsOwnURL(t *testing.T) {
	t.Parallel()
	const elsewhere = "https://cdn.example/poppy.json"
	o, cache := newOrigin(t, "Cache-Control: max-age=60")
	o.pages[elsewhere] = o.pages[poppyURL]
	o.pages[poppyURL] = page{status: http.StatusFound, location: elsewhere}
	o.mustFind(t, cache)
	o.mustFind(t, cache)
	// The redirect itself is never kept, whatever its headers say.
	if o.requests() != 2 {
		t.Errorf("the redirect was asked for %d times", o.requests())
	}
}

func TestTheCacheIsTheOwnersAloneBoundedAndMistrusted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "companies")
	o, _ := newOrigin(t, "Cache-Control: max-age=60")
	cache, err := company.OpenCache(dir, func() time.Time { return o.now })
	if err != nil {
		t.Fatal(err)
	}
	o.mustFind(t, cache)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, files[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	// A damaged entry, and one of another URL, are as if they weren't there.
	for name, bad := range map[string]string{
		"empty": "", "half": string(good[:len(good)/2]), "null": "null",
		"of another URL": strings.Replace(string(good), "https://example.com", "https://example.org", 1),
		"too large":      string(good) + strings.Repeat(" ", 1<<20),
		"from tomorrow":  strings.ReplaceAll(string(good), "2026-03-01", "2026-03-02"),
	} {
		if err := os.WriteFile(files[0], []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		before := o.requests()
		if o.mustFind(t, cache); o.requests() != before+1 {
			t.Errorf("%s: the entry was used", name)
		}
	}
	// At most 1000, and those written longest ago go first.
	old := time.Unix(1, 0)
	for i := range 1000 {
		name := filepath.Join(dir, fmt.Sprintf("%04d.json", i))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, old, old.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	o.mustFind(t, cache)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1000 || !slices.Contains(left, files[0]) || slices.Contains(left, filepath.Join(dir, "0000.json")) {
		t.Errorf("%d entries are left, %v", len(left), err)
	}
}
