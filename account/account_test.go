package account_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/session"
)

var (
	home = account.Key{Issuer: "https://auth.example.com"}
	work = account.Key{Issuer: "https://auth.example.com", Label: "work"}
)

func open(t *testing.T, cfg account.Config) *account.Store {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = filepath.Join(t.TempDir(), "accounts")
	}
	s, err := account.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// signedIn is a sign-in as it comes from the Company.
func signedIn(k account.Key, scope ...string) account.Account {
	if scope == nil {
		scope = []string{"poppy:read", "poppy:write"}
	}
	return account.Account{
		Key: k, Domain: "example.com", Name: "Example", ClientID: agentID, Profile: "1.0", Type: "device",
		Scope: scope, Since: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Place: account.PlaceFile,
	}
}

func keep(t *testing.T, s *account.Store, a account.Account, token string, server account.Server) account.Kept {
	t.Helper()
	kept, err := s.Keep(t.Context(), a, secret.New(token), server)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// used are the tokens that were sent, in order.
func (i *issuer) used() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var tokens []string
	for _, form := range i.seen {
		tokens = append(tokens, form.Get("token"))
	}
	return tokens
}

// The newest token is the one that is used, also by a store that was opened before it came.
//
// Clauses: S01-4.8.07
func TestARotatedTokenIsUsedFromThenOn(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "first")
	dir := filepath.Join(t.TempDir(), "accounts")
	one, other := open(t, account.Config{Dir: dir}), open(t, account.Config{Dir: dir})
	keep(t, one, signedIn(home), "first", remote{i.URL})
	for n, s := range []*account.Store{one, other, one} {
		g, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{SessionID: "ses_1"})
		if err != nil {
			t.Fatal(err)
		}
		if !g.AccountToken.Empty() || g.SessionID != "ses_1" || !g.SignedIn {
			t.Errorf("refresh %d gives %+v", n, g)
		}
		if on := fileText(t, dir); !strings.Contains(on, fmt.Sprintf("rotated-%d", n+1)) {
			t.Errorf("after refresh %d the new token is not on disk", n)
		}
	}
	if got, want := i.used(), []string{"first", "rotated-1", "rotated-2"}; !slices.Equal(got, want) {
		t.Errorf("%q were sent, want %q", got, want)
	}
}

// A new token has its own end, or none; that of the one before is not its.
func TestARotatedTokenHasItsOwnEnd(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "first")
	s := open(t, account.Config{})
	a := signedIn(home)
	a.Expires = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	keep(t, s, a, "first", remote{i.URL})
	i.set(func(i *issuer) { i.rotates = false })
	for _, want := range []time.Time{a.Expires, {}} {
		if _, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{}); err != nil {
			t.Fatal(err)
		}
		if now, err := s.Find(home); err != nil || !now.Expires.Equal(want) {
			t.Errorf("its end is %v, want %v; %v", now.Expires, want, err)
		}
		i.set(func(i *issuer) { i.rotates = true })
	}
}

// A token for one API spends the Account Token like any other, and what it reaches says nothing of the account.
//
// Clauses: S01-4.8.07
func TestATokenForOneAPIIsAnExchangeLikeAnyOther(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "first")
	s := open(t, account.Config{})
	keep(t, s, signedIn(home, "poppy:read", "addresses"), "first", remote{i.URL})
	var told []error
	of := s.RefresherFor(home, remote{i.URL}, nil, func() *session.ProofKey { return nil }, func(err error) { told = append(told, err) })
	i.set(func(i *issuer) {
		i.answer = func(w http.ResponseWriter, form url.Values) bool {
			_, _ = fmt.Fprint(w, `{"Token": "rotated-1", "Scope": "poppy:read"}`)
			return true
		}
	})
	api := company.API{Type: "mcp", URL: "https://mcp.example.com/mcp"}
	g, err := of(t.Context(), "ses_1", api)
	if err != nil || g.AccessToken.Reveal() != "access for "+api.URL || !g.AccountToken.Empty() {
		t.Errorf("%+v, %v", g, err)
	}
	if a, err := s.Find(home); err != nil || !a.Covers([]string{"addresses"}) {
		t.Errorf("the API's scopes became the account's: %v, %v", a.Scope, err)
	}
	i.set(func(i *issuer) { i.answer = nil })
	if _, err := of(t.Context(), "ses_1", api); !errors.Is(err, session.ErrInvalidGrant) || len(told) != 1 {
		t.Errorf("a token that is accepted no more: %v, told %d times", err, len(told))
	}
	if got, want := i.used(), []string{"first", "rotated-1"}; !slices.Equal(got, want) {
		t.Errorf("%q were sent, want %q", got, want)
	}
	if _, err := of(t.Context(), "ses_1", api); !errors.Is(err, session.ErrSignInRequired) {
		t.Errorf("without a sign-in: %v", err)
	}
}

