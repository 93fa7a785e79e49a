// Package flow reads browsing tasks as Chrome DevTools' Recorder exports them ("JSON"), checks them before anything
// runs, and runs them with an agent.
//
// The step types setViewport, navigate, click, change and waitForElement are run; every other one is refused by name
// and place before the first step. What a step's assertedEvents claim is not checked, and where in an element and for how
// long a button was held does not matter.
package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

const (
	maxFlow    = 1 << 20 // bytes
	maxSteps   = 1000
	maxTimeout = 10 * 60 * 1000 // milliseconds, of one step
	maxQuoted  = 80             // bytes of the file's text that an error repeats
)

// ErrFlow is the family of errors of a file that is not a flow we can run.
var ErrFlow = errors.New("the flow can't be run")

// Flow is a checked browsing task.
type Flow struct {
	Title string
	Steps []Step
}

// Step is one step of a flow.
type Step struct {
	Label string // our words around the file's; not sanitised
	Act   browser.Act
}

// Labels returns the steps' labels.
func (f *Flow) Labels() []string {
	labels := make([]string, len(f.Steps))
	for i, s := range f.Steps {
		labels[i] = s.Label
	}
	return labels
}

type document struct {
	Title   string            `json:"title"`
	Timeout *int              `json:"timeout"` // milliseconds, of each step that has none of its own
	Steps   []json.RawMessage `json:"steps"`
}

type stepDocument struct {
	Type      string          `json:"type"`
	URL       string          `json:"url"`
	Selectors json.RawMessage `json:"selectors"`
	Value     *string         `json:"value"`
	Target    string          `json:"target"`
	Frame     []int           `json:"frame"`
	Timeout   *int            `json:"timeout"` // milliseconds
	Width     int             `json:"width"`
	Height    int             `json:"height"`
	Mobile    bool            `json:"isMobile"`
	Touch     bool            `json:"hasTouch"`
	Button    string          `json:"button"`
	Device    string          `json:"deviceType"`
	Count     *int            `json:"count"`
	Visible   *bool           `json:"visible"`
	Operator  string          `json:"operator"`
	// Properties and Attributes are what waitForElement asks of the element beside its presence.
	Properties map[string]json.RawMessage `json:"properties"`
	Attributes map[string]json.RawMessage `json:"attributes"`
}

// Parse reads and checks a flow. set gives the values of ${name} in values and addresses. The error names every step
// that cannot be run, and what is wrong with it, and matches ErrFlow.
func Parse(data []byte, set map[string]string) (*Flow, error) {
	var doc document
	if err := strictjson.Decode(data, strictjson.Limits{Bytes: maxFlow}, &doc); err != nil {
		return nil, fmt.Errorf("%w: it is not a Recorder's JSON: %w", ErrFlow, err)
	}
	if len(doc.Steps) == 0 {
		return nil, fmt.Errorf("%w: it has no steps", ErrFlow)
	}
	if len(doc.Steps) > maxSteps {
		return nil, fmt.Errorf("%w: it has more than %d steps", ErrFlow, maxSteps)
	}
	f := &Flow{Title: doc.Title}
	var wrong []error
	for i, raw := range doc.Steps {
		var sd stepDocument
		err := strictjson.Decode(raw, strictjson.Limits{}, &sd)
		if err == nil {
			var s Step
			s, err = sd.step(doc.Timeout, set)
			f.Steps = append(f.Steps, s)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("steps[%d]: %w", i, err))
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrFlow, errors.Join(wrong...))
	}
	return f, nil
}

// timeout is a step's own time, else the flow's, else none (0): the act's default then holds.
func timeout(own, flows *int) (time.Duration, error) {
	ms := own
	if ms == nil {
		ms = flows
	}
	switch {
	case ms == nil:
		return 0, nil
	case *ms < 0 || *ms > maxTimeout:
		return 0, fmt.Errorf("timeout %d: it is 0 to %d milliseconds", *ms, maxTimeout)
	}
	return time.Duration(*ms) * time.Millisecond, nil
}

// quoted is text of the file's as an error repeats it.
func quoted(s string) string {
	if len(s) > maxQuoted {
		return fmt.Sprintf("%q…", s[:maxQuoted])
	}
	return strconv.Quote(s)
}

