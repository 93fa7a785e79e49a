package flow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/flow"
	"github.com/papaver-agent/papaver/internal/secret"
)

// recording is a flow with these steps, as a Recorder exports it.
func recording(steps ...string) []byte {
	return []byte(`{"title": "order a tea", "selectorAttribute": "data-test", "steps": [` + strings.Join(steps, ",\n") + `]}`)
}

const (
	viewStep  = `{"type": "setViewport", "width": 630, "height": 1213, "deviceScaleFactor": 2, "isMobile": false, "hasTouch": false, "isLandscape": false}`
	openStep  = `{"type": "navigate", "url": "https://shop.example.test/a%20b?x=1", "assertedEvents": [{"type": "navigation", "url": "https://shop.example.test/", "title": "Tea"}]}`
	clickStep = `{"type": "click", "target": "main", "selectors": [["#buy"], ["aria/Buy[role=\"button\"]"], "xpath///*[@id=\"buy\"]", ["my-shop", "pierce/#x"]], "offsetX": 61.5, "offsetY": 22, "frame": [], "button": "primary", "deviceType": "mouse", "duration": 400}`
	fillStep  = `{"type": "change", "value": "blue & grün", "selectors": [["text/Colour"]], "target": "main"}`
	waitStep  = `{"type": "waitForElement", "selectors": [[".done"]], "visible": true}`
)

// acts compares acts, the secrets in them by their value.
func acts(f *flow.Flow) []browser.Act {
	var list []browser.Act
	for _, s := range f.Steps {
		list = append(list, s.Act)
	}
	return list
}

var reveal = cmp.Comparer(func(a, b secret.Text) bool { return a.Reveal() == b.Reveal() })

func TestARecordingIsReadStepByStep(t *testing.T) {
	t.Parallel()
	f, err := flow.Parse(recording(viewStep, openStep, clickStep, fillStep, waitStep), flow.Values{})
	if err != nil {
		t.Fatal(err)
	}
	const main = browser.MainTab
	want := []browser.Act{
		{Kind: browser.Viewport, Target: main, View: browser.View{Width: 630, Height: 1213, Scale: 2}},
		{Kind: browser.Navigate, Target: main, URL: "https://shop.example.test/a%20b?x=1", Expect: &browser.Navigation{URL: "https://shop.example.test/"}},
		{Kind: browser.Click, Target: main, Frame: []int{}, Selectors: [][]string{{"#buy"}, {`aria/Buy[role="button"]`}, {`xpath///*[@id="buy"]`}, {"my-shop", "pierce/#x"}},
			Pointer: browser.Pointer{Device: browser.Mouse, Button: browser.Primary, Offset: &browser.Point{X: 61.5, Y: 22}, Duration: 400 * time.Millisecond}},
		{Kind: browser.Change, Target: main, Selectors: [][]string{{"text/Colour"}}, Value: secret.New("blue & grün")},
		{Kind: browser.Wait, Target: main, Selectors: [][]string{{".done"}}, Elements: browser.Elements{Unseen: true}},
	}
	if diff := cmp.Diff(want, acts(f), reveal); diff != "" {
		t.Error(diff)
	}
	labels := []string{"set the view to 630 × 1213", "open shop.example.test/a%20b", "press “Buy”", "fill in “Colour”", "wait for .done"}
	if diff := cmp.Diff(labels, f.Labels()); diff != "" || f.Title != "order a tea" {
		t.Errorf("title %q, labels: %s", f.Title, diff)
	}
	if strings.Contains(fmt.Sprintf("%+v %v", f, f.Labels()), "grün") {
		t.Error("what is typed is printed")
	}
}

