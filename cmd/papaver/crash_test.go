package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// crashTable tells the matrix to play all of its rows and where to write them; without it a few are played.
const crashTable = "PAPAVER_TEST_CRASH_TABLE"

// crashRow is one way to die.
type crashRow struct {
	flow  string
	place string // where papaver dies; see deaths
	tell  string // a switch of the Company
	keys  string // of the User, in the run that dies
	short bool   // played in every test run

	// kill is what else befalls whom, once the first question is open, before the User answers; back takes it back once
	// the answer is given. Both may be nil.
	who        string
	kill, back func(b *resumption, s *sitting)
	untold     bool // the Company is dead: it counts nothing any more

	performed int    // times
	outcome   string // of the operation; empty: the killed run had met none
}

// crashRows are all rows of the matrix.
func crashRows() []crashRow {
	var rows []crashRow
	add := func(r crashRow) { rows = append(rows, r) }
	before := map[string]bool{"visit": true, "chromium": true} // nothing has been met yet
	places := func(flow string, kinds []string, whens ...string) {
		for _, kind := range kinds {
			for _, when := range whens {
				r := crashRow{flow: flow, place: kind + ":" + when + ":1", keys: "a", performed: 1, outcome: "performed"}
				if before[kind] || kind == "sighting" && when != "after" {
					r.performed, r.outcome = 0, ""
				}
				r.short = flow == "exchange.json" && (r.place == "sending:torn:1" || r.place == "replaying:after:1")
				add(r)
			}
		}
	}
	all := []string{"visit", "chromium", "sighting", "operation", "question", "answer", "sending", "recorded", "replaying", "replayed", "settled"}
	places("exchange.json", all, "before", "torn", "after")
	for n := 1; n <= 3; n++ {
		for _, when := range []string{"before", "after"} {
			add(crashRow{flow: "exchange.json", place: fmt.Sprintf("request:%s:%d", when, n), keys: "a", performed: 1, outcome: "performed"})
		}
	}
	for _, when := range []string{"before", "torn", "after"} {
		r := crashRow{flow: "exchange.json", place: "refusal:" + when + ":1", keys: "d", performed: 1, outcome: "performed"} // it is asked again
		if when == "after" {
			r.performed, r.outcome = 0, "refused"
		}
		add(r)
	}
	// New terms in answer to the approval.
	for _, place := range []string{"operation:before:2", "operation:after:2", "question:after:2", "answer:after:2", "sending:before:2", "sending:after:2", "request:before:3", "request:after:3", "recorded:after:1", "replaying:after:1"} {
		add(crashRow{flow: "exchange.json", place: place, tell: "price?kind=exchange&amount=80.00", keys: "aa", performed: 1, outcome: "performed"})
	}
	// The other ways of making the request again.
	for _, flow := range []string{"membership.json", "address.json", "gift.json"} {
		places(flow, []string{"sighting", "answer", "sending", "recorded", "replaying", "replayed"}, "after")
		add(crashRow{flow: flow, place: "request:after:2", keys: "a", performed: 1, outcome: "performed"})
	}
	// Others die, or stand still.
	add(crashRow{flow: "exchange.json", who: "Chromium is killed", keys: "a", performed: 1, outcome: "performed",
		kill: func(b *resumption, _ *sitting) { b.killChromium() }})
	add(crashRow{flow: "exchange.json", who: "Chromium stands still while the User answers", keys: "a", performed: 1, outcome: "performed", short: true,
		kill: func(b *resumption, _ *sitting) { b.signalChromium(syscall.SIGSTOP) },
		back: func(b *resumption, s *sitting) { s.event("approval", 1); b.signalChromium(syscall.SIGCONT) }})
	add(crashRow{flow: "exchange.json", who: "Chromium stands still, and is killed once the approval is recorded", keys: "a", performed: 1, outcome: "performed",
		kill: func(b *resumption, _ *sitting) { b.signalChromium(syscall.SIGSTOP) },
		back: func(b *resumption, s *sitting) { s.event("approval", 1); b.killChromium() }})
	add(crashRow{flow: "exchange.json", who: "Chromium stands still for good", keys: "a", performed: 1, outcome: "performed",
		kill: func(b *resumption, _ *sitting) { b.signalChromium(syscall.SIGSTOP) }})
	add(crashRow{flow: "exchange.json", who: "the site stands still while the User answers", keys: "a", performed: 1, outcome: "performed",
		kill: func(b *resumption, _ *sitting) { b.company.signal(syscall.SIGSTOP) },
		back: func(b *resumption, s *sitting) { s.event("answer", 1); b.company.signal(syscall.SIGCONT) }})
	add(crashRow{flow: "exchange.json", who: "papaver stands still, and goes on", keys: "a", performed: 1, outcome: "performed",
		kill: func(_ *resumption, s *sitting) {
			s.signal(syscall.SIGSTOP)
			s.stands()
			s.signal(syscall.SIGCONT)
			s.asked() // anew: whoever put it aside may have seen anything meanwhile
		}})
	add(crashRow{flow: "exchange.json", who: "the site is killed", keys: "a", outcome: "unknown", untold: true,
		kill: func(b *resumption, _ *sitting) {
			b.company.signal(syscall.SIGKILL)
			<-b.company.ended
			// What it left of its own is nobody's any more.
			if left, _ := filepath.Glob(filepath.Join(b.tmp, "papaver-site-*")); len(left) > 0 {
				b.siteFiles = left
			}
		}})
	return rows
}

