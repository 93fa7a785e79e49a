package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run with a screen of its own asks for the passphrase once, at its start, and its answers are signed; one that forgot it
// asks again.
func TestARunThatHasTheLockOpenSignsItsAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		flags []string
		asked bool // for the passphrase a second time
	}{
		"full screen":               {nil, false},
		"line by line":              {[]string{"--plain"}, false},
		"the key forgotten at once": {[]string{"--forget-after", "1ms"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := atCompany(t)
			b.locked()
			u := b.sit(100, 60, nil, b.task(b.flow("exchange.json"), tc.flags...)...)
			u.sees("The passphrase of this home: ")
			u.types(passphrase + "\n")
			asked := false
			for {
				seen := u.sees("a approve|asks for your passphrase|You approved|✓ performed")
				if seen == "a approve" {
					u.types("a")
					continue
				}
				if !strings.Contains(seen, "passphrase") {
					break
				}
				asked = true
				u.types(passphrase + "\r")
			}
			u.exits(0)
			b.counted(1, 1)
			if asked != tc.asked {
				t.Errorf("it asked a second time: %v\n%s", asked, plainText(u.screen.String()))
			}
			if out := b.run(0, "ledger", "verify"); !strings.Contains(out, "is signed with it (1 in all)") {
				t.Errorf("ledger verify says\n%s", out)
			}
			if strings.Contains(plainText(u.screen.String()), passphrase) {
				t.Error("the passphrase was drawn")
			}
		})
	}
}

// At a locked home the Companies screen asks for the passphrase once, and what it keeps is sealed.
func TestSigningInOnTheScreenOfALockedHome(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
	b.locked()
	args := []string{"tui", "--cacert", b.ready.CACert}
	for _, rule := range b.ready.ConnectTo {
		args = append(args, "--connect-to", rule)
	}
	u := b.sit(100, 60, nil, args...)
	u.sees("c Companies")
	u.types("c")
	u.sees("No Company is known yet")
	u.types("n")
	u.sees("Address of the Company")
	u.types(b.ready.Company + "\r")
	u.sees("asks for your passphrase")
	u.sees("The passphrase of this home")
	if echoes(t, u.keyboard) {
		t.Error("the terminal echoes")
	}
	u.types(passphrase + "\r")
	u.sees("▸ Device: you sign in")
	u.types("\r")
	u.sees("What may your agent do there")
	u.types("\r")
	code := strings.Fields(u.sees(`Code     \S+`))[1]
	b.does("approve-device", map[string]any{"user_code": code})
	u.sees("signed in")
	u.types("q")
	u.sees("o sign out")
	if left := openTokens(t, b.home); len(left) > 0 {
		t.Errorf("these files of the home hold a token in the open: %q", left)
	}
	u.types("o")
	u.sees("Press y")
	u.types("y")
	u.sees("Signed out at stormline.test")
	u.types("\x03")
	u.exits(0)
	if kept := b.kept(); len(kept) != 0 {
		t.Errorf("kept: %v", kept)
	}
	if strings.Contains(plainText(u.screen.String()), passphrase) {
		t.Error("the passphrase was drawn")
	}
}

// openTokens names the files of accounts that are not sealed.
func openTokens(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "accounts", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("accounts: %q, %v", files, err)
	}
	var open []string
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(data); !strings.Contains(text, `"sealed"`) || strings.Contains(text, `"tokens"`) {
			open = append(open, filepath.Base(path))
		}
	}
	return open
}
