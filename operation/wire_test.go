package operation_test

import (
	"encoding/json"
	"testing"

	"github.com/papaver-agent/papaver/operation"
)

func TestAnOperationSurvivesItsWayThroughJSON(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{
		`{"operation_id":"exc_1","revision":"r-1","summary":"<b>7</b>","terms":{"b":1.0,"a":{"x":"é<"}},"expires_at":"2026-10-08T12:20:00-07:00"}`,
		`{"operation_id":"exc_1","revision":"r-1","terms":{"a":[1e2,null]},"expires_at":"2026-10-08T12:20:00Z"}`,
	} {
		op, err := operation.Decode([]byte(sent))
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(op)
		if err != nil {
			t.Fatal(err)
		}
		var back operation.Operation
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if back.Terms.Hash() != op.Terms.Hash() || back.Summary != op.Summary || back.HasSummary != op.HasSummary ||
			back.ID != op.ID || back.Revision != op.Revision || back.ExpiresAtSent != op.ExpiresAtSent || !back.ExpiresAt.Equal(op.ExpiresAt) {
			t.Errorf("%s came back as %+v", sent, back)
		}
	}
}
