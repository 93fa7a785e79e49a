package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Every type works in every version, from nothing to signed out, and the Company sees no rule broken.
//
// Clauses: S01-4.4.01, S01-4.5.07, S01-4.6.01, S01-4.7.03, S01-4.8.01, S01-4.9.01, C10-7.04
func TestEachTypeOfSignInWorksInEachVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.0", "0.2", "0.1"} {
		for _, kind := range []string{"direct", "device", "mediated"} {
			t.Run(version+" "+kind, func(t *testing.T) {
				t.Parallel()
				b := atCompanyOf(t, version)
				e := b.signedInBy(kind)
				if !slices.Equal(e.list("scope"), []string{"poppy:read"}) || e.text("type") != kind || e.text("protocol") != version || len(e.list("missing")) > 0 {
					t.Errorf("signed in as %v", e)
				}
				// A second time nothing is asked: what is kept is used, and stands.
				p := b.start(b.there("signin", "--json")...)
				p.exits(0)
				if again := p.event("signed_in", 1); again["already"] != true {
					t.Errorf("the second time: %v", again)
				}
				// More is asked for together with what is there, and takes its place.
				e = b.signedInBy(kind, "--scope", "poppy:write")
				if !slices.Equal(e.list("scope"), []string{"poppy:read", "poppy:write"}) || e["replaced"] != true || e.text("unrevoked") != "" {
					t.Errorf("for more: %v", e)
				}
				if kept := b.kept(); len(kept) != 1 || !slices.Equal(kept[0].list("scope"), []string{"poppy:read", "poppy:write"}) {
					t.Errorf("kept %v", kept)
				}
				if out := b.run(0, b.there("signout")...); !strings.Contains(out, "has revoked the access") || !strings.Contains(out, "what stays") {
					t.Errorf("signout says %q", out)
				}
				if kept := b.kept(); len(kept) != 0 {
					t.Errorf("after signout %v", kept)
				}
				b.counted(0, 0)
			})
		}
	}
}

// The User may approve less than was asked for; that is told, and kept.
//
// Clauses: S01-4.4.15
func TestPartialConsentIsShown(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
	p := b.start(b.there("signin", "--json", "--type", "device", "--scope", "poppy:read poppy:write")...)
	b.does("approve-device", map[string]any{"user_code": p.event("code", 1).text("code"), "scopes": []string{"poppy:read"}})
	p.exits(0)
	if e := p.event("signed_in", 1); !slices.Equal(e.list("scope"), []string{"poppy:read"}) || !slices.Equal(e.list("missing"), []string{"poppy:write"}) {
		t.Errorf("signed in as %v", e)
	}
	p.says("Not granted, though it was asked for: poppy:write")
}

