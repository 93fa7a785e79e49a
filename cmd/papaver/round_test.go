package main

import (
	"slices"
	"strings"
	"testing"
)

// members are those of each event that scripts may rely on, beside time and event.
var members = map[string][]string{
	"joined":    {"company", "sid", "signed_in"},
	"act":       {"step", "type"},
	"sighting":  {"sid", "url", "accepted"},
	"operation": {"round", "operation_id", "revision", "summary", "terms", "expires_at"},
	"question":  {"round", "request", "kind", "differences"},
	"answer":    {"round", "approver", "approved"},
	"approval":  {"round", "outcome"},
	"replay":    {"round", "how"},
	"settled":   {"round", "outcome"},
	"error":     {"what", "done", "undone", "next"},
	"finished":  {"outcome"},
}

// wantMembers checks that every event has its members, none of them null.
func wantMembers(t *testing.T, events []event) {
	t.Helper()
	for _, e := range events {
		want := append([]string{"time", "event"}, members[e.name()]...)
		switch e["accepted"] {
		case true:
			want = append(want, "round", "ref")
		case false:
			want = append(want, "why")
		}
		for _, m := range want {
			if e[m] == nil {
				t.Errorf("event %s has no %s: %v", e.name(), m, e)
			}
		}
	}
}

func names(events []event) []string {
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = e.name()
	}
	return list
}

// The main job with three processes: the Company, the run, and a terminal in which a person presses a.
//
// Clauses: OPS3-1.04, OPS3-2.09, OPS3-2.12, OPS3-4.42, OPS3-4.43, OPS3-4.46, OPS3-4.47, OPS3-5.04, OPS3-5.05, OPS3-5.06, OPS3-6.02, OPS3-6.32, C10-5.03, C10-6.01
func TestAPersonAtAnotherTerminalApprovesAndItIsPerformedOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		flow, kind string
		acts       int
		how        []string
		shown      string
	}{
		{"exchange.json", "exchange", 4, []string{"reload"}, "stormline-insulated-l"},
		{"address.json", "address", 5, []string{"repeat"}, "14 Harbour Street"},
		{"membership.json", "membership", 2, []string{"continue"}, "Cancel"},
		{"gift.json", "gift", 3, []string{"page"}, "Happy birthday"},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			t.Parallel()
			b := atCompany(t)
			u := b.sit(100, 40, nil, "tui")
			p := b.start(b.task(b.flow(tc.flow), "--json")...)
			u.sees("stormline.test, calls itself “Stormline Outdoor”")
			u.answers(p, "a")
			u.sees("performed")
			p.exits(0)
			b.counted(1, 1)

			events := p.events("")
			wantMembers(t, events)
			want := append([]string{"joined"}, slices.Repeat([]string{"act"}, tc.acts)...)
			want = append(want, "sighting", "operation", "question", "answer", "approval", "replay", "settled", "finished")
			if got := names(events); !slices.Equal(got, want) {
				t.Errorf("events\n%q, want\n%q", got, want)
			}
			round := p.event("sighting", 1).text("round")
			for _, e := range events {
				if r := e.text("round"); r != "" && r != round {
					t.Errorf("event %s is of round %q and not of %q", e.name(), r, round)
				}
			}
			if e := p.event("answer", 1); e["approved"] != true || e.text("approver") != "user" {
				t.Errorf("answer: %v", e)
			}
			if e := p.event("question", 1); e.text("kind") != "approval" || len(e["differences"].([]any)) != 0 {
				t.Errorf("question: %v", e)
			}
			if how := p.event("replay", 1).text("how"); !slices.Contains(tc.how, how) {
				t.Errorf("the act was made again by %q, want one of %q", how, tc.how)
			}
			for name, outcome := range map[string]string{"approval": "recorded", "settled": "performed", "finished": "performed"} {
				if got := p.event(name, 1).text("outcome"); got != outcome {
					t.Errorf("%s is %q, want %q", name, got, outcome)
				}
			}
			performed := b.report().Performances[0]
			if performed.Kind != tc.kind || performed.Approver != "user" || performed.OperationID != p.event("operation", 1).text("operation_id") {
				t.Errorf("performed: %+v", performed)
			}

			rounds := b.rounds()
			if len(rounds) != 1 || rounds[0].text("round") != round || rounds[0].text("outcome") != "performed" || rounds[0].text("company") != "stormline.test" {
				t.Errorf("ledger list: %v", rounds)
			}
			var kinds []string
			for _, r := range readEvents(t, b.run(0, "ledger", "show", round, "--json")) {
				kinds = append(kinds, r.text("kind"))
			}
			if want := []string{"sighting", "operation", "question", "answer", "sending", "recorded", "replaying", "replayed", "settled"}; !slices.Equal(kinds, want) {
				t.Errorf("ledger show tells %q, want %q", kinds, want)
			}
			if out := b.run(0, "ledger", "show", round); !strings.Contains(out, tc.shown) || !strings.Contains(out, "it was settled: performed") {
				t.Errorf("ledger show says\n%s", out)
			}
			u.types("q")
			u.exits(0)
		})
	}
}

// Clauses: OPS3-5.06
func TestAPersonWhoPressesDRefusesAndNothingLeaves(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	u := b.sit(100, 40, nil, "tui")
	p := b.start(b.task(b.flow("exchange.json"), "--json")...)
	u.answers(p, "d")
	p.exits(3)
	b.counted(0, 0)
	if got, want := names(p.events("")[5:]), []string{"sighting", "operation", "question", "answer", "settled", "finished"}; !slices.Equal(got, want) {
		t.Errorf("events after the acts %q, want %q", got, want)
	}
	wantMembers(t, p.events(""))
	for _, name := range []string{"settled", "finished"} {
		if got := p.event(name, 1).text("outcome"); got != "refused" {
			t.Errorf("%s is %q", name, got)
		}
	}
	if rounds := b.rounds(); len(rounds) != 1 || rounds[0].text("outcome") != "refused" {
		t.Errorf("ledger list: %v", rounds)
	}
	u.types("q")
	u.exits(0)
}
