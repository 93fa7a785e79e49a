package strictjson

import (
	"errors"
	"fmt"
)

// The rules a text can break. An *Error wraps exactly one of them.
var (
	// ErrTooLarge: more bytes than the limit.
	ErrTooLarge = errors.New("larger than the limit")
	// ErrTooDeep: more nested objects and arrays than the limit.
	ErrTooDeep = errors.New("nested deeper than the limit")
	// ErrInvalidUTF8: bytes that aren't UTF-8.
	ErrInvalidUTF8 = errors.New("not UTF-8")
	// ErrDuplicateMember: an object names a member twice, in whatever escapes.
	ErrDuplicateMember = errors.New("a member name is used twice")
	// ErrTrailing: something other than white space follows the value.
	ErrTrailing = errors.New("something follows the value")
	// ErrSyntax: not JSON (RFC 8259), or an escape of half a surrogate pair.
	ErrSyntax = errors.New("not JSON")
	// ErrNull: null where an object is wanted.
	ErrNull = errors.New("null where an object is wanted")
	// ErrWrongType: a value of another JSON type, or out of the range, of what is wanted.
	ErrWrongType = errors.New("a value of the wrong type")
)

// Error says which rule a text broke and where. It holds nothing that could harm a log or a
// terminal: the text itself is not repeated.
type Error struct {
	Rule   error  // one of this package's sentinels
	Offset int64  // bytes before the place
	Path   string // RFC 6901 pointer of the value, or "" when unknown or not plain short ASCII
}

// Error names the rule, the offset and, where it is known, the member.
func (e *Error) Error() string {
	if e.Path != "" {
		return fmt.Sprintf("json text: %v (%s, byte %d)", e.Rule, e.Path, e.Offset)
	}
	return fmt.Sprintf("json text: %v (byte %d)", e.Rule, e.Offset)
}

// Unwrap returns the rule.
func (e *Error) Unwrap() error { return e.Rule }

// maxPath bounds the one piece of a text that an error repeats, in bytes.
const maxPath = 64

// plainPath returns p when it is short and of harmless characters only, else "".
func plainPath(p string) string {
	if len(p) > maxPath {
		return ""
	}
	for _, c := range []byte(p) {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '/' || c == '_' || c == '-' || c == '.'
		if !plain {
			return ""
		}
	}
	return p
}
