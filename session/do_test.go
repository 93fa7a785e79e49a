package session_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/session"
)

// DRAFTS A6: a nonce is remembered for its server, so that a second call costs one request.
//
// Clauses: S01-4.3.12
func TestANonceIsRememberedForItsServerAndFollowedWhenItChanges(t *testing.T) {
	t.Parallel()
	eachDraft(t, func(t *testing.T, f *fake) {
		f.nonce = "n-1"
		s := f.session("")
		f.must(s, ordersAPI)
		f.must(s, ordersAPI)
		// Two for the authorization server, two for the API's first call, one for its second.
		if tokens, calls := len(f.requests("/oauth/token")), len(f.requests("/orders")); tokens != 2 || calls != 3 {
			t.Errorf("%d token requests and %d calls", tokens, calls)
		}
		f.nonce = "n-2"
		f.must(s, ordersAPI)
		f.must(s, ordersAPI)
		if calls := len(f.requests("/orders")); calls != 6 {
			t.Errorf("%d calls after the nonce changed", calls)
		}
		// What an ordinary answer brings is used at once.
		f.answers["api.example.com/orders"] = func(req *http.Request, _ url.Values) *http.Response {
			f.nonce = "n-3"
			return reply(req, 200, `{}`, "DPoP-Nonce: n-3")
		}
		f.must(s, ordersAPI)
		delete(f.answers, "api.example.com/orders")
		f.must(s, ordersAPI)
		if calls := len(f.requests("/orders")); calls != 8 {
			t.Errorf("%d calls after an answer brought a nonce", calls)
		}
	})
}

// One server at one origin often is both: the authorization server's nonce is tried at the API until that gives its own.
func TestANonceOfTheAuthorizationServerIsTriedAtItsOwnOrigin(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	f.nonce = "n-1"
	f.c.APIs[0].URL = draftIssuer + "/api/openapi.json"
	s := f.session("")
	f.must(s, draftIssuer+"/api/orders")
	f.must(s, draftIssuer+"/api/orders")
	if tokens, calls := len(f.requests("/oauth/token")), len(f.requests("/api/orders")); tokens != 2 || calls != 2 {
		t.Errorf("%d token requests and %d calls", tokens, calls)
	}
}

func TestAServerThatIsNeverContentWithANonceIsAskedTwice(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	s := f.session("")
	f.must(s, ordersAPI)
	calls := 0
	f.answers["api.example.com/orders"] = func(req *http.Request, _ url.Values) *http.Response {
		calls++
		return reply(req, 401, `{}`, `WWW-Authenticate: DPoP error="use_dpop_nonce"`, fmt.Sprintf("DPoP-Nonce: n%d", calls))
	}
	if _, err := f.get(s, ordersAPI); err == nil || calls != 2 {
		t.Errorf("%d calls, %v", calls, err)
	}
	asked := 0
	f.answers["auth.example.com/oauth/token"] = func(req *http.Request, _ url.Values) *http.Response {
		asked++
		return reply(req, 400, `{"error":"use_dpop_nonce"}`, fmt.Sprintf("DPoP-Nonce: n%d", asked))
	}
	var refused *session.ServerError
	if _, err := f.session("").Start(t.Context()); !errors.As(err, &refused) || refused.Code != "use_dpop_nonce" || asked != 2 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	for _, field := range []string{"", "a b", strings.Repeat("n", 513), `a"b`} {
		asked = 0
		f.answers["auth.example.com/oauth/token"] = func(req *http.Request, _ url.Values) *http.Response {
			asked++
			return reply(req, 400, `{"error":"use_dpop_nonce"}`, "DPoP-Nonce: "+field)
		}
		if _, err := f.session("").Start(t.Context()); err == nil || asked != 1 {
			t.Errorf("nonce %q: asked %d times, %v", field, asked, err)
		}
	}
}

