package testsite

import (
	"errors"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/papaver-agent/papaver/testsite/wire"
)

// Who approved (Operations v3, section 6).
const (
	approverUser  = "user"
	approverAgent = "agent"
)

// maxApproval bounds a Poppy-Approval header, in bytes over all its lines.
const maxApproval = 8 << 10

// errNoApproval says that a Poppy-Approval header can't be read as an approval, so that it approves nothing.
var errNoApproval = errors.New("the Poppy-Approval header is not an approval")

// approval is a Poppy-Approval header. Two are the same approval when they are equal.
type approval struct {
	operationID string
	revision    string
	approver    string
	approvedAt  int64 // Unix seconds; 0 when missing
	inputType   string
	reference   string
}

// parseApproval reads the lines of a Poppy-Approval header: an RFC 9651 Dictionary with any order and spacing, in which
// unknown members and all parameters are ignored and only operation_id, revision and approver are required. It
// returns errNoApproval when one of these is missing or unusable. findings lists the rules broken either way.
func parseApproval(lines []string, now time.Time) (a approval, findings []finding, err error) {
	found := func(rule, seen string) { findings = append(findings, finding{rule, seen}) }
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	if size > maxApproval {
		found(ruleApprovalMalformed, "a header of more than 8 KiB")
		return approval{}, findings, errNoApproval
	}
	dictionary, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		found(ruleApprovalMalformed, "not a Dictionary")
		return approval{}, findings, errNoApproval
	}
	str := func(name string) string {
		value, present := member(dictionary, name)
		if !present {
			return ""
		}
		s, ok := value.(string)
		if !ok {
			found(ruleApprovalType, name+" isn't a String")
		}
		return s
	}
	a.operationID, a.revision, a.approver = str("operation_id"), str("revision"), str("approver")
	a.inputType, a.reference = str("input_type"), str("reference")
	if value, present := member(dictionary, "approved_at"); present {
		at, ok := value.(int64)
		switch {
		case !ok:
			found(ruleApprovalType, "approved_at isn't an Integer")
		case at <= 0 || at > now.Add(clockLeeway).Unix():
			found(ruleApprovedAtWrong, "approved_at is 0, negative or in the future")
		default:
			a.approvedAt = at
		}
	} else if a.approver == approverUser {
		found(ruleApprovedAtMissing, "no approved_at with approver user")
	}
	if _, present := member(dictionary, "input_type"); !present && a.approver == approverUser {
		found(ruleInputTypeMissing, "no input_type with approver user")
	} else if present && a.approver == approverAgent {
		found(ruleInputTypeAgent, "input_type with approver agent")
		a.inputType = "" // a Company ignores it there
	}
	if _, present := member(dictionary, "reference"); present && !wire.IsID(a.reference) {
		found(ruleReferenceAlphabet, "a reference that isn't an ID")
		a.reference = ""
	}
	switch {
	case !wire.IsID(a.operationID) || !wire.IsID(a.revision):
		found(ruleApprovalMalformed, "operation_id or revision is missing or isn't an ID")
		return approval{}, findings, errNoApproval
	case a.approver == "":
		found(ruleApproverMissing, "no approver")
		return approval{}, findings, errNoApproval
	case a.approver != approverUser && a.approver != approverAgent:
		found(ruleApproverUnknown, "another approver than user or agent")
		return approval{}, findings, errNoApproval
	}
	return a, findings, nil
}

// member gives the bare value of a Dictionary's member; an inner list is a value of no type we know.
func member(d *httpsfv.Dictionary, name string) (value any, present bool) {
	m, present := d.Get(name)
	if item, ok := m.(httpsfv.Item); ok {
		return item.Value, present
	}
	return nil, present
}

// declaresOperations says whether the lines of a Poppy-Extensions header declare version 3 of operations. ok is false
// when they aren't an RFC 9651 List of Strings.
func declaresOperations(lines []string) (declared, ok bool) {
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return false, false
	}
	for _, m := range list {
		item, isItem := m.(httpsfv.Item)
		if !isItem {
			return false, false
		}
		name, isString := item.Value.(string)
		if !isString {
			return false, false
		}
		if version, has := item.Params.Get("v"); has && name == "operations" && version == "3" {
			declared = true
		}
	}
	return declared, true
}