func (d stepDocument) step(flowTimeout *int, set map[string]string) (Step, error) {
	if d.Target != "" && d.Target != "main" {
		return Step{}, fmt.Errorf("target %s: only the main page is acted in so far", quoted(d.Target))
	}
	if len(d.Frame) > 0 {
		return Step{}, errors.New("frame: only the page itself is acted in so far")
	}
	act := browser.Act{Kind: browser.Kind(d.Type)}
	var err error
	if act.Timeout, err = timeout(d.Timeout, flowTimeout); err != nil {
		return Step{}, err
	}
	switch act.Kind {
	case browser.Viewport:
		act.Width, act.Height = d.Width, d.Height
		if d.Width < 1 || d.Height < 1 || d.Width > 10000 || d.Height > 10000 {
			return Step{}, errors.New("width and height are 1 to 10000")
		}
		if d.Mobile || d.Touch {
			return Step{}, errors.New("isMobile, hasTouch: only a desktop's view is set so far")
		}
		return Step{Label: fmt.Sprintf("set the view to %d × %d", d.Width, d.Height), Act: act}, nil
	case browser.Navigate:
		if act.URL, err = fill(d.URL, set); err != nil {
			return Step{}, err
		}
		u, err := url.Parse(act.URL)
		if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
			return Step{}, fmt.Errorf("url %s: only http and https pages are opened", quoted(d.URL))
		}
		return Step{Label: "open " + u.Host + u.EscapedPath(), Act: act}, nil
	case browser.Click, browser.Change, browser.Wait:
	default:
		return Step{}, fmt.Errorf("type %s is not run so far", quoted(d.Type))
	}
	if act.Selectors, err = selectors(d.Selectors); err != nil {
		return Step{}, err
	}
	name := nameOf(act.Selectors)
	switch act.Kind {
	case browser.Click:
		if d.Button != "" && d.Button != "primary" {
			return Step{}, fmt.Errorf("button %s: only the primary button is pressed so far", quoted(d.Button))
		}
		if d.Device != "" && d.Device != "mouse" {
			return Step{}, fmt.Errorf("deviceType %s: only the mouse is used so far", quoted(d.Device))
		}
		return Step{Label: "press " + name, Act: act}, nil
	case browser.Change:
		if d.Value == nil {
			return Step{}, errors.New("value: the new value is missing")
		}
		value, err := fill(*d.Value, set)
		if err != nil {
			return Step{}, err
		}
		act.Value = secret.New(value)
		return Step{Label: "fill in " + name, Act: act}, nil
	default:
		if d.Operator != "" || d.Count != nil || (d.Visible != nil && !*d.Visible) || d.Properties != nil || d.Attributes != nil {
			return Step{}, errors.New("waitForElement: only the presence of a visible element is waited for so far")
		}
		return Step{Label: "wait for " + name, Act: act}, nil
	}
}

// selectors reads the alternatives: each a string or, for a path through shadow roots, an array of strings.
func selectors(raw json.RawMessage) ([][]string, error) {
	var list []json.RawMessage
	if raw == nil || strictjson.Decode(raw, strictjson.Limits{}, &list) != nil || len(list) == 0 {
		return nil, errors.New("selectors: a list of alternatives is needed")
	}
	out := make([][]string, 0, len(list))
	for i, alternative := range list {
		var path []string
		var one string
		if strictjson.Decode(alternative, strictjson.Limits{}, &one) == nil {
			path = []string{one}
		} else if strictjson.Decode(alternative, strictjson.Limits{}, &path) != nil {
			path = nil
		}
		if len(path) == 0 || slices.Contains(path, "") { // null is read as ""
			return nil, fmt.Errorf("selectors[%d]: neither a string nor a list of strings", i)
		}
		out = append(out, path)
	}
	return out, nil
}

// nameOf is what a person calls the element: its accessible name when a selector has it.
func nameOf(alternatives [][]string) string {
	for _, prefix := range []string{"aria/", "text/"} {
		for _, path := range alternatives {
			if name, ok := strings.CutPrefix(path[len(path)-1], prefix); ok {
				name, _, _ = strings.Cut(name, "[")
				return "“" + name + "”"
			}
		}
	}
	return strings.Join(alternatives[0], " ")
}

// fill puts the given values in the place of ${name}.
func fill(s string, set map[string]string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		value, ok := set[name]
		if !closed {
			return "", fmt.Errorf("%s has no closing brace", quoted("${"+rest))
		}
		if !ok {
			return "", fmt.Errorf("%s has no value; give it with --set NAME=VALUE", quoted("${"+name+"}"))
		}
		b.WriteString(value)
		s = after
	}
}
