package published_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// host is what a web server answers, by URL. Every other URL is an error of the test.
type host struct {
	t       *testing.T
	answers map[string]*answer
	asked   []string
	file    []byte // identity.json of the home
}

type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

func (h *host) RoundTrip(req *http.Request) (*http.Response, error) {
	url := req.URL.String()
	h.asked = append(h.asked, url)
	a, ok := h.answers[url]
	if !ok {
		h.t.Errorf("%s was asked for", url)
		return nil, errors.New("nobody is there")
	}
	if a.err != nil {
		return nil, a.err
	}
	if req.Method != http.MethodGet || req.Header.Get("Cookie") != "" || req.Header.Get("Authorization") != "" {
		h.t.Errorf("%s %s with %v", req.Method, url, req.Header)
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)), Request: req}, nil
}

// client follows no redirect, as that of package reach.
func (h *host) client() *http.Client {
	return &http.Client{Transport: h, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// edit changes a document that the host publishes.
func (h *host) edit(url string, change func(document map[string]any)) {
	h.t.Helper()
	var document map[string]any
	if err := json.Unmarshal(h.answers[url].body, &document); err != nil {
		h.t.Fatal(err)
	}
	change(document)
	body, err := json.Marshal(document)
	if err != nil {
		h.t.Fatal(err)
	}
	h.answers[url].body = body
}

// keys changes the list of keys that the host publishes.
func (h *host) keys(change func(keys []any) []any) {
	h.t.Helper()
	h.edit(keysAt, func(set map[string]any) { set["keys"] = change(set["keys"].([]any)) })
}

// anyKeys lets a key set be at whatever URL on our host the document says.
type anyKeys struct{ h *host }

func (a anyKeys) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" || !strings.EqualFold(req.URL.Host, "agent.example") {
		a.h.t.Errorf("%s was asked for", req.URL)
	}
	if req.URL.String() != clientID {
		req = req.Clone(req.Context())
		req.URL.Path, req.URL.RawPath, req.URL.RawQuery = "/poppy/jwks.json", "", ""
		req.URL.Host = "agent.example"
		req.URL.ForceQuery = false
	}
	return a.h.RoundTrip(req)
}
