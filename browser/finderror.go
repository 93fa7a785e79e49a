package browser

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound is the family of errors of an act whose element was not there in time, or not in a state to act on it. Each is
// a *[FindError] that says what was seen.
var ErrNotFound = errors.New("the element was not found")

// ErrRefExpired is the family of errors of an act whose reference is of a document that is gone. Nothing was done.
var ErrRefExpired = errors.New("the reference has expired with its page: take a new snapshot")

// Reason says what kept an act from its element.
type Reason string

// The reasons.
const (
	NoMatch    Reason = "no match"
	NoFrame    Reason = "no frame" // the frame to look in is not there
	Wrong      Reason = "wrong"    // a selector that is none
	Several    Reason = "several"  // with Strict, more than one that is visible
	Hidden     Reason = "hidden"
	Outside    Reason = "outside" // of what can be seen, however the page is scrolled
	Covered    Reason = "covered" // by what a press there would meet instead
	Moving     Reason = "moving"
	Disabled   Reason = "disabled"
	ReadOnly   Reason = "read-only"
	Detached   Reason = "detached"   // it was there, and the page has taken it out
	Expired    Reason = "expired"    // the reference's document is gone, see ErrRefExpired
	Unknown    Reason = "unknown"    // no snapshot gave that reference
	Unanswered Reason = "unanswered" // the page did not say
)

// FindError says why an act's element was not found. It matches ErrNotFound, what ended the wait, and ErrRefExpired when it
// is that.
type FindError struct {
	Reason Reason
	Wanted string // what was looked for: the act's own words
	// Others are page text: of Several the first ones, of Covered what covers it, of Disabled what is disabled.
	Others  []Control
	Matches int   // elements that fit, visible or not
	cause   error // what ended the wait; nil when there was none
}

const maxWanted = 200 // bytes of what was looked for that an error repeats

// Error implements error. What is page text in it is quoted and bounded.
func (e *FindError) Error() string {
	text := ErrNotFound.Error() + ": " + e.Wanted + ": " + e.saw()
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap implements the unwrapping of package errors.
func (e *FindError) Unwrap() []error {
	list := []error{ErrNotFound}
	if e.Reason == Expired {
		list = append(list, ErrRefExpired)
	}
	if e.cause != nil {
		list = append(list, e.cause)
	}
	return list
}

// saw is what was seen in the place of the element, as a sentence for a person.
func (e *FindError) saw() string {
	var names []string
	for _, o := range e.Others {
		names = append(names, o.words())
	}
	other := strings.Join(names, ", ")
	switch e.Reason {
	case NoMatch:
		return "nothing matches"
	case NoFrame:
		return "the frame to look in is not there"
	case Wrong:
		return "that is not a selector"
	case Several:
		return fmt.Sprintf("%d elements match, and only one may: %s", e.Matches, other)
	case Hidden:
		return "it is there and not visible: " + other
	case Outside:
		return "it lies outside of what can be scrolled into view: " + other
	case Covered:
		return "it is covered by " + other
	case Moving:
		return "it is moving: " + other
	case Disabled:
		return "it is disabled: " + other
	case ReadOnly:
		return "it is read-only: " + other
	case Detached:
		return "it was there, and the page has taken it away"
	case Expired:
		return ErrRefExpired.Error()
	case Unknown:
		return "no snapshot gave that reference"
	default:
		return "the page did not answer"
	}
}

// words are what a control is, its page text quoted and bounded.
func (c Control) words() string {
	tag := c.Tag
	if strings.Trim(tag, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(tag) > maxTag || tag == "" {
		tag = "element"
	}
	text := "<" + tag + ">"
	if c.Name != "" {
		text += " " + cut(c.Name)
	}
	return text
}

const (
	maxTag  = 40 // bytes of an element's tag in an error
	maxName = 40 // characters of its name
)

// cut is page text in quotation marks, its first characters alone.
func cut(s string) string {
	if short := []rune(s); len(short) > maxName {
		return fmt.Sprintf("%q…", string(short[:maxName]))
	}
	return fmt.Sprintf("%q", s)
}
