package main

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// The full screen signs in by device and by mediated, and out, in one sitting: nothing but its own words tells how. A
// password is nowhere on the screen.
//
// Clauses: S01-4.7.02
func TestTheTerminalUISignsInAndOut(t *testing.T) {
	t.Parallel()
	b := atCompanyOf(t, "1.0")
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
	u.sees("▸ Device: you sign in") // the first, where there is no desktop
	u.types("\r")
	u.sees("What may your agent do there")
	u.types("\r")
	code := strings.Fields(u.sees(`Code     \S+`))[1]
	b.does("approve-device", map[string]any{"user_code": code})
	u.sees("signed in")
	u.sees("Granted  poppy:read")
	if kept := b.kept(); len(kept) != 1 || kept[0].text("type") != "device" {
		t.Errorf("kept %v", kept)
	}
	u.types("q")
	u.sees("o sign out")
	u.types("s")
	u.sees("Device: you sign in")
	u.types("\x1b[B")
	u.sees("▸")
	u.types("\x1b[B")
	u.sees("▸")
	u.types("\r")
	u.sees("What may your agent do there")
	u.types("\r")
	u.sees("“Email”")
	u.types(email)
	u.sees(email)
	u.types("\r")
	u.sees("“Password”")
	if echoes(t, u.keyboard) {
		t.Error("the terminal echoes")
	}
	u.types(password + "\r")
	u.sees("The one-time code")
	u.types(oneTime + "\r")
	u.sees("The access from before was revoked")
	if kept := b.kept(); len(kept) != 1 || kept[0].text("type") != "mediated" {
		t.Errorf("kept %v", kept)
	}
	u.types("q")
	u.sees("o sign out")
	u.types("o")
	u.sees("Press y")
	u.types("y")
	u.sees("Signed out at stormline.test")
	u.types("q")
	u.sees("No task runs here now")
	u.types("q")
	u.exits(0)
	text := ansi.Strip(u.screen.String())
	for _, secret := range []string{password, oneTime} {
		if strings.Contains(text, secret) {
			t.Errorf("a secret was drawn:\n%s", text)
		}
	}
	if kept := b.kept(); len(kept) != 0 {
		t.Errorf("kept %v", kept)
	}
	b.counted(0, 0)
}
