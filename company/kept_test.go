package company_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/reach"
)

// host serves a draft's documents over TLS, as a web server does: with validators, a lifetime and a Vary.
type host struct {
	lifetime atomic.Int64 // seconds
	whole    atomic.Int64 // documents sent
	unmoved  atomic.Int64 // 304 answers
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, ok := map[string]string{
		"example.com/.well-known/poppy.json":                      draftPoppy,
		"auth.example.com/.well-known/oauth-authorization-server": draftMetadata,
	}[r.Host+r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", h.lifetime.Load()))
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set("Etag", `"1"`)
	if r.Header.Get("If-None-Match") == `"1"` {
		h.unmoved.Add(1)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.whole.Add(1)
	_, _ = w.Write([]byte(body))
}

// Two runs, one after the other and with a cache of their own in the same folder, ask once over real connections.
//
// Clauses: S01-3.06, S01-3.2.10
func TestDocumentsAreKeptFromRunToRunAsTheirHeadersSay(t *testing.T) {
	t.Parallel()
	h := &host{}
	h.lifetime.Store(60)
	server := httptest.NewTLSServer(h)
	defer server.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	at := server.Listener.Addr().String()
	now := time.Now()
	folder := filepath.Join(t.TempDir(), "companies")
	run := func() *company.Company {
		t.Helper()
		way, err := reach.New(reach.Config{ConnectTo: []string{"example.com:443:" + at, "auth.example.com:443:" + at}, CACerts: []string{authority}})
		if err != nil {
			t.Fatal(err)
		}
		cache, err := company.OpenCache(folder, func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		client := way.Client(time.Minute)
		defer client.CloseIdleConnections()
		c, err := company.Discover(t.Context(), client, mustParse(t, "example.com"), company.Options{Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := run()
	if second := run(); !reflect.DeepEqual(first, second) || h.whole.Load() != 2 || h.unmoved.Load() != 0 {
		t.Errorf("%d documents and %d answers 304 after a second run", h.whole.Load(), h.unmoved.Load())
	}
	now = now.Add(61 * time.Second)
	if third := run(); !reflect.DeepEqual(first, third) || h.whole.Load() != 2 || h.unmoved.Load() != 2 {
		t.Errorf("%d documents and %d answers 304 after a minute", h.whole.Load(), h.unmoved.Load())
	}
}

// Whatever a file in the cache's folder says, it is fresh for a day at most, and what it holds is judged like what is
// published.
func FuzzCacheEntry(f *testing.F) {
	for _, body := range []string{goodPoppy, "", "{}", strings.Replace(goodPoppy, `"1.0"`, `"9.9"`, 1)} {
		for _, control := range []string{"max-age=60", "no-store", ""} {
			f.Add(fmt.Appendf(nil, `{"url":%q,"requested":"2026-03-01T12:00:00Z","received":"2026-03-01T12:00:00Z","header":{"Content-Type":["application/json"],"Cache-Control":[%q],"Etag":["\"a\""]},"body":%q}`,
				poppyURL, control, []byte(body)))
		}
	}
	f.Add([]byte(`{"url":"` + poppyURL + `","received":"9999-12-31T23:59:59Z","header":null,"body":null}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		stored := company.ReadStored(data, poppyURL)
		if stored == nil {
			return
		}
		if len(stored.Body) > 100<<10 {
			t.Fatalf("a document of %d bytes is kept", len(stored.Body))
		}
		// Fresh at most for a day, and not again after it.
		noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		for _, from := range []time.Time{noon, noon.Add(-time.Hour), noon.AddDate(7000, 0, 0)} {
			if stored.Fresh(from) && stored.Fresh(from.Add(24*time.Hour)) {
				t.Fatal("fresh for more than a day")
			}
		}
		fuzzCompany(t, example(func(p map[string]page) { p[poppyURL] = page{body: string(stored.Body)} }))
	})
}

// Whatever a Company says of its document's age, after a day we ask again.
func FuzzCacheControl(f *testing.F) {
	for _, s := range []string{"max-age=60", "max-age=99999999999999999999", `max-age="60", private="x,y"`, "no-cache", "no-store", `"`, `max-age=60,max-age=`, "max-age=-1", "=,=", `\`, "MAX-AGE=31536000, immutable"} {
		f.Add(s, "0", "Sun, 01 Mar 2026 12:00:00 GMT")
	}
	f.Add("", "9223372036854775807", "Sun, 01 Mar 9999 12:00:00 GMT")
	f.Fuzz(func(t *testing.T, control, age, date string) {
		o, cache := newOrigin(t)
		o.header = http.Header{"Cache-Control": {control}, "Age": {age}, "Date": {date}, "Expires": {date}}
		o.mustFind(t, cache)
		o.now = o.now.Add(24 * time.Hour)
		if o.mustFind(t, cache); o.requests() < 2 {
			t.Fatalf("not asked for in a day with %q", o.header)
		}
	})
}
