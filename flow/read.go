package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/internal/trouble"
)

// document is the file's form.
type document struct {
	Title             string            `json:"title"`
	Timeout           *float64          `json:"timeout"`           // milliseconds, of each step that has none of its own
	SelectorAttribute string            `json:"selectorAttribute"` // what the recorder preferred; the selectors are written out
	Steps             []json.RawMessage `json:"steps"`
}

// reader reads the steps, and notes what is wrong and what is left out.
type reader struct {
	values   Values
	timeout  *float64
	problems []Problem
	notices  []Notice
}

func (r *reader) wrong(place, format string, args ...any) {
	r.problems = append(r.problems, Problem{place, fmt.Sprintf(format, args...)})
}

func (r *reader) note(place, format string, args ...any) {
	r.notices = append(r.notices, Notice{place, fmt.Sprintf(format, args...)})
}

// milliseconds checks a time of the file's.
func (r *reader) milliseconds(place string, ms float64) time.Duration {
	if ms < 0 || ms > maxTimeout {
		r.wrong(place, "%s: it is 0 to %d milliseconds", number(ms), maxTimeout)
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// quoted is text of the file's as an error repeats it.
func quoted(s string) string { return trouble.Quoted(s, maxQuoted) }

// decode reads a part of the file; what has another form is a problem at its place.
func (r *reader) decode(place string, raw json.RawMessage, v any) bool {
	err := strictjson.Decode(raw, strictjson.Limits{}, v)
	if err == nil {
		return true
	}
	what := err.Error()
	if wrong, ok := errors.AsType[*strictjson.Error](err); ok {
		what = wrong.Rule.Error()
		place += strings.ReplaceAll(wrong.Path, "/", ".")
	}
	r.wrong(place, "%s", what)
	return false
}

// unknown notes the members that a step of that type does not have.
func (r *reader) unknown(place string, raw json.RawMessage, known []string) {
	var members map[string]json.RawMessage
	if strictjson.Decode(raw, strictjson.Limits{}, &members) != nil {
		return // said already
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, name) {
			r.note(place, "the member %s means nothing there, and is ignored", quoted(name))
		}
	}
}

// selectors reads the alternatives: each a string or, for a path through shadow roots, an array of strings.
func (r *reader) selectors(place string, raw json.RawMessage) [][]string {
	var list []json.RawMessage
	if raw == nil || strictjson.Decode(raw, strictjson.Limits{}, &list) != nil || len(list) == 0 {
		r.wrong(place, "a list of alternatives is needed")
		return nil
	}
	out := make([][]string, 0, len(list))
	var wrong []Notice // alternatives that match nothing
	for i, alternative := range list {
		var path []string
		var one string
		if strictjson.Decode(alternative, strictjson.Limits{}, &one) == nil {
			path = []string{one}
		} else if strictjson.Decode(alternative, strictjson.Limits{}, &path) != nil {
			path = nil
		}
		if len(path) == 0 || slices.Contains(path, "") { // null is read as ""
			r.wrong(fmt.Sprintf("%s[%d]", place, i), "it is neither a string nor a list of strings")
			continue
		}
		for _, s := range path {
			if why := wrongSelector(s); why != "" {
				wrong = append(wrong, Notice{fmt.Sprintf("%s[%d]", place, i), quoted(s) + " is no selector: " + why})
				break
			}
		}
		out = append(out, path)
	}
	for _, w := range wrong {
		if len(wrong) == len(out) {
			r.wrong(w.Place, "%s", w.What)
		} else {
			r.note(w.Place, "%s; the others are used", w.What)
		}
	}
	return out
}

// address reads a URL of a page to open.
func (r *reader) address(place, s string) (string, *url.URL) {
	filled := r.text(place, s)
	u, err := url.Parse(filled)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		r.wrong(place, "%s: only http and https pages are opened", quoted(s))
		return "", &url.URL{}
	}
	return filled, u
}

// expected reads the navigations that a step should lead to. The last one is waited for: it is where the others end. Its
// title is not compared where it has an address: a title counts messages, and greets people.
func (r *reader) expected(place string, raw json.RawMessage) *browser.Navigation {
	if raw == nil {
		return nil
	}
	var events []struct {
		Type  string `json:"type"`
		URL   string `json:"url"`
		Title string `json:"title"`
	}
	if !r.decode(place, raw, &events) {
		return nil
	}
	var last *browser.Navigation
	for i, e := range events {
		if e.Type != "navigation" {
			r.wrong(fmt.Sprintf("%s[%d].type", place, i), "%s is not known; navigation is", quoted(e.Type))
			continue
		}
		last = &browser.Navigation{URL: r.text(fmt.Sprintf("%s[%d].url", place, i), e.URL)}
		if e.URL == "" {
			last.Title = e.Title
		}
	}
	return last
}

// nameOf is what a person calls the element: its accessible name when a selector has it.
func nameOf(alternatives [][]string) string {
	for _, prefix := range []string{"aria/", "text/"} {
		for _, path := range alternatives {
			if name, ok := strings.CutPrefix(path[len(path)-1], prefix); ok {
				name, _, _ = strings.Cut(name, "[")
				return "“" + strings.TrimSpace(name) + "”"
			}
		}
	}
	if len(alternatives) == 0 {
		return "the page"
	}
	return strings.Join(alternatives[0], " ")
}

// text puts the given values in the place of ${NAME}. A secret has no place in what is not entered in a field.
func (r *reader) text(place, s string) string {
	filled, private := r.fill(place, s)
	if private {
		r.wrong(place, "a secret is put into the value of a change step only")
		return ""
	}
	return filled.Reveal()
}

// fill puts the given values in the place of ${NAME}, and reports whether one of them is a secret.
func (r *reader) fill(place, s string) (filled secret.Text, private bool) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return secret.New(b.String()), private
		}
		name, after, closed := strings.Cut(rest, "}")
		hidden, isSecret := r.values.Secrets[name]
		value, isSet := r.values.Set[name]
		switch {
		case !closed:
			r.wrong(place, "%s has no closing brace", quoted("${"+rest))
			return secret.Text{}, false
		case isSecret:
			private = true
			b.WriteString(hidden.Reveal())
		case isSet:
			b.WriteString(value)
		default:
			r.wrong(place, "%s has no value; give it with --set NAME=VALUE or --secret NAME", quoted("${"+name+"}"))
		}
		s = after
	}
}
