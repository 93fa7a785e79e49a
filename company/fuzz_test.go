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

// fuzzDocument checks that whatever one document says, discovery gives a Company that agrees or an error of its types.
func fuzzDocument(t *testing.T, url string, body []byte) {
	c, err := example(func(p map[string]page) { p[url] = page{body: string(body)} }).discover(t)
	if err != nil {
		var doc *company.DocumentError
		if !errors.As(err, &doc) || doc.Rule == "" || doc.URL == "" {
			t.Fatalf("err = %v", err)
		}
		return
	}
	if c.Domain != "example.com" || !strings.HasPrefix(c.Issuer, "https://") {
		t.Fatalf("company %+v", c)
	}
	for _, endpoint := range []string{c.JoinEndpoint, c.OperationsEndpoint} {
		if scheme, _, _ := strings.Cut(endpoint, "://"); endpoint != "" && !strings.EqualFold(scheme, "https") {
			t.Fatalf("endpoint %q", endpoint)
		}
	}
	if c.OperationsEndpoint != "" && (!c.OperationsListed || !c.Joinable()) {
		t.Fatalf("company %+v", c)
	}
}

func FuzzPoppyDocument(f *testing.F) {
	seedDocuments(f, goodPoppy)
	f.Fuzz(func(t *testing.T, body []byte) { fuzzDocument(t, poppyURL, body) })
}

func FuzzResourceDocument(f *testing.F) {
	seedDocuments(f, goodResource)
	f.Fuzz(func(t *testing.T, body []byte) { fuzzDocument(t, resourceURL, body) })
}

func FuzzMetadataDocument(f *testing.F) {
	seedDocuments(f, goodMetadata)
	f.Fuzz(func(t *testing.T, body []byte) { fuzzDocument(t, metadataURL, body) })
}