// A token that came beside an unusable answer is kept all the same: the old one may be spent.
func TestATokenBesideAnErrorIsKept(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "first")
	s := open(t, account.Config{})
	keep(t, s, signedIn(home), "first", remote{i.URL})
	unusable := beside{remote{i.URL}}
	if _, err := s.Refresh(t.Context(), home, unusable, account.Request{}); !errors.Is(err, session.ErrUnreadable) {
		t.Errorf("error %v", err)
	}
	if _, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{}); err != nil {
		t.Error(err)
	}
}

// invalid_grant means that the sign-in has ended: the token is removed, and a Session is told to go on signed out.
//
// Clauses: S01-4.8.08, S01-4.9.09
func TestATokenTheCompanyNoLongerAcceptsIsRemoved(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	s := open(t, account.Config{})
	keep(t, s, signedIn(home), "dead", remote{i.URL})
	_, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{})
	ended, ok := errors.AsType[*account.EndedError](err)
	if !ok || !errors.Is(err, session.ErrInvalidGrant) || ended.Account.Domain != "example.com" || !ended.Interrupted.IsZero() {
		t.Fatalf("error %v", err)
	}
	if _, err := s.Find(home); !errors.Is(err, account.ErrNone) {
		t.Errorf("after that, Find says %v", err)
	}
	var told []error
	refresh := s.Refresher(home, remote{i.URL}, nil, func() *session.ProofKey { return nil }, func(err error) { told = append(told, err) })
	if _, err := refresh(t.Context(), "ses_1"); !errors.Is(err, session.ErrSignInRequired) || len(told) != 1 {
		t.Errorf("the Session is told %v, and the caller %v", err, told)
	}
	if got := i.used(); len(got) != 1 {
		t.Errorf("the dead token was sent %d times", len(got))
	}
}

// Whatever else the Company answers, the token stays.
func TestOtherRefusalsLeaveTheTokenAlone(t *testing.T) {
	t.Parallel()
	for code, status := range map[string]int{"account_mismatch": 400, "invalid_session": 400, "temporarily_unavailable": 503, "": 404} {
		t.Run(fmt.Sprint(status, code), func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t, "good")
			s := open(t, account.Config{})
			keep(t, s, signedIn(home), "good", remote{i.URL})
			i.set(func(i *issuer) { i.answer = fails(status, code) })
			_, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{})
			if refused, ok := errors.AsType[*session.ServerError](err); !ok || refused.Code != code {
				t.Errorf("error %v", err)
			}
			// Only an answer that says so tells that nothing was exchanged.
			if a, err := s.Find(home); err != nil || a.Interrupted.IsZero() != (status < 500) {
				t.Errorf("after %d: %+v, %v", status, a, err)
			}
			i.set(func(i *issuer) { i.answer = nil })
			if _, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{}); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if a, err := s.Find(home); err != nil || !a.Interrupted.IsZero() {
				t.Errorf("after one that worked: %+v, %v", a, err)
			}
		})
	}
}