func TestAStepsOwnTimeoutComesBeforeTheFlows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		flow, step string
		want       time.Duration
	}{
		"none":            {``, ``, 0},
		"the flow's":      {`"timeout": 2000,`, ``, 2 * time.Second},
		"the step's":      {``, `"timeout": 700,`, 700 * time.Millisecond},
		"a shorter one":   {`"timeout": 2000,`, `"timeout": 700,`, 700 * time.Millisecond},
		"a longer one":    {`"timeout": 700,`, `"timeout": 2000,`, 2 * time.Second},
		"the longest one": {``, `"timeout": 600000,`, 10 * time.Minute},
	} {
		data := `{` + tc.flow + `"title": "t", "steps": [{` + tc.step + `"type": "click", "selectors": ["#a"]}]}`
		f, err := flow.Parse([]byte(data), flow.Values{})
		if err != nil || f.Steps[0].Act.Timeout != tc.want {
			t.Errorf("%s: %+v, %v; want %v", name, f, err, tc.want)
		}
	}
}

func TestEveryPartThatIsWrongIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	for step, says := range map[string]string{
		`{"type": "keyDown", "target": "main", "key": "Hyper"}`: `steps[1]: the act cannot be made: keyDown: key "Hyper"`,
		`{"type": "keyUp"}`: `steps[1]: the act cannot be made: keyUp: key ""`,
		`{"type": "hover"}`: `steps[1].selectors: `,
		`{"type": "waitForExpression", "expression": " "}`:                                 `steps[1]: the act cannot be made: waitForExpression: the expression is missing`,
		`{"type": "Click", "selectors": [["#a"]]}`:                                         `steps[1]: type "Click" is not a step's`,
		`{"selectors": [["#a"]]}`:                                                          `steps[1]: type ""`,
		`{"type": "click", "selectors": [["#a"]], "target": 7}`:                            `steps[1].target: `,
		`{"type": "click", "selectors": [["#a"]], "frame": [0, -1]}`:                       `steps[1].frame: `,
		`{"type": "click", "selectors": [["#a"]], "frame": [0.5]}`:                         `steps[1].frame.0: `,
		`{"type": "click", "selectors": [["#a"]], "button": "left"}`:                       `button "left"`,
		`{"type": "click", "selectors": [["#a"]], "deviceType": "paw"}`:                    `device "paw"`,
		`{"type": "click", "selectors": [["#a"]], "duration": -1}`:                         `steps[1].duration: -1`,
		`{"type": "click", "selectors": [["#a"]], "assertedEvents": [{"type": "dialog"}]}`: `steps[1].assertedEvents[0].type: "dialog"`,
		`{"type": "click", "selectors": [["#a"]], "assertedEvents": {}}`:                   `steps[1].assertedEvents: `,
		`{"type": "click"}`:                                                                           `steps[1].selectors: `,
		`{"type": "click", "selectors": []}`:                                                          `steps[1].selectors: `,
		`{"type": "click", "selectors": null}`:                                                        `steps[1].selectors: `,
		`{"type": "click", "selectors": "#a"}`:                                                        `steps[1].selectors: `,
		`{"type": "click", "selectors": [["#a"], []]}`:                                                `steps[1].selectors[1]: `,
		`{"type": "click", "selectors": [["#a"], null]}`:                                              `steps[1].selectors[1]: `,
		`{"type": "click", "selectors": [["#a"], ["#b", 7]]}`:                                         `steps[1].selectors[1]: `,
		`{"type": "click", "selectors": [["#a"], ["#b", null]]}`:                                      `steps[1].selectors[1]: `,
		`{"type": "click", "selectors": [""]}`:                                                        `steps[1].selectors[0]: `,
		`{"type": "click", "selectors": [{"css": "#a"}]}`:                                             `steps[1].selectors[0]: `,
		`{"type": "change", "selectors": [["#a"]]}`:                                                   `steps[1].value: `,
		`{"type": "change", "selectors": [["#a"]], "value": 7}`:                                       `steps[1].value: `,
		`{"type": "change", "selectors": [["#a"]], "value": "${tea}"}`:                                `steps[1].value: "${tea}" has no value`,
		`{"type": "change", "selectors": [["#a"]], "value": "${tea"}`:                                 `no closing brace`,
		`{"type": "navigate", "url": "https://${pin}.example/"}`:                                      `steps[1].url: a secret is put into the value`,
		`{"type": "waitForElement", "selectors": [[".a"]], "operator": "!=", "count": 1}`:             `operator "!="`,
		`{"type": "waitForElement", "selectors": [[".a"]], "count": -1}`:                              `the count is below 0`,
		`{"type": "waitForElement", "selectors": [[".a"]], "count": 1.5}`:                             `steps[1].count: `,
		`{"type": "waitForElement", "selectors": [[".a"]], "attributes": {"class": 7}}`:               `steps[1].attributes.class: `,
		`{"type": "setViewport", "width": 0, "height": 10}`:                                           `width and height`,
		`{"type": "setViewport", "width": 10, "height": 10001}`:                                       `width and height`,
		`{"type": "setViewport", "width": 99999999999999999999, "height": 10}`:                        `steps[1].width: `,
		`{"type": "setViewport", "width": 10, "height": 10, "deviceScaleFactor": 11}`:                 `the scale`,
		`{"type": "setViewport", "width": 10, "height": 10, "isMobile": "no"}`:                        `steps[1].isMobile: `,
		`{"type": "navigate"}`:                                                                        `url`,
		`{"type": "navigate", "url": "file:///etc/passwd"}`:                                           `steps[1].url: "file:///etc/passwd"`,
		`{"type": "navigate", "url": "chrome://settings/"}`:                                           `steps[1].url: "chrome://settings/"`,
		`{"type": "navigate", "url": "javascript:alert(1)"}`:                                          `url`,
		`{"type": "navigate", "url": "data:text/html,x"}`:                                             `url`,
		`{"type": "navigate", "url": "/cart"}`:                                                        `url`,
		`{"type": "navigate", "url": "https:///cart"}`:                                                `url`,
		`{"type": "navigate", "url": "https://shop.example.test/", "timeout": -1}`:                    `steps[1].timeout: -1`,
		`{"type": "navigate", "url": "https://shop.example.test/", "timeout": 600001}`:                `steps[1].timeout: 600001`,
		`{"type": "navigate", "url": "https://shop.example.test/", "timeout": 9223372036854775807}`:   `timeout`,
		`{"type": "navigate", "type": "click", "url": "https://shop.example.test/"}`:                  `used twice`,
		`{"type": "` + strings.Repeat("x", 100_000) + `"}`:                                            `…`,
		`{"type": "navigate", "url": "` + strings.Repeat("x", 100_000) + `"}`:                         `…`,
		`{"type": "change", "selectors": ["#a"], "value": "${` + strings.Repeat("x", 100_000) + `}"}`: `…`,
		`{"type": "\u001b[2J\u202e"}`:                                                                 `\x1b[2J\u202e`,
		`null`:                                                                                        `steps[1]: `,
		`[]`:                                                                                          `steps[1]: `,
		`"click"`:                                                                                     `steps[1]: `,
	} {
		_, err := flow.Parse(recording(openStep, step, clickStep), flow.Values{Set: map[string]string{"coffee": "x"}, Secrets: map[string]secret.Text{"pin": secret.New("2468")}})
		short := step[:min(len(step), 90)]
		if !errors.Is(err, flow.ErrFlow) {
			t.Errorf("%s: err = %v", short, err)
			continue
		}
		// A member used twice makes the whole file unreadable, so it has no step to name.
		place := "steps[1]"
		if says == `used twice` {
			place = ""
		}
		if !strings.Contains(err.Error(), place) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %q does not say %s%s", short, err, place, says)
		}
		if strings.Contains(err.Error(), "steps[0]") || strings.Contains(err.Error(), "steps[2]") {
			t.Errorf("%s: %q names another step too", short, err)
		}
		if len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\x1b\u202e") || strings.Contains(err.Error(), "2468") {
			t.Errorf("%s: the error has %d bytes, or moves a cursor", short, len(err.Error()))
		}
	}
}

func TestAllWrongStepsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := flow.Parse(recording(`{"type": "hover"}`, openStep, `{"type": "scrool"}`, `{"type": "click"}`), flow.Values{})
	for _, place := range []string{"steps[0].selectors: ", "steps[2]: ", "steps[3].selectors: "} {
		if err == nil || !strings.Contains(err.Error(), place) {
			t.Errorf("%v does not name %s", err, place)
		}
	}
}

func TestAFileThatIsNoRecordingIsRefused(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"empty":            ``,
		"not JSON":         `steps: []`,
		"null":             `null`,
		"a list":           `[` + openStep + `]`,
		"no steps":         `{"title": "t"}`,
		"empty steps":      `{"title": "t", "steps": []}`,
		"steps null":       `{"title": "t", "steps": null}`,
		"steps an object":  `{"title": "t", "steps": {}}`,
		"in another case":  `{"Title": "t", "Steps": [` + openStep + `]}`,
		"a member twice":   `{"steps": [` + openStep + `], "steps": [` + openStep + `]}`,
		"an inner one":     `{"steps": [{"type": "navigate", "url": "https://a.test/", "url": "https://b.test/"}]}`,
		"something after":  string(recording(openStep)) + `{}`,
		"not UTF-8":        strings.Replace(string(recording(openStep)), "tea", "t\xff", 1),
		"too many steps":   string(recording(strings.Split(strings.Repeat(waitStep+"\n", 1001), "\n")[:1001]...)),
		"too large":        string(recording(openStep)) + strings.Repeat(" ", 1<<20),
		"too deep":         `{"x": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `, "steps": [` + openStep + `]}`,
		"a wrong timeout":  `{"timeout": -1, "steps": [` + openStep + `]}`,
		"a huge timeout":   `{"timeout": 9223372036854775807, "steps": [` + openStep + `]}`,
		"a timeout's text": `{"timeout": "5000", "steps": [` + openStep + `]}`,
	} {
		if f, err := flow.Parse([]byte(data), flow.Values{}); !errors.Is(err, flow.ErrFlow) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	most := strings.Split(strings.Repeat(waitStep+"\n", 1000), "\n")[:1000]
	if f, err := flow.Parse(recording(most...), flow.Values{}); err != nil || len(f.Steps) != 1000 {
		t.Errorf("1000 steps: %v", err)
	}
}

func TestGivenValuesAreFilledInOnce(t *testing.T) {
	t.Parallel()
	set := map[string]string{"host": "shop.example.test", "tea": "Sencha ${host} $", "": "nothing", "a b": "blank"}
	f, err := flow.Parse(recording(
		`{"type": "navigate", "url": "https://${host}/t?x=${a b}"}`,
		`{"type": "change", "selectors": [["aria/${host}"]], "value": "a ${tea}${tea} $5 {x} ${}"}`,
	), flow.Values{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	want := []browser.Act{
		{Kind: browser.Navigate, Target: browser.MainTab, URL: "https://shop.example.test/t?x=blank"},
		{Kind: browser.Change, Target: browser.MainTab, Selectors: [][]string{{"aria/${host}"}}, Value: secret.New("a Sencha ${host} $Sencha ${host} $ $5 {x} nothing")},
	}
	if diff := cmp.Diff(want, acts(f), reveal); diff != "" {
		t.Error(diff)
	}
	_, err = flow.Parse(recording(`{"type": "navigate", "url": "${url}"}`), flow.Values{Set: map[string]string{"url": "file:///secret"}})
	if !errors.Is(err, flow.ErrFlow) || strings.Contains(err.Error(), "secret") {
		t.Errorf("err = %v", err)
	}
}

// A secret is entered as one: it is kept out of everything that tells what was done.
func TestASecretIsEnteredAsOne(t *testing.T) {
	t.Parallel()
	f, err := flow.Parse(recording(openStep,
		`{"type": "change", "selectors": [["#pin"]], "value": "${pin}"}`,
		`{"type": "change", "selectors": [["#name"]], "value": "Dana"}`,
	), flow.Values{Secrets: map[string]secret.Text{"pin": secret.New("2468")}})
	if err != nil {
		t.Fatal(err)
	}
	if a := f.Steps[1].Act; !a.Private || a.Value.Reveal() != "2468" {
		t.Errorf("it is entered as %+v", a)
	}
	if f.Steps[2].Act.Private {
		t.Error("what is no secret is entered as one")
	}
	if text := fmt.Sprintf("%+v %#v %v", f, f, f.Labels()); strings.Contains(text, "2468") {
		t.Error("the secret is printed")
	}
}

func TestWhatIsLeftOutIsSaidWithItsPlace(t *testing.T) {
	t.Parallel()
	f, err := flow.Parse(recording(
		`{"type": "navigate", "url": "chrome://new-tab-page/", "assertedEvents": [{"type": "navigation", "url": "chrome://new-tab-page/"}]}`, openStep,
		`{"type": "customStep", "name": "no\u001bte", "parameters": {"text": "x"}}`,
		`{"type": "hover", "selectors": [["#a"]], "offsetX": 3}`,
	), flow.Values{})
	if err != nil {
		t.Fatal(err)
	}
	want := []flow.Notice{
		{"steps[0]", `the browser's own page "chrome://new-tab-page/" is not opened`},
		{"steps[2]", `the custom step "no\x1bte" is skipped: it means something to the program that recorded it alone`},
		{"steps[3]", `the member "offsetX" means nothing there, and is ignored`},
	}
	if diff := cmp.Diff(want, f.Notices); diff != "" {
		t.Error(diff)
	}
	if n := f.Skipped(); n != 2 {
		t.Errorf("%d steps are left out", n)
	}
	for i, skip := range []bool{true, false, true, false} {
		if f.Steps[i].Skip != skip {
			t.Errorf("step %d: skipped is %v", i, f.Steps[i].Skip)
		}
	}
	if _, err := flow.Parse(recording(`{"type": "customStep", "name": "x"}`), flow.Values{}); !errors.Is(err, flow.ErrFlow) {
		t.Errorf("nothing to run: %v", err)
	}
}

