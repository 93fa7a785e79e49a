package testsite

import (
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/testsite/wire"
)

// What is read is a reference, and stands in the body.
func FuzzReferenceBody(f *testing.F) {
	for _, seed := range []string{`{"ref":"exc_1.2"}`, `{"ref":"a","ref":"b"}`, `{"x":{"ref":"a"},"ref":"b"}`, `[{"ref":"a"}]`, `{"ref":"a"} `, `{"ref":"\u0061"}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		ref, err := parseReference(body)
		if err == nil && !isRef(ref) {
			t.Errorf("%q gave %q", body, ref)
		}
	})
}

// What is read as an approval has the three members that it needs, and characters that can stand in a header.
func FuzzApprovalHeader(f *testing.F) {
	for _, seed := range []string{
		`operation_id="exc_5Rt2", revision="1791487200-k3Jd9Qx2mW8v", approver="user", approved_at=1791487260, input_type="tap", reference="apr_01JD8ZK3Q9"`,
		`operation_id="a", revision="b", approver="agent", x=?1, y=:AA==:, z=("a" b);c`,
		"operation_id=\"a\"\nrevision=\"b\", approver=\"user\"",
		`approver=user`, ``,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		a, findings, err := parseApproval(strings.Split(lines, "\n"), testNow)
		if err != nil {
			if len(findings) == 0 || a != (approval{}) {
				t.Errorf("%q: %v without a finding, or with a value", lines, err)
			}
			return
		}
		if !wire.IsID(a.operationID) || !wire.IsID(a.revision) || a.approver != approverUser && a.approver != approverAgent {
			t.Errorf("%q gave %+v", lines, a)
		}
		if a.reference != "" && !wire.IsID(a.reference) || a.approver == approverAgent && a.inputType != "" || a.approvedAt < 0 {
			t.Errorf("%q gave %+v", lines, a)
		}
	})
}
