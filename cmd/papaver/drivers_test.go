package main

import (
	"slices"
	"testing"
)

// Every driver drives the main job to its end, in the same steps.
func TestARunWithEachDriverPerformsOnce(t *testing.T) {
	t.Parallel()
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			b := atCompany(t)
			u := b.sit(100, 40, nil, "tui")
			p := b.start(b.task(b.flow("exchange.json"), "--json", "--driver", d.name)...)
			u.answers(p, "a")
			u.sees("performed")
			p.exits(0)
			b.counted(1, 1)
			want := []string{"joined", "act", "act", "act", "act", "sighting", "operation", "question", "answer", "approval", "replay", "settled", "finished"}
			if got := names(p.events("")); !slices.Equal(got, want) {
				t.Errorf("events\n%q, want\n%q", got, want)
			}
			wantMembers(t, p.events(""))
			if how := p.event("replay", 1).text("how"); how != "reload" {
				t.Errorf("the act was made again by %q", how)
			}
			u.types("q")
			u.exits(0)
		})
	}
}
