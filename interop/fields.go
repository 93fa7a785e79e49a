package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/papaver-agent/papaver/operation"
	"github.com/papaver-agent/papaver/profile"
)

// verdictsTimeout is the longest time for building and running the test that writes our verdicts.
const verdictsTimeout = 3 * time.Minute

// extensionsField is a value of Poppy-Extensions, with the version that must be in it.
type extensionsField struct {
	Field   string `json:"field"`
	Version string `json:"version"`
}

// approvalField is a value of Poppy-Approval, with what must be in it.
type approvalField struct {
	Field    string         `json:"field"`
	Expected map[string]any `json:"expected"`
}

// fieldChecks has structured-headers read the fields we send, and judge those we receive.
func fieldChecks(ctx context.Context, w *world, t *tally) error {
	var input struct {
		Extensions []extensionsField `json:"extensions"`
		Approvals  []approvalField   `json:"approvals"`
	}
	p := profile.V1()
	input.Extensions = []extensionsField{{p.Extensions(), p.OperationsVersion}}
	for _, a := range []operation.Approval{
		{Approver: operation.ByUser, InputType: "typed", Reference: "new"},
		{Approver: operation.ByUser, InputType: "tap"},
		{Approver: operation.ByAgent},
		{Approver: operation.ByAgent, Reference: "new"},
	} {
		a.OperationID, a.Revision, a.ApprovedAt = "exc_5Rt2", "1791487200-k3Jd9Qx2mW8v", time.Now()
		if a.Reference != "" {
			var err error
			if a.Reference, err = operation.NewReference(rand.Reader); err != nil {
				return err
			}
		}
		field, err := a.Field()
		if err != nil {
			return err
		}
		expected := map[string]any{"operation_id": a.OperationID, "revision": a.Revision, "approver": a.Approver, "approved_at": a.ApprovedAt.Unix()}
		if a.InputType != "" {
			expected["input_type"] = a.InputType
		}
		if a.Reference != "" {
			expected["reference"] = a.Reference
		}
		input.Approvals = append(input.Approvals, approvalField{field, expected})
	}
	data, err := json.Marshal(input)
	if err != nil {
		return err
	}
	fields, verdicts := filepath.Join(w.state, "fields.json"), filepath.Join(w.state, "verdicts.jsonl")
	if err := os.WriteFile(fields, data, 0o600); err != nil {
		return err
	}
	// The judge is in a test, since nobody but its room may make a reference.
	judge := command(ctx, "go", "test", "./opsweb", "-count=1", "-run", "^TestTheCorpusOfFieldsMeetsEveryVerdict$", "-verdicts", verdicts)
	if err := output(judge, verdictsTimeout); err != nil {
		return err
	}
	return w.scriptOn(ctx, t, "fields", fields, verdicts)
}
