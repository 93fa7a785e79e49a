package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/testsite"
)

// failed checks that a run ended with one error event of all four parts, and that people read the same.
func (p *process) failed(what ...string) {
	p.t.Helper()
	p.exits(1)
	events := p.events("")
	wantMembers(p.t, events)
	e := p.event("error", 1)
	for _, want := range what {
		if !strings.Contains(e.text("what"), want) {
			p.t.Errorf("the error does not say %q: %v", want, e)
		}
	}
	if !strings.Contains(e.text("undone"), "no browser was started") && !strings.Contains(e.text("undone"), "no page was opened") {
		p.t.Errorf("the error does not say what was not done: %v", e)
	}
	p.says(e.text("what"), e.text("done"), e.text("undone"), e.text("next"))
	if last := events[len(events)-1]; last.name() != "finished" || last.text("outcome") != "error" {
		p.t.Errorf("the last event is %v", last)
	}
}

// Documents that don't agree end the run before a page is opened, whether there is a Chromium or not.
//
// Clauses: C10-3.04
func TestDocumentsThatDisagreeEndTheRunBeforeAPageIsOpened(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	for _, member := range testsite.Disagreements() {
		b.tell("disagree?member=" + member)
		p := b.start(b.task(b.flow("exchange.json"), "--json")...)
		p.failed("what stormline.test publishes does not agree")
		p.exits(1)
		b.path = b.tmp // without a Chromium the others are tried sooner
	}
	b.counted(0, 0)
	if r := b.report(); r.Joins+r.JoinsRefused != 0 {
		t.Errorf("joined all the same: %+v", r)
	}
}

func TestACompanyThatIsNotThereIsSaidToBeUnreachable(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	b.ready.ConnectTo = []string{"stormline.test:443:127.0.0.1:1"}
	b.start(b.task(b.flow("exchange.json"), "--json")...).failed("stormline.test could not be reached")
}

// --cacert trusts its authority for the hosts that --connect-to names, and a Company with another one is not believed.
func TestACompanyWithAnotherAuthorityIsNotBelieved(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	b.ready.CACert = b.file("other.pem", ordinarySite(t).cacert)
	b.start(b.task(b.flow("exchange.json"), "--json")...).failed("stormline.test could not be reached", "certificate")
	b.counted(0, 0)
}

func TestWithoutChromiumTheErrorSaysHowToGetIt(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	b.path = b.tmp
	p := b.start(b.task(b.flow("exchange.json"), "--json")...)
	p.failed("there is no Chromium to start")
	p.says("apt-get install chromium")
	b.counted(0, 0)
}

func TestAHomeWithoutAnIdentitySaysHowToMakeOne(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	b.home = filepath.Join(b.dir, "other")
	p := b.start(b.task(b.flow("exchange.json"), "--json")...)
	p.failed("this home has no identity")
	p.says("papaver identity init")
}

// Nothing is done without a ledger that is intact.
func TestADamagedLedgerStopsARunBeforeItBegins(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	b.start(b.task(b.flow("exchange.json"), "--json", "--no-input")...).exits(3)
	path := filepath.Join(b.home, "ledger", ledger.FileName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := strings.Replace(string(data), `"approved":false`, `"approved":true`, 1)
	if damaged == string(data) {
		t.Fatal("the ledger has no answer to forge")
	}
	if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	line := 1 + strings.Count(damaged[:strings.Index(damaged, `"approved":true`)], "\n")
	verify := b.start("ledger", "verify")
	verify.exits(1)
	if want := "line " + string(rune('0'+line)); !strings.Contains(verify.stderr.String(), want) {
		t.Errorf("ledger verify does not name %s: %s", want, verify.told())
	}
	p := b.start(b.task(b.flow("exchange.json"), "--json")...)
	p.exits(1)
	p.says("the ledger is damaged", "no browser was started and no page was opened", "put a good copy back")
	if r := b.report(); r.Joins != 1 {
		t.Errorf("the run went on: %+v", r)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != damaged {
		t.Errorf("the damaged ledger was changed (%v)", err)
	}
}
