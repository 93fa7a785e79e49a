package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/signin"
)

// hostile is text that would clear the screen, imitate our lines and hide what follows.
const hostile = "\x1b[2J\x1b[1;1HSigned in\u202e at\r\nbank.example \u2502 Password: \x07"

// newTestUI is a sign-in on the command line whose answers come from a file.
func newTestUI(t *testing.T, input string, args ...string) (ui *signInUI, said, events *bytes.Buffer) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte(input), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	said, events = &bytes.Buffer{}, &bytes.Buffer{}
	e := env{stdin: stdin, stderr: said, getenv: func(string) string { return "" }, now: time.Now}
	f := newSignInFlags()
	if _, err := f.parse(e, append([]string{"company.test"}, args...), 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := f.check(); err != nil {
		t.Fatal(err)
	}
	ui = newSignInUI(e, f, &lines{w: events})
	t.Cleanup(func() {
		ui.close()
		_ = stdin.Close()
	})
	return ui, said, events
}

// Whatever a Company says in a sign-in, it moves no cursor, makes no line of its own and stands behind its domain.
func TestACompanysWordsInASignInAreSanitised(t *testing.T) {
	t.Parallel()
	party := signin.Party{Domain: "example.com", Name: hostile, Scope: []string{"poppy:read", hostile}, Scopes: map[string]string{hostile: hostile}}
	ctx := context.Background()
	for name, show := range map[string]func(*signInUI){
		"direct": func(u *signInUI) {
			_ = u.Address(ctx, signin.AddressPrompt{Party: party, URL: "https://example.com/a", Redirect: "https://agent.test/cb"})
		},
		"device": func(u *signInUI) {
			_ = u.Code(ctx, signin.CodePrompt{Party: party, URL: "https://example.com/d", UserCode: hostile})
			u.Waiting(signin.Waiting{Err: errors.New(hostile), Pause: time.Second})
		},
		"mediated": func(u *signInUI) {
			_, _ = u.Credentials(ctx, signin.CredentialsPrompt{Party: party, Endpoint: "https://example.com/m", Fields: []company.Field{{Name: hostile, Label: hostile}}})
			_, _ = u.OneTimeCode(ctx, signin.OneTimePrompt{Party: party, SentTo: hostile})
		},
		"refused": func(u *signInUI) { _, _ = u.Callback(ctx, errors.New(hostile)) },
	} {
		u, said, events := newTestUI(t, "{}", "--input-fd", "0")
		show(u)
		for stream, text := range map[string]string{"words": said.String(), "events": events.String()} {
			if strings.ContainsAny(text, "\x1b\r\x07\u202e\u2502") || strings.Contains(text, "\nbank.example") {
				t.Errorf("%s: the %s hold what the Company sent: %q", name, stream, text)
			}
		}
		if name != "refused" && !strings.HasPrefix(said.String(), "example.com calls itself “") {
			t.Errorf("%s begins with %.60q", name, said.String())
		}
	}
}

// An event tells a scope to its end, so that a script can ask for it again; what people see is cut.
func TestAnEventTellsALongScopeToItsEnd(t *testing.T) {
	t.Parallel()
	long := "https://scopes.example.com/" + strings.Repeat("a", 100)
	u, said, events := newTestUI(t, "{}", "--input-fd", "0")
	if err := u.Code(t.Context(), signin.CodePrompt{Party: signin.Party{Domain: "example.com", Scope: []string{long}}, URL: "https://example.com/d"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(events.String(), long) || strings.Contains(said.String(), long) {
		t.Errorf("events %q, words %q", events, said)
	}
	if line := lineOfAccount(account.Account{Scope: []string{long}}); line.Scope[0] != long {
		t.Errorf("the account's line has %q", line.Scope)
	}
}

// Scripts give credentials as a JSON object of exactly the fields asked for, and then the code as another.
func TestScriptsGiveCredentialsAsJSON(t *testing.T) {
	t.Parallel()
	fields := []company.Field{{Name: "email"}, {Name: "password", Secret: true}}
	for input, want := range map[string]string{
		`{"email":"d\u00e4na","password":"a\"b"} {"code":"1"}`: "",
		"{\n \"email\": \"x\",\n \"password\": \"y\"\n}\n":     "",
		`{"email":"x"}`:                          `these members: {"email":"…","password":"…"}`,
		`{"email":"x","password":""}`:            "these members",
		``:                                       "these members",
		`{"email":"x","password":"y","pin":"z"}`: `the member "pin"`,
		`{"email":"x","password":7}`:             `its member "password" is no string`,
		`{"email":"x","email":"y","password":""}`: "each member once",
		`["email","password"]`:                    "no JSON object",
		`email=x`:                                 "no JSON object",
		`{"email":"x","password":"y"`:             "no JSON object",
	} {
		u, _, _ := newTestUI(t, input, "--input-fd", "0")
		given, err := u.Credentials(t.Context(), signin.CredentialsPrompt{Fields: fields})
		if want == "" && (err != nil || len(given) != 2 || len(given["email"]) == 0) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %q, %v", input, given, err)
		}
		if strings.Contains(input, "code") {
			if code, err := u.OneTimeCode(t.Context(), signin.OneTimePrompt{}); err != nil || string(code) != "1" || string(given["email"]) != "däna" || string(given["password"]) != `a"b` {
				t.Errorf("%q: code %q, %v, given %q", input, code, err, given)
			}
		} else if _, err := u.OneTimeCode(t.Context(), signin.OneTimePrompt{}); err == nil {
			t.Errorf("%q: a code came from nowhere", input)
		}
	}
}
