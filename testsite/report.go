package testsite

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxViolations bounds what a run can make this process remember; what comes after is only counted.
const maxViolations = 1000

// Report is what happened at the Company so far.
type Report struct {
	// Joins and JoinsRefused count answers of the join endpoint.
	Joins        int `json:"joins"`
	JoinsRefused int `json:"joins_refused"`
	// References counts Poppy-Operation headers that the website sent.
	References int `json:"references"`
	// LookUps counts requests to the endpoint with a valid Session header and no approval.
	LookUps int `json:"look_ups"`
	// Recorded and Declined count approvals by their outcome. A retry of a recorded one isn't counted again.
	Recorded int `json:"recorded"`
	Declined int `json:"declined"`
	// Feedback counts reports of agents about what they missed (draft 0.2).
	Feedback int `json:"feedback,omitempty"`
	// Performances lists each action that an approval made happen, in order.
	Performances []Performance `json:"performances"`
	// Broken lists the rules of severity must and should that an agent broke, in order.
	Broken []Violation `json:"broken"`
	// Notes lists what breaks no rule by itself and still deserves a look.
	Notes []Violation `json:"notes"`
	// Unlisted counts violations beyond the bound that this process remembers.
	Unlisted int `json:"unlisted,omitempty"`
}

// Performance is one performed operation.
type Performance struct {
	Time        time.Time `json:"time"`
	Kind        string    `json:"kind"`
	OperationID string    `json:"operation_id"`
	Revision    string    `json:"revision"`
	Approver    string    `json:"approver"`
}

// Violation is one rule an agent broke.
type Violation struct {
	Time     time.Time `json:"time"`
	Rule     string    `json:"rule"`             // a stable name, as in the table of rules
	Clause   string    `json:"clause,omitempty"` // the clause of the conformance table, if there is one
	Severity Severity  `json:"severity"`
	Says     string    `json:"says"` // what the rule asks of an agent
	Seen     string    `json:"seen"` // what was seen instead, in the Company's own words: never a credential
}

// record collects a Report. It is safe for concurrent use.
type record struct {
	now func() time.Time
	log *slog.Logger

	mu     sync.Mutex
	report Report
}

// broken writes down that an agent broke the rule. seen is text of ours and never holds what the agent sent.
func (r *record) broken(id, seen string) {
	found, ok := findRule(id)
	if !ok {
		found = rule{id: id, severity: Must, says: "this rule is missing from the table"}
	}
	v := Violation{Time: r.now(), Rule: found.id, Clause: found.clause, Severity: found.severity, Says: found.says, Seen: seen}
	r.log.LogAttrs(context.Background(), slog.LevelWarn, "an agent broke a rule",
		slog.String("rule", v.Rule), slog.String("clause", v.Clause), slog.String("severity", string(v.Severity)), slog.String("seen", v.Seen))
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.report.Broken)+len(r.report.Notes) >= maxViolations {
		r.report.Unlisted++
		return
	}
	if v.Severity == Note {
		r.report.Notes = append(r.report.Notes, v)
		return
	}
	r.report.Broken = append(r.report.Broken, v)
}

// findings writes down what the operations noticed.
func (r *record) findings(list []finding) {
	for _, f := range list {
		r.broken(f.rule, f.seen)
	}
}

// count changes the report's counters.
func (r *record) count(change func(*Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.report)
}

// snapshot gives a copy that later events don't change. Lists are never nil, so that they are arrays as JSON.
func (r *record) snapshot() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.report
	c.Performances = append([]Performance{}, r.report.Performances...)
	c.Broken = append([]Violation{}, r.report.Broken...)
	c.Notes = append([]Violation{}, r.report.Notes...)
	return c
}
