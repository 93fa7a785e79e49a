package company_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/company"
)

// A cache tells which Companies it holds documents of, and when they were read.
func TestACacheTellsTheCompaniesItKnows(t *testing.T) {
	t.Parallel()
	o, cache := newOrigin(t, "Cache-Control: max-age=60")
	if got := cache.Known(); len(got) != 0 {
		t.Errorf("an empty cache knows %+v", got)
	}
	o.pages[poppyURL] = page{body: strings.Replace(goodPoppy, `"web"`, `"auth": {"issuer": "https://auth.example.com/"}, "web"`, 1)}
	c := o.mustFind(t, cache)
	want := []company.Known{{Domain: "example.com", Name: c.Name, Issuer: c.Issuer, Read: o.now}}
	for _, of := range []*company.Cache{cache, cache.Anew()} {
		got := of.Known()
		for i := range got {
			got[i].Read = got[i].Read.UTC()
		}
		if !slices.Equal(got, want) {
			t.Errorf("it knows %+v, want %+v", got, want)
		}
	}
	var none *company.Cache
	if got := none.Known(); got != nil {
		t.Errorf("no cache knows %+v", got)
	}
}

// A Company whose poppy.json says nothing of signing in is known like any other.
func TestACacheTellsACompanyWithoutSignIn(t *testing.T) {
	t.Parallel()
	o, cache := newOrigin(t, "Cache-Control: max-age=60")
	c := o.mustFind(t, cache)
	got := cache.Known()
	if len(got) != 1 || got[0].Domain != "example.com" || got[0].Name != c.Name || got[0].Issuer != "" {
		t.Errorf("it knows %+v", got)
	}
}