// A refresh can ask for less, and never for more: that is not even sent.
//
// Clauses: S01-4.8.05
func TestARefreshNarrowsAndNeverWidens(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "good")
	i.rotates = false
	s := open(t, account.Config{})
	keep(t, s, signedIn(home, "poppy:read", "addresses"), "good", remote{i.URL})
	i.set(func(i *issuer) {
		i.answer = func(w http.ResponseWriter, form url.Values) bool {
			_, _ = fmt.Fprintf(w, `{"Scope": %q}`, form.Get("scope"))
			return true
		}
	})
	g, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{Scope: []string{"poppy:read"}})
	if err != nil || !slices.Equal(g.Scope, []string{"poppy:read"}) {
		t.Errorf("narrowed: %v, %v", g.Scope, err)
	}
	if a, err := s.Find(home); err != nil || !a.Covers([]string{"addresses"}) {
		t.Errorf("a narrower token took scopes from the account: %v, %v", a.Scope, err)
	}
	_, err = s.Refresh(t.Context(), home, remote{i.URL}, account.Request{Scope: []string{"poppy:read", "poppy:write"}})
	if missing, ok := errors.AsType[*account.ScopeError](err); !ok || !slices.Equal(missing.Missing, []string{"poppy:write"}) {
		t.Errorf("wider: %v", err)
	}
	if n := len(i.used()); n != 1 {
		t.Errorf("%d requests were sent, want the narrowed one alone", n)
	}
}

// The new token stands before the old one is revoked, and one that could not be revoked is tried again.
//
// Clauses: S01-4.4.12
func TestAReplacedTokenIsRevoked(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "old", "new", "newest")
	dir := filepath.Join(t.TempDir(), "accounts")
	s := open(t, account.Config{Dir: dir})
	if kept := keep(t, s, signedIn(home), "old", remote{i.URL}); kept.Replaced || len(i.revoked) != 0 {
		t.Errorf("the first sign-in: %+v, revoked %q", kept, i.revoked)
	}
	i.set(func(i *issuer) {
		i.answer = func(w http.ResponseWriter, form url.Values) bool {
			if on := fileText(t, dir); !strings.Contains(on, `"current":"new"`) {
				t.Errorf("the old token is revoked before the new one is on disk")
			}
			return fails(503, "")(w, form)
		}
	})
	kept := keep(t, s, signedIn(home), "new", remote{i.URL})
	if _, ok := errors.AsType[*account.UnrevokedError](kept.Unrevoked); !kept.Replaced || !ok || kept.Account.Unrevoked != 1 {
		t.Errorf("without an answer: %+v", kept)
	}
	i.set(func(i *issuer) { i.answer = nil })
	if kept := keep(t, s, signedIn(home), "newest", remote{i.URL}); kept.Unrevoked != nil || kept.Account.Unrevoked != 0 {
		t.Errorf("with an answer: %+v", kept)
	}
	if want := []string{"old", "new"}; !slices.Equal(i.revoked, want) {
		t.Errorf("revoked %q, want %q", i.revoked, want)
	}
	if _, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{}); err != nil {
		t.Error(err)
	}
}

// A Company that gives the same token again must not have it revoked.
func TestTheSameTokenAgainIsNotRevoked(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "same")
	s := open(t, account.Config{})
	keep(t, s, signedIn(home), "same", remote{i.URL})
	if kept := keep(t, s, signedIn(home), "same", remote{i.URL}); kept.Unrevoked != nil || len(i.revoked) != 0 {
		t.Errorf("%+v, revoked %q", kept, i.revoked)
	}
}

// Clauses: S01-4.9.01
func TestSigningOutRevokesAndRemoves(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "old", "good")
	dir := filepath.Join(t.TempDir(), "accounts")
	s := open(t, account.Config{Dir: dir})
	keep(t, s, signedIn(home), "old", remote{i.URL})
	i.set(func(i *issuer) { i.answer = fails(503, "") })
	keep(t, s, signedIn(home), "good", remote{i.URL})
	if _, err := s.SignOut(t.Context(), home, remote{i.URL}); err == nil {
		t.Error("a revocation that failed is no error")
	} else if _, ok := errors.AsType[*account.UnrevokedError](err); !ok {
		t.Errorf("error %v", err)
	}
	if _, err := s.Find(home); err != nil {
		t.Fatalf("a failed revocation dropped the token: %v", err)
	}
	i.set(func(i *issuer) { i.answer = nil })
	a, err := s.SignOut(t.Context(), home, remote{i.URL})
	if err != nil || a.Domain != "example.com" {
		t.Fatalf("%+v, %v", a, err)
	}
	if want := []string{"old", "good"}; !slices.Equal(i.revoked, want) {
		t.Errorf("revoked %q, want %q", i.revoked, want)
	}
	if on := fileText(t, dir); strings.Contains(on, "good") {
		t.Error("the token is still on disk")
	}
	if _, err := s.SignOut(t.Context(), home, remote{i.URL}); !errors.Is(err, account.ErrNone) {
		t.Errorf("the second time: %v", err)
	}
}

