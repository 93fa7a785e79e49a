package company_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/profile"
)

func (w *web) examine(t testing.TB, o company.Options) *company.Report {
	t.Helper()
	a, err := company.ParseAddress("example.com")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: w, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return company.Examine(context.Background(), client, a, o)
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
		forced                 bool // the profile
		ok, failed, notReached int
	}{
		"all agree": {nil, false, 17, 0, 0},
		"forced":    {nil, true, 17, 0, 0},
		"one in each document": {all(replace(poppyURL, `"domain": "example.com"`, `"domain": "example.org"`),
			replace(resourceURL, `"resource": "https://example.com"`, `"resource": "https://example.org"`),
			replace(metadataURL, `["example.com"]`, `[]`)), false, 14, 3, 0},
		"poppy.json is no JSON":         {func(p map[string]page) { p[poppyURL] = page{body: "<html>"} }, false, 0, 1, 1},
		"it is none, and 1.0 is forced": {func(p map[string]page) { p[poppyURL] = page{body: "<html>"} }, true, 9, 1, 7},
		"a version nobody knows":        {replace(poppyURL, `"1.0"`, `"9.9"`), false, 1, 1, 0},
		"that, and 1.0 is forced":       {replace(poppyURL, `"1.0"`, `"9.9"`), true, 16, 1, 0},
		"the resource document is none": {func(p map[string]page) { p[resourceURL] = page{status: 500} }, false, 7, 1, 9},
		"the metadata is none":          {func(p map[string]page) { delete(p, metadataURL) }, false, 12, 1, 4},
		"two issuers":                   {replace(resourceURL, `["https://auth.example.com/"]`, `["https://a.example", "https://b.example"]`), false, 9, 1, 7},
		"nothing published":             {func(p map[string]page) { delete(p, poppyURL) }, false, 0, 1, 1},
		"nothing answers":               {func(p map[string]page) { p[poppyURL] = page{err: errors.New("no route")} }, true, 0, 1, 16},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := example(tc.change)
			var o company.Options
			if v1 := profile.V1(); tc.forced {
				o.Profile = &v1
			}
			r := w.examine(t, o)
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
	if failure := example(change).examine(t, company.Options{}).Failure(); err == nil || failure == nil || err.Error() != failure.Error() {
		t.Errorf("discovery says %v, the report %v", err, failure)
	}
}
