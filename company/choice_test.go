package company_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/profile"
)

// The newest of ours is taken, and the documents must be that version's: an older one is not fallen back to.
func TestTheProfileIsTheNewestOfOursThatIsListed(t *testing.T) {
	t.Parallel()
	versions := func(text string) func(map[string]page) { return replace(poppyURL, `"protocol_version": "0.1"`, text) }
	for name, tc := range map[string]struct {
		web     *web
		version string
		reason  string // when it is refused
	}{
		"1.0 in a list":          {example(nil), "1.0", ""},
		"0.2":                    {draft("0.2"), "0.2", ""},
		"0.1":                    {draft("0.1"), "0.1", ""},
		"drafts in a list":       {draft("0.1", versions(`"protocol_versions": ["0.1", "0.2", "0.3"]`)), "0.2", ""},
		"1.0 among drafts":       {draft("0.1", versions(`"protocol_versions": ["0.1", "1.0"]`)), "", "mixes versions"},
		"1.0 in a draft's shape": {draft("1.0"), "", "mixes versions"},
		"unknown":                {draft("0.3"), "", `protocol_version is "0.3", and we speak 1.0, 0.2, 0.1`},
		"a minor one of 0.1":     {draft("0.7"), "", `protocol_version is "0.7"`},
		"three numbers":          {draft("0.1.2"), "", `protocol_version is "0.1.2"`},
		"1.0's shapes with 0.1":  {example(replace(poppyURL, `"protocol_versions": ["0.4", "1.0"]`, `"protocol_version": "0.1"`)), "", "mixes versions"},
		"1.0's without operations": {example(func(p map[string]page) {
			p[poppyURL] = page{body: `{"protocol_version": "0.1", "organization": {"domain": "example.com"}, "web": {"browser_session_endpoint": "https://example.com/join"}}`}
		}), "", "auth.issuer is missing"},
		"1.0 without a resource document": {draft("1.0", replace(poppyURL, `"extensions":`, `"other":`)), "", "not a document: status 404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := tc.web.discover(t)
			if tc.version != "" && (err != nil || c.Profile.Version != tc.version) {
				t.Errorf("%+v, %v", c, err)
			}
			if tc.version == "" && (err == nil || !strings.Contains(err.Error(), tc.reason)) {
				t.Errorf("%+v, %v; want the reason %q", c, err, tc.reason)
			}
		})
	}
	// 404 where 1.0 needs a document is told to those who know the drafts.
	r := draft("1.0", replace(poppyURL, `"extensions":`, `"other":`)).examine(t, company.Options{})
	if f := r.Failure(); f == nil || f.URL != resourceURL || !strings.Contains(f.Change, "in the drafts only") {
		t.Errorf("failure %+v", f)
	}
}

func TestAForcedProfileHoldsWhateverIsListed(t *testing.T) {
	t.Parallel()
	first, second, v1 := profile.V01(), profile.V02(), profile.V1()
	for name, tc := range map[string]struct {
		web    *web
		forced *profile.Profile
		reason string
	}{
		"0.1 at 0.7":              {draft("0.7"), &first, ""},
		"0.1 at 0.2":              {draft("0.2"), &first, ""},
		"0.2 at 0.1":              {draft("0.1"), &second, `protocol_version is "0.1", and protocol "0.2" is asked for`},
		"1.0 at 0.1":              {draft("0.1"), &v1, `and protocol "1.0" is asked for`},
		"0.1 at 1.0":              {example(nil), &first, "mixes versions"},
		"0.1 at a list of drafts": {draft("0.1", replace(poppyURL, `"protocol_version": "0.1"`, `"protocol_versions": ["0.2", "0.1"]`)), &first, ""},
	} {
		r := tc.web.examine(t, company.Options{Profile: tc.forced})
		failure := r.Failure()
		if tc.reason == "" && (failure != nil || r.Company.Profile != *tc.forced) {
			t.Errorf("%s: %v", name, failure)
		}
		if tc.reason != "" && (failure == nil || !errors.Is(failure, company.ErrVersion) || !strings.Contains(failure.Error(), tc.reason)) {
			t.Errorf("%s: %v", name, failure)
		}
		if r.Profile == nil || *r.Profile != *tc.forced {
			t.Errorf("%s: judged as %v", name, r.Profile)
		}
	}
}

// Where poppy.json of 1.0 lists no sign-in type the metadata tells them, and the scopes of one that lists none. A guess.
func TestSignInOfVersion1IsReadFromTheMetadataToo(t *testing.T) {
	t.Parallel()
	const endpoints = `"token_endpoint": "https://auth.example.com/token", "authorization_endpoint": "https://auth.example.com/authorize",
		"device_authorization_endpoint": "https://auth.example.com/device", `
	auth := func(text string) func(map[string]page) {
		return replace(poppyURL, `"web": {`, `"auth": `+text+`, "web": {`)
	}
	server := func(text string) func(map[string]page) {
		return replace(metadataURL, `"poppy_domains"`, text+`"poppy_domains"`)
	}
	own, supported := []string{"orders:write"}, []string{"openid", "orders:read"}
	for name, tc := range map[string]struct {
		poppy, metadata func(map[string]page)
		want            company.SignIn
		rule            string // when it is refused
	}{
		"listed": {
			auth(`{"direct": {"scopes": ["orders:write"]}, "custom_scopes": {"orders:write": "Change orders"}}`), server(endpoints + `"scopes_supported": ["openid", "orders:read"], `),
			company.SignIn{Direct: &company.Direct{Scopes: own}, Scopes: map[string]string{"orders:write": "Change orders"}}, "",
		},
		"listed without scopes":   {auth(`{"device": {}}`), server(endpoints + `"scopes_supported": ["openid", "orders:read"], `), company.SignIn{Device: &company.Device{Scopes: supported}}, ""},
		"not listed":              {nil, server(endpoints + `"scopes_supported": ["openid", "orders:read"], `), company.SignIn{Direct: &company.Direct{Scopes: supported}, Device: &company.Device{Scopes: supported}}, ""},
		"not listed, no scopes":   {nil, server(endpoints), company.SignIn{}, ""},
		"listed, none anywhere":   {auth(`{"device": {}}`), server(endpoints), company.SignIn{}, "scopes_supported lists none"},
		"listed, no endpoint":     {auth(`{"device": {"scopes": ["a"]}}`), server(`"token_endpoint": "https://auth.example.com/token", `), company.SignIn{}, "device_authorization_endpoint is missing"},
		"listed, no token":        {auth(`{"direct": {"scopes": ["a"]}}`), nil, company.SignIn{}, "token_endpoint is missing, and a sign-in type is listed"},
		"scopes as a string":      {nil, server(`"scopes_supported": "openid", `), company.SignIn{}, "scopes_supported is not a list of strings"},
		"scopes that are none":    {nil, server(`"scopes_supported": ["a b"], `), company.SignIn{}, "which is no scope"},
		"scopes that are no text": {nil, server(`"scopes_supported": ["a", 7], `), company.SignIn{}, "scopes_supported is not a list of strings"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := example(func(p map[string]page) {
				for _, change := range []func(map[string]page){tc.poppy, tc.metadata} {
					if change != nil {
						change(p)
					}
				}
			})
			c, err := w.discover(t)
			if tc.rule != "" {
				if err == nil || !strings.Contains(err.Error(), tc.rule) {
					t.Errorf("%+v, %v", c, err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(c.SignIn, tc.want) {
				text, _ := json.Marshal(c)
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}