// htu is compared as text by Companies.
//
// Clauses: S01-4.3.05
func TestAProofNamesTheURLWithoutQueryAndWithoutHTTPSsPort(t *testing.T) {
	t.Parallel()
	key := newFake(t, drafts["0.1"], (&clock{now: noon.Add(999 * time.Millisecond)}).Now).session("").Key()
	for address, want := range map[string]string{
		"https://api.example.com":                       "https://api.example.com/",
		"https://API.Example.com:443/Orders/?a=1#b":     "https://api.example.com/Orders/",
		"https://api.example.com:8443/a%2Fb/%7Ec?":      "https://api.example.com:8443/a%2Fb/%7Ec",
		"https://api.example.com/%C3%A9/a%20b?c=d%2Fe#": "https://api.example.com/%C3%A9/a%20b",
	} {
		compact, err := key.Proof("PUT", address, secretOf("t"))
		if err != nil {
			t.Fatal(err)
		}
		proof, err := parseJWT(compact.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		if proof.payload["htu"] != want || proof.payload["htm"] != "PUT" || proof.payload["iat"] != number(noon) {
			t.Errorf("%s: %v", address, proof.payload)
		}
	}
	for _, address := range []string{"", "/orders", "mailto:a@b", "https:orders", "%"} {
		if _, err := key.Proof("GET", address, secretOf("t")); err == nil {
			t.Errorf("%q: a proof", address)
		}
	}
}

// Clauses: OPS3-4.42
func TestASessionsCredentialsGoToItsCompanyAlone(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	f.c.Conversations = "https://talk.example.com/poppy/conversations"
	v10, _ := newIdentity(t)
	for name, s := range map[string]*session.Session{"0.1": f.session(""), "1.0": newSession(t, v10, (&clock{now: noon}).Now)} {
		for _, address := range []string{
			"https://other.example/orders", "http://api.example.com/orders", "http://example.com/operations", "https://api.example.com:8443/orders",
			"https://api.example.com.other.example/", "https://user:pw@api.example.com/orders", "https://example.com@other.example/operations",
			"https:operations", "//example.com/operations", "ftp://example.com/operations", "https://sub.example.com/operations", "https://auth.example.com.",
		} {
			req, err := http.NewRequest(http.MethodGet, address, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Authorize(t.Context(), req); !errors.Is(err, session.ErrElsewhere) || len(req.Header) != 0 {
				t.Errorf("%s: %s: %v with %d fields", name, address, err, len(req.Header))
			}
			client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
				t.Errorf("%s: %s was asked", name, req.URL)
				return nil, io.EOF
			})}
			if _, err := s.Do(t.Context(), client, req); !errors.Is(err, session.ErrElsewhere) {
				t.Errorf("%s: %s: %v", name, address, err)
			}
		}
		req, err := http.NewRequest(http.MethodGet, operations, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "other.example"
		if err := s.Authorize(t.Context(), req); !errors.Is(err, session.ErrElsewhere) {
			t.Errorf("%s: another Host: %v", name, err)
		}
		for _, field := range []string{"Authorization", "DPoP", "Poppy-Session"} {
			req.Host, req.Header = "", http.Header{http.CanonicalHeaderKey(field): {""}}
			if err := s.Authorize(t.Context(), req); !errors.Is(err, session.ErrCredentials) || len(req.Header) != 1 {
				t.Errorf("%s: with %s: %v", name, field, err)
			}
		}
	}
	if len(f.seen) != 0 {
		t.Errorf("%d requests for nothing", len(f.seen))
	}
	s := f.session("")
	for _, address := range []string{"https://auth.example.com/poppy/sign-in/si_1", "https://example.com/poppy/operations/op_1", "https://talk.example.com/poppy/conversations", "https://API.example.com:443/orders"} {
		f.must(s, address)
	}
	bare, err := session.New(session.Config{Profile: v1, Identity: v10, Issuer: issuer, UserID: "u"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := headerOf(bare); !errors.Is(err, session.ErrElsewhere) {
		t.Errorf("without a Company: %v", err)
	}
}

// Clauses: S01-3.3.07, S01-4.3.21, S01-4.3.22, OPS3-2.16
func TestARefusalIsReadFromTheChallengeAndElseFromTheBody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		field  string
		body   string
		want   error // nil: the answer comes back as it is
		scope  string
		calls  int
	}{
		"a challenge":             {403, `DPoP error="insufficient_scope", scope="poppy:read poppy:write"`, `{"error":"x"}`, session.ErrInsufficientScope, "poppy:read poppy:write", 1},
		"a body":                  {403, ``, `{"error":"insufficient_scope","scope":"a"}`, session.ErrInsufficientScope, "a", 1},
		"a challenge without it":  {403, `DPoP algs="ES256"`, `{"error":"sign_in_required","scope":"poppy:read"}`, session.ErrSignInRequired, "poppy:read", 1},
		"another scheme first":    {403, `Basic realm="x", DPoP error=sign_in_required`, ``, session.ErrSignInRequired, "", 1},
		"the scheme in lower":     {401, `dpop Error="invalid_token"`, ``, session.ErrInvalidToken, "", 2},
		"an ended Session":        {403, ``, `{"error":"invalid_session","orders":[1]}`, session.ErrInvalidSession, "", 1},
		"another account":         {409, ``, `{"error":"account_mismatch"}`, session.ErrAccountMismatch, "", 1},
		"an extension":            {403, ``, `{"error":"extension_required","extension":"operations"}`, session.ErrExtensionRequired, "", 1},
		"an API's own error":      {403, ``, `{"error":"approval_required","operation":{}}`, nil, "", 1},
		"a field that is broken":  {403, `DPoP error="insufficient_scope`, `{"error":"mine"}`, nil, "", 1},
		"a member twice":          {403, ``, `{"error":"sign_in_required","error":"x"}`, nil, "", 1},
		"a large body":            {403, ``, `{"error":"sign_in_required","x":"` + strings.Repeat("x", 80<<10) + `"}`, nil, "", 1},
		"a code in a success":     {200, `DPoP error="invalid_token"`, `{"error":"invalid_token"}`, nil, "", 1},
		"a 401 without a word":    {401, ``, ``, nil, "", 1},
		"a refused proof":         {401, `DPoP error="invalid_dpop_proof"`, ``, nil, "", 1},
		"a nonce without a nonce": {401, `DPoP error="use_dpop_nonce"`, ``, nil, "", 1},
	} {
		f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
		s := f.session("")
		f.must(s, ordersAPI)
		calls := 0
		f.answers["api.example.com/orders"] = func(req *http.Request, _ url.Values) *http.Response {
			calls++
			if !strings.HasPrefix(req.Header.Get("Authorization"), "DPoP ") {
				t.Errorf("%s: asked without the token", name)
			}
			if c.field != "" {
				return reply(req, c.status, c.body, "WWW-Authenticate: "+c.field)
			}
			return reply(req, c.status, c.body)
		}
		req, err := http.NewRequest(http.MethodPost, ordersAPI, strings.NewReader(`{"a":1}`))
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Do(t.Context(), f.client(), req)
		if calls != c.calls {
			t.Errorf("%s: %d calls", name, calls)
		}
		if c.want == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if body, err := io.ReadAll(res.Body); err != nil || string(body) != c.body || res.Body.Close() != nil {
				t.Errorf("%s: the body became %.60q, %v", name, body, err)
			}
			continue
		}
		var refused *session.ServerError
		if !errors.Is(err, c.want) || !errors.As(err, &refused) || strings.Join(refused.Scope, " ") != c.scope || res != nil {
			t.Errorf("%s: %+v, %v", name, refused, err)
		}
		if name == "an extension" && refused.Extension != "operations" {
			t.Errorf("%s: extension %q", name, refused.Extension)
		}
		if n := len(f.requests("/oauth/token")); n != c.calls {
			t.Errorf("%s: %d token requests", name, n)
		}
	}
}

func TestARequestThatCannotBeMadeAgainIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFake(t, drafts["0.1"], (&clock{now: noon}).Now)
	s := f.session("")
	f.must(s, ordersAPI)
	for _, token := range f.tokens {
		token.dead = true
	}
	req, err := http.NewRequest(http.MethodPost, ordersAPI, io.NopCloser(strings.NewReader("once")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do(t.Context(), f.client(), req); !errors.Is(err, session.ErrInvalidToken) {
		t.Errorf("err = %v", err)
	}
	f.must(s, ordersAPI) // with a new token
	if n := len(f.requests("/orders")); n != 3 {
		t.Errorf("%d calls", n)
	}
	// A body that can be made again is sent whole both times.
	for _, token := range f.tokens {
		token.dead = true
	}
	var bodies []string
	f.answers["api.example.com/orders"] = func(req *http.Request, _ url.Values) *http.Response { return nil }
	req, err = http.NewRequest(http.MethodPost, ordersAPI, strings.NewReader("whole"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		data, err := io.ReadAll(req.Body)
		bodies = append(bodies, string(data))
		req.Body = io.NopCloser(strings.NewReader(""))
		if err != nil {
			return nil, err
		}
		return f.RoundTrip(req)
	})}
	res, err := s.Do(t.Context(), client, req)
	if err != nil || res.Body.Close() != nil || strings.Join(bodies, " ") != "whole whole" {
		t.Errorf("bodies %q, %v", bodies, err)
	}
}
