package signin_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

// back is the address the Company sends the User back to, for the page at address.
func back(address string, change map[string]string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	q := url.Values{"code": {"code_1"}, "state": {u.Query().Get("state")}, "iss": {"https://auth.example.com"}}
	for name, value := range change {
		q.Set(name, value)
		if value == "" {
			q.Del(name)
		}
	}
	return redirectURI + "?" + q.Encode()
}

// The page's address has what it must, and the code is exchanged with what belongs to it.
//
// Clauses: S01-4.5.01, S01-4.5.05, S01-4.5.06, S01-4.5.07, S01-4.4.09, S01-4.4.15
func TestDirectSignInExchangesTheCodeOfItsOwnCallback(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.server.script = []any{granted("account", "poppy:read")}
	b.user.callbacks = func(address string) []string { return []string{"  " + back(address, nil) + "\n"} }
	r, err := b.signIn(t, signin.Direct, "poppy:read", "poppy:write")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(b.user.address.URL)
	if err != nil {
		t.Fatal(err)
	}
	q, form := u.Query(), b.server.forms[0]
	challenge := sha256.Sum256([]byte(form.Get("code_verifier")))
	for name, want := range map[string]string{
		"response_type": "code", "client_id": clientID, "redirect_uri": redirectURI, "scope": "poppy:read poppy:write",
		"code_challenge_method": "S256", "code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]),
	} {
		if got := q.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if n := len(q.Get("state")); n < 22 || len(form.Get("code_verifier")) < 43 {
		t.Errorf("a state of %d characters", n)
	}
	if u.Scheme+"://"+u.Host+u.Path != b.Company.Server.Authorization || strings.Contains(u.RawQuery, "+") {
		t.Errorf("the page is %s", b.user.address.URL)
	}
	want := url.Values{
		"grant_type": {"authorization_code"}, "code": {"code_1"}, "redirect_uri": {redirectURI},
		"code_verifier": form["code_verifier"], "session_id": {"ses_1"},
	}
	if !maps.EqualFunc(form, want, slices.Equal[[]string]) {
		t.Errorf("sent %v, want %v", form, want)
	}
	if missing := r.Missing(); !slices.Equal(missing, []string{"poppy:write"}) {
		t.Errorf("missing %q", missing)
	}
	a, err := b.kept(t)
	if err != nil || !slices.Equal(a.Scope, []string{"poppy:read"}) || a.Type != "direct" || a.ClientID != clientID {
		t.Errorf("kept %+v, %v", a, err)
	}
	if len(b.session.used) != 1 || !b.session.used[0].AccountToken.Empty() {
		t.Errorf("the Session uses %+v", b.session.used)
	}
}

// Two sign-ins share neither state nor verifier.
func TestEachDirectSignInHasItsOwnState(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.server.script = []any{granted("account", "poppy:read")}
	b.user.callbacks = func(address string) []string { return []string{back(address, nil)} }
	seen := make(map[string]bool)
	for range 20 {
		if _, err := b.signIn(t, signin.Direct, "poppy:read"); err != nil {
			t.Fatal(err)
		}
		u, _ := url.Parse(b.user.address.URL)
		for _, value := range []string{u.Query().Get("state"), u.Query().Get("code_challenge")} {
			if seen[value] {
				t.Fatalf("%s comes twice", value)
			}
			seen[value] = true
		}
	}
}

// In 1.0 the page is told which resource the access is for.
func TestTheResourceIsNamedWhereTheProfileWantsIt(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"1.0": "https://example.com", "0.1": ""} {
		b := newBench(t)
		b.Company.Profile, _ = profile.Of(version)
		b.server.script = []any{granted("account", "poppy:read")}
		b.user.callbacks = func(address string) []string { return []string{back(address, nil)} }
		if _, err := b.signIn(t, signin.Direct, "poppy:read"); err != nil {
			t.Fatal(err)
		}
		if u, _ := url.Parse(b.user.address.URL); u.Query().Get("resource") != want {
			t.Errorf("%s: resource is %q", version, u.Query().Get("resource"))
		}
	}
}

