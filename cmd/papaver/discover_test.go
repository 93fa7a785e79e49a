package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
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

// siteSpeaking is the bundled Company of one version of the protocol.
func siteSpeaking(t *testing.T, version string) *bench {
	t.Helper()
	b := emptyBench(t)
	b.company = b.start("site", "--control", "127.0.0.1:0", "--profile", version)
	if !b.company.stdout.await(b.company.ended, func(text string) bool { return strings.HasSuffix(text, "\n") }) {
		t.Fatalf("papaver site is not ready\n%s", b.company.told())
	}
	if err := json.Unmarshal([]byte(b.company.stdout.String()), &b.ready); err != nil {
		t.Fatal(err)
	}
	return b
}

// Two readings of each version, made apart, agree about what a Company publishes; and about what is wrong when one
// member is.
//
// Clauses: S01-3.01, S01-3.07, S01-3.08, S01-3.2.03, S01-3.2.04, S01-3.2.08, C10-3.01
func TestTheBundledSiteOfEveryProfileAgrees(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.1", "0.2", "1.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := siteSpeaking(t, version)
			last := lastOf(t, b, b.look("--json"), 0)
			if last.text("profile") != version || last.text("name") == "" || last.text("domain") == "" || last.text("join_endpoint") == "" {
				t.Errorf("the last line is %v", last)
			}
			if scopes, _ := last["custom_scopes"].(map[string]any); len(scopes) == 0 {
				t.Errorf("no scope is described: %v", last)
			}
			var types []string
			for _, offer := range last["sign_in"].([]any) {
				types = append(types, offer.(map[string]any)["type"].(string))
			}
			if apis, _ := last["apis"].([]any); len(apis) == 0 || !slices.Equal(types, []string{"direct", "device", "mediated"}) {
				t.Errorf("it offers %q and the APIs %v", types, apis)
			}
			for _, member := range []string{"organization.domain", "issuer", "poppy_domains"} {
				b.tell("disagree?member=" + member)
				if out := b.run(1, b.look()...); !strings.Contains(out, "rules of protocol "+version+" failed") {
					t.Errorf("%s: it says\n%s", member, out)
				}
			}
		})
	}
}
