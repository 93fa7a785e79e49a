package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A price that changed between the look-up and the approval: the first answer is worth nothing for the new terms, and
// the User is shown what changed.
//
// Clauses: OPS3-5.05
func TestNewTermsAreAskedAgainWithWhatChanged(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	b.tell("price?kind=exchange&amount=80.00")
	u := b.sit(100, 40, nil, "tui")
	p := b.start(b.task(b.flow("exchange.json"), "--json")...)
	p.event("question", 1)
	b.counted(0, 0)
	u.answers(p, "a")
	p.event("question", 2)
	b.counted(0, 0)
	u.sees(`Differs: .*price_difference.*70\.00.*80\.00`)
	u.answers(p, "a")
	p.exits(0)
	b.counted(1, 1)
	if got := p.event("approval", 1).text("outcome"); got != "new_terms" {
		t.Errorf("the first approval came to %q", got)
	}
	first, second := p.event("operation", 1), p.event("operation", 2)
	if first.text("operation_id") != second.text("operation_id") || first.text("revision") == second.text("revision") {
		t.Errorf("operations %v and %v", first, second)
	}
	if got := b.report().Performances[0].Revision; got != second.text("revision") {
		t.Errorf("revision %q was performed, and %q approved", got, second.text("revision"))
	}
	wantMembers(t, p.events(""))
	u.types("q")
	u.exits(0)
}

func TestChromiumThatDiesWhileAQuestionIsOpenEndsTheRun(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	p := b.start(b.task(b.flow("exchange.json"), "--json")...)
	p.event("question", 1)
	b.killChromium()
	p.exits(1)
	b.counted(0, 0)
	e := p.event("error", 1)
	if !strings.Contains(e.text("what"), "Chromium ended while the task was running") || !strings.Contains(e.text("undone"), "the steps after it") {
		t.Errorf("error: %v", e)
	}
	wantMembers(t, p.events(""))
	if rounds := b.rounds(); len(rounds) != 1 || rounds[0].text("state") != "asking" || !strings.HasPrefix(rounds[0].text("restart"), "ask again") {
		t.Errorf("ledger list: %v", rounds)
	}
}

func TestAnInterruptLeavesTheQuestionOpen(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := atCompany(t)
			p := b.start(b.task(b.flow("exchange.json"), "--json")...)
			p.event("question", 1)
			p.signal(signal)
			p.exits(130)
			b.counted(0, 0)
			p.says("interrupted; open questions stay open")
			if got := p.event("finished", 1).text("outcome"); got != "interrupted" {
				t.Errorf("finished as %q", got)
			}
			if rounds := b.rounds(); len(rounds) != 1 || rounds[0].text("state") != "asking" {
				t.Errorf("ledger list: %v", rounds)
			}
			if out := b.run(0, "ledger", "list"); !strings.Contains(out, "open: asking") {
				t.Errorf("ledger list says %q", out)
			}
		})
	}
}

func TestTimeThatWaitsForAPersonIsNotCounted(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	b.tell("life?life=16s")
	p := b.start(b.task(b.flow("exchange.json"), "--json", "--timeout", "15s")...)
	p.event("question", 1)
	p.exits(4) // the operation expires after more than the timeout: the run still lived
	b.counted(0, 0)
}

func TestARunThatWorksForTooLongIsEnded(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	flow := b.file("wait.json", `{"title":"Wait","steps":[
		{"type":"navigate","url":"https://stormline.test/gift"},
		{"type":"waitForElement","selectors":[["#never"]],"timeout":60000}]}`)
	p := b.start(b.task(flow, "--json", "--timeout", "3s")...)
	p.exits(1)
	e := p.event("error", 1)
	if !strings.Contains(e.text("what"), "the run took longer than 3s") {
		t.Errorf("error: %v", e)
	}
	wantMembers(t, p.events(""))
	p.says("the run took longer than 3s", "--timeout")
}

func TestNoInputRefusesWhatWouldHaveToBeAsked(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	p := b.start(b.task(b.flow("exchange.json"), "--json", "--no-input")...)
	p.exits(3)
	b.counted(0, 0)
	if e := p.event("answer", 1); e["approved"] != false {
		t.Errorf("answer: %v", e)
	}
	p.says("was not approved", "no approval was sent and nothing was performed")
}

// Two runs and one terminal on one home: each question is answered for its own run.
func TestTwoRunsOfOneHomeShareATerminal(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	u := b.sit(100, 40, nil, "tui")
	exchange := b.start(b.task(b.flow("exchange.json"), "--json")...)
	exchange.event("question", 1)
	address := b.start(b.task(b.flow("address.json"), "--json")...)
	address.event("question", 1)
	u.sees("stormline-insulated-l")
	u.answers(exchange, "a")
	u.sees("14 Harbour Street")
	u.answers(address, "d")
	exchange.exits(0)
	address.exits(3)
	b.counted(1, 1)
	if kind := b.report().Performances[0].Kind; kind != "exchange" {
		t.Errorf("performed: %s", kind)
	}
	var ends []string
	for _, r := range b.rounds() {
		ends = append(ends, r.text("outcome"))
	}
	if !slices.Equal(ends, []string{"performed", "refused"}) {
		t.Errorf("ledger list: %q", ends)
	}
	u.types("q")
	u.exits(0)
}

// A site that lists no join is browsed as by anybody; the run says so.
func TestASiteThatPublishesNothingIsVisitedAsAnOrdinaryOne(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	site := ordinarySite(t)
	b.ready.Company, b.ready.CACert, b.ready.ConnectTo = "https://example.com", b.file("plain.pem", site.cacert), []string{"example.com:443:" + site.address}
	flow := b.file("plain.json", `{"title":"Look","steps":[{"type":"navigate","url":"https://example.com/"},{"type":"click","selectors":[["#more"]]}]}`)
	p := b.start(b.task(flow)...)
	p.exits(0)
	if out := p.stdout.String(); !strings.Contains(out, "visiting example.com as an ordinary visitor: it publishes no poppy.json") {
		t.Errorf("the run does not say so\n%s", p.told())
	}
	for _, what := range site.seen() {
		if strings.Contains(what, "poppy-session") {
			t.Errorf("the site got a Session header: %s", what)
		}
	}
	if got := site.seen(); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "GET /more") }) {
		t.Errorf("the site saw %q", got)
	}
}