// What does not answer this sign-in is refused with a word, nothing of it is exchanged, and the waiting goes on.
//
// Clauses: S01-4.5.05, S01-4.5.06
func TestAForeignCallbackIsRefusedAndTheWaitingGoesOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text func(address string) string
		want error
	}{
		"another state":    {func(a string) string { return back(a, map[string]string{"state": "stolen"}) }, signin.ErrMixUp},
		"no state":         {func(a string) string { return back(a, map[string]string{"state": ""}) }, signin.ErrMixUp},
		"another iss":      {func(a string) string { return back(a, map[string]string{"iss": "https://evil.example"}) }, signin.ErrMixUp},
		"iss with a slash": {func(a string) string { return back(a, map[string]string{"iss": "https://auth.example.com/"}) }, signin.ErrMixUp},
		"no iss":           {func(a string) string { return back(a, map[string]string{"iss": ""}) }, signin.ErrMixUp},
		"a foreign refusal": {func(a string) string {
			return back(a, map[string]string{"code": "", "error": "access_denied", "iss": "https://evil.example"})
		}, signin.ErrMixUp},
		"a refusal's own state": {func(a string) string {
			return back(a, map[string]string{"code": "", "error": "access_denied", "state": "stolen"})
		}, signin.ErrMixUp},
		"state twice":        {func(a string) string { return back(a, nil) + "&state=other" }, signin.ErrNotCallback},
		"code twice":         {func(a string) string { return back(a, nil) + "&code=other" }, signin.ErrNotCallback},
		"iss twice, escaped": {func(a string) string { return back(a, nil) + "&%69ss=other" }, signin.ErrNotCallback},
		"code and error":     {func(a string) string { return back(a, map[string]string{"error": "access_denied"}) }, signin.ErrNotCallback},
		"nothing":            {func(string) string { return "" }, signin.ErrNotCallback},
		"a code alone":       {func(string) string { return "code_1" }, signin.ErrNotCallback},
		"the page itself":    {func(a string) string { return a }, signin.ErrNotCallback},
		"another path":       {func(a string) string { return strings.Replace(back(a, nil), "/callback", "/callback/x", 1) }, signin.ErrNotCallback},
		"another host": {func(a string) string {
			return strings.Replace(back(a, nil), "agent.example", "agent.example.evil.example", 1)
		}, signin.ErrNotCallback},
		"http":                {func(a string) string { return strings.Replace(back(a, nil), "https", "http", 1) }, signin.ErrNotCallback},
		"a fragment":          {func(a string) string { return back(a, nil) + "#code=2" }, signin.ErrNotCallback},
		"a control character": {func(a string) string { return back(a, nil) + "\x1b[2J" }, signin.ErrNotCallback},
		"far too long":        {func(a string) string { return back(a, nil) + "&x=" + strings.Repeat("a", 1<<20) }, signin.ErrNotCallback},
		"a broken escape":     {func(a string) string { return back(a, nil) + "&x=%zz" }, signin.ErrNotCallback},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.server.script = []any{granted("account", "poppy:read")}
			b.user.callbacks = func(address string) []string {
				return []string{tc.text(address), back(address, map[string]string{"code": "right"})}
			}
			if _, err := b.signIn(t, signin.Direct, "poppy:read"); err != nil {
				t.Fatal(err)
			}
			if len(b.user.refused) != 1 || !errors.Is(b.user.refused[0], tc.want) {
				t.Errorf("refused with %v, want %v", b.user.refused, tc.want)
			}
			if text := fmt.Sprint(b.user.refused); strings.Contains(text, "stolen") || strings.Contains(text, "code_1") {
				t.Errorf("the refusal quotes the address: %s", text)
			}
			if len(b.server.forms) != 1 || b.server.forms[0].Get("code") != "right" {
				t.Errorf("exchanged: %v", b.server.forms)
			}
		})
	}
}