func TestForgettingAsksNobody(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "good")
	dir := filepath.Join(t.TempDir(), "accounts")
	s := open(t, account.Config{Dir: dir})
	keep(t, s, signedIn(home), "good", remote{i.URL})
	if _, err := s.Forget(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	if on := fileText(t, dir); strings.Contains(on, "good") || len(i.revoked) != 0 || len(i.used()) != 0 {
		t.Errorf("on disk %q, revoked %q", on, i.revoked)
	}
}

// A User may have several accounts at a Company; each has a token of its own.
func TestAccountsOfOneUserStayApart(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "private", "business")
	i.rotates = false
	s := open(t, account.Config{})
	keep(t, s, signedIn(home), "private", remote{i.URL})
	if kept := keep(t, s, signedIn(work), "business", remote{i.URL}); kept.Replaced || len(i.revoked) != 0 {
		t.Errorf("the second account replaced the first: %+v, revoked %q", kept, i.revoked)
	}
	for _, k := range []account.Key{home, work} {
		if _, err := s.Refresh(t.Context(), k, remote{i.URL}, account.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := i.used(), []string{"private", "business"}; !slices.Equal(got, want) {
		t.Errorf("%q were sent, want %q", got, want)
	}
	if list, err := s.List(); err != nil || len(list) != 2 || list[0].Label != "" || list[1].Label != "work" {
		t.Errorf("List gives %+v, %v", list, err)
	}
	for _, label := range []string{"Work", "a b", "-x", "é", strings.Repeat("a", 33), "../x"} {
		if _, err := s.Find(account.Key{Issuer: home.Issuer, Label: label}); !errors.Is(err, account.ErrLabel) {
			t.Errorf("label %q: %v", label, err)
		}
	}
}

// One file that can't be read hides no other account, and can be removed.
func TestADamagedFileHidesNoOther(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "accounts")
	s := open(t, account.Config{Dir: dir})
	keep(t, s, signedIn(home), "secret-token", nil)
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[0], data[:len(data)-4], 0o600); err != nil {
		t.Fatal(err)
	}
	keep(t, s, signedIn(work), "other", nil)
	list, err := s.List()
	if len(list) != 1 || list[0].Label != "work" || err == nil || strings.Contains(err.Error(), "secret-token") {
		t.Errorf("List gives %+v, %v", list, err)
	}
	if _, err := s.Refresh(t.Context(), home, nil, account.Request{}); err == nil || errors.Is(err, account.ErrNone) {
		t.Errorf("a damaged file passes for no sign-in: %v", err)
	}
	if _, err := s.Forget(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(home); !errors.Is(err, account.ErrNone) {
		t.Errorf("after that: %v", err)
	}
}

// Tokens are in files of their owner alone, and nothing that may be shown holds one.
//
// Clauses: S01-4.8.09, S01-4.8.10
func TestTokensAreKeptAsSecrets(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "old-token-value", "token-value")
	dir := filepath.Join(t.TempDir(), "accounts")
	s := open(t, account.Config{Dir: dir})
	keep(t, s, signedIn(home), "old-token-value", remote{i.URL})
	i.set(func(i *issuer) { i.answer = fails(500, "") })
	kept := keep(t, s, signedIn(home), "token-value", remote{i.URL})
	_, refused := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{})
	list, _ := s.List()
	for name, shown := range map[string]any{"Keep": kept, "Keep's error": kept.Unrevoked, "List": list, "Refresh's error": refused, "the store": s} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%q"} {
			if text := fmt.Sprintf(verb, shown); strings.Contains(text, "token-value") {
				t.Errorf("%s as %s shows a token", name, verb)
			}
		}
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if strings.Contains(path, "token-value") || strings.Contains(path, "example") {
			t.Errorf("the name %s tells something", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fileText is everything in a folder's files.
func fileText(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}
