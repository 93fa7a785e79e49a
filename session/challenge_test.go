package session

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// noonOf1970 is a time that no test depends on.
var noonOf1970 = time.Date(1970, 1, 1, 12, 0, 0, 0, time.UTC)

func TestChallengesAreReadOneByOne(t *testing.T) {
	t.Parallel()
	type params = map[string]string
	for name, c := range map[string]struct {
		fields []string
		want   []challenge
	}{
		"none":             {nil, nil},
		"empty":            {[]string{"", " ,, "}, nil},
		"a scheme":         {[]string{"DPoP"}, []challenge{{"dpop", params{}}}},
		"two schemes":      {[]string{"Basic, DPoP"}, []challenge{{"basic", params{}}, {"dpop", params{}}}},
		"parameters":       {[]string{`DPoP error="invalid_token",scope="a b" , Algs=ES256`}, []challenge{{"dpop", params{"error": "invalid_token", "scope": "a b", "algs": "ES256"}}}},
		"spaces around =":  {[]string{`DPoP error = "x"`}, []challenge{{"dpop", params{"error": "x"}}}},
		"an escape":        {[]string{`Bearer realm="a\"b\\", error=x`}, []challenge{{"bearer", params{"realm": `a"b\`, "error": "x"}}}},
		"a comma in text":  {[]string{`Bearer realm="a, DPoP error=x", error="y"`}, []challenge{{"bearer", params{"realm": "a, DPoP error=x", "error": "y"}}}},
		"several":          {[]string{`Basic realm="x", DPoP error="y", Bearer`}, []challenge{{"basic", params{"realm": "x"}}, {"dpop", params{"error": "y"}}, {"bearer", params{}}}},
		"several fields":   {[]string{`Bearer error=a`, `DPoP error=b`}, []challenge{{"bearer", params{"error": "a"}}, {"dpop", params{"error": "b"}}}},
		"a token68":        {[]string{`Negotiate YWJj/+==, DPoP error=b`}, []challenge{{"negotiate", params{}}, {"dpop", params{"error": "b"}}}},
		"a short token68":  {[]string{`Negotiate a, DPoP error=b`}, []challenge{{"negotiate", params{}}, {"dpop", params{"error": "b"}}}},
		"one field broken": {[]string{`DPoP error="a`, `Bearer error=b`}, []challenge{{"bearer", params{"error": "b"}}}},
		"twice":            {[]string{`DPoP error="a", error="b"`}, nil},
		"twice, by case":   {[]string{`DPoP error="a", Error="b"`}, nil},
		"no value":         {[]string{`DPoP error=`, `DPoP error=,a=b`}, []challenge{{"dpop", params{}}}},
		"no comma":         {[]string{`DPoP a="b" c="d"`}, nil},
		"a control":        {[]string{"DPoP a=\"b\x00\""}, nil},
		"a bare value":     {[]string{`="x"`, `"x"`, `DPoP a, =`}, nil},
		"too long":         {[]string{`DPoP error=` + strings.Repeat("a", 9000), `Bearer error=b`}, nil},
	} {
		if diff := cmp.Diff(c.want, parseChallenges(c.fields), cmp.AllowUnexported(challenge{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzAnErrorAnswerIsReadWithoutHarm(f *testing.F) {
	for _, seed := range [][2]string{
		{`DPoP error="use_dpop_nonce"`, ``},
		{`Basic realm="a\"", DPoP error=x, scope="a b", Bearer`, `{"error":"invalid_token"}`},
		{`Negotiate YQ==`, `{"error":"sign_in_required","scope":"poppy:read","extension":"operations"}`},
		{`DPoP a="b`, `{"error":"a","error":"b"}`},
		{`, ,=,`, "\xff"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, field, body string) {
		res := &http.Response{StatusCode: 403, Header: http.Header{"Www-Authenticate": {field}, "Content-Type": {"application/json"}}}
		e := readError(res, []byte(body), noonOf1970)
		if len(e.Code) > maxCode || strings.Trim(e.Code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
			t.Errorf("code %q", e.Code)
		}
		if len(e.Scope) > maxScopes || len(e.Description) > maxDescription || len(e.Extension) > maxDescription {
			t.Errorf("too much: %d scopes, %d bytes", len(e.Scope), len(e.Description))
		}
		for _, scope := range e.Scope {
			if scope == "" || strings.ContainsAny(scope, " \"\\\n\x1b") {
				t.Errorf("scope %q", scope)
			}
		}
		if strings.ContainsAny(e.Error(), "\n\x1b") {
			t.Errorf("error %q", e)
		}
		// One field never changes what another says.
		alone := parseChallenges([]string{field})
		if beside := parseChallenges([]string{`X y=z`, field}); len(field) < maxChallenges-5 && len(beside) != len(alone)+1 {
			t.Errorf("%d challenges alone and %d beside one", len(alone), len(beside))
		}
	})
}

func FuzzATokenAnswerIsReadStrictly(f *testing.F) {
	for _, seed := range []string{
		`{"access_token":"t","token_type":"DPoP","expires_in":60,"scope":"a b","session_id":"ses_1","signed_in":true,"refresh_token":"r","refresh_token_expires_in":9}`,
		`{"access_token":"t","token_type":"DPoP","expires_in":9223372036854775807,"scope":"","session_id":"ses_1","signed_in":true}`,
		`{"access_token":"t","access_token":"u"}`, `null`, `[]`, `{"refresh_token":null}`, `{"status":"complete","expires_in":-1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := readGrant(data, asked{dpop: true, named: true, session: "ses_1", at: noonOf1970})
		if err != nil {
			if !g.AccessToken.Empty() || g.SessionID != "" || g.SignedIn {
				t.Errorf("beside %v: %+v", err, g)
			}
			return
		}
		if !token68Form.MatchString(g.AccessToken.Reveal()) || g.SessionID != "ses_1" || !g.SignedIn || !g.Expires.After(noonOf1970) || g.Expires.Sub(noonOf1970) > maxLife {
			t.Errorf("%+v", g)
		}
		if text := g.AccountToken.Reveal(); strings.ContainsAny(text, "\r\n\x00") || !g.AccountExpires.IsZero() && !g.AccountExpires.After(noonOf1970) {
			t.Errorf("%+v", g)
		}
	})
}

func FuzzADeviceAnswerIsReadStrictly(f *testing.F) {
	f.Add([]byte(`{"device_code":"d","user_code":"u","verification_uri":"https://a.example/d","expires_in":60,"interval":5}`))
	f.Add([]byte(`{"device_code":"d","user_code":"u","verification_uri":"https://a.example/d","verification_uri_complete":"https://a.example/d?c=u","expires_in":60}`))
	f.Add([]byte(`{"interval":-1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := readDevice(data, noonOf1970)
		if err != nil {
			return
		}
		if d.DeviceCode.Empty() || !visible(d.UserCode) || d.Interval < shortInterval || d.Interval > longInterval || !d.Expires.After(noonOf1970) {
			t.Errorf("%+v", d)
		}
		for _, link := range []string{d.VerificationURI, d.VerificationURIComplete} {
			if link != "" && (!strings.HasPrefix(strings.ToLower(link), "https:") || strings.ContainsAny(link, " \n\x1b\u202e")) {
				t.Errorf("link %q", link)
			}
		}
	})
}
