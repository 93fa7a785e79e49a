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
	f, err := flow.Parse(recording(viewStep, openStep, clickStep, fillStep, waitStep), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []browser.Act{
		{Kind: browser.Viewport, Width: 630, Height: 1213},
		{Kind: browser.Navigate, URL: "https://shop.example.test/a%20b?x=1"},
		{Kind: browser.Click, Selectors: [][]string{{"#buy"}, {`aria/Buy[role="button"]`}, {`xpath///*[@id="buy"]`}, {"my-shop", "pierce/#x"}}},
		{Kind: browser.Change, Selectors: [][]string{{"text/Colour"}}, Value: secret.New("blue & grün")},
		{Kind: browser.Wait, Selectors: [][]string{{".done"}}},
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
		f, err := flow.Parse([]byte(data), nil)
		if err != nil || f.Steps[0].Act.Timeout != tc.want {
			t.Errorf("%s: %+v, %v; want %v", name, f, err, tc.want)
		}
	}
}

func TestEveryPartThatIsNotRunIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	for step, says := range map[string]string{
		`{"type": "keyDown", "target": "main", "key": "Meta"}`:                            `type "keyDown"`,
		`{"type": "keyUp", "key": "Meta"}`:                                                `type "keyUp"`,
		`{"type": "hover", "selectors": [["#a"]]}`:                                        `type "hover"`,
		`{"type": "doubleClick", "selectors": [["#a"]]}`:                                  `type "doubleClick"`,
		`{"type": "scroll", "x": 0, "y": 100}`:                                            `type "scroll"`,
		`{"type": "waitForExpression", "expression": "true"}`:                             `type "waitForExpression"`,
		`{"type": "customStep", "name": "x", "parameters": {}}`:                           `type "customStep"`,
		`{"type": "close", "target": "https://pay.example.test/"}`:                        `target`,
		`{"type": "emulateNetworkConditions", "download": 1, "upload": 1, "latency": 1}`:  `type "emulateNetworkConditions"`,
		`{"type": "Click", "selectors": [["#a"]]}`:                                        `type "Click"`,
		`{"selectors": [["#a"]]}`:                                                         `type ""`,
		`{"type": "click", "selectors": [["#a"]], "target": "https://pay.example.test/"}`: `target "https://pay.example.test/"`,
		`{"type": "click", "selectors": [["#a"]], "frame": [0, 1]}`:                       `frame`,
		`{"type": "click", "selectors": [["#a"]], "button": "secondary"}`:                 `button "secondary"`,
		`{"type": "click", "selectors": [["#a"]], "deviceType": "touch"}`:                 `deviceType "touch"`,
		`{"type": "click"}`:                                                                           `selectors`,
		`{"type": "click", "selectors": []}`:                                                          `selectors`,
		`{"type": "click", "selectors": null}`:                                                        `selectors`,
		`{"type": "click", "selectors": "#a"}`:                                                        `selectors`,
		`{"type": "click", "selectors": [["#a"], []]}`:                                                `selectors[1]`,
		`{"type": "click", "selectors": [["#a"], null]}`:                                              `selectors[1]`,
		`{"type": "click", "selectors": [["#a"], ["#b", 7]]}`:                                         `selectors[1]`,
		`{"type": "click", "selectors": [["#a"], ["#b", null]]}`:                                      `selectors[1]`,
		`{"type": "click", "selectors": [""]}`:                                                        `selectors[0]`,
		`{"type": "click", "selectors": [{"css": "#a"}]}`:                                             `selectors[0]`,
		`{"type": "change", "selectors": [["#a"]]}`:                                                   `value`,
		`{"type": "change", "selectors": [["#a"]], "value": 7}`:                                       `/value`,
		`{"type": "change", "selectors": [["#a"]], "value": "${tea}"}`:                                `"${tea}" has no value`,
		`{"type": "change", "selectors": [["#a"]], "value": "${tea"}`:                                 `no closing brace`,
		`{"type": "waitForElement", "selectors": [[".a"]], "operator": "==", "count": 1}`:             `waitForElement`,
		`{"type": "waitForElement", "selectors": [[".a"]], "count": 0}`:                               `waitForElement`,
		`{"type": "waitForElement", "selectors": [[".a"]], "visible": false}`:                         `waitForElement`,
		`{"type": "waitForElement", "selectors": [[".a"]], "properties": {"disabled": false}}`:        `waitForElement`,
		`{"type": "waitForElement", "selectors": [[".a"]], "attributes": {"class": "x"}}`:             `waitForElement`,
		`{"type": "setViewport", "width": 0, "height": 10}`:                                           `width and height`,
		`{"type": "setViewport", "width": 10, "height": 10001}`:                                       `width and height`,
		`{"type": "setViewport", "width": 99999999999999999999, "height": 10}`:                        `/width`,
		`{"type": "setViewport", "width": 10, "height": 10, "isMobile": true}`:                        `isMobile`,
		`{"type": "setViewport", "width": 10, "height": 10, "hasTouch": true}`:                        `hasTouch`,
		`{"type": "navigate"}`:                                                                        `url`,
		`{"type": "navigate", "url": "file:///etc/passwd"}`:                                           `url "file:///etc/passwd"`,
		`{"type": "navigate", "url": "chrome://newtab/"}`:                                             `url "chrome://newtab/"`,
		`{"type": "navigate", "url": "javascript:alert(1)"}`:                                          `url`,
		`{"type": "navigate", "url": "data:text/html,x"}`:                                             `url`,
		`{"type": "navigate", "url": "/cart"}`:                                                        `url`,
		`{"type": "navigate", "url": "https:///cart"}`:                                                `url`,
		`{"type": "navigate", "url": "https://shop.example.test/", "timeout": -1}`:                    `timeout -1`,
		`{"type": "navigate", "url": "https://shop.example.test/", "timeout": 600001}`:                `timeout 600001`,
		`{"type": "navigate", "url": "https://shop.example.test/", "timeout": 9223372036854775807}`:   `timeout`,
		`{"type": "navigate", "type": "click", "url": "https://shop.example.test/"}`:                  `used twice`,
		`{"type": "` + strings.Repeat("x", 100_000) + `"}`:                                            `…`,
		`{"type": "navigate", "url": "` + strings.Repeat("x", 100_000) + `"}`:                         `…`,
		`{"type": "change", "selectors": ["#a"], "value": "${` + strings.Repeat("x", 100_000) + `}"}`: `…`,
		`{"type": "\u001b[2J\u202e"}`:                                                                 `\x1b[2J\u202e`,
		`null`:                                                                                        `null`,
		`[]`:                                                                                          `type`,
		`"click"`:                                                                                     `type`,
	} {
		_, err := flow.Parse(recording(openStep, step, clickStep), map[string]string{"coffee": "x"})
		short := step[:min(len(step), 90)]
		if !errors.Is(err, flow.ErrFlow) {
			t.Errorf("%s: err = %v", short, err)
			continue
		}
		// A member used twice makes the whole file unreadable, so it has no step to name.
		place := "steps[1]: "
		if says == `used twice` {
			place = ""
		}
		if !strings.Contains(err.Error(), place) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %q does not say %s%s", short, err, place, says)
		}
		if strings.Contains(err.Error(), "steps[0]") || strings.Contains(err.Error(), "steps[2]") {
			t.Errorf("%s: %q names another step too", short, err)
		}
		if len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\x1b\u202e") {
			t.Errorf("%s: the error has %d bytes, or moves a cursor", short, len(err.Error()))
		}
	}
}

func TestAllWrongStepsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := flow.Parse(recording(`{"type": "hover"}`, openStep, `{"type": "scroll"}`, `{"type": "click"}`), nil)
	for _, place := range []string{"steps[0]: ", "steps[2]: ", "steps[3]: "} {
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
		if f, err := flow.Parse([]byte(data), nil); !errors.Is(err, flow.ErrFlow) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	most := strings.Split(strings.Repeat(waitStep+"\n", 1000), "\n")[:1000]
	if f, err := flow.Parse(recording(most...), nil); err != nil || len(f.Steps) != 1000 {
		t.Errorf("1000 steps: %v", err)
	}
}

func TestGivenValuesAreFilledInOnce(t *testing.T) {
	t.Parallel()
	set := map[string]string{"host": "shop.example.test", "tea": "Sencha ${host} $", "": "nothing", "a b": "blank"}
	f, err := flow.Parse(recording(
		`{"type": "navigate", "url": "https://${host}/t?x=${a b}"}`,
		`{"type": "change", "selectors": [["#${host}"]], "value": "a ${tea}${tea} $5 {x} ${}"}`,
	), set)
	if err != nil {
		t.Fatal(err)
	}
	want := []browser.Act{
		{Kind: browser.Navigate, URL: "https://shop.example.test/t?x=blank"},
		{Kind: browser.Change, Selectors: [][]string{{"#${host}"}}, Value: secret.New("a Sencha ${host} $Sencha ${host} $ $5 {x} nothing")},
	}
	if diff := cmp.Diff(want, acts(f), reveal); diff != "" {
		t.Error(diff)
	}
	_, err = flow.Parse(recording(`{"type": "navigate", "url": "${url}"}`), map[string]string{"url": "file:///secret"})
	if !errors.Is(err, flow.ErrFlow) || strings.Contains(err.Error(), "secret") {
		t.Errorf("err = %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, step := range []string{viewStep, openStep, clickStep, fillStep, waitStep, `null`, `{"type": "change", "selectors": ["a"], "value": "${x}${"}`, `{"type": "click", "selectors": [[]]}`} {
		f.Add(recording(openStep, step))
	}
	f.Add([]byte(``))
	f.Add([]byte(`{"steps": [[[[]]]], "timeout": -1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := flow.Parse(data, map[string]string{"x": "y"})
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
			if s.Label == "" || a.Timeout < 0 || a.Timeout > 10*time.Minute {
				t.Fatalf("step %d: %+v", i, s)
			}
			switch a.Kind {
			case browser.Navigate:
				if !strings.HasPrefix(strings.ToLower(a.URL), "http") {
					t.Fatalf("step %d opens %q", i, a.URL)
				}
			case browser.Click, browser.Change, browser.Wait:
				if len(a.Selectors) == 0 || len(a.Selectors[0]) == 0 {
					t.Fatalf("step %d has no selector", i)
				}
			}
		}
	})
}
