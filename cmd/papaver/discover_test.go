package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/testsite"
)

// look is the command line of a discovery at the Company.
func (b *bench) look(flags ...string) []string {
	args := []string{"discover", b.ready.Company, "--cacert", b.ready.CACert}
	for _, rule := range b.ready.ConnectTo {
		args = append(args, "--connect-to", rule)
	}
	return append(args, flags...)
}

func TestDiscoverSaysWhatIsOfferedAndThatEverythingAgrees(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	b.path = b.tmp // no Chromium can be found
	out := b.run(0, b.look()...)
	for _, want := range []string{"stormline.test calls itself “", "protocol version", "issuer", "join ", "operations ", "stormline.test: everything agrees"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	events := readEvents(t, b.run(0, b.look("--json")...))
	last := events[len(events)-1]
	if last["agrees"] != true || last["failed"] != 0.0 || last.text("join_endpoint") == "" || last.text("operations_endpoint") == "" {
		t.Errorf("the last line is %v", last)
	}
	for _, e := range events[:len(events)-1] {
		if e["verdict"] != "ok" || e.text("rule") == "" || e.text("url") == "" {
			t.Errorf("line %v", e)
		}
	}
	// What a test host publishes is not kept.
	if kept, err := filepath.Glob(filepath.Join(b.home, "companies", "*")); err != nil || len(kept) > 0 {
		t.Errorf("kept %q, %v", kept, err)
	}
}

// Each member that disagrees is told with what to change, and what was right a moment ago does not hide it.
//
// Clauses: C10-3.04
func TestDiscoverNamesTheRuleThatFailsAndWhatToChange(t *testing.T) {
	t.Parallel()
	b := atCompany(t)
	b.run(0, b.look()...)
	for _, member := range testsite.Disagreements() {
		b.tell("disagree?member=" + member)
		out := b.run(1, b.look()...)
		if !strings.Contains(out, "FAIL ") || !strings.Contains(out, "change: ") || strings.Contains(out, "calls itself") {
			t.Errorf("%s: it says\n%s", member, out)
		}
		var failed int
		events := readEvents(t, b.run(1, b.look("--json")...))
		for _, e := range events[:len(events)-1] {
			if e["verdict"] == "failed" {
				failed++
				if e.text("change") == "" || e.text("found") == "" {
					t.Errorf("%s: line %v", member, e)
				}
			}
		}
		if last := events[len(events)-1]; failed == 0 || last["agrees"] != false || last["failed"] != float64(failed) || last["issuer"] != nil {
			t.Errorf("%s: %d lines failed, and the last is %v", member, failed, last)
		}
	}
	b.tell("disagree?member=")
	b.run(0, b.look()...)
}

func TestDiscoverSaysThatNothingIsPublished(t *testing.T) {
	t.Parallel()
	b := emptyBench(t)
	site := ordinarySite(t)
	args := []string{"discover", "example.com", "--connect-to", "example.com:443:" + site.address, "--cacert", b.file("ca.pem", site.cacert)}
	if out := b.run(1, args...); !strings.Contains(out, "example.com publishes no poppy.json") {
		t.Errorf("it says\n%s", out)
	}
	events := readEvents(t, b.run(1, append(args, "--json")...))
	if last := events[len(events)-1]; last["published"] != false || last["agrees"] != false {
		t.Errorf("the last line is %v", last)
	}
}
