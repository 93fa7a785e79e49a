package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/internal/secret"
)

// What a home knows of Companies is told from what it keeps, a Company's words are sanitised, and one damaged file
// hides no other account.
func TestCompaniesTellsWhatTheHomeKnows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home")
	accounts, err := account.Open(account.Config{Dir: filepath.Join(dir, "accounts")})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for _, a := range []account.Account{
		{Key: account.Key{Issuer: "https://auth.example.com"}, Domain: "example.com", Name: "Example” signed in\x1b[2J", Scope: []string{"poppy:read\x1b[2J"}, Expires: now.Add(-time.Hour)},
		{Key: account.Key{Issuer: "https://auth.example.com", Label: "work"}, Domain: "example.com", Name: "Example” signed in\x1b[2J", Scope: []string{"poppy:write"}},
	} {
		a.Type, a.Profile, a.Since, a.Place = "device", "1.0", now, account.PlaceFile
		if _, err := accounts.Keep(t.Context(), a, secret.New("the-token"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "accounts", "damaged.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "identity"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "identity", "users.json"), []byte(`{"https://auth.example.com":"usr_1","https://auth.other.test":"usr_2"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFlags("companies")
	f.home = dir
	e := env{now: func() time.Time { return now }, getenv: func(string) string { return "" }}
	known, err := f.known(e)
	if err == nil || !strings.Contains(err.Error(), "damaged.json") || strings.Contains(err.Error(), "the-token") {
		t.Errorf("the damaged file: %v", err)
	}
	if len(known) != 2 || known[0].UserID != "usr_2" || known[0].SignedIn || known[1].UserID != "usr_1" || len(known[1].Accounts) != 2 {
		t.Fatalf("known: %+v", known)
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	e.stdout = out
	for _, k := range known {
		printCompany(e, k)
	}
	shown, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	events, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"shown": shown, "told": events} {
		if bytes.ContainsAny(text, "\x1b") || bytes.Contains(text, []byte("the-token")) {
			t.Errorf("%s: %q", name, text)
		}
	}
	for _, want := range []string{"issuer https://auth.other.test: signed out", "example.com calls itself “Example‹U+201D› signed in", "ended ", "account      work", "knows you as usr_1"} {
		if !strings.Contains(string(shown), want) {
			t.Errorf("%q is not shown:\n%s", want, shown)
		}
	}
}
