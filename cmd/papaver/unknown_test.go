package main

import (
	"strings"
	"testing"
)

// A run whose Chromium dies while the Company is performing asks the Company once more, and ends as unknown: not as an
// error that could be run again.
//
// Clauses: OPS3-7.13
func TestChromiumThatDiesAfterTheApprovalEndsTheRunAsUnknown(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	b.tell("performing?n=1000")
	u := b.sit(100, 40, nil, "tui")
	p := b.start(b.task(b.flow("exchange.json"), "--json")...)
	p.event("question", 1)
	u.answers(p, "a")
	p.event("replay", 1)
	b.killChromium()
	p.exits(5)
	e := p.event("error", 1)
	if e.text("round") == "" {
		e = p.event("error", 2)
	}
	if said := e.text("undone") + e.text("next"); !strings.Contains(said, "not known whether the action was performed") || !strings.Contains(said, "ask the Company before") {
		t.Errorf("error: %v", e)
	}
	if got := p.event("finished", 1).text("outcome"); got != "unknown" {
		t.Errorf("finished as %q", got)
	}
	if rounds := b.rounds(); len(rounds) != 1 || strings.HasPrefix(rounds[0].text("restart"), "ask again") {
		t.Errorf("ledger list: %v", rounds)
	}
	wantMembers(t, p.events(""))
	u.types("q")
	u.exits(0)
}
