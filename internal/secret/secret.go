// Package secret holds text that must never be printed: tokens, assertions, Session headers, key bytes.
//
// A plain string type with a String method is not enough: %#v, %d, JSON and a secret in an unexported field of
// another struct would print it. [Text] therefore keeps its value behind a pointer and refuses every text form.
package secret

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// redacted is what every printed form of a secret shows.
const redacted = "redacted"

// ErrNoTextForm is returned when something tries to encode a secret as text, JSON included.
var ErrNoTextForm = errors.New("a secret has no text form")

// Text is a secret that prints as "redacted" in every format. Its zero value is an empty secret.
// Text is immutable and safe for concurrent use.
type Text struct {
	value *string // a pointer: fmt cannot reach it through an unexported field
}

// New wraps value.
func New(value string) Text { return Text{value: &value} }

// Reveal returns the value. It is the only way to it, so that a search for Reveal finds every use.
func (t Text) Reveal() string {
	if t.value == nil {
		return ""
	}
	return *t.value
}

// Empty reports whether there is no value.
func (t Text) Empty() bool { return t.Reveal() == "" }

// Format implements [fmt.Formatter] for every verb and flag.
func (Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue implements [slog.LogValuer].
func (Text) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText implements [encoding.TextMarshaler] by refusing: a secret that reaches an encoder is a mistake that
// must stop the write, not a line with a placeholder in it.
func (Text) MarshalText() ([]byte, error) { return nil, ErrNoTextForm }