// What the User took back at the Company is asked for again, though what is kept here says that it is there.
func TestAScopeThatWasTakenBackIsAskedForAgain(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
	b.signedInBy("device")
	files, err := filepath.Glob(filepath.Join(b.home, "accounts", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	wider := bytes.Replace(data, []byte(`"scope":["poppy:read"]`), []byte(`"scope":["poppy:read","poppy:write"]`), 1)
	if bytes.Equal(wider, data) {
		t.Fatalf("the account's file names its scope otherwise")
	}
	if err := os.WriteFile(files[0], wider, 0o600); err != nil {
		t.Fatal(err)
	}
	if e := b.signedInBy("device", "--scope", "poppy:write"); e["already"] == true || !slices.Equal(e.list("scope"), []string{"poppy:read", "poppy:write"}) {
		t.Errorf("signed in as %v", e)
	}
}

// Each way a sign-in can end without access has its word and its status, and keeps nothing.
//
// Clauses: S01-4.4.13
func TestASignInThatComesToNothingSaysWhy(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
	for name, tc := range map[string]struct {
		flags  []string
		does   func(p *process, in io.WriteCloser)
		status int
		says   string
	}{
		"declined": {[]string{"--type", "device"}, func(p *process, _ io.WriteCloser) {
			b.does("deny-device", map[string]any{"user_code": p.event("code", 1).text("code")})
		}, 3, "was declined on stormline.test's page"},
		"interrupted": {[]string{"--type", "device"}, func(p *process, _ io.WriteCloser) {
			p.event("code", 1)
			p.signal(syscall.SIGINT)
		}, 130, "interrupted before you had signed in"},
		"interrupted while it reads": {[]string{"--type", "direct"}, func(p *process, _ io.WriteCloser) {
			p.event("address", 1)
			p.signal(syscall.SIGINT)
		}, 130, "interrupted before you had signed in"},
		"no way to answer": {[]string{"--type", "direct"}, func(_ *process, in io.WriteCloser) { _ = in.Close() }, 1, "--type device"},
		"wrong credentials": {[]string{"--type", "mediated"}, func(_ *process, in io.WriteCloser) {
			_, _ = fmt.Fprintf(in, `{"email":%q,"password":"wrong"}`, email)
		}, 1, "did not take what you gave"},
		"credentials of other names": {[]string{"--type", "mediated"}, func(_ *process, in io.WriteCloser) {
			_, _ = fmt.Fprintf(in, `{"email":%q,"pin":"1234"}`, email)
		}, 1, `the member "pin", which is not asked for`},
		"no JSON": {[]string{"--type", "mediated"}, func(_ *process, in io.WriteCloser) {
			_, _ = fmt.Fprintf(in, "%s\n%s\n", email, password)
		}, 1, "nothing of it was sent"},
		"scopes that nobody grants": {[]string{"--scope", "admin"}, nil, 1, "--type direct grants poppy:read poppy:write addresses"},
		"a type too narrow":         {[]string{"--type", "device", "--scope", "addresses"}, nil, 1, "does not grant all of these scopes"},
		"no keyring":                {[]string{"--keyring"}, nil, 1, "nothing was put in a file instead"},
	} {
		t.Run(name, func(t *testing.T) {
			p, in := b.piped(b.there("signin", append(tc.flags, "--json")...)...)
			if tc.does != nil {
				tc.does(p, in)
			}
			p.exits(tc.status)
			p.says(tc.says, "nothing was signed in")
			if e := p.event("error", 1); e.text("undone") == "" || e.text("next") == "" {
				t.Errorf("error %v", e)
			}
			if strings.Contains(p.told(), password) {
				t.Errorf("the password is told\n%s", p.told())
			}
			if kept := b.kept(); len(kept) != 0 {
				t.Errorf("kept %v", kept)
			}
		})
	}
}

// A callback that is not this sign-in's is refused with a word, and the waiting goes on.
//
// Clauses: S01-4.5.05, S01-4.5.06
func TestAPastedCallbackOfAnotherSignInIsNotTaken(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
	p, in := b.piped(b.there("signin", "--json", "--type", "direct")...)
	back := fmt.Sprint(b.does("approve-authorization", map[string]any{"authorization_url": p.event("address", 1).text("url")})["callback_url"])
	_, _ = fmt.Fprintf(in, "%s\n\n", strings.Replace(back, "state=", "state=x", 1))
	if why := p.event("refused", 1).text("why"); !strings.Contains(why, "another sign-in") || strings.Contains(why, "code=") {
		t.Errorf("refused because %q", why)
	}
	_, _ = fmt.Fprintln(in, back)
	p.exits(0)
}

// Disconnecting the agent at the Company ends the access here with a word, and a new sign-in follows.
//
// Clauses: S01-4.8.08, S01-4.9.09
func TestAnAccessThatTheCompanyEndedIsSignedInAnew(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
	b.signedInBy("device", "--scope", "poppy:read poppy:write")
	b.does("disconnect", map[string]any{"client_id": "https://agent.test/agent.json", "account": "acct_dana"})
	p := b.start(b.there("signin", "--json", "--type", "device")...)
	code := p.event("code", 1)
	if !slices.Equal(code.list("scope"), []string{"poppy:read", "poppy:write"}) {
		t.Errorf("asked again for %q", code.list("scope"))
	}
	b.does("approve-device", map[string]any{"user_code": code.text("code")})
	p.exits(0)
	p.says("has ended: the Company no longer accepts it")
}

// Without the Company nothing is signed out, and the token is dropped only when that is said.
func TestSigningOutNeedsTheCompanyOrAWord(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
	b.signedInBy("device", "--account", "work")
	p := b.start(b.there("signout")...)
	p.exits(1)
	p.says("you are not signed in at stormline.test under that name", "--account work")
	authority, err := os.ReadFile(b.ready.CACert)
	if err != nil {
		t.Fatal(err)
	}
	b.ready.CACert = b.file("authority.pem", string(authority)) // the site removes its own
	b.company.signal(syscall.SIGTERM)
	b.company.exits(0)
	p = b.start(b.there("signout", "--account", "work")...)
	p.exits(1)
	p.says("you are still signed in", "--forget")
	if kept := b.kept(); len(kept) != 1 {
		t.Errorf("kept %v", kept)
	}
	if out := b.run(0, "signout", "stormline.test", "--account", "work", "--forget"); !strings.Contains(out, "the Company was not asked") {
		t.Errorf("it says %q", out)
	}
	if kept := b.kept(); len(kept) != 0 {
		t.Errorf("kept %v", kept)
	}
}

// On a terminal a password is asked for without echo, and the terminal shows what is typed again afterwards, also when
// the asking was broken off.
//
// Clauses: S01-4.7.02
func TestAPasswordIsNotEchoed(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
	for name, last := range map[string]string{"finished": oneTime + "\n", "broken off": "\x03"} {
		u := b.sit(100, 40, nil, b.there("signin", "--type", "mediated", "--account", strings.ReplaceAll(name, " ", "-"))...)
		u.sees("“Email”:")
		u.types(email + "\n")
		u.sees("“Password”:")
		if echoes(t, u.keyboard) {
			t.Errorf("%s: the terminal echoes while a password is asked for", name)
		}
		u.types(password + "\n")
		u.sees("Code:")
		u.types(last)
		if name == "finished" {
			u.sees("signed in at stormline.test")
			u.exits(0)
		} else {
			u.sees("interrupted")
			u.exits(130)
		}
		if screen := u.screen.String(); strings.Contains(screen, password) || strings.Contains(screen, oneTime) || !strings.Contains(screen, email) {
			t.Errorf("%s: the screen\n%s", name, screen)
		}
		if !echoes(t, u.keyboard) {
			t.Errorf("%s: the terminal is left without echo", name)
		}
	}
}

// echoes says whether a pseudo-terminal shows what is typed.
func echoes(t *testing.T, keyboard *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(keyboard.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// On a terminal the address is one unbroken line, however narrow it is, and the pasted address is taken.
func TestTheAddressIsUnwrappedAndTheCallbackPasted(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
	u := b.sit(40, 24, nil, b.there("signin", "--type", "direct")...)
	address := u.sees(`(?m)^https://auth\.stormline\.test/\S+\r?$`)
	u.sees("Ctrl-C")
	back := b.does("approve-authorization", map[string]any{"authorization_url": strings.TrimSpace(address)})
	u.types(fmt.Sprint(back["callback_url"], "\n"))
	u.sees("signed in at stormline.test")
	u.exits(0)
}

// Neither events, words, screens nor files but the account's own hold a token, a device code or a password; and what is
// kept is the owner's alone.
//
// Clauses: S01-4.6.03, S01-4.7.02, S01-4.8.09, S01-4.8.10, S01-4.3.24
func TestASignInLeavesNoSecretAnywhere(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.0", "0.1"} {
		b := atCompanyOf(t, version)
		keys := privateKeys(t, b)
		var told strings.Builder
		for _, kind := range []string{"mediated", "device", "direct"} {
			fmt.Fprint(&told, b.signedInBy(kind, "--account", kind))
		}
		told.WriteString(b.run(0, "companies") + b.run(0, "companies", "--json"))
		files, err := filepath.Glob(filepath.Join(b.home, "accounts", "*.json"))
		if err != nil || len(files) != 3 {
			t.Fatalf("files %q, %v", files, err)
		}
		secrets := append(slices.Clone(keys), []byte(password), []byte(oneTime))
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var record struct {
				Tokens struct {
					Current string `json:"current"`
				} `json:"tokens"`
			}
			if err := json.Unmarshal(data, &record); err != nil || len(record.Tokens.Current) < 16 {
				t.Fatalf("%s holds no token: %v", path, err)
			}
			if bytes.Contains(data, []byte(password)) {
				t.Errorf("%s holds the password", path)
			}
			secrets = append(secrets, []byte(record.Tokens.Current))
		}
		_ = filepath.WalkDir(b.dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || filepath.Dir(path) == filepath.Join(b.home, "accounts") || filepath.Base(path) == "identity.json" {
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return nil
			}
			told.WriteString(path + string(data))
			return nil
		})
		for i, secret := range secrets {
			if strings.Contains(told.String(), string(secret)) {
				t.Errorf("%s: secret %d of %d is told", version, i, len(secrets))
			}
		}
		b.counted(0, 0)
	}
}

// Several processes that need the access at once use one token, which is good for one use, one after another.
//
// Clauses: S01-4.8.07, S01-4.4.20
func TestProcessesOfOneHomeShareASignIn(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
	b.signedInBy("device")
	var all []*process
	for range 5 {
		all = append(all, b.start(b.there("signin", "--json")...))
	}
	for _, p := range all {
		p.exits(0)
		if e := p.event("signed_in", 1); e["already"] != true {
			t.Errorf("a process says %v", e)
		}
	}
	b.counted(0, 0)
}

// The User's browser is opened when that is said, and never by itself where there is no desktop.
func TestTheBrowserIsOpenedWhenThatIsSaid(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
	b.path = filepath.Join(b.dir, "bin")
	if err := os.Mkdir(b.path, 0o700); err != nil {
		t.Fatal(err)
	}
	opened := filepath.Join(b.dir, "opened")
	if err := os.WriteFile(filepath.Join(b.path, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >"+opened+".new\n/bin/mv "+opened+".new "+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"--type", "direct", "--open"}, {"--type", "direct"}} {
		p, in := b.piped(b.there("signin", append(flags, "--json")...)...)
		address := p.event("address", 1).text("url")
		back := b.does("approve-authorization", map[string]any{"authorization_url": address})
		_, _ = fmt.Fprintln(in, back["callback_url"])
		p.exits(0)
		b.run(0, b.there("signout")...)
		if len(flags) == 3 {
			b.appears(opened, address+"\n")
		} else if _, err := os.Stat(opened); err == nil {
			t.Error("the browser was opened by itself")
		}
		_ = os.Remove(opened)
	}
}
