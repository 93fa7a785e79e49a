package operation_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/papaver-agent/papaver/operation"
)

// userApproval is the approval of Operations v3, section 6.
func userApproval() operation.Approval {
	return operation.Approval{
		OperationID: "exc_5Rt2", Revision: "1791487200-k3Jd9Qx2mW8v", Approver: operation.ByUser,
		ApprovedAt: time.Date(2026, 10, 8, 12, 1, 0, 999, time.FixedZone("", -7*3600)), InputType: "tap", Reference: "apr_01JD8ZK3Q9",
	}
}

// Clauses: OPS3-6.02, OPS3-6.03, OPS3-6.04, OPS3-6.05, OPS3-6.22
func TestTheFieldIsTheSpecificationsExample(t *testing.T) {
	approval := userApproval()
	approval.ApprovedAt = time.Unix(1791487260, 999)
	got, err := approval.Field()
	if err != nil {
		t.Fatal(err)
	}
	const want = `operation_id="exc_5Rt2", revision="1791487200-k3Jd9Qx2mW8v", approver="user", approved_at=1791487260, ` +
		`input_type="tap", reference="apr_01JD8ZK3Q9"`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	approval.Approver, approval.InputType, approval.Reference = operation.ByAgent, "", ""
	got, err = approval.Field()
	if err != nil {
		t.Fatal(err)
	}
	if want := `operation_id="exc_5Rt2", revision="1791487200-k3Jd9Qx2mW8v", approver="agent", approved_at=1791487260`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Clauses: OPS3-6.22
func TestTheFieldIsADictionaryOfStringsAndOneInteger(t *testing.T) {
	field, err := userApproval().Field()
	if err != nil {
		t.Fatal(err)
	}
	dictionary, err := httpsfv.UnmarshalDictionary([]string{field})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range dictionary.Names() {
		member, _ := dictionary.Get(name)
		value := member.(httpsfv.Item).Value
		if _, isString := value.(string); isString == (name == "approved_at") {
			t.Errorf("%s is a %T", name, value)
		}
	}
}

// Clauses: OPS3-6.03, OPS3-6.07, OPS3-6.08, OPS3-6.11, OPS3-6.16, OPS3-6.17
func TestAnApprovalThatBreaksARuleHasNoField(t *testing.T) {
	tests := []struct {
		name   string
		change func(*operation.Approval)
	}{
		{"no operation", func(a *operation.Approval) { a.OperationID = "" }},
		{"a quote in the operation ID", func(a *operation.Approval) { a.OperationID = `a", approver="user` }},
		{"an operation ID too long", func(a *operation.Approval) { a.OperationID = strings.Repeat("x", 257) }},
		{"no revision", func(a *operation.Approval) { a.Revision = "" }},
		{"a newline behind the revision", func(a *operation.Approval) { a.Revision += "\n" }},
		{"no approver", func(a *operation.Approval) { a.Approver = "" }},
		{"another approver", func(a *operation.Approval) { a.Approver = "company" }},
		{"input_type of an agent", func(a *operation.Approval) { a.Approver = operation.ByAgent }},
		{"no input_type of a User", func(a *operation.Approval) { a.InputType = "" }},
		{"free text for input_type", func(a *operation.Approval) { a.InputType = "tapped on Anna's phone" }},
		{"a long input_type", func(a *operation.Approval) { a.InputType = strings.Repeat("t", operation.MaxInputType+1) }},
		{"no time", func(a *operation.Approval) { a.ApprovedAt = time.Time{} }},
		{"a time before 1970", func(a *operation.Approval) { a.ApprovedAt = time.Unix(-1, 0) }},
		{"a time beyond an Integer", func(a *operation.Approval) { a.ApprovedAt = time.Unix(1e15, 0) }},
		{"a dot in the reference", func(a *operation.Approval) { a.Reference = "apr.1" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			approval := userApproval()
			test.change(&approval)
			if field, err := approval.Field(); !errors.Is(err, operation.ErrApproval) || field != "" {
				t.Errorf("field %q, error %v, want ErrApproval", field, err)
			}
		})
	}
}

// Clauses: OPS3-7.12
func TestTheSameApprovalIsTheSameBytes(t *testing.T) {
	one, err := userApproval().Field()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, err := userApproval().Field(); again != one || err != nil {
			t.Fatalf("%q became %q (%v)", one, again, err)
		}
	}
}

// Clauses: OPS3-6.11, OPS3-6.12
func TestReferencesAreIDsThatNoTwoApprovalsShare(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		reference, err := operation.NewReference(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if !operation.ValidID(reference) || !strings.HasPrefix(reference, "apr_") || len(reference) != 26 || seen[reference] {
			t.Fatalf("reference %q", reference)
		}
		seen[reference] = true
	}
}

// Clauses: OPS3-6.14
func TestAReferenceHoldsNothingButRandomBits(t *testing.T) {
	got, err := operation.NewReference(bytes.NewReader(bytes.Repeat([]byte{0xFB}, 16)))
	if want := "apr_-_v7-_v7-_v7-_v7-_v7-w"; got != want || err != nil {
		t.Errorf("reference %q (%v), want %q", got, err, want)
	}
	if got, err := operation.NewReference(bytes.NewReader(make([]byte, 15))); !errors.Is(err, io.ErrUnexpectedEOF) || got != "" {
		t.Errorf("from 15 bytes: %q, %v", got, err)
	}
	if _, err := operation.NewReference(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}