// name is the row as the table says it.
func (r crashRow) name() string {
	parts := strings.Split(r.place, ":")
	switch {
	case r.who != "":
		return r.who
	case parts[0] == "request" && parts[1] == "before":
		return "before request " + parts[2] + " to the endpoint left"
	case parts[0] == "request":
		return "as the answer to request " + parts[2] + " came"
	}
	return map[string]string{"before": "before line ", "torn": "in the middle of line ", "after": "after line "}[parts[1]] + "`" + parts[0] + "` " + parts[2]
}

// A run that is killed wherever it writes or sends, or whose Chromium or Company is, performs what the User approved once,
// and what they did not approve never; the next run says how each operation ended, and why.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	table := os.Getenv(crashTable)
	rows := crashRows()
	if table == "" {
		rows = slices.DeleteFunc(rows, func(r crashRow) bool { return !r.short })
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		t.Run(strings.ReplaceAll(r.flow+" "+r.name(), " ", "_"), func(t *testing.T) {
			t.Parallel()
			lines[i] = r.play(t)
		})
	}
	if table == "" {
		return
	}
	t.Cleanup(func() { writeCrashTable(t, table, lines) }) // when all rows have ended
}

// play plays a row and returns its line of the table.
func (r crashRow) play(t *testing.T) string {
	b := &resumption{bench: atCompany(t)}
	if r.tell != "" {
		b.tell(r.tell)
	}
	task := b.task(b.flow(r.flow))
	dead := b.sitTo(r.place, append(task, "--json", "--plain")...)
	if r.kill != nil {
		if !dead.asked() {
			t.Fatalf("no question came\n%s", dead.told())
		}
		r.kill(b, dead)
		dead.types(r.keys)
		if r.back != nil {
			r.back(b, dead)
		}
		dead.ends()
	} else {
		dead.presses(r.keys)
		dead.exits(-1)
	}
	saw := []string{"first run: " + dead.saw()}
	if dead.status() == 0 { // nothing was lost
		saw[0] = "the run went on by itself: " + dead.saw()
	} else {
		again := b.sitTo("", append(slices.Clone(task), "--json", "--plain", "--resume")...)
		again.presses("a")
		again.ends()
		saw = append(saw, fmt.Sprintf("`run --resume` (exit %d): %s", again.status(), again.saw()))
		if got, want := again.status() == 0, !r.untold && r.outcome != "refused"; got != want {
			t.Errorf("run --resume ended with status %d\n%s", again.status(), plainText(again.screen.String()))
		}
	}
	for _, path := range b.siteFiles {
		_ = os.RemoveAll(path)
	}
	performed := "–"
	if !r.untold {
		n := b.performed()
		performed = fmt.Sprint(n)
		if n != r.performed {
			t.Errorf("performed %d times, want %d", n, r.performed)
		}
		b.approvedWhatWasPerformed()
		for _, v := range b.report().Broken {
			t.Errorf("the Company saw a broken rule: %s: %s", v.Rule, v.Seen)
		}
	}
	outcomes := b.ended()
	for _, o := range outcomes {
		if o != r.outcome {
			t.Errorf("an operation ended as %q, want %q", o, r.outcome)
		}
	}
	outcome := strings.Join(slices.Compact(outcomes), ", ")
	if len(outcomes) == 0 {
		outcome = "none was met"
		if r.outcome != "" {
			t.Errorf("no operation is in the ledger, and %q was expected", r.outcome)
		}
	}
	if t.Failed() {
		t.Log(strings.Join(saw, "\n"))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", strings.TrimSuffix(r.flow, ".json"), r.name(), outcome, performed, strings.Join(saw, "; "))
}

// ended are the outcomes of the home's operations; every one of them has ended.
func (b *resumption) ended() []string {
	b.t.Helper()
	var list []string
	for _, r := range b.rounds() {
		switch r.text("state") {
		case "merged":
		case "settled":
			list = append(list, r.text("outcome"))
		default:
			b.t.Errorf("an operation is left: %v", r)
		}
	}
	return list
}

// approvedWhatWasPerformed checks that the User said yes to the very revision of each operation that was performed.
func (b *resumption) approvedWhatWasPerformed() {
	b.t.Helper()
	yes := make(map[string]bool)
	for _, line := range readEvents(b.t, b.run(0, "ledger", "export")) {
		data, _ := line["data"].(map[string]any)
		shown, _ := data["shown"].(map[string]any)
		if line.text("kind") == "answer" && data["approved"] == true {
			yes[fmt.Sprint(shown["operation_id"], " ", shown["revision"])] = true
		}
	}
	for _, p := range b.report().Performances {
		if !yes[p.OperationID+" "+p.Revision] {
			b.t.Errorf("performed without a yes: %+v", p)
		}
	}
}

// signalChromium sends a signal to every process of this test's Chromium.
func (b *bench) signalChromium(s syscall.Signal) {
	b.t.Helper()
	n := 0
	for pid, command := range processes(b.tmp) {
		if strings.Contains(command, "--user-data-dir="+b.tmp+"/") && syscall.Kill(pid, s) == nil {
			n++
		}
	}
	if n == 0 {
		b.t.Error("no Chromium of this test runs")
	}
}

// stands waits until the process has stopped: a SIGCONT before that takes the SIGSTOP back.
func (s *sitting) stands() {
	s.t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); ; <-ticker.C {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
		if err == nil && strings.Contains(string(stat), ") T ") {
			return
		}
		if err != nil || time.Now().After(deadline) {
			s.t.Fatalf("papaver does not stand still: %v, %s", err, stat)
		}
	}
}

