package mcpserver

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/flow"
)

var update = flag.Bool("update", false, "write docs/acts.md")

const actsPaper = "../docs/acts.md"

// parity is a kind of act with its three names.
type parity struct {
	name string // of the constant in package browser
	kind browser.Kind
	step string // what makes it in a flow: its type and its members; empty for none
	tool string // what makes it for a model; empty for none
	args string // of a call that does
	note string // why there is none, or what else is worth a word
}

const selected = `"selectors":[["#x"]]`

var parities = []parity{
	{"Navigate", browser.Navigate, `"navigate","url":"https://shop.test/a"`, "browser_navigate", `{"url":"https://shop.test/a"}`, ""},
	{"Back", browser.Back, "", "browser_navigate_back", `{}`, "the Recorder records none"},
	{"Forward", browser.Forward, "", "browser_navigate_forward", `{}`, "the Recorder records none"},
	{"Reload", browser.Reload, "", "browser_reload", `{}`, "the Recorder records none"},
	{"Click", browser.Click, `"click","offsetX":1,"offsetY":1,` + selected, "browser_click", `{"target":"#x"}`, ""},
	{"DoubleClick", browser.DoubleClick, `"doubleClick","offsetX":1,"offsetY":1,` + selected, "browser_click", `{"target":"#x","doubleClick":true}`, "the tool's argument doubleClick"},
	{"Hover", browser.Hover, `"hover",` + selected, "browser_hover", `{"target":"#x"}`, ""},
	{"Change", browser.Change, `"change","value":"v",` + selected, "browser_type", `{"target":"#x","text":"v"}`, "also browser_fill_form"},
	{"Type", browser.Type, "", "browser_type", `{"target":"#x","text":"v","slowly":true}`, "the tool's argument slowly"},
	{"Clear", browser.Clear, "", "browser_type", `{"target":"#x","text":""}`, "an empty text; in a flow a change to an empty value"},
	{"Check", browser.Check, "", "browser_fill_form", `{"fields":[{"target":"#x","type":"checkbox","value":"true"}]}`, "in a flow a click"},
	{"Uncheck", browser.Uncheck, "", "browser_fill_form", `{"fields":[{"target":"#x","type":"checkbox","value":"false"}]}`, "in a flow a click"},
	{"Select", browser.Select, "", "browser_select_option", `{"target":"#x","values":["v"]}`, "in a flow a change"},
	{"Upload", browser.Upload, "", "browser_file_upload", `{"target":"#x","paths":["a.txt"]}`, "from the folders that the User named"},
	{"Press", browser.Press, "", "browser_press_key", `{"key":"Enter"}`, "in a flow keyDown and keyUp"},
	{"KeyDown", browser.KeyDown, `"keyDown","key":"Shift"`, "browser_keydown", `{"key":"Shift"}`, ""},
	{"KeyUp", browser.KeyUp, `"keyUp","key":"Shift"`, "browser_keyup", `{"key":"Shift"}`, ""},
	{"Scroll", browser.Scroll, `"scroll","x":0,"y":10`, "browser_mouse_wheel", `{"deltaY":10}`, "a flow scrolls to a place, the tool by a distance"},
	{"Wait", browser.Wait, `"waitForElement",` + selected, "", "", "a model looks with browser_snapshot"},
	{"WaitExpression", browser.WaitExpression, `"waitForExpression","expression":"true"`, "", "", "no code of a model's runs in a page"},
	{"WaitText", browser.WaitText, "", "browser_wait_for", `{"text":"ready"}`, "the Recorder records none"},
	{"WaitURL", browser.WaitURL, "", "browser_wait_for", `{"url":"https://shop.test/*"}`, "the tool's argument url"},
	{"WaitResponse", browser.WaitResponse, "", "", "", "each act waits for its own requests"},
	{"HandleDialog", browser.HandleDialog, "", "browser_handle_dialog", `{"accept":true}`, "a flow's dialogs are dismissed"},
	{"NewTab", browser.NewTab, "", "browser_tabs", `{"action":"new"}`, "a flow names tabs by their target"},
	{"SwitchTab", browser.SwitchTab, "", "browser_tabs", `{"action":"select","index":1}`, "a flow names tabs by their target"},
	{"CloseTab", browser.CloseTab, `"close"`, "browser_tabs", `{"action":"close","index":1}`, ""},
	{"Viewport", browser.Viewport, `"setViewport","width":800,"height":600,"deviceScaleFactor":1,"isMobile":false,"hasTouch":false,"isLandscape":false`, "browser_resize", `{"width":800,"height":600}`, ""},
	{"EmulateNetwork", browser.EmulateNetwork, `"emulateNetworkConditions","download":1,"upload":1,"latency":1`, "", "", "of use for recordings alone"},
}

// kinds are the constants of browser.Kind, as they stand in its source.
func kinds(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../browser/act.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.ValueSpec); ok && len(s.Values) == 1 {
			named, isNamed := s.Type.(*ast.Ident)
			literal, isLiteral := s.Values[0].(*ast.BasicLit)
			if isNamed && named.Name == "Kind" && isLiteral {
				found[s.Names[0].Name], _ = strconv.Unquote(literal.Value)
			}
		}
		return true
	})
	return found
}

