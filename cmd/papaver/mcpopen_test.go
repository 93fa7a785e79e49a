package main

import (
	"strings"
	"sync"
	"testing"
)

// At a locked home papaver mcp says what to do. With papaver mcp --open in a terminal of the User's, where the passphrase is
// asked for, a client that the User lets in joins, one that they don't is told so, and nothing is left at the end.
func TestALockedHomeIsOpenedForClientsInATerminal(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	b.start("mcp", "--open").exits(1) // no terminal
	b.locked()
	m := b.model()
	if text, _ := m.calls("poppy_join", `{"company":"`+b.ready.Company+`"}`); !strings.Contains(text, "papaver mcp --open in a terminal") {
		t.Errorf("a call at a locked home: %s", text)
	}
	m.leaves(b)

	args := []string{"mcp", "--open", "--cacert", b.ready.CACert}
	for _, rule := range b.ready.ConnectTo {
		args = append(args, "--connect-to", rule)
	}
	if noSandbox() {
		args = append(args, "--sandbox=false")
	}
	u := b.sit(100, 30, nil, args...)
	u.sees("The passphrase of this home: ")
	u.types("not the passphrase\n")
	u.sees("does not open it")
	u.sees("The passphrase of this home: ")
	u.types(passphrase + "\n")
	u.sees("Start it in your client now")
	refused := b.start("mcp")
	u.sees("A client wants to use this agent")
	u.types("\n")
	refused.exits(1)
	refused.says("did not let this client in")
	twice := b.sit(100, 30, nil, "mcp", "--open")
	twice.sees("The passphrase of this home: ")
	twice.types(passphrase + "\n")
	twice.sees("runs at this home already")
	twice.exits(1)

	enter := func(nth int) *model {
		var letting sync.WaitGroup
		letting.Go(func() {
			if u.screen.await(u.ended, func(text string) bool { return strings.Count(text, "A client wants to use this agent") == nth }) {
				_, _ = u.keyboard.WriteString("y\n")
			}
		})
		defer letting.Wait()
		return b.model()
	}
	m = enter(2)
	if text, data := m.calls("poppy_join", `{"company":"`+b.ready.Company+`"}`); data["status"] != "joined" {
		t.Errorf("join: %s", text)
	}
	if err := m.stdin.Close(); err != nil {
		t.Error(err)
	}
	m.exits(0)
	for pid, command := range processes(b.tmp) {
		if strings.Contains(command, "--user-data-dir") {
			t.Errorf("a Chromium is left: %d %.200q", pid, command)
		}
	}
	m = enter(3)
	u.types("\x03") // while a client is there
	u.exits(0)
	m.exits(0)
	if strings.Contains(plainText(u.screen.String()), passphrase) {
		t.Error("the passphrase was drawn")
	}
}
