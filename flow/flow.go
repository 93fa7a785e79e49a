// Package flow reads browsing tasks as Chrome DevTools' Recorder exports them ("JSON"), checks them before anything runs, and
// runs them with an agent.
//
// The form is that of @puppeteer/replay 3.1: every step type and attribute of its schema is known. What runs otherwise than
// there, or not at all, is named by its place: as a [Problem] that keeps the flow from running, or as a notice. A customStep
// is the business of the program that recorded it, and is skipped with a notice; so is an opening of the browser's own
// new tab page, which recordings begin with.
package flow

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

// MaxBytes is the size of the largest file that is read as a flow.
const MaxBytes = 1 << 20

const (
	maxSteps   = 1000
	maxTimeout = 10 * 60 * 1000 // milliseconds, of one step
	maxQuoted  = 80             // bytes of the file's text that an error repeats
)

// ErrFlow is the family of errors of a file that is not a flow we can run. They are *[Error].
var ErrFlow = errors.New("the flow can't be run")

// Flow is a checked browsing task.
type Flow struct {
	Title string
	Steps []Step
	// Notices say what of the file is left out or ignored.
	Notices []Notice
}

// Notice is one part of a file that is left out or ignored when the flow runs.
type Notice struct {
	Place string // where, as in a [Problem]
	What  string // in our words; texts of the file in it are quoted and bounded
}

// String is the place and what is said of it.
func (n Notice) String() string { return n.Place + ": " + n.What }

// Step is one step of a flow.
type Step struct {
	Label string // our words around the file's; not sanitised
	Act   browser.Act
	Skip  bool // it is not made, and a notice says why
}

// Labels returns the steps' labels.
func (f *Flow) Labels() []string {
	labels := make([]string, len(f.Steps))
	for i, s := range f.Steps {
		labels[i] = s.Label
	}
	return labels
}

// Skipped is how many of the steps are not made.
func (f *Flow) Skipped() (n int) {
	for _, s := range f.Steps {
		if s.Skip {
			n++
		}
	}
	return n
}

// Values are what ${NAME} stands for in a flow. A secret is put into the value of a change step and nowhere else, and what
// is entered with it is kept out of events, ledger and errors.
type Values struct {
	Set     map[string]string
	Secrets map[string]secret.Text
}

// Problem is one part of a file that can't be run.
type Problem struct {
	// Place is where: a path such as steps[3].selectors[1], or line and column of a file that is no JSON.
	Place string `json:"place"`
	// What is wrong there, in our words; texts of the file in it are quoted and bounded.
	What string `json:"what"`
}

// Error is what Parse says of a file that can't be run: every part that is wrong.
type Error struct{ Problems []Problem }

// Error names the parts, one a line.
func (e *Error) Error() string {
	said := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		said[i] = p.Place + ": " + p.What
	}
	return ErrFlow.Error() + ": " + strings.Join(said, "\n")
}

// Is reports that every Error is of the family ErrFlow.
func (*Error) Is(target error) bool { return target == ErrFlow }

// Parse reads and checks a flow. The error names every part that cannot be run; it is an *[Error] and matches ErrFlow.
func Parse(data []byte, v Values) (*Flow, error) {
	var doc document
	if err := strictjson.Decode(data, strictjson.Limits{Bytes: MaxBytes}, &doc); err != nil {
		return nil, &Error{[]Problem{unreadable(data, err)}}
	}
	r := &reader{values: v, timeout: doc.Timeout}
	switch {
	case len(doc.Steps) == 0:
		r.wrong("steps", "there are none")
	case len(doc.Steps) > maxSteps:
		r.wrong("steps", "there are more than %d", maxSteps)
	}
	if doc.Timeout != nil {
		r.milliseconds("timeout", *doc.Timeout)
	}
	f := &Flow{Title: doc.Title}
	if len(r.problems) == 0 {
		for i, raw := range doc.Steps {
			f.Steps = append(f.Steps, r.step(fmt.Sprintf("steps[%d]", i), raw))
		}
	}
	if len(r.problems) > 0 {
		return nil, &Error{r.problems}
	}
	if !slices.ContainsFunc(f.Steps, func(s Step) bool { return !s.Skip }) {
		return nil, &Error{[]Problem{{"steps", "none of them is run"}}}
	}
	f.Notices = r.notices
	return f, nil
}

// unreadable is a file that is no JSON, or none of a flow's form.
func unreadable(data []byte, err error) Problem {
	wrong, ok := errors.AsType[*strictjson.Error](err)
	if !ok {
		return Problem{"line 1, column 1", "it is not a Recorder's JSON: " + err.Error()}
	}
	before := data[:min(max(wrong.Offset, 0), int64(len(data)))]
	line := strings.Count(string(before), "\n") + 1
	column := len(before) - strings.LastIndexByte(string(before), '\n')
	what := "it is not a Recorder's JSON: " + wrong.Rule.Error()
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		what += " (it begins with a byte order mark, which has to go)"
	}
	if wrong.Path != "" {
		what += " (" + wrong.Path + ")"
	}
	return Problem{fmt.Sprintf("line %d, column %d", line, column), what}
}
