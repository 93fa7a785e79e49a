package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// ownWord is what a timeline may say: no address, header, credential, reference, secret or text of terms is of this form and
// this length.
var ownWord = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,19}$`)

// saysOnlyWords checks that a timeline parses as the format's viewers read it, belongs to its owner alone and says nothing but
// words of ours. It returns the stages in it.
func saysOnlyWords(t *testing.T, path string) map[string]bool {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Fatalf("the timeline: %v, %v", info, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Phase string         `json:"ph"`
		PID   int            `json:"pid"`
		TID   int            `json:"tid"`
		Name  string         `json:"name"`
		Cat   string         `json:"cat"`
		At    *float64       `json:"ts"`
		Took  *float64       `json:"dur"`
		Args  map[string]any `json:"args"`
	}
	if err := json.Unmarshal(data, &events); err != nil {
		t.Fatalf("the timeline is no JSON: %v", err)
	}
	stages := make(map[string]bool)
	for _, e := range events {
		said := []string{e.Name}
		for name, value := range e.Args {
			said = append(said, name)
			if text, ok := value.(string); ok && text != "papaver run" {
				said = append(said, text)
			}
		}
		for _, word := range said {
			if !ownWord.MatchString(word) {
				t.Errorf("the timeline says %q", word)
			}
		}
		switch {
		case e.Phase == "X" && e.At != nil && e.Took != nil:
			stages[e.Name] = true
		case e.Phase != "M" || !strings.HasSuffix(e.Name, "_name"):
			t.Errorf("what no viewer knows: %+v", e)
		}
	}
	return stages
}

// What is not a timeline is not written over, and then nothing begins.
func TestATimelineIsNotWrittenOverAnotherFile(t *testing.T) {
	t.Parallel()
	b := emptyBench(t)
	b.ready.Company, b.ready.CACert = "https://example.com", b.file("none.pem", "")
	notes := b.file("notes", "mine")
	p := b.start(b.task(b.flow("exchange.json"), "--trace", notes)...)
	p.exits(1)
	p.says("is not overwritten", "no browser was started")
	if data, err := os.ReadFile(notes); err != nil || string(data) != "mine" {
		t.Errorf("the file holds %q, %v", data, err)
	}
}