// Each act has its names in Go, in a flow and for a model, or a reason why it has none; and what has a name makes it, with
// the same defaults.
func TestEachActHasItsThreeNames(t *testing.T) {
	all := kinds(t)
	for _, p := range parities {
		if all[p.name] != string(p.kind) {
			t.Errorf("browser.%s is %q, not %q", p.name, all[p.name], p.kind)
		}
		delete(all, p.name)
		if (p.step == "" || p.tool == "") && p.note == "" {
			t.Errorf("%s has not all names, and no reason", p.name)
		}
	}
	for name := range all {
		t.Errorf("browser.%s has no row", name)
	}

	v := &fakeVisit{}
	m, s := dial(t, v, nil)
	s.cfg.Uploads = []string{t.TempDir()}
	m.calls("poppy_join", `{"company":"https://shop.test"}`)
	for _, p := range parities {
		var made, recorded *browser.Act
		if p.tool != "" {
			r := m.calls(p.tool, p.args)
			acts := v.made()
			at := slices.IndexFunc(acts, func(a browser.Act) bool { return a.Kind == p.kind })
			if at < 0 {
				t.Errorf("%s %s makes %+v\n%s", p.tool, p.args, acts, r.ours)
				continue
			}
			made = &acts[at]
		}
		if p.step != "" {
			f, err := flow.Parse([]byte(`{"title":"t","steps":[{"type":`+p.step+`}]}`), flow.Values{})
			if err != nil || len(f.Steps) != 1 || f.Steps[0].Act.Kind != p.kind {
				t.Errorf("a step %s is read as %+v, %v", p.step, f, err)
				continue
			}
			recorded = &f.Steps[0].Act
		}
		if made == nil || recorded == nil {
			continue
		}
		if made.Timeout != recorded.Timeout || made.Dialogs != recorded.Dialogs || made.Pointer.Button != recorded.Pointer.Button && recorded.Pointer.Button != browser.Primary {
			t.Errorf("%s: a model's is %+v, a flow's %+v", p.name, *made, *recorded)
		}
		if (len(made.Selectors) > 0) != (len(recorded.Selectors) > 0) {
			t.Errorf("%s: a model's names %v, a flow's %v", p.name, made.Selectors, recorded.Selectors)
		}
	}
}

// What is wrong with an act is said in the same words, whoever asks for it.
func TestWhatIsWrongWithAnActIsSaidAlike(t *testing.T) {
	m, _ := dial(t, &fakeVisit{}, nil)
	m.calls("poppy_join", `{"company":"https://shop.test"}`)
	for _, tc := range []struct {
		act        browser.Act
		step       string
		tool, args string
	}{
		{browser.Act{Kind: browser.Navigate, URL: "file:///etc/passwd"}, `"navigate","url":"file:///etc/passwd"`, "browser_navigate", `{"url":"file:///etc/passwd"}`},
		{browser.Act{Kind: browser.KeyDown, Key: "Nope"}, `"keyDown","key":"Nope"`, "browser_keydown", `{"key":"Nope"}`},
		{browser.Act{Kind: browser.Viewport}, `"setViewport","width":0,"height":0,"deviceScaleFactor":1,"isMobile":false,"hasTouch":false,"isLandscape":false`, "browser_resize", `{"width":0,"height":0}`},
	} {
		err := tc.act.Validate()
		if err == nil {
			t.Fatalf("%+v is valid", tc.act)
		}
		words := err.Error()[strings.LastIndex(err.Error(), ": ")+2:]
		words, _, _ = strings.Cut(words, " and about:blank") // which a flow passes over, and so doesn't name
		if _, flowErr := flow.Parse([]byte(`{"title":"t","steps":[{"type":`+tc.step+`}]}`), flow.Values{}); flowErr == nil || !strings.Contains(flowErr.Error(), words) {
			t.Errorf("a flow says %v, want %q", flowErr, words)
		}
		m.refused(tc.tool, tc.args, words)
	}
}

// docs/acts.md is drawn from the table.
func TestTheActsAreInThePapers(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The acts\n\nOne kind of act, three names: in Go, in a flow of Chrome DevTools' Recorder, and as a tool of `papaver mcp`. All run through\nthe same code, with the same defaults: what is waited for may take 10 s, dialogs aside, and the wait for the User is not\ncounted. This table is drawn by `go test ./mcpserver -run Papers -update`; a test holds each row to what it says.\n\n")
	b.WriteString("| `browser.Kind` | Recorder's type | MCP tool | |\n| --- | --- | --- | --- |\n")
	for _, p := range parities {
		step, tool := "–", "–"
		if p.step != "" {
			step, _, _ = strings.Cut(p.step, ",")
			step = "`" + strings.Trim(step, `"`) + "`"
		}
		if p.tool != "" {
			tool = "`" + p.tool + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.name, step, tool, p.note)
	}
	if *update {
		if err := os.WriteFile(actsPaper, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(actsPaper)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/acts.md is not what the table says (%v); go test ./mcpserver -run Papers -update", err)
	}
}
