package flow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/flow"
)

// Each step type with each member that the schema of @puppeteer/replay 3.1.3 gives it is read, and nothing of it is ignored.
func TestEveryStepTypeAndMemberOfTheSchemaIsRead(t *testing.T) {
	t.Parallel()
	const (
		every    = `"target": "main", "timeout": 100, "assertedEvents": [{"type": "navigation", "url": "https://a.test/*", "title": "A"}]`
		framed   = every + `, "frame": [0, 1]`
		selected = framed + `, "selectors": [["aria/A", "text/b"], "#c", ["xpath///a"], ["pierce/d"]]`
		pressed  = selected + `, "offsetX": 1.5, "offsetY": 2, "duration": 50`
	)
	steps := []string{
		`{"type": "setViewport", ` + every + `, "width": 10, "height": 10, "deviceScaleFactor": 1, "isMobile": true, "hasTouch": true, "isLandscape": false}`,
		`{"type": "emulateNetworkConditions", ` + every + `, "download": 1, "upload": 1, "latency": 1}`,
		`{"type": "navigate", ` + every + `, "url": "https://a.test/"}`,
		`{"type": "hover", ` + selected + `}`,
		`{"type": "change", ` + selected + `, "value": "v"}`,
		`{"type": "keyDown", ` + every + `, "key": "a"}`,
		`{"type": "keyUp", ` + every + `, "key": "a"}`,
		`{"type": "scroll", ` + framed + `, "x": 1, "y": 2}`,
		`{"type": "scroll", ` + selected + `, "x": 1, "y": 2}`,
		`{"type": "waitForExpression", ` + framed + `, "expression": "true"}`,
		`{"type": "close", ` + every + `}`,
	}
	for _, operator := range []string{">=", "==", "<="} {
		steps = append(steps, `{"type": "waitForElement", `+selected+`, "operator": "`+operator+`", "count": 1, "visible": false, "properties": {"value": {"a": [null, 1]}}, "attributes": {"b": "c"}}`)
	}
	for _, button := range []string{"primary", "auxiliary", "secondary", "back", "forward"} {
		steps = append(steps, `{"type": "click", `+pressed+`, "button": "`+button+`", "deviceType": "mouse"}`)
	}
	for _, device := range []string{"mouse", "pen", "touch"} {
		steps = append(steps, `{"type": "doubleClick", `+pressed+`, "deviceType": "`+device+`"}`)
	}
	f, err := flow.Parse([]byte(`{"title": "t", "timeout": 100, "selectorAttribute": "data-a", "steps": [`+strings.Join(steps, ",")+`]}`), flow.Values{})
	if err != nil || len(f.Notices) > 0 {
		t.Errorf("%+v, %v", f, err)
	}
	f, err = flow.Parse(recording(openStep, `{"type": "customStep", `+framed+`, "name": "n", "parameters": {"a": [1]}}`), flow.Values{})
	if err != nil || len(f.Notices) != 1 || f.Skipped() != 1 {
		t.Errorf("a custom step: %+v, %v", f, err)
	}
}

// Each key that the schema names is one.
func TestEveryKeyOfTheSchemaIsKnown(t *testing.T) {
	t.Parallel()
	names := strings.Fields(`Power Eject Abort Help Backspace Tab Enter Pause CapsLock Escape Convert NonConvert Space PageUp PageDown End Home
		ArrowLeft ArrowUp ArrowRight ArrowDown Select Open PrintScreen Insert Delete NumpadEnter NumpadDecimal NumpadMultiply NumpadAdd
		NumpadSubtract NumpadDivide NumpadEqual MetaLeft MetaRight ContextMenu ShiftLeft ShiftRight ControlLeft ControlRight AltLeft AltRight
		NumLock ScrollLock AudioVolumeMute AudioVolumeDown AudioVolumeUp MediaTrackNext MediaTrackPrevious MediaStop MediaPlayPause
		Semicolon Equal Comma Minus Period Slash Backquote BracketLeft Backslash BracketRight Quote AltGraph Props Cancel Clear Shift Control
		Alt Meta Accept ModeChange Print Execute Attn CrSel ExSel EraseEof Play ZoomOut SoftLeft SoftRight Camera Call EndCall VolumeDown VolumeUp
		F1 F9 F10 F24 Digit0 Digit9 KeyA KeyZ Numpad0 Numpad9`)
	names = append(names, "\r", "\n", "\x00")
	for c := ' '; c <= '~'; c++ {
		names = append(names, string(c))
	}
	for _, name := range names {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := flow.Parse(recording(`{"type": "keyDown", "key": `+string(quoted)+`}`), flow.Values{}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A selector that can match nothing is named before anything runs; beside one that may, it is a notice.
func TestASelectorThatIsNoneIsNamed(t *testing.T) {
	t.Parallel()
	for selector, why := range map[string]string{
		"###": "a name is missing after #", "a.": "after .", ".a > ": "a part is missing", "> a": "a part is missing", "a[b": "[ is not closed", "a]": "] closes nothing",
		`a[b="c]`: "is not closed", ":not(.a": "( is not closed", " ": "it is empty", "aria/": "the name is missing", "text/ ": "the name is missing", "xpath/": "it is empty",
		"xpath//[[": "[ is not closed", `xpath//a[text()="b]`: "is not closed", "pierce/a..b": "after .",
	} {
		quoted, err := json.Marshal(selector)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := flow.Parse(recording(`{"type": "click", "selectors": [[`+string(quoted)+`]]}`), flow.Values{}); err == nil || !strings.Contains(err.Error(), "steps[0].selectors[0]: ") || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", selector, err, why)
		}
		f, err := flow.Parse(recording(`{"type": "click", "selectors": [["#a"], [`+string(quoted)+`]]}`), flow.Values{})
		if err != nil || len(f.Notices) != 1 || f.Notices[0].Place != "steps[0].selectors[1]" || len(f.Steps[0].Act.Selectors) != 2 {
			t.Errorf("%q beside another: %+v, %v", selector, f, err)
		}
	}
	for _, selector := range []string{
		"#a", "#\\31 0", ".a\\:b > c", "a[href='/x.y#z']", `[data-a="("]`, "a:nth-child(2n+1)", "a:has(> b)", "div>a~b+c", "#é", ".-a", "a, b", "custom-element.x",
		`aria/A "quoted`, "aria/:", "text/[(", `xpath///a[contains(., "(")]`, "pierce/#a", "*", "::-p-text(a)", "a\\>", "a[b='\\'']",
	} {
		quoted, err := json.Marshal(selector)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := flow.Parse(recording(`{"type": "click", "selectors": [[`+string(quoted)+`]]}`), flow.Values{}); err != nil || len(f.Notices) > 0 {
			t.Errorf("%q: %v", selector, err)
		}
	}
}