// saw is what a person saw of a run, in the order in which it was told.
func (s *sitting) saw() string {
	var list []string
	for _, e := range s.eventsSoFar() {
		switch e.name() {
		case "resumed":
			list = append(list, "left at "+e.text("state"))
		case "question":
			what := "asked"
			if e.text("kind") == "rerun" {
				what = "asked whether to run the flow again"
			}
			if d, _ := e["differences"].([]any); len(d) > 0 {
				what += fmt.Sprintf(", %d differences", len(d))
			}
			list = append(list, what)
		case "answer":
			list = append(list, map[bool]string{true: "yes", false: "no"}[e["approved"] == true])
		case "approval":
			list = append(list, strings.ReplaceAll(e.text("outcome"), "_", " "))
		case "replay":
			list = append(list, "request made again by "+e.text("how"))
		case "settled":
			list = append(list, "settled: "+e.text("outcome"))
		case "error":
			what, _ := json.Marshal(e.text("what"))
			list = append(list, "error "+strings.ReplaceAll(string(what), "|", "/"))
		}
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

func writeCrashTable(t *testing.T, path string, lines []string) {
	t.Helper()
	twice, unexplained := 0, 0
	for _, l := range lines {
		if l == "" {
			unexplained++
			continue
		}
		if cells := strings.Split(l, " | "); len(cells) > 3 && cells[3] != "0" && cells[3] != "1" && cells[3] != "–" {
			twice++
		}
	}
	if t.Failed() {
		unexplained++
	}
	text := "# Where it died\n\nEach row is a run of the real program, with the real Chromium, at the bundled Company, that was killed (SIGKILL) where the row says; then\n" +
		"`papaver run --resume` with the same flow, and a User who says yes to whatever is asked. The Company counts what it performed. `make crash` plays all\n" +
		"rows again and writes this file; `make test` plays a few of them.\n\n" +
		fmt.Sprintf("%d rows; performed twice: %d; unexplained: %d.\n\n", len(lines), twice, unexplained) +
		"A line is one of the ledger's, with its number of that kind. “Torn” lines are cut off in their middle. “–”: the Company was killed, and counts nothing any more.\n\n" +
		"| flow | where it died | outcome | performed | what the User saw |\n| --- | --- | --- | --- | --- |\n" + strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a document
		t.Error(err)
	}
}
