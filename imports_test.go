package papaver_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// room is one package of the house, or with /... a folder of them. A package may import those below it, never one above.
type room struct{ path, reason string }

// house lists every package of the module from the top to the bottom. A package that is not here has no place yet: give it
// one, with the reason, before it is written.
var house = []room{
	{"cmd/papaver", "the binary ties everything together and holds no protocol logic"},
	{"interop", "a command of the project: holds what is below it against other people's implementations"},
	{"simulation", "tests that put models around everything a round has"},
	{"bench", "tests that measure an agent beside bare programs"},
	{"scale", "tests that measure how a process of ours grows"},
	{"soak", "tests that run an agent for long against two bundled sites"},
	{"examples/firstagent", "an author's first agent, and its test"},
	{"examples", "flows as files, embedded for the demo"},
	{"conformance/report", "a command of the project, not of the product"},
	{"conformance", "reads the tests' marks; knows nothing of the product"},
	{"mcpserver", "offers the agent's acts as tools, so it stands on the agent"},
	{"flow", "turns a recorded browsing task into the agent's acts"},
	{"agent/agenttest", "tests an agent against the bundled site, with a User at the terminal UI"},
	{"tui", "shows what the packages below report and gives answers to the desk; none of them may know a terminal"},
	{"agent", "the API for agent authors; ties the rooms below together"},
	{"opsweb", "the way of one operation uses desk, instructions, ledger, join and browser"},
	{"instruction", "answers in advance are given to the desk"},
	{"attach", "carries the desk's questions and answers between processes"},
	{"approval", "the desk writes an answer to the ledger before it counts"},
	{"ledger", "writes down what is below it, and permits what is above"},
	{"join", "signs with the Session's key and posts from the browser"},
	{"browser/roddriver", "fills the driver interface"},
	{"browser/chromedpdriver", "fills the driver interface"},
	{"browser", "the driver interface knows no driver, and nothing of operations but the header's place"},
	{"signin", "stands below the browser, which must never open a sign-in page; a join comes after it, with the token it brought"},
	{"account", "keeps what a Session's server granted and has it exchanged there; a sign-in ends in it"},
	{"operation", "decodes what an endpoint answers; asks nobody"},
	{"published", "compares what is really published of the identity with what the home has"},
	{"session", "identity, delegation and tokens for a Company that was discovered"},
	{"company", "discovery comes before everything that is done at a Company"},
	{"profile", "one version of the protocol as values; reads nothing"},
	{"lock", "seals what the rooms above keep, and signs for the desk; knows neither"},
	{"testsite/...", "the second reading of the protocol shares no code with the first"},
	{"trace", "every room may say when a part of its work began and ended"},
	{"internal/...", "machinery that knows no protocol"},
}

// floor is the place of a folder in the house, counted from the top.
func floor(folder string) (int, bool) {
	for i, r := range house {
		stem, whole := strings.CutSuffix(r.path, "/...")
		if folder == stem || whole && strings.HasPrefix(folder, stem+"/") {
			return i, true
		}
	}
	return 0, false
}

// within says whether a path is the stem or lies below it.
func within(path, stem string) bool { return path == stem || strings.HasPrefix(path, stem+"/") }

// enclosure keeps imports to the few rooms that may have them.
type enclosure struct {
	// imports are import paths; those below them are meant too.
	imports []string
	// rooms may import them.
	rooms []string
	// testsMay is set where tests of every room may import them; else the tests are kept to the rooms too.
	testsMay bool
	// files is the most files outside tests that may import them; 0 is any number.
	files  int
	reason string
}

