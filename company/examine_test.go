package company_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/profile"
)

func (w *web) examine(t testing.TB) *company.Report {
	t.Helper()
	a, err := company.ParseAddress("example.com")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: w, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return company.Examine(context.Background(), client, a, profile.V1(), nil)
}

// counts is how many rules have each verdict.
func counts(r *company.Report) (ok, failed, notReached int) {
	n := make(map[company.Verdict]int)
	for _, f := range r.Findings {
		n[f.Verdict]++
	}
	return n[company.OK], n[company.Failed], n[company.NotReached]
}

func TestEveryRuleThatCanBeJudgedIs(t *testing.T) {
	t.Parallel()
	all := func(changes ...func(map[string]page)) func(map[string]page) {
		return func(p map[string]page) {
			for _, change := range changes {
				change(p)
			}
		}
	}
	for name, tc := range map[string]struct {
		change                 func(map[string]page)
		ok, failed, notReached int
	}{
		"all agree": {nil, 15, 0, 0},
		"one in each document": {all(replace(poppyURL, `"domain": "example.com"`, `"domain": "example.org"`),
			replace(resourceURL, `"resource": "https://example.com"`, `"resource": "https://example.org"`),
			replace(metadataURL, `["example.com"]`, `[]`)), 12, 3, 0},
		"poppy.json is no JSON":         {func(p map[string]page) { p[poppyURL] = page{body: "<html>"} }, 8, 1, 6},
		"the resource document is none": {func(p map[string]page) { p[resourceURL] = page{status: 500} }, 6, 1, 8},
		"the metadata is none":          {func(p map[string]page) { delete(p, metadataURL) }, 11, 1, 3},
		"two issuers":                   {replace(resourceURL, `["https://auth.example.com/"]`, `["https://a.example", "https://b.example"]`), 8, 1, 6},
		"nothing published":             {func(p map[string]page) { delete(p, poppyURL) }, 0, 1, 14},
		"nothing answers":               {func(p map[string]page) { p[poppyURL] = page{err: errors.New("no route")} }, 0, 1, 14},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := example(tc.change)
			r := w.examine(t)
			ok, failed, notReached := counts(r)
			if ok != tc.ok || failed != tc.failed || notReached != tc.notReached {
				t.Errorf("%d ok, %d failed, %d not reached; want %d, %d, %d\n%+v", ok, failed, notReached, tc.ok, tc.failed, tc.notReached, r.Findings)
			}
			if (r.Company != nil) != (failed == 0) || (r.Failure() != nil) != (failed > 0) {
				t.Errorf("company %+v, failure %v", r.Company, r.Failure())
			}
			seen := make(map[string]bool)
			for _, f := range r.Findings {
				if seen[f.Rule] || f.Rule == "" {
					t.Errorf("the rule %q is there twice", f.Rule)
				}
				seen[f.Rule] = true
				if (f.Err != nil) != (f.Verdict == company.Failed) || (f.Found == "") != (f.Verdict == company.NotReached) {
					t.Errorf("finding %+v", f)
				}
				if f.Err != nil && (f.Err.Change == "" || f.Err.URL != f.URL) {
					t.Errorf("%s: nothing to change at %s: %+v", f.Rule, f.URL, f.Err)
				}
			}
		})
	}
}

func TestTheFirstFailureOfAReportIsTheErrorOfDiscovery(t *testing.T) {
	t.Parallel()
	change := replace(metadataURL, `"issuer": "https://auth`, `"issuer": "https://Auth`)
	_, err := example(change).discover(t)
	if failure := example(change).examine(t).Failure(); err == nil || failure == nil || err.Error() != failure.Error() {
		t.Errorf("discovery says %v, the report %v", err, failure)
	}
}
