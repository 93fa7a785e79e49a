package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strings"

	"github.com/papaver-agent/papaver/internal/strictjson"
)

// AnswerKind says what the operations endpoint answered to a look-up or an approval.
type AnswerKind uint8

const (
	// Other is every answer that isn't one of the kinds below: a redirect, a page of HTML, an error nobody
	// knows. It says nothing about the operation.
	Other AnswerKind = iota
	// Returned: 403 approval_required with an operation, which isn't approved.
	Returned
	// Declined: 403 approval_declined. The approval wasn't recorded and is never sent again.
	Declined
	// Recorded: 204. The approval is recorded; nothing is performed yet.
	Recorded
	// Known: 200 with the state of an operation whose approval is recorded.
	Known
	// InvalidReference: 400 invalid_request. The reference was never this Session's, or has expired.
	InvalidReference
	// Challenge: 401. The operation belongs to an account.
	Challenge
	// InvalidSession: a 4xx with invalid_session.
	InvalidSession
	// ExtensionRequired: 403 extension_required.
	ExtensionRequired
	// Busy: 429 or 503. Nothing is known yet; the request may be made again later.
	Busy
)

var answerKindNames = [...]string{"other", "returned", "declined", "recorded", "known", "invalid reference",
	"challenge", "invalid session", "extension required", "busy"}

// String returns the kind in lower case.
func (k AnswerKind) String() string {
	if int(k) < len(answerKindNames) {
		return answerKindNames[k]
	}
	return "unknown"
}

// State is where an operation with a recorded approval stands (Operations v3, section 6).
type State string

const (
	// Approved: the approval waits for the browser's request.
	Approved State = "approved"
	// Performing: the Company performs the action or doesn't know yet whether it took effect.
	Performing State = "performing"
	// Performed: the action was performed.
	Performed State = "performed"
)

// Answer is what the operations endpoint answered. Which fields are set depends on Kind.
type Answer struct {
	Kind      AnswerKind
	Status    int       // the HTTP status
	Operation Operation // Returned
	Decline   Decline   // Declined
	// OperationID and State are those of Known. The caller compares the ID with its own operation's.
	OperationID string
	State       State
	Extension   string // ExtensionRequired: the extension asked for, "" when it isn't a plain name
	Code        string // the body's error when it is a plain code of at most 64 characters, for messages
}

// Decline says that the Company refused an approval and performed nothing (Operations v3, section 6).
type Decline struct {
	OperationID string
	Revision    string
	// Reason and Alternative are Company text: shown, never followed. A member of the wrong form is left
	// out, because a decline holds whatever its explanation looks like.
	Reason      string
	Alternative *Alternative
}

// Alternative is another way to do a declined action (specification 9.2, known from an example only).
type Alternative struct {
	Instructions string             `json:"instructions"`
	References   []AlternativePlace `json:"references"`
}

// AlternativePlace is one entry of an alternative's references. The only type seen is "web", with a URL.
// Nothing is opened because of it.
type AlternativePlace struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// wireAnswer holds the members of every JSON body the endpoint sends (Operations v3, sections 4 and 6;
// extension_required: section 2). They stay raw until the kind of the answer is known: a body may have
// error fields of the Company's own, such as a numeric status, under the name of another kind's member.
type wireAnswer struct {
	Error       json.RawMessage `json:"error"`
	Operation   json.RawMessage `json:"operation"`
	OperationID json.RawMessage `json:"operation_id"`
	Revision    json.RawMessage `json:"revision"`
	Reason      json.RawMessage `json:"reason"`
	Alternative json.RawMessage `json:"alternative"`
	Status      json.RawMessage `json:"status"`
	Extension   json.RawMessage `json:"extension"`
}