var enclosures = []enclosure{
	{
		imports: []string{"github.com/chromedp/chromedp", "github.com/chromedp/cdproto"},
		rooms:   []string{"browser/chromedpdriver", "bench"}, // whose bare program is what a run is measured against
		reason:  "above its driver nothing may depend on how Chromium is driven",
	},
	{
		imports: []string{"github.com/go-rod/rod"},
		rooms:   []string{"browser/roddriver"},
		reason:  "above its driver nothing may depend on how Chromium is driven",
	},
	{
		imports: []string{"github.com/charmbracelet/bubbletea", "github.com/charmbracelet/bubbles", "github.com/charmbracelet/lipgloss"},
		rooms:   []string{"tui"},
		reason:  "only the terminal UI turns key presses into answers",
	},
	{
		imports: []string{"github.com/lestrrat-go/jwx"},
		rooms:   []string{"session"},
		files:   1,
		reason:  "signing and verifying is in one place that can be read whole",
	},
	{
		imports:  []string{module + "/testsite"},
		rooms:    []string{"cmd/papaver", "agent/agenttest", "testsite"},
		testsMay: true,
		reason:   "two readings of the protocol: a mistake in one shows in the other only while they share nothing",
	},
	{
		imports:  []string{module + "/conformance"},
		rooms:    []string{"conformance"},
		testsMay: false,
		reason:   "the clause table is about the product and no part of it",
	},
	{
		imports:  []string{"github.com/modelcontextprotocol/go-sdk"},
		rooms:    []string{"mcpserver"},
		testsMay: true,
		reason:   "what a language model can reach is in one room",
	},
	{
		imports: []string{"github.com/zalando/go-keyring"},
		rooms:   []string{"account"},
		reason:  "a token goes into the keyring, and comes from it, in one place",
	},
}

func TestImportsPointDown(t *testing.T) {
	real, err := readSources(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]rule{
		"every package has its place in the house": {
			reason: "the house list in imports_test.go says where each package stands and why",
			check:  packagesWithoutARoom,
			broken: fstest.MapFS{
				"helpers/helpers.go":        {Data: []byte("package helpers\n")},
				"ledger/ledger.go":          {Data: []byte("package ledger\n")},
				"ledger/store/store.go":     {Data: []byte("package store\n")},
				"internal/secret/secret.go": {Data: []byte("package secret\n")},
				"doc.go":                    {Data: []byte("package papaver\n")},
			},
			findings: []string{
				"helpers: the package has no place in the house",
				"ledger/store: the package has no place in the house",
			},
		},
		"no import points up": {
			reason: "a room that knows those above it cannot be understood, tested or replaced alone",
			check:  importsThatPointUp,
			broken: fstest.MapFS{
				"ledger/up.go":          {Data: []byte(`package ledger; import _ "` + module + `/approval"`)},
				"ledger/up_test.go":     {Data: []byte(`package ledger_test; import _ "` + module + `/approval"`)},
				"approval/down.go":      {Data: []byte(`package approval; import _ "` + module + `/ledger"`)},
				"internal/secret/up.go": {Data: []byte(`package secret; import _ "` + module + `/profile"`)},
				"internal/a/across.go":  {Data: []byte(`package a; import _ "` + module + `/internal/secret"`)},
				"session/root.go":       {Data: []byte(`package session; import _ "` + module + `"`)},
			},
			findings: []string{
				"internal/secret/up.go:1: imports profile, which stands above internal/secret",
				"ledger/up.go:1: imports approval, which stands above ledger",
				"session/root.go:1: imports the root package, which stands above all",
			},
		},
		"the bundled site imports nothing of ours": {
			reason: "two readings of the protocol: a mistake in one shows in the other only while they share nothing",
			check:  importsOfTheSite,
			broken: fstest.MapFS{
				"testsite/site.go":       {Data: []byte(`package testsite; import _ "` + module + `/internal/strictjson"`)},
				"testsite/shop.go":       {Data: []byte(`package testsite; import _ "` + module + `/testsite/pages"`)},
				"testsite/site_test.go":  {Data: []byte(`package testsite_test; import _ "` + module + `/agent"`)},
				"testsite/pages/page.go": {Data: []byte(`package pages; import _ "` + module + `/operation"`)},
			},
			findings: []string{
				"testsite/pages/page.go:1: imports operation",
				"testsite/site.go:1: imports internal/strictjson",
			},
		},
		"enclosed imports stay where they belong": {
			reason: "one room wraps each of these, and the others use the room",
			check:  importsOutsideTheirRooms,
			broken: fstest.MapFS{
				"browser/chromedpdriver/a.go": {Data: []byte(`package chromedpdriver; import _ "github.com/chromedp/cdproto/fetch"`)},
				"browser/browser.go":          {Data: []byte(`package browser; import _ "github.com/chromedp/cdproto/fetch"`)},
				"browser/browser_test.go":     {Data: []byte(`package browser; import _ "github.com/chromedp/chromedp"`)},
				"agent/agent.go":              {Data: []byte(`package agent; import _ "` + module + `/testsite"`)},
				"agent/agent_test.go":         {Data: []byte(`package agent_test; import _ "` + module + `/testsite"`)},
				"agent/agenttest/site.go":     {Data: []byte(`package agenttest; import _ "` + module + `/testsite"`)},
				"internal/plaintext/width.go": {Data: []byte(`package plaintext; import _ "github.com/charmbracelet/x/ansi"`)},
				"cmd/papaver/tui.go":          {Data: []byte(`package main; import _ "github.com/charmbracelet/bubbletea"`)},
				"session/sign.go":             {Data: []byte(`package session; import _ "github.com/lestrrat-go/jwx/v2/jws"`)},
				"session/verify.go":           {Data: []byte(`package session; import _ "github.com/lestrrat-go/jwx/v2/jwk"`)},
			},
			findings: []string{
				"agent/agent.go:1: imports " + module + "/testsite: " + enclosures[4].reason,
				"browser/browser.go:1: imports github.com/chromedp/cdproto/fetch: " + enclosures[0].reason,
				"browser/browser_test.go:1: imports github.com/chromedp/chromedp: " + enclosures[0].reason,
				"cmd/papaver/tui.go:1: imports github.com/charmbracelet/bubbletea: " + enclosures[2].reason,
				"github.com/lestrrat-go/jwx is imported by session/sign.go, session/verify.go, and at most 1 may: " + enclosures[3].reason,
			},
		},
	} {
		t.Run(name, func(t *testing.T) { r.test(t, real) })
	}
}

