package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/flow"
)

// Each recording stands in the index and in the reference, nothing else does, and each can be run.
func TestEveryRecordingIsListedReferredToAndCanBeRun(t *testing.T) {
	t.Chdir("..") // the command runs at the module's root
	files, err := recordings(true)
	if err != nil {
		t.Fatal(err)
	}
	var names, all []string
	for _, file := range files {
		all = append(all, nameOf(file))
		if filepath.Base(filepath.Dir(file)) == "recordings" {
			names = append(names, nameOf(file))
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := flow.Parse(data, flow.Values{}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	index, err := os.ReadFile(filepath.Join(flowFolder, "INDEX.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(index)) {
		if file, _, _ := strings.Cut(line, "\t"); file != "file" {
			listed = append(listed, strings.TrimSuffix(file, ".json"))
		}
	}
	if !slices.Equal(listed, names) {
		t.Errorf("the index lists %q, and there are %q", listed, names)
	}
	var references struct {
		Flows map[string]flowReference `json:"flows"`
	}
	if err := readJSON(filepath.Join(flowFolder, "reference.json"), &references); err != nil {
		t.Fatal(err)
	}
	numbers := make(map[string]bool)
	for _, name := range names {
		numbers[name[:2]] = true
		if r := references.Flows[name]; r.Outcome == "" || len(r.Requests) == 0 {
			t.Errorf("%s: the reference did %+v", name, r)
		}
	}
	if len(references.Flows) != len(names) {
		t.Errorf("%d recordings, and %d in the reference", len(names), len(references.Flows))
	}
	for number := range flowRights {
		if !numbers[number] {
			t.Errorf("there is no recording %s to check", number)
		}
	}
	for name := range knownFlowDifferences {
		if !slices.Contains(all, name) {
			t.Errorf("there is no recording %s to differ", name)
		}
	}
}

// traceOf is what a site saw that got these reports of the page /p.
func traceOf(t *testing.T, reports ...string) flowTrace {
	t.Helper()
	log := []seenRequest{
		{Method: "GET", URL: "shop.example.test/.well-known/poppy.json", path: "/.well-known/poppy.json", Status: 404},
		{Method: "GET", URL: "shop.example.test/p", path: "/p", Status: 200},
		{Method: "GET", URL: "shop.example.test/beat.js", path: "/beat.js", Status: 200},
	}
	for _, report := range reports {
		r := seenRequest{Method: "POST", URL: "shop.example.test/beat", path: "/beat", Status: 204}
		if err := json.Unmarshal([]byte(report), &r.beat); err != nil {
			t.Fatal(err)
		}
		log = append(log, r)
	}
	return trace(log)
}

func TestWhatPagesSawIsComparedByItsEssence(t *testing.T) {
	const (
		click   = `{"e":"click","on":"#b","trusted":true,"n":1,"page":"/p"}`
		byHand  = `{"e":"click","on":"#b","trusted":false,"n":1,"page":"/p"}`
		other   = `{"e":"click","on":"#c","trusted":true,"n":1,"page":"/p"}`
		inFrame = `{"e":"click","on":"#b","trusted":true,"n":1,"page":"/frame"}`
		a       = `{"e":"keydown","on":"#f","trusted":true,"key":"a","n":2,"page":"/p"}`
		ctrlA   = `{"e":"keydown","on":"#f","trusted":true,"key":"a","mods":"C","n":2,"page":"/p"}`
		tab     = `{"e":"keydown","on":"#f","trusted":true,"key":"Tab","n":3,"page":"/p"}`
		half    = `{"e":"input","on":"#f","value":"a","n":3,"page":"/p"}`
		whole   = `{"e":"input","on":"#f","value":"ab","n":4,"page":"/p"}`
		changed = `{"e":"change","on":"#f","trusted":true,"value":"ab","n":5,"page":"/p"}`
		told    = `{"e":"change","on":"#f","trusted":false,"value":"ab","n":5,"page":"/p"}`
		scroll  = `{"e":"scroll","on":"document","x":0,"y":9,"n":6,"page":"/p"}`
	)
	for name, test := range map[string]struct {
		want, have []string
		scrolls    bool
		differ     int
	}{
		"the same":                         {[]string{click, tab}, []string{click, tab}, false, 0},
		"another order":                    {[]string{click, tab}, []string{tab, click}, false, 0},
		"one is missing":                   {[]string{click}, nil, false, 1},
		"one too many":                     {[]string{click}, []string{click, click}, false, 1},
		"another element":                  {[]string{click}, []string{other}, false, 2},
		"another page":                     {[]string{click}, []string{inFrame}, false, 2},
		"one that a script made":           {[]string{click}, []string{byHand}, false, 2},
		"typed key by key":                 {[]string{whole}, []string{a, half, whole}, false, 0},
		"another value at last":            {[]string{whole}, []string{half}, false, 2},
		"a key with a modifier":            {nil, []string{ctrlA}, false, 1},
		"a key that types nothing":         {nil, []string{tab}, false, 1},
		"a change that a script told":      {[]string{changed}, []string{told}, false, 0},
		"a change told twice":              {[]string{changed}, []string{told, changed}, false, 1},
		"an input that came late":          {[]string{changed}, []string{whole, changed}, false, 0},
		"an input of another value":        {[]string{changed}, []string{half, changed}, false, 1},
		"a runner's own scrolling":         {nil, []string{scroll}, false, 0},
		"scrolling that was recorded":      {nil, []string{scroll}, true, 1},
		"scrolling that was done likewise": {[]string{scroll}, []string{scroll}, true, 0},
	} {
		found := compared(flowReference{flowTrace: traceOf(t, test.want...)}, traceOf(t, test.have...), test.scrolls)
		if len(found) != test.differ {
			t.Errorf("%s: %q", name, found)
		}
	}
}

// Requests are compared with their bodies, but for those of the pages' reports and the agent's own question.
func TestRequestsAreComparedWithTheirBodies(t *testing.T) {
	request := func(body string) flowTrace {
		return trace([]seenRequest{{Method: "POST", URL: "shop.example.test/api/pay", path: "/api/pay", Status: 303, Body: body}})
	}
	if found := compared(flowReference{flowTrace: request("a=1")}, request("a=1"), false); len(found) != 0 {
		t.Errorf("the same: %q", found)
	}
	if found := compared(flowReference{flowTrace: request("a=1")}, request("a=2"), false); len(found) != 2 {
		t.Errorf("another body: %q", found)
	}
	if seen := traceOf(t).Requests; len(seen) != 1 || seen[0].path != "/p" {
		t.Errorf("what is compared: %+v", seen)
	}
}

// Each difference needs an explanation, and each explanation a difference.
func TestADifferenceIsExplainedOrCounts(t *testing.T) {
	known := []flowDifference{{lines: []string{"missing a", "extra b"}, why: "because"}, {lines: []string{"missing c"}, why: "long ago"}}
	unexplained, why, gone := explained([]string{"missing a", "extra b", "extra d"}, known)
	if !slices.Equal(unexplained, []string{"extra d"}) || !slices.Equal(why, []string{"because"}) || !slices.Equal(gone, []string{"long ago"}) {
		t.Errorf("unexplained %q, why %q, gone %q", unexplained, why, gone)
	}
	for name, r := range map[string]flowResult{
		"wrong": {wrong: []string{"x"}}, "unexplained": {differences: []string{"x"}}, "gone": {gone: []string{"x"}}, "moved": {moved: []string{"x"}},
	} {
		r.run = new(flowRun)
		var counted tally
		if r.count(&counted, true); counted.failed != 1 || counted.passed != 3 {
			t.Errorf("%s: %+v", name, counted)
		}
	}
}

// What is right of a recording is told from what is not.
func TestWhatARecordingMustDoIsChecked(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "ledger.jsonl"), []byte(`{"form":{"p":"hunter2"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const said = `{"time":"2026-11-30T10:00:00Z","event":"act","step":2}
{"time":"2026-11-30T10:00:11Z","event":"error","what":"the click was made","done":"2 steps"}
{"time":"2026-11-30T10:00:11Z","event":"finished"}
`
	run := &flowRun{exit: 1, stdout: said, home: home, flowTrace: traceOf(t, `{"e":"input","on":"#f","value":"Hello","n":1,"page":"/p"}`)}
	for name, test := range map[string]struct {
		err  error
		good bool
	}{
		"an error":                   {run.fails("click was made"), true},
		"another error":              {run.fails("no such thing"), false},
		"an error and not finished":  {run.finishes(), false},
		"in time":                    {run.endsWithin(12 * time.Second), true},
		"late":                       {run.endsWithin(10 * time.Second), false},
		"a field":                    {run.holds("#f", "Hello"), true},
		"another value":              {run.holds("#f", "HelloHello"), false},
		"an event":                   {run.sees("shop.example.test/p", "input", "#f", 1), true},
		"no event":                   {run.sees("shop.example.test/p", "click", "#f", 1), false},
		"a request":                  {run.requested("GET", "shop.example.test/p", 1), true},
		"a request twice":            {run.requested("GET", "shop.example.test/p", 2), false},
		"no notice":                  {run.notes("skipped"), false},
		"a secret in the home":       {run.nowhere("hunter2"), false},
		"a secret in what it said":   {run.nowhere("2 steps"), false},
		"a secret that is not there": {run.nowhere("swordfish"), true},
	} {
		if (test.err == nil) != test.good {
			t.Errorf("%s: %v", name, test.err)
		}
	}
}

func TestTheFlowsSiteServesItsPagesAndNothingElse(t *testing.T) {
	t.Chdir("..")
	site := &flowSite{pages: filepath.Join(flowFolder, "site")}
	for _, test := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/", 200}, {"GET", "/cart", 200}, {"GET", "/blog/reading/", 200}, {"GET", "/login.html?x=1", 200}, {"GET", "/beat.js", 200},
		{"GET", "/none.html", 404}, {"GET", "/../flows/README.md", 404}, {"GET", "/.well-known/poppy.json", 404}, {"POST", "/beat", 204},
		{"POST", "/api/login", 303}, {"POST", "/api/pay", 303}, {"POST", "/api/orders", 201}, {"POST", "/", 404},
	} {
		answer := httptest.NewRecorder()
		site.ServeHTTP(answer, httptest.NewRequest(test.method, "https://shop.example.test"+test.path, http.NoBody))
		if answer.Code != test.status {
			t.Errorf("%s %s: status %d", test.method, test.path, answer.Code)
		}
	}
	if seen := site.seen(); seen[0].URL != "shop.example.test/" || seen[3].URL != "shop.example.test/login.html?x=1" {
		t.Errorf("the log: %+v", seen)
	}
}
