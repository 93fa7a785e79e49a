package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth bounds how deep JSON from outside may nest.
const maxJSONDepth = 16

// ErrNotObject is returned for JSON that is well formed and not an object.
var ErrNotObject = errors.New("not a JSON object")

// Members reads one JSON object and gives its members by their exact names. It refuses duplicate members at any
// depth, invalid UTF-8, more than maxJSONDepth levels and anything after the object: encoding/json alone accepts
// all but the third. The caller has bounded data.
func Members(data []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("JSON: invalid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := noDuplicates(d, 0); err != nil {
		return nil, fmt.Errorf("JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("JSON: something follows the value")
	}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, ErrNotObject
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("JSON: %w", err)
	}
	return m, nil
}

// noDuplicates walks one value and refuses an object that names a member twice.
func noDuplicates(d *json.Decoder, depth int) error {
	if depth > maxJSONDepth {
		return fmt.Errorf("more than %d levels", maxJSONDepth)
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			key, _ := name.(string)
			if seen[key] {
				return errors.New("an object names a member twice")
			}
			seen[key] = true
		}
		if err := noDuplicates(d, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token() // the closing bracket
	return err
}

// Text gives the member as a string; ok is false when it is missing or something else.
func Text(m map[string]json.RawMessage, name string) (value string, ok bool) {
	raw, found := m[name]
	if !found || len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return value, json.Unmarshal(raw, &value) == nil
}

// Seconds gives the member as a whole number of seconds; ok is false when it is missing or something else.
func Seconds(m map[string]json.RawMessage, name string) (value int64, ok bool) {
	raw, found := m[name]
	if !found || strings.ContainsAny(string(raw), `".eE`) {
		return 0, false
	}
	return value, json.Unmarshal(raw, &value) == nil && string(raw) != "null"
}

// MaxID is the most characters of an ID (draft 0.1, section 7.2).
const MaxID = 256

// IsID says whether s has the characters of an ID: 1 to 256 letters, digits, '-' and '_'.
func IsID(s string) bool {
	return len(s) >= 1 && len(s) <= MaxID && OnlyOf(s, "-_")
}

// OnlyOf says whether s has ASCII letters, digits and the characters of more only.
func OnlyOf(s, more string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte(more, c) < 0 {
			return false
		}
	}
	return true
}
