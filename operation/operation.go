// Package operation reads what a Company's operations endpoint answers and writes what we send it:
// operations with their revision and terms, approvals, declines, and the states of a look-up
// (Operations v3, sections 3, 5 and 6).
//
// Everything here is Company text and stays exactly as sent: nothing is sanitised, shortened,
// translated or rounded. Whoever shows any of it passes it through plaintext first. The one exception
// is Difference, whose line is made for showing.
//
// Reading is strict (package strictjson): an operation that two readers could understand differently
// can't be decoded, and what can't be decoded can't be approved. Members nobody knows are ignored.
//
// The functions are pure and may be called concurrently; the types are values that nobody changes.
package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/strictjson"
)

// ErrUndecodable is wrapped by every error about bytes that a Company sent. An operation that can't be
// decoded can't be approved.
var ErrUndecodable = errors.New("can't be decoded")

// DecodeError says why something a Company sent can't be decoded. It wraps ErrUndecodable and the
// cause, and repeats no text of the Company.
type DecodeError struct {
	What string // what was being read: "operation", "terms", "decline" …
	Why  error  // an *strictjson.Error, or which rule of the specification was broken
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("%s %v: %v", e.What, ErrUndecodable, e.Why)
}

// Unwrap returns ErrUndecodable and the cause.
func (e *DecodeError) Unwrap() []error { return []error{ErrUndecodable, e.Why} }

// Operation is one revision of one action that the Company performs once it is approved (Operations
// v3, section 3).
type Operation struct {
	ID       string // operation_id: identifies the action, for all its revisions
	Revision string // opaque; sent back byte for byte, never parsed or ordered
	// Summary is the Company's plain-language text and may hold basic Markdown. HasSummary tells an
	// empty summary from none; null counts as none.
	Summary    string
	HasSummary bool
	Terms      Terms
	// ExpiresAt is the last moment at which an approval of this revision is accepted, by the Company's
	// clock. ExpiresAtSent is the same as sent.
	ExpiresAt     time.Time
	ExpiresAtSent string
}

// wireOperation is the operation's JSON object (Operations v3, section 3). Pointers tell a member that
// is missing from one that is empty.
type wireOperation struct {
	ID        *string         `json:"operation_id"`
	Revision  *string         `json:"revision"`
	Summary   *string         `json:"summary"`
	Terms     json.RawMessage `json:"terms"`
	ExpiresAt *string         `json:"expires_at"`
}

// Decode reads the JSON object of one operation: all required members, IDs of the right characters,
// terms that are an object, an expires_at of RFC 3339. Its errors are *DecodeError.
//
// RFC 3339 allows a leap second, which this refuses: no deadline needs one. An operation whose own JSON
// form (MarshalJSON) would be larger than MaxAnswer is refused too, so that whatever was read once can be
// read again from the ledger.
func Decode(data []byte) (Operation, error) {
	var wire wireOperation
	if err := strictjson.Decode(data, answerLimits(), &wire); err != nil {
		return Operation{}, &DecodeError{"operation", err}
	}
	op, err := wire.operation()
	if err != nil {
		return Operation{}, &DecodeError{"operation", err}
	}
	form, err := json.Marshal(op)
	if err != nil {
		return Operation{}, &DecodeError{"operation", err}
	}
	if len(form) > MaxAnswer {
		return Operation{}, &DecodeError{"operation", &strictjson.Error{Rule: strictjson.ErrTooLarge, Offset: MaxAnswer}}
	}
	return op, nil
}

func (w wireOperation) operation() (Operation, error) {
	id, err := requiredID("operation_id", w.ID)
	if err != nil {
		return Operation{}, err
	}
	revision, err := requiredID("revision", w.Revision)
	if err != nil {
		return Operation{}, err
	}
	if w.Terms == nil {
		return Operation{}, errors.New("terms is missing")
	}
	terms, err := ParseTerms(w.Terms)
	if err != nil {
		return Operation{}, err
	}
	if w.ExpiresAt == nil {
		return Operation{}, errors.New("expires_at is missing")
	}
	expires, err := parseTime(*w.ExpiresAt)
	if err != nil {
		return Operation{}, err
	}
	op := Operation{ID: id, Revision: revision, Terms: terms, ExpiresAt: expires, ExpiresAtSent: *w.ExpiresAt}
	if w.Summary != nil {
		op.Summary, op.HasSummary = *w.Summary, true
	}
	return op, nil
}

// idForm holds the characters of the IDs of specification 8.2. OPS3 names the section, whose text is
// known from draft 0.1 only.
var idForm = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9_-]{1,%d}$`, MaxID))

// ValidID says whether s may be an operation ID, a revision or an approval's reference.
func ValidID(s string) bool { return idForm.MatchString(s) }

func requiredID(member string, value *string) (string, error) {
	switch {
	case value == nil:
		return "", fmt.Errorf("%s is missing", member)
	case !ValidID(*value):
		return "", fmt.Errorf("%s isn't 1 to %d of letters, digits, - and _", member, MaxID)
	}
	return *value, nil
}

// timeForm is the date-time of RFC 3339, section 5.6, by its letters; time.Parse checks the numbers, and
// alone would take a comma before the fraction and an hour of one digit.
var timeForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

func parseTime(sent string) (time.Time, error) {
	upper := strings.ToUpper(sent) // the RFC allows t and z
	t, err := time.Parse(time.RFC3339, upper)
	if err != nil || !timeForm.MatchString(upper) {
		return time.Time{}, errors.New("expires_at isn't a time of RFC 3339")
	}
	return t, nil
}
