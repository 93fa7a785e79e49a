package operation

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/papaver-agent/papaver/internal/randomid"
)

// Approver says in which of the two ways an operation was approved (Operations v3, section 5).
type Approver string

const (
	// ByUser: the User pressed a key on this operation's own question.
	ByUser Approver = "user"
	// ByAgent: an instruction of the User covers the terms.
	ByAgent Approver = "agent"
)

// Approval is the statement that one revision of one operation is approved (Operations v3, section 6).
// After an unknown outcome the same Approval is sent again, unchanged.
type Approval struct {
	OperationID string
	Revision    string
	Approver    Approver
	ApprovedAt  time.Time // when the User or the agent approved, not when it is sent; sent in whole seconds
	// InputType is how the User answered: "typed", "tap" … Required with ByUser, forbidden with ByAgent.
	// It says nothing of the User or the device.
	InputType string
	Reference string // from NewReference, for one approval at one Company; "" sends none
}

// ErrApproval is wrapped by the error of an Approval that must not be sent as it is. It is a fault of
// our own.
var ErrApproval = errors.New("approval can't be sent")

// inputTypeForm keeps free text, and with it personal data, out of input_type.
var inputTypeForm = regexp.MustCompile(fmt.Sprintf(`^[a-z][a-z0-9_-]{0,%d}$`, MaxInputType-1))

// maxInteger is the largest Integer of RFC 9651, section 3.3.1.
const maxInteger = 999_999_999_999_999

// Field returns the value of the Poppy-Approval header field, an RFC 9651 Dictionary. The same Approval
// always gives the same bytes. The specification merely recommends approved_at and input_type for a
// User's approval; we always send them. Errors wrap ErrApproval.
func (a Approval) Field() (string, error) {
	if err := a.check(); err != nil {
		return "", fmt.Errorf("%w: %w", ErrApproval, err)
	}
	field := httpsfv.NewDictionary()
	field.Add("operation_id", httpsfv.NewItem(a.OperationID))
	field.Add("revision", httpsfv.NewItem(a.Revision))
	field.Add("approver", httpsfv.NewItem(string(a.Approver)))
	field.Add("approved_at", httpsfv.NewItem(a.ApprovedAt.Unix()))
	if a.InputType != "" {
		field.Add("input_type", httpsfv.NewItem(a.InputType))
	}
	if a.Reference != "" {
		field.Add("reference", httpsfv.NewItem(a.Reference))
	}
	value, err := httpsfv.Marshal(field)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrApproval, err)
	}
	return value, nil
}

func (a Approval) check() error {
	at := a.ApprovedAt.Unix()
	switch {
	case !ValidID(a.OperationID):
		return errors.New("operation_id has other characters than an ID")
	case !ValidID(a.Revision):
		return errors.New("revision has other characters than an ID")
	case a.Approver != ByUser && a.Approver != ByAgent:
		return errors.New("approver is neither user nor agent")
	case a.ApprovedAt.IsZero() || at < 0 || at > maxInteger:
		return errors.New("approved_at is missing or out of range")
	case a.Approver == ByAgent && a.InputType != "":
		return errors.New("input_type goes with a User's approval only")
	case a.Approver == ByUser && !inputTypeForm.MatchString(a.InputType):
		return errors.New("input_type isn't one short word in lower case")
	case a.Reference != "" && !ValidID(a.Reference):
		return errors.New("reference has other characters than an ID")
	}
	return nil
}

// NewReference returns a fresh reference for one approval: "apr_" and 128 bits of random in base64url.
// It holds nothing of the User, the device, the Company or the operation, and it is never sent to a
// second Company (Operations v3, section 6). random must be cryptographically secure; its error comes
// back wrapped.
func NewReference(random io.Reader) (string, error) {
	reference, err := randomid.Long(random, "apr_")
	if err != nil {
		return "", fmt.Errorf("reference of an approval: %w", err)
	}
	return reference, nil
}