// ReadAnswer reads an answer of the operations endpoint from its HTTP status, its Content-Type and its
// whole body, of at most MaxAnswer bytes. A body that isn't said to be JSON counts as none.
//
// The error is a *DecodeError when the body is JSON that can't be decoded, or lacks what its kind
// requires. The Answer beside it then still has the Kind that the answer claims to be, as far as that
// can be told, and nothing else of use: a decline without a revision is a decline all the same.
func ReadAnswer(status int, contentType string, body []byte) (Answer, error) {
	answer := Answer{Status: status, Kind: kindOfStatus(status)}
	if answer.Kind == Recorded || answer.Kind == Busy {
		return answer, nil
	}
	known := status == http.StatusOK || status >= 400 && status < 500
	if !known || !isJSON(contentType) {
		return answer, nil
	}
	var wire wireAnswer
	if err := strictjson.Decode(body, answerLimits(), &wire); err != nil {
		return answer, &DecodeError{"answer", err}
	}
	if code := optionalString(wire.Error); codeForm.MatchString(code) {
		answer.Code = code
	}
	var err error
	switch {
	case status == http.StatusOK:
		err = answer.readState(wire)
	case answer.Code == "invalid_session":
		answer.Kind = InvalidSession
	case status == http.StatusBadRequest && answer.Code == "invalid_request":
		answer.Kind = InvalidReference
	case status != http.StatusForbidden:
	case answer.Code == "approval_required":
		answer.Kind = Returned
		err = answer.readOperation(wire)
	case answer.Code == "approval_declined":
		answer.Kind = Declined
		err = answer.readDecline(wire)
	case answer.Code == "extension_required":
		answer.Kind = ExtensionRequired
		if name := optionalString(wire.Extension); codeForm.MatchString(name) {
			answer.Extension = name
		}
	}
	return answer, err
}

// codeForm is what error codes and extension names look like: nothing else reaches a message.
var codeForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// kindOfStatus is what the status alone says.
func kindOfStatus(status int) AnswerKind {
	switch status {
	case http.StatusNoContent:
		return Recorded
	case http.StatusUnauthorized:
		return Challenge
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return Busy
	}
	return Other
}

func isJSON(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && (mediaType == "application/json" || strings.HasSuffix(mediaType, "+json"))
}

func (a *Answer) readOperation(wire wireAnswer) error {
	if wire.Operation == nil {
		return &DecodeError{"operation", errors.New("operation is missing")}
	}
	op, err := Decode(wire.Operation)
	a.Operation = op
	return err
}

func (a *Answer) readState(wire wireAnswer) error {
	id, err := rawID("operation_id", wire.OperationID)
	if err != nil {
		return &DecodeError{"state of an operation", err}
	}
	switch state := State(optionalString(wire.Status)); state {
	case Approved, Performing, Performed:
		a.Kind, a.OperationID, a.State = Known, id, state
		return nil
	}
	return &DecodeError{"state of an operation", errors.New("status isn't approved, performing or performed")}
}

func (a *Answer) readDecline(wire wireAnswer) error {
	id, err := rawID("operation_id", wire.OperationID)
	if err != nil {
		return &DecodeError{"decline", err}
	}
	revision, err := rawID("revision", wire.Revision)
	if err != nil {
		return &DecodeError{"decline", err}
	}
	a.Decline = Decline{OperationID: id, Revision: revision, Reason: optionalString(wire.Reason)}
	var alternative *Alternative
	if wire.Alternative != nil && strictjson.Decode(wire.Alternative, answerLimits(), &alternative) == nil {
		a.Decline.Alternative = alternative
	}
	return nil
}

// rawID returns the ID that raw is.
func rawID(member string, raw json.RawMessage) (string, error) {
	var id *string
	if raw != nil {
		if err := strictjson.Decode(raw, answerLimits(), &id); err != nil {
			return "", fmt.Errorf("%s isn't a string", member)
		}
	}
	return requiredID(member, id)
}

// optionalString returns the string that raw is, "" when it is missing or something else.
func optionalString(raw json.RawMessage) string {
	var s string
	if raw == nil || strictjson.Decode(raw, answerLimits(), &s) != nil {
		return ""
	}
	return s
}
