package company_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/profile"
)

const (
	poppyPath    = "/.well-known/poppy.json"
	resourcePath = "/.well-known/oauth-protected-resource"
)

// served is the pages of a web at a real server, whatever the host, and the client that reaches it there. Requests are
// counted while they are under way.
type served struct {
	pages    map[string]page
	gate     map[string]func(*http.Request) // by path: waits before it answers
	client   *http.Client
	underWay atomic.Int64
	dials    atomic.Int64
	asked    atomic.Int64 // for the resource document
}

func serve(t *testing.T, http2 bool, pages map[string]page) *served {
	t.Helper()
	s := &served{pages: pages, gate: make(map[string]func(*http.Request))}
	server := httptest.NewUnstartedServer(s)
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // what is given up early is no mistake
	server.StartTLS()
	transport := &http.Transport{
		ForceAttemptHTTP2: http2,
		TLSClientConfig:   &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			s.dials.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
	s.client = &http.Client{Transport: counted{s, transport}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	return s
}

// counted counts the requests that are under way.
type counted struct {
	s    *served
	next http.RoundTripper
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.s.underWay.Add(1)
	defer c.s.underWay.Add(-1)
	return c.next.RoundTrip(r)
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == resourcePath {
		s.asked.Add(1)
	}
	if wait := s.gate[r.URL.Path]; wait != nil {
		wait(r)
	}
	p, ok := s.pages["https://"+r.Host+r.URL.Path]
	if !ok {
		p = page{status: http.StatusNotFound, body: "not here", media: "text/plain"}
	}
	if p.media == "" {
		p.media = "application/json"
	}
	if p.status == 0 {
		p.status = http.StatusOK
	}
	w.Header().Set("Content-Type", p.media)
	w.WriteHeader(p.status)
	_, _ = io.WriteString(w, p.body) // one who has gone away gets nothing
}

// until is a gate that opens when c is closed, or when the request is given up.
func until(c <-chan struct{}) func(*http.Request) {
	return func(r *http.Request) {
		select {
		case <-c:
		case <-r.Context().Done():
		}
	}
}

// closing is a gate that is open, and closes c.
func closing(c chan struct{}) func(*http.Request) {
	return func(*http.Request) { close(c) }
}

func protocols(t *testing.T, test func(t *testing.T, http2 bool)) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, http2)
		})
	}
}

// poppy.json is answered only once the resource document was asked for: read one after the other they would never come.
func TestTheResourceDocumentIsAskedForBesidePoppyJSON(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, http2 bool) {
		s := serve(t, http2, example(nil).pages)
		asked := make(chan struct{})
		s.gate[poppyPath], s.gate[resourcePath] = until(asked), closing(asked)
		c, err := company.Discover(t.Context(), s.client, mustParse(t, "example.com"), company.Options{})
		if err != nil || c.Issuer != "https://auth.example.com/" || c.Resource != "https://example.com" {
			t.Fatalf("%+v, %v", c, err)
		}
		if n := s.asked.Load(); n != 1 {
			t.Errorf("asked for %d times", n)
		}
		// HTTP/2 carries both on one connection, and the issuer's is the other.
		if n := s.dials.Load(); http2 && n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}

