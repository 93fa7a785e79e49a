package company_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/company"
)

// seedDocuments starts a fuzz function from a good document and from ways to spoil it.
func seedDocuments(f *testing.F, good string) {
	for _, s := range []string{
		good, "", "null", "{}", "[]", `{"a":1}{}`, strings.Replace(good, "{", `{"x":[[[[]]]],`, 1),
		strings.ReplaceAll(good, `"`, `'`), strings.ReplaceAll(good, "example.com", "\u202e\x00"), good[:len(good)/2],
		strings.ReplaceAll(good, "https", "http"), strings.ReplaceAll(good, "[", "[null,"), strings.ReplaceAll(good, "/", "\\u002f"),
	} {
		f.Add([]byte(s))
	}
}

// fuzzDocument checks what one document of 1.0 leads to, whatever it says.
func fuzzDocument(t *testing.T, url string, body []byte) {
	fuzzCompany(t, example(func(p map[string]page) { p[url] = page{body: string(body)} }))
}

// fuzzCompany checks that discovery gives a Company that agrees, or an error of its types.
func fuzzCompany(t *testing.T, w *web) {
	c, err := w.discover(t)
	if err != nil {
		var doc *company.DocumentError
		if !errors.As(err, &doc) || doc.Rule == "" || doc.URL == "" || doc.Change == "" {
			t.Fatalf("err = %v", err)
		}
		return
	}
	if !strings.EqualFold(c.Domain, "example.com") && c.Domain != "www.example.com" || c.Issuer == "" && c.Joinable() {
		t.Fatalf("company %+v", c)
	}
	urls := []string{c.Issuer, c.JoinEndpoint, c.OperationsEndpoint, c.OperationsByID, c.Conversations, c.Feedback,
		c.Server.Token, c.Server.Revocation, c.Server.Authorization, c.Server.Device}
	for _, api := range c.APIs {
		urls = append(urls, api.URL, api.Resource)
	}
	if m := c.SignIn.Mediated; m != nil {
		urls = append(urls, m.Endpoint)
	}
	for _, url := range urls {
		if scheme, _, _ := strings.Cut(url, "://"); url != "" && !strings.EqualFold(scheme, "https") {
			t.Fatalf("a URL of %+v is %q", c, url)
		}
	}
	if c.OperationsEndpoint != "" && (!c.OperationsListed || !c.Joinable()) {
		t.Fatalf("company %+v", c)
	}
	if c.SignIn.Direct != nil && (c.Server.Authorization == "" || c.Server.Token == "" || len(c.SignIn.Direct.Scopes) == 0) {
		t.Fatalf("company %+v", c)
	}
}

func FuzzPoppyDocument(f *testing.F) {
	seedDocuments(f, goodPoppy)
	f.Fuzz(func(t *testing.T, body []byte) { fuzzDocument(t, poppyURL, body) })
}

func FuzzDraftDocument(f *testing.F) {
	seedDocuments(f, draftPoppy)
	f.Add([]byte(strings.Replace(draftPoppy, `"0.1"`, `"0.2"`, 1)))
	f.Fuzz(func(t *testing.T, body []byte) {
		fuzzCompany(t, draft("0.1", func(p map[string]page) { p[poppyURL] = page{body: string(body)} }))
	})
}

func FuzzDraftMetadata(f *testing.F) {
	seedDocuments(f, draftMetadata)
	f.Fuzz(func(t *testing.T, body []byte) {
		fuzzCompany(t, draft("0.2", func(p map[string]page) { p[metadataURL] = page{body: string(body)} }))
	})
}

func FuzzResourceDocument(f *testing.F) {
	seedDocuments(f, goodResource)
	f.Fuzz(func(t *testing.T, body []byte) { fuzzDocument(t, resourceURL, body) })
}

func FuzzMetadataDocument(f *testing.F) {
	seedDocuments(f, goodMetadata)
	f.Fuzz(func(t *testing.T, body []byte) { fuzzDocument(t, metadataURL, body) })
}
