// Package flow reads browsing tasks as Chrome DevTools' Recorder exports them ("JSON"), checks them before anything
// runs, and runs them with an agent.
//
// The step types setViewport, navigate, click, change and waitForElement are run; every other one is refused by name
// and place before the first step. What a step's assertedEvents claim is not checked.
package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

const (
	maxFlow  = 1 << 20 // bytes
	maxSteps = 1000
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
	Timeout int               `json:"timeout"` // milliseconds
	Steps   []json.RawMessage `json:"steps"`
}

type stepDocument struct {
	Type      string          `json:"type"`
	URL       string          `json:"url"`
	Selectors json.RawMessage `json:"selectors"`
	Value     string          `json:"value"`
	Target    string          `json:"target"`
	Frame     []int           `json:"frame"`
	Timeout   int             `json:"timeout"` // milliseconds
	Width     int             `json:"width"`
	Height    int             `json:"height"`
	Button    string          `json:"button"`
	Count     *int            `json:"count"`
	Visible   *bool           `json:"visible"`
	Operator  string          `json:"operator"`
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

func (d stepDocument) step(timeout int, set map[string]string) (Step, error) {
	if d.Target != "" && d.Target != "main" {
		return Step{}, fmt.Errorf("target %q: only the main page is acted in so far", d.Target)
	}
	if len(d.Frame) > 0 {
		return Step{}, errors.New("frame: only the page itself is acted in so far")
	}
	act := browser.Act{Kind: browser.Kind(d.Type), Timeout: time.Duration(max(d.Timeout, timeout, 0)) * time.Millisecond}
	var err error
	switch act.Kind {
	case browser.Viewport:
		act.Width, act.Height = d.Width, d.Height
		if d.Width < 1 || d.Height < 1 || d.Width > 10000 || d.Height > 10000 {
			return Step{}, errors.New("width and height are 1 to 10000")
		}
		return Step{Label: fmt.Sprintf("set the view to %d × %d", d.Width, d.Height), Act: act}, nil
	case browser.Navigate:
		if act.URL, err = fill(d.URL, set); err != nil {
			return Step{}, err
		}
		u, err := url.Parse(act.URL)
		if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
			return Step{}, fmt.Errorf("url %q: only http and https pages are opened", d.URL)
		}
		return Step{Label: "open " + u.Host + u.EscapedPath(), Act: act}, nil
	case browser.Click, browser.Change, browser.Wait:
	default:
		return Step{}, fmt.Errorf("type %q is not run so far", d.Type)
	}
	if act.Selectors, err = selectors(d.Selectors); err != nil {
		return Step{}, err
	}
	name := nameOf(act.Selectors)
	switch act.Kind {
	case browser.Click:
		if d.Button != "" && d.Button != "primary" {
			return Step{}, fmt.Errorf("button %q: only the primary button is pressed so far", d.Button)
		}
		return Step{Label: "press " + name, Act: act}, nil
	case browser.Change:
		value, err := fill(d.Value, set)
		if err != nil {
			return Step{}, err
		}
		act.Value = secret.New(value)
		return Step{Label: "fill in " + name, Act: act}, nil
	default:
		if d.Operator != "" || d.Count != nil || (d.Visible != nil && !*d.Visible) {
			return Step{}, errors.New("waitForElement: only the presence of a visible element is waited for so far")
		}
		return Step{Label: "wait for " + name, Act: act}, nil
	}
}

// selectors reads the alternatives: each a string or, for a path through shadow roots, an array of strings.
func selectors(raw json.RawMessage) ([][]string, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		return nil, errors.New("selectors: a list of alternatives is needed")
	}
	out := make([][]string, 0, len(list))
	for i, alternative := range list {
		var path []string
		var one string
		if json.Unmarshal(alternative, &one) == nil {
			path = []string{one}
		} else if err := json.Unmarshal(alternative, &path); err != nil || len(path) == 0 {
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
		if !closed || !ok {
			return "", fmt.Errorf("${%s} has no value; give it with --set %s=VALUE", name, name)
		}
		b.WriteString(value)
		s = after
	}
}
