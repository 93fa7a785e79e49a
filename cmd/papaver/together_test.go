package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Two runs of one flow in one home meet one operation. The User says yes in both, and it is performed once; both say so.
//
// Clauses: OPS3-7.10
func TestTwoRunsOfOneFlowPerformItOnce(t *testing.T) {
	t.Parallel()
	b := &resumption{bench: atCompany(t)}
	task := append(b.task(b.flow("exchange.json")), "--json", "--plain")
	one, two := b.sitTo("", task...), b.sitTo("", task...)
	if !one.asked() || !two.asked() {
		t.Fatal("not both were asked")
	}
	one.types("a")
	two.types("a")
	for _, s := range []*sitting{one, two} {
		s.presses("a") // should it be asked anew
		s.exits(0)
		for _, e := range s.named("settled") {
			if e.text("outcome") != "performed" {
				t.Errorf("settled: %v", e)
			}
		}
	}
	b.counted(1, 1)
}

// What a run that still goes on has met is its own: another one says so and leaves it alone.
func TestAResumptionLeavesALivingRunItsOperations(t *testing.T) {
	t.Parallel()
	b := &resumption{bench: atCompany(t)}
	task := b.task(b.flow("exchange.json"))
	living := b.sitTo("", append(task, "--json", "--plain")...)
	if !living.asked() {
		t.Fatal("nothing was asked")
	}
	before := b.rounds()
	other := b.start(append(slices.Clone(task), "--json", "--resume")...)
	other.exits(1)
	failed := other.events("error")
	if len(failed) == 0 || !strings.Contains(failed[0].text("what"), "its process still runs") || !strings.Contains(failed[0].text("next"), "papaver tui") {
		t.Errorf("errors: %v", failed)
	}
	wantMembers(t, other.events(""))
	if after := b.rounds(); len(after) != 1 || after[0].text("state") != before[0].text("state") {
		t.Errorf("ledger list: %v, before %v", after, before)
	}
	living.types("a")
	living.exits(0)
	b.counted(1, 1)
	b.start(append(slices.Clone(task), "--json", "--resume")...).exits(0) // nothing is left
}

// Of two resumptions at once one takes an operation up, and it is performed once.
func TestOfTwoResumptionsOneTakesAnOperationUp(t *testing.T) {
	t.Parallel()
	b := &resumption{bench: atCompany(t)}
	task := b.task(b.flow("exchange.json"))
	b.play("sending:after:1", "a", task...).exits(-1)
	again := append(task, "--json", "--plain", "--resume")
	one, two := b.sitTo("", again...), b.sitTo("", again...)
	for _, s := range []*sitting{one, two} {
		s.presses("a")
		s.ends()
	}
	if n := len(one.named("settled")) + len(two.named("settled")); one.status() != 0 && two.status() != 0 || n == 0 {
		t.Errorf("they ended with %d and %d, and settled %d\n%s\n%s", one.status(), two.status(), n, one.saw(), two.saw())
	}
	if n := len(one.named("approval")) + len(two.named("approval")); n != 1 {
		t.Errorf("%d of them sent the approval\n%s\n%s", n, one.saw(), two.saw())
	}
	b.counted(1, 1)
}

// A terminal UI that is killed takes the answer that it did not hand over with it, and no more: the question is open, and
// another one answers it. An answer that it did hand over stands.
func TestATerminalUIThatDiesWhileItAnswersLosesNothingElse(t *testing.T) {
	t.Parallel()
	for name, handed := range map[string]bool{"before the run had the answer": false, "once the run had it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := atCompany(t)
			u := b.sit(100, 40, nil, "tui")
			p := b.start(b.task(b.flow("exchange.json"), "--json")...)
			if handed {
				u.answers(p, "a")
				u.signal(syscall.SIGKILL)
			} else {
				u.sees("a approve")
				u.types("a")
				u.signal(syscall.SIGKILL) // a key stands alone for a moment before it is an answer
				<-u.ended
				other := b.sit(100, 40, nil, "tui")
				if len(p.events("answer")) == 0 {
					other.answers(p, "a")
				}
				other.types("q")
				other.exits(0)
			}
			p.exits(0)
			b.counted(1, 1)
			if answers := p.events("answer"); len(answers) != 1 || answers[0]["approved"] != true {
				t.Errorf("answers: %v", answers)
			}
		})
	}
}

// A flow that did not meet any of the operations that are left is refused before anything is taken up.
func TestAnotherFlowIsRefused(t *testing.T) {
	t.Parallel()
	b := &resumption{bench: atCompany(t)}
	task := b.task(b.flow("exchange.json"))
	b.play("recorded:after:1", "a", task...).exits(-1)
	before := b.rounds()
	for name, other := range map[string][]string{
		"another file":  append(b.task(b.flow("gift.json")), "--resume", "--json"),
		"another value": append(slices.Clone(task), "--resume", "--json", "--set", "size=L"),
	} {
		p := b.start(other...)
		p.exits(1)
		if e := p.event("error", 1); !strings.Contains(e.text("what"), "this flow is not the one") {
			t.Errorf("%s: %v", name, e)
		}
	}
	if after := b.rounds(); len(after) != 1 || after[0].text("state") != before[0].text("state") {
		t.Errorf("ledger list: %v, before %v", after, before)
	}
	b.play("", "", append([]string{"run", "--resume"}, task[4:]...)...).exits(5)
	// What was left as not known can still be finished while the approval lives.
	s := b.play("", "a", append(slices.Clone(task), "--resume")...)
	s.exits(0)
	b.counted(1, 1)
}
