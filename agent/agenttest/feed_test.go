package agenttest

import (
	"fmt"
	"testing"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/operation"
)

// A question of any other Company reaches neither the User nor the terminal UI: no key can be pressed for it.
//
// Clauses: OPS3-5.06
func TestAQuestionOfAnotherCompanyIsNotShown(t *testing.T) {
	t.Parallel()
	var told []string
	asks := make(chan pressed, 1)
	f := &feed{
		asked:  func(id string) bool { return id == "op_ours" },
		decide: Approve,
		errorf: func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) },
		shown:  func() {}, asks: asks, left: make(map[approval.RequestID]bool),
	}
	question := func(request, op string) attach.Question {
		return attach.Question{Request: approval.Request{ID: approval.RequestID(request), Question: approval.Question{
			Company: approval.Company{Domain: "company.example"}, Operation: operation.Operation{ID: op},
		}}}
	}
	for range 2 {
		shown, err := f.choose(t.Context(), []attach.Question{question("r1", "op_theirs")})
		if err != nil || len(shown) != 0 || len(asks) != 0 {
			t.Fatalf("shown: %+v, %v", shown, err)
		}
	}
	if len(told) != 1 {
		t.Errorf("told %q", told)
	}
	shown, err := f.choose(t.Context(), []attach.Question{question("r1", "op_theirs"), question("r2", "op_ours"), question("r3", "op_ours")})
	if err != nil || len(shown) != 1 || shown[0].Request.ID != "r2" {
		t.Fatalf("shown: %+v, %v", shown, err)
	}
	first := <-asks
	if shown, _ = f.choose(t.Context(), []attach.Question{question("r3", "op_ours")}); len(shown) != 1 || shown[0].Request.ID != "r3" {
		t.Errorf("shown after it: %+v", shown)
	}
	select {
	case <-first.over:
	default:
		t.Error("the first question's key is still pressed")
	}
}
