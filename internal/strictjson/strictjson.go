// Package strictjson reads JSON that a stranger wrote, so that two readers of the same bytes can
// never understand two different things.
//
// One text is one value. Refused, at any depth: a member name used twice, bytes that aren't UTF-8,
// an escape of half a surrogate pair, more levels or bytes than the limits allow, anything after
// the value, and null where a struct or a map is wanted. Member names match a Go field by exact
// case only; members nobody asked for are ignored, as the protocol wants it. A member that is
// missing is for the caller to notice.
//
// Every refusal is an *Error, which wraps one of the sentinels of this package and repeats nothing
// of what was sent except a member's path in plain ASCII. All functions may be called concurrently.
//
// The work is done by go-json-experiment/json, the public form of Go's coming encoding/json/v2:
// encoding/json lets the last of two equal members win, takes "Revision" for "revision" and repairs
// broken UTF-8 in silence.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxBytes is the size of a text, in bytes, that Limits doesn't lower: 1 MiB, more than any
	// document of the protocol needs and little enough to hold many at once.
	MaxBytes = 1 << 20
	// MaxDepth is the number of nested objects and arrays that Limits doesn't lower. `{}` has one
	// level. People don't read deeper, and recursion stays bounded.
	MaxDepth = 32
)

// Limits bounds one text. A field that is zero, negative or above the package's own constant means
// that constant: no limit can be switched off.
type Limits struct {
	Bytes int // size of the whole text in bytes, at most MaxBytes
	Depth int // nested objects and arrays, at most MaxDepth
}

func (l Limits) bytes() int {
	if l.Bytes <= 0 || l.Bytes > MaxBytes {
		return MaxBytes
	}
	return l.Bytes
}

func (l Limits) depth() int {
	if l.Depth <= 0 || l.Depth > MaxDepth {
		return MaxDepth
	}
	return l.Depth
}

// Decode reads data, which must be exactly one JSON value within limits, into the value v points
// to. On an error v may be partly filled and must not be used. A pointer, slice or scalar takes null
// as "not there"; a struct or a map refuses it. Values of type jsontext.Value or
// encoding/json.RawMessage get the bytes as sent.
func Decode(data []byte, limits Limits, v any) error {
	if err := check(data, limits); err != nil {
		return err
	}
	err := json.Unmarshal(data, v, json.WithUnmarshalers(json.UnmarshalFromFunc(refuseNull)))
	if err != nil {
		return explain(err)
	}
	return nil
}

// DecodeReader is Decode of all that r gives. It reads at most one byte more than the limit; the
// deadline of the reading belongs to whoever made r. An error of r itself comes back wrapped and is
// not an *Error.
func DecodeReader(r io.Reader, limits Limits, v any) error {
	data, err := Read(r, limits)
	if err != nil {
		return err
	}
	return Decode(data, limits, v)
}

// Read returns all bytes of r, or an *Error with ErrTooLarge when there are more than the limit. It
// reads at most one byte more than that. An error of r itself comes back wrapped and is not an
// *Error.
func Read(r io.Reader, limits Limits) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(limits.bytes())+1))
	if err != nil {
		return nil, fmt.Errorf("json text: %w", err)
	}
	if len(data) > limits.bytes() {
		return nil, &Error{Rule: ErrTooLarge, Offset: int64(limits.bytes())}
	}
	return data, nil
}

// Canonical returns the one spelling of data that all texts with the same meaning share: RFC 8785
// (members sorted by the UTF-16 code units of their names, the shortest string escapes, no space)
// with one exception, that number literals stay as they were sent. 70.00 and 70 are the same number,
// but not the same terms to a reader. It refuses what Decode refuses, at the package's own limits.
func Canonical(data []byte) ([]byte, error) {
	if err := check(data, Limits{}); err != nil {
		return nil, err
	}
	out := jsontext.Value(bytes.Clone(data))
	err := out.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		return nil, explain(err)
	}
	return out, nil
}

// check walks the tokens of data once: syntax and names by jsontext, depth by us, because jsontext's
// own limit of 10,000 levels can't be lowered. UTF-8 is ours too, because its error has no name.
func check(data []byte, limits Limits) error {
	if len(data) > limits.bytes() {
		return &Error{Rule: ErrTooLarge, Offset: int64(limits.bytes())}
	}
	if !utf8.Valid(data) {
		return &Error{Rule: ErrInvalidUTF8, Offset: int64(validPrefix(data))}
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	for first := true; ; first = false {
		_, err := dec.ReadToken()
		switch {
		case err == io.EOF && first:
			return &Error{Rule: ErrSyntax}
		case err == io.EOF:
			return nil
		case err != nil:
			return explain(err)
		case dec.StackDepth() > limits.depth():
			return &Error{Rule: ErrTooDeep, Offset: dec.InputOffset()}
		}
		if dec.StackDepth() == 0 {
			// A second value would be read as the next of a stream: only the end may follow.
			if rest := bytes.TrimLeft(data[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
				return &Error{Rule: ErrTrailing, Offset: int64(len(data) - len(rest))}
			}
		}
	}
}

// validPrefix counts the bytes before the first that isn't UTF-8.
func validPrefix(data []byte) int {
	n := 0
	for n < len(data) {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		n += size
	}
	return n
}

// refuseNull is asked for every Go value before it is filled.
func refuseNull(dec *jsontext.Decoder, v any) error {
	if dec.PeekKind() != 'n' {
		return json.SkipFunc
	}
	switch reflect.TypeOf(v).Elem().Kind() {
	case reflect.Struct, reflect.Map:
		return errNullHere
	}
	return json.SkipFunc
}

var errNullHere = errors.New("null")

// explain turns an error of the library into ours, which says nothing of the text.
func explain(err error) error {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		rule := ErrSyntax
		if errors.Is(err, jsontext.ErrDuplicateName) {
			rule = ErrDuplicateMember
		}
		return &Error{Rule: rule, Offset: syntactic.ByteOffset}
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		rule := ErrWrongType
		if errors.Is(err, errNullHere) {
			rule = ErrNull
		}
		return &Error{Rule: rule, Offset: semantic.ByteOffset, Path: plainPath(string(semantic.JSONPointer))}
	}
	return &Error{Rule: ErrWrongType}
}