// What a report says does not depend on which document was answered first, nor on whether they were asked for at once.
func TestAReportIsTheSameWhicheverDocumentComesFirst(t *testing.T) {
	t.Parallel()
	resourceIs := func(p page) func(map[string]page) {
		return func(pages map[string]page) { pages[resourceURL] = p }
	}
	for name, change := range map[string]func(map[string]page){
		"both agree": nil,
		"both disagree": func(p map[string]page) {
			replace(poppyURL, `"example.com"`, `"a.example"`)(p)
			replace(resourceURL, `"https://example.com"`, `"https://b.example"`)(p)
		},
		"no poppy.json":                func(p map[string]page) { delete(p, poppyURL) },
		"neither is there":             func(p map[string]page) { delete(p, poppyURL); delete(p, resourceURL) },
		"poppy.json is no JSON":        func(p map[string]page) { p[poppyURL] = page{body: "<html>"} },
		"a version nobody knows":       replace(poppyURL, `"1.0"`, `"9.9"`),
		"the resource document is not": resourceIs(page{status: 500}),
		"nor is it JSON":               resourceIs(page{body: "<html>"}),
		"it is too large":              resourceIs(page{body: goodResource + strings.Repeat(" ", 100<<10)}),
		"its domain is another":        replace(resourceURL, `"https://example.com"`, `"https://b.example"`),
		"its issuer is another":        replace(resourceURL, `auth.example.com`, `login.example.com`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := example(change).examine(t, company.Options{})
			for _, first := range []string{poppyPath, resourcePath} {
				s := serve(t, true, example(change).pages)
				// Both are asked for before the first is answered, and the second waits until that one was.
				both, one := make(chan struct{}), make(chan struct{})
				var waiting atomic.Int64
				come := func(r *http.Request) {
					if waiting.Add(1) == 2 {
						close(both)
					}
					until(both)(r)
				}
				for _, path := range []string{poppyPath, resourcePath} {
					s.gate[path] = func(r *http.Request) {
						come(r)
						if path != first {
							until(one)(r)
						}
					}
				}
				a := mustParse(t, "example.com")
				client := *s.client
				client.Transport = answered{client.Transport, first, one}
				got := company.Examine(t.Context(), &client, a, company.Options{})
				if !reflect.DeepEqual(said(got), said(want)) || !reflect.DeepEqual(got.Company, want.Company) {
					t.Errorf("%s first:\ngot  %q\nwant %q", first, said(got), said(want))
				}
				if n := s.underWay.Load(); n != 0 {
					t.Errorf("%s first: %d requests are still under way", first, n)
				}
			}
		})
	}
}

// answered closes one when the answer to a path has come.
type answered struct {
	next http.RoundTripper
	path string
	one  chan struct{}
}

func (a answered) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := a.next.RoundTrip(r)
	if r.URL.Path == a.path {
		close(a.one)
	}
	return res, err
}

// said is what a report says, rule by rule.
func said(r *company.Report) []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, strings.Join([]string{f.Rule, f.URL, string(f.Verdict), f.Found}, "|"))
	}
	return all
}

// Where there should be no resource document nobody waits for it, and nothing of its request is left.
func TestAResourceDocumentThatIsNotNeededIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, http2 bool) {
		for name, pages := range map[string]map[string]page{"an ordinary site": {}, "a draft's Company": draft("0.2").pages} {
			s := serve(t, http2, pages)
			asked, gone := make(chan struct{}), make(chan struct{})
			s.gate[poppyPath] = until(asked)
			s.gate[resourcePath] = func(r *http.Request) {
				close(asked)
				<-r.Context().Done() // it never answers
				close(gone)
			}
			c, err := company.Discover(t.Context(), s.client, mustParse(t, "example.com"), company.Options{})
			if len(pages) == 0 && !errors.Is(err, company.ErrNothingPublished) || len(pages) > 0 && (err != nil || c.Profile.Version != "0.2") {
				t.Errorf("%s: %+v, %v", name, c, err)
			}
			if n := s.underWay.Load(); n != 0 {
				t.Errorf("%s: %d requests are still under way", name, n)
			}
			<-gone
		}
	})
}

func TestTheResourceDocumentIsAskedForWhereItMayBeThereAlone(t *testing.T) {
	t.Parallel()
	forced := profile.V02()
	s := serve(t, true, draft("0.2").pages)
	if _, err := company.Discover(t.Context(), s.client, mustParse(t, "example.com"), company.Options{Profile: &forced}); err != nil {
		t.Fatal(err)
	}
	if n := s.asked.Load(); n != 0 {
		t.Errorf("a draft's Company was asked for it %d times", n)
	}
	// A host that does not answer is tried once.
	down := errors.New("no route")
	tries := 0
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		tries++
		return nil, down
	}}}
	if _, err := company.Discover(t.Context(), client, mustParse(t, "example.com"), company.Options{}); !errors.Is(err, down) || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
}