// Declining, and errors of the page, end the sign-in and change nothing.
//
// Clauses: S01-4.4.13
func TestAPageThatRefusesChangesNothing(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]error{"access_denied": signin.ErrDeclined, "temporarily_unavailable": nil} {
		for _, state := range []bool{true, false} {
			b := newBench(t)
			before, err := b.Accounts.Keep(t.Context(), account.Account{Key: account.Key{Issuer: b.Company.Issuer}, Domain: "example.com", Place: account.PlaceFile, Scope: []string{"poppy:read"}}, secret.New("before"), b.server)
			if err != nil {
				t.Fatal(err)
			}
			b.user.callbacks = func(address string) []string {
				change := map[string]string{"code": "", "error": fault}
				if !state {
					change["state"] = ""
				}
				return []string{back(address, change)}
			}
			_, err = b.signIn(t, signin.Direct, "poppy:read", "poppy:write")
			if page, ok := errors.AsType[*signin.PageError](err); want != nil && !errors.Is(err, want) || want == nil && (!ok || page.Code != fault) {
				t.Errorf("%s: %v", fault, err)
			}
			if a, err := b.kept(t); err != nil || !slices.Equal(a.Scope, before.Account.Scope) || len(b.server.revoked)+len(b.server.forms)+len(b.session.used) != 0 {
				t.Errorf("%s: kept %+v, %v; %+v", fault, a, err, b.server)
			}
		}
	}
}

func TestADirectSignInThatNobodyFinishesEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		if _, err := b.signIn(t, signin.Direct, "poppy:read"); !errors.Is(err, signin.ErrExpired) {
			t.Errorf("error %v", err)
		}
	})
}

// Clauses: S01-4.4.13
func TestARefusedExchangeIsTold(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]error{
		"invalid_grant": session.ErrInvalidGrant, "account_mismatch": signin.ErrAccountMismatch, "invalid_session": signin.ErrNewSession,
		"access_denied": signin.ErrDeclined,
	} {
		b := newBench(t)
		b.server.script = []any{&session.ServerError{Status: 400, Code: code}}
		b.user.callbacks = func(address string) []string { return []string{back(address, nil)} }
		if _, err := b.signIn(t, signin.Direct, "poppy:read"); !errors.Is(err, want) {
			t.Errorf("%s: %v", code, err)
		}
		if _, err := b.kept(t); !errors.Is(err, account.ErrNone) {
			t.Errorf("%s: kept all the same: %v", code, err)
		}
	}
}

// A wider sign-in takes the place of the narrower one, whose token is revoked.
//
// Clauses: S01-4.4.11, S01-4.4.12
func TestAWiderSignInReplacesTheNarrowerOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.user.callbacks = func(address string) []string { return []string{back(address, nil)} }
	for n, scope := range [][]string{{"poppy:read"}, {"poppy:read", "poppy:write"}} {
		b.server.script = []any{granted(fmt.Sprint("account-", n), scope...)}
		r, err := b.signIn(t, signin.Direct, scope...)
		if err != nil || r.Kept.Replaced != (n == 1) {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if a, _ := b.kept(t); !a.Covers([]string{"poppy:read", "poppy:write"}) || !slices.Equal(b.server.revoked, []string{"account-0"}) {
		t.Errorf("kept %+v, revoked %q", a, b.server.revoked)
	}
}

// A token that can't be kept must not stay good at the Company with nobody to revoke it.
func TestATokenThatCannotBeKeptIsRevoked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Place = account.PlaceKeyring // and there is none
	b.server.script = []any{granted("account", "poppy:read")}
	b.user.callbacks = func(address string) []string { return []string{back(address, nil)} }
	_, err := b.signIn(t, signin.Direct, "poppy:read")
	if _, ok := errors.AsType[*account.LostError](err); !ok || !slices.Equal(b.server.revoked, []string{"account"}) || len(b.session.used) != 0 {
		t.Errorf("error %v, revoked %q, used %v", err, b.server.revoked, b.session.used)
	}
}

func TestAccessWithoutAnAccountTokenIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g := granted("", "poppy:read")
	b.server.script = []any{g}
	b.user.callbacks = func(address string) []string { return []string{back(address, nil)} }
	if _, err := b.signIn(t, signin.Direct, "poppy:read"); !errors.Is(err, signin.ErrNoAccountToken) {
		t.Errorf("error %v", err)
	}
}
