package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flowTrace is what a site saw of one flow's run.
type flowTrace struct {
	Requests []seenRequest    `json:"requests"`
	Events   []map[string]any `json:"events"` // what beat.js reported, page by page in the order of the page
}

// wellKnown is where an agent asks a site whether it is a Company. The reference does not ask.
const wellKnown = "/.well-known/"

// trace keeps of a log what matters.
func trace(log []seenRequest) flowTrace {
	var t flowTrace
	var pages []string
	for _, r := range log {
		if r.beat != nil {
			host, _, _ := strings.Cut(r.URL, "/")
			event := maps.Clone(r.beat)
			page := fmt.Sprint(host, event["page"])
			event["page"] = page
			if !slices.Contains(pages, page) {
				pages = append(pages, page)
			}
			t.Events = append(t.Events, event)
		}
		switch {
		case r.path == "/beat", r.path == "/beat.js", r.path == "/favicon.ico", strings.HasPrefix(r.path, wellKnown):
		default:
			t.Requests = append(t.Requests, r)
		}
	}
	number := func(e map[string]any) float64 { n, _ := e["n"].(float64); return n }
	slices.SortStableFunc(t.Events, func(a, b map[string]any) int {
		return cmp.Or(cmp.Compare(slices.Index(pages, fmt.Sprint(a["page"])), slices.Index(pages, fmt.Sprint(b["page"]))), cmp.Compare(number(a), number(b)))
	})
	for _, e := range t.Events {
		delete(e, "n")
	}
	return t
}

// last is the value that a field had at last in the events of a kind: input or change.
func (t flowTrace) last(kind, on string) any {
	for _, e := range slices.Backward(t.Events) {
		if e["e"] == kind && e["on"] == on {
			return e["value"]
		}
	}
	return nil
}

// requestLines are the requests as they are compared.
func (t flowTrace) requestLines() []string {
	lines := make([]string, len(t.Requests))
	for i, r := range t.Requests {
		lines[i] = oneLine(r)
	}
	return lines
}

// eventLines are the events as they are compared. Typing may be done key by key or at once: of it only each field's last value
// counts, and not even that when a change tells it: a page that goes on reports what was typed too late, or not. Whether a change was trusted depends on that too. Where the recording does not scroll, it is a runner's own affair.
func (t flowTrace) eventLines(scrolls bool) []string {
	var lines, fields []string
	last, changed := make(map[string]string), make(map[string]bool)
	for _, e := range t.Events {
		e = maps.Clone(e)
		trusted := e["trusted"]
		delete(e, "trusted")
		key, _ := e["key"].(string)
		mods, _ := e["mods"].(string)
		switch {
		case e["e"] == "scroll" && !scrolls:
			continue
		case e["e"] == "input":
			field := fmt.Sprint(e["page"], e["on"])
			if _, known := last[field]; !known {
				fields = append(fields, field)
			}
			last[field] = oneLine(e)
			continue
		case e["e"] == "keydown" && len([]rune(key)) == 1 && !strings.ContainsAny(mods, "CAM"):
			continue
		case e["e"] == "change":
			input := maps.Clone(e)
			input["e"] = "input"
			changed[oneLine(input)] = true
		case trusted == false:
			e["untrusted"] = true
		}
		lines = append(lines, oneLine(e))
	}
	for _, field := range fields {
		if line := last[field]; !changed[line] {
			lines = append(lines, line)
		}
	}
	return lines
}

// oneLine is JSON whose members are sorted.
func oneLine(v any) string {
	line, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

// differences are what of want is missing in have, and what is in have alone.
func differences(what string, want, have []string) []string {
	var found []string
	have = slices.Clone(have)
	for _, line := range want {
		if i := slices.Index(have, line); i >= 0 {
			have = slices.Delete(have, i, i+1)
		} else {
			found = append(found, "missing "+what+": "+line)
		}
	}
	for _, line := range have {
		found = append(found, "extra "+what+": "+line)
	}
	return found
}
