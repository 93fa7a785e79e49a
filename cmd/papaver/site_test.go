package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// readySite starts papaver site with the arguments and gives its ready line.
func readySite(t *testing.T, args ...string) (*bench, siteReady, string) {
	t.Helper()
	b := newBench(t)
	site := b.start(append([]string{"site"}, args...)...)
	if !site.stdout.await(site.ended, func(text string) bool { return strings.HasSuffix(text, "\n") }) {
		t.Fatalf("papaver site is not ready\n%s", site.told())
	}
	line := site.stdout.String()
	var ready siteReady
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		t.Fatal(err)
	}
	return b, ready, line
}

func TestTheSiteHasAControlPortOnlyWhenItIsAskedFor(t *testing.T) {
	_, ready, line := readySite(t)
	if ready.Control != "" || strings.Contains(line, "control") || ready.Profile != "1.0" || ready.Company != "https://stormline.test" {
		t.Errorf("ready: %s", line)
	}
	if _, ready, line := readySite(t, "--control", "127.0.0.1:0"); !strings.HasPrefix(ready.Control, "http://127.0.0.1:") {
		t.Errorf("ready: %s", line)
	}
}

func TestTheSiteSpeaksTheVersionItIsToldTo(t *testing.T) {
	for _, version := range []string{"0.1", "0.2", "1.0"} {
		b, ready, _ := readySite(t, "--profile", version)
		if ready.Profile != version {
			t.Errorf("profile %q instead of %q", ready.Profile, version)
		}
		discover := []string{"discover", ready.Company, "--cacert", ready.CACert}
		for _, rule := range ready.ConnectTo {
			discover = append(discover, "--connect-to", rule)
		}
		b.start(discover...).exits(0)
	}
}

func TestAVersionThatTheSiteDoesNotSpeakIsWrongUsage(t *testing.T) {
	b := newBench(t)
	b.start("site", "--profile", "0.3").exits(2)
}