func packagesWithoutARoom(s sources) []string {
	found := make(map[string]bool)
	for _, file := range s.code {
		if _, ok := floor(file.folder()); !ok && file.folder() != "." {
			found[fmt.Sprintf("%s: the package has no place in the house", file.folder())] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func importsThatPointUp(s sources) []string {
	var findings []string
	for _, file := range s.code {
		from, placed := floor(file.folder())
		if file.isTest() || !placed {
			continue
		}
		for name, node := range file.importing() {
			if name == module {
				findings = append(findings, file.at(node)+": imports the root package, which stands above all")
				continue
			}
			folder, ours := strings.CutPrefix(name, module+"/")
			if to, known := floor(folder); ours && known && to < from {
				findings = append(findings, fmt.Sprintf("%s: imports %s, which stands above %s", file.at(node), folder, file.folder()))
			}
		}
	}
	slices.Sort(findings)
	return findings
}

func importsOfTheSite(s sources) []string {
	var findings []string
	for _, file := range s.code {
		if file.isTest() || !within(file.folder(), "testsite") {
			continue
		}
		for name, node := range file.importing() {
			if folder, ours := strings.CutPrefix(name, module+"/"); ours && !within(folder, "testsite") {
				findings = append(findings, fmt.Sprintf("%s: imports %s", file.at(node), folder))
			}
		}
	}
	slices.Sort(findings)
	return findings
}

func importsOutsideTheirRooms(s sources) []string {
	var findings []string
	for _, e := range enclosures {
		for _, imported := range e.imports {
			var importers []string
			for _, file := range s.code {
				for name, node := range file.importing() {
					if !within(name, imported) {
						continue
					}
					if e.lets(file) {
						if !file.isTest() {
							importers = append(importers, file.path)
						}
						continue
					}
					findings = append(findings, fmt.Sprintf("%s: imports %s: %s", file.at(node), name, e.reason))
				}
			}
			slices.Sort(importers)
			importers = slices.Compact(importers)
			if e.files > 0 && len(importers) > e.files {
				findings = append(findings, fmt.Sprintf("%s is imported by %s, and at most %d may: %s",
					imported, strings.Join(importers, ", "), e.files, e.reason))
			}
		}
	}
	slices.Sort(findings)
	return findings
}

// lets says whether the file may import what the enclosure keeps.
func (e enclosure) lets(file source) bool {
	if file.isTest() && e.testsMay {
		return true
	}
	return slices.ContainsFunc(e.rooms, func(room string) bool { return within(file.folder(), room) })
}