func TestAFileThatIsNoJSONIsRefusedWithLineAndColumn(t *testing.T) {
	t.Parallel()
	for data, place := range map[string]string{
		"":                                     "line 1, column 1",
		"{\n  \"title\": \"t\",\n  steps: []}": "line 3, column 3",
		"{\"title\": \"t\",\n\"steps\": {}}":   "line 2, column",
	} {
		_, err := flow.Parse([]byte(data), flow.Values{})
		wrong, ok := errors.AsType[*flow.Error](err)
		if !ok || len(wrong.Problems) != 1 || !strings.HasPrefix(wrong.Problems[0].Place, place) {
			t.Errorf("%q: %v", data, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, step := range []string{viewStep, openStep, clickStep, fillStep, waitStep, `null`, `{"type": "change", "selectors": ["a"], "value": "${x}${"}`, `{"type": "click", "selectors": [[]]}`} {
		f.Add(recording(openStep, step))
	}
	f.Add([]byte(``))
	f.Add([]byte(`{"steps": [[[[]]]], "timeout": -1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := flow.Parse(data, flow.Values{Set: map[string]string{"x": "y"}})
		if err != nil {
			if got != nil || !errors.Is(err, flow.ErrFlow) {
				t.Fatalf("%+v, %v", got, err)
			}
			return
		}
		if len(got.Steps) == 0 || len(got.Steps) > 1000 || len(got.Labels()) != len(got.Steps) {
			t.Fatalf("%d steps", len(got.Steps))
		}
		for i, s := range got.Steps {
			a := s.Act
			if s.Skip {
				continue
			}
			if err := a.Validate(); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			if s.Label == "" || a.Timeout < 0 || a.Timeout > 10*time.Minute {
				t.Fatalf("step %d: %+v", i, s)
			}
			if a.Kind == browser.Navigate && !strings.HasPrefix(strings.ToLower(a.URL), "http") {
				t.Fatalf("step %d opens %q", i, a.URL)
			}
		}
	})
}
