package operation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/papaver-agent/papaver/internal/strictjson"
)

// Terms are the terms of one revision: a JSON object whose keys the Company defines (Operations v3,
// section 3). Only this package makes one, so a Terms other than the zero value is always valid. The
// zero value is empty and has no hash.
type Terms struct {
	raw  []byte
	hash string
	rows []Row
}

// Kind is the JSON type of a row.
type Kind uint8

// The kinds. Absent is the kind of no row: it stands in a Change for a term that isn't there.
const (
	Absent Kind = iota
	Object
	List
	String
	Number
	Bool
	Null
)

var kindNames = [...]string{"absent", "object", "list", "string", "number", "bool", "null"}

// String returns the kind in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Row is one value of the terms as a person reads them, from top to bottom in the order sent. An object
// or a list is a row of its own, followed by what it holds one level deeper.
type Row struct {
	Depth int    // 0 for the members of the terms themselves
	Label string // the member's name as sent; in a list its place, counted by us from 1. Company text
	// Value is a string's text, a number's literal as sent, true, false or null; for an object or a list
	// "" or, when it holds nothing, {} or []. Company text.
	Value string
	Kind  Kind
}

// Scalar says whether the row is a value itself, not something that holds values.
func (r Row) Scalar() bool { return r.Kind >= String }

// ParseTerms reads terms, which must be one JSON object that strictjson accepts. Its errors are
// *DecodeError.
func ParseTerms(data []byte) (Terms, error) {
	canonical, err := strictjson.Canonical(data)
	if err != nil {
		return Terms{}, &DecodeError{"terms", err}
	}
	if canonical[0] != '{' {
		return Terms{}, &DecodeError{"terms", errors.New("not a JSON object")}
	}
	rows, err := layOut(data)
	if err != nil {
		return Terms{}, &DecodeError{"terms", err}
	}
	sum := sha256.Sum256(canonical)
	return Terms{raw: bytes.Clone(bytes.TrimSpace(data)), hash: hex.EncodeToString(sum[:]), rows: rows}, nil
}

// Raw returns a copy of the terms' JSON as sent.
func (t Terms) Raw() []byte { return bytes.Clone(t.raw) }

// Hash returns the SHA-256 of the terms' canonical spelling (strictjson.Canonical) in hexadecimal. Two
// terms have one hash exactly when they hold the same members with the same values; numbers are the
// same when their literals are. It is "" for the zero value.
func (t Terms) Hash() string { return t.hash }

// MarshalJSON returns the terms as sent, null for the zero value.
func (t Terms) MarshalJSON() ([]byte, error) {
	if t.raw == nil {
		return []byte("null"), nil
	}
	return t.Raw(), nil
}

// Rows returns every value of the terms, nothing left out.
func (t Terms) Rows() []Row { return append([]Row(nil), t.rows...) }

// Values returns every string, number, true and false of the terms as sent, in their order. null says
// nothing and isn't among them.
func (t Terms) Values() []string {
	var values []string
	for _, row := range t.rows {
		if row.Scalar() && row.Kind != Null {
			values = append(values, row.Value)
		}
	}
	return values
}

// Empty says that the terms tell a person nothing: no value at all, or only null and strings without a
// visible character. There is nothing to approve then, whatever the summary says.
func (t Terms) Empty() bool {
	for _, value := range t.Values() {
		if strings.IndexFunc(value, visible) >= 0 {
			return false
		}
	}
	return true
}

// visible leaves out the letters and the symbol without ink: Hangul fillers and the Braille blank.
func visible(r rune) bool {
	return r != 0x2800 && unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) &&
		!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

var _ json.Marshaler = Terms{}

// layOut turns a checked JSON object into rows.
func layOut(data []byte) ([]Row, error) {
	l := layout{dec: jsontext.NewDecoder(bytes.NewBuffer(data))}
	if _, err := l.dec.ReadToken(); err != nil {
		return nil, err
	}
	if err := l.object(0); err != nil {
		return nil, err
	}
	return l.rows, nil
}

// layout walks one JSON text. Its depth is bounded by strictjson before it starts.
type layout struct {
	dec  *jsontext.Decoder
	rows []Row
}

// object reads the members of an object whose opening brace was read, and its closing one.
func (l *layout) object(depth int) error {
	for l.dec.PeekKind() != '}' {
		name, err := l.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := l.value(Row{Depth: depth, Label: name.String()}); err != nil {
			return err
		}
	}
	_, err := l.dec.ReadToken()
	return err
}

// list is object for a list.
func (l *layout) list(depth int) error {
	for i := 1; l.dec.PeekKind() != ']'; i++ {
		if err := l.value(Row{Depth: depth, Label: strconv.Itoa(i)}); err != nil {
			return err
		}
	}
	_, err := l.dec.ReadToken()
	return err
}

// value reads one value and adds its row and those below it.
func (l *layout) value(row Row) error {
	token, err := l.dec.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '{':
		row.Kind = Object
		if l.dec.PeekKind() == '}' {
			row.Value = "{}"
		}
		l.rows = append(l.rows, row)
		return l.object(row.Depth + 1)
	case '[':
		row.Kind = List
		if l.dec.PeekKind() == ']' {
			row.Value = "[]"
		}
		l.rows = append(l.rows, row)
		return l.list(row.Depth + 1)
	case '"':
		row.Kind, row.Value = String, token.String()
	case '0':
		row.Kind, row.Value = Number, token.String()
	case 'n':
		row.Kind, row.Value = Null, "null"
	default:
		row.Kind, row.Value = Bool, token.String()
	}
	l.rows = append(l.rows, row)
	return nil
}
