package opsweb

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/operation"
)

// Happening is one thing that happened in a run. Body is one of the types of this file; its JSON is the body of the
// event of the command line, and for Sighting of the ledger line too. Texts in it are not sanitised.
type Happening struct {
	Time  time.Time
	Round string // empty for what belongs to no round
	Body  any
}

// Sighting: a response carried Poppy-Operation.
type Sighting struct {
	Sid      string   `json:"sid,omitempty"` // the Session that its browser context is joined to
	Ref      string   `json:"ref,omitempty"` // only when it is in its alphabet
	URL      string   `json:"url"`
	Origin   string   `json:"origin,omitempty"` // of the URL; another than the Company's is judged by the same rules
	Accepted bool     `json:"accepted"`
	Why      Refusal  `json:"why,omitempty"`
	Company  string   `json:"company,omitempty"`
	Method   string   `json:"method,omitempty"`
	Status   int      `json:"status,omitempty"`
	Resource string   `json:"resource,omitempty"`
	Act      *ActLine `json:"act,omitempty"`
	Cause    Cause    `json:"cause,omitempty"`
	// Chromium's own ids of the browser context that received it, of the frame or worker that asked, and of the target
	// which that is in.
	Context browser.ContextID `json:"context,omitempty"`
	Frame   browser.TargetID  `json:"frame,omitempty"`
	Target  browser.TargetID  `json:"target,omitempty"`
	// After is the round in which the reference came, and whose end it waited for; empty for one that waited for none.
	After string `json:"after,omitempty"`
}

// Cause is whose doing the request of a sighting was.
type Cause string

// The causes.
const (
	ByAct  Cause = "act"  // most plausibly that of the sighting's act
	ByPage Cause = "page" // no act of ours: a script's own request
)

// ActLine is the act of ours that explains a sighting.
type ActLine struct {
	Number int    `json:"number"`
	Kind   string `json:"kind"`
	Words  string `json:"words"`
}

// Operation: the terms of a revision were fetched.
type Operation struct {
	Company   string          `json:"company"`
	ID        string          `json:"operation_id"`
	Revision  string          `json:"revision"`
	Summary   string          `json:"summary"`
	Terms     json.RawMessage `json:"terms"`
	TermsHash string          `json:"terms_hash"`
	ExpiresAt string          `json:"expires_at"`
}

// Question: the User is being asked.
type Question struct {
	Request     approval.RequestID `json:"request"`
	Kind        approval.Kind      `json:"kind"`
	Differences []string           `json:"differences"`
}

// Answer: a question got its outcome.
type Answer struct {
	Request   approval.RequestID `json:"request"`
	Kind      approval.Kind      `json:"kind,omitempty"` // of a question about something else than terms
	Approver  operation.Approver `json:"approver,omitempty"`
	Approved  bool               `json:"approved"`
	State     approval.State     `json:"state"`
	Shown     approval.Shown     `json:"shown"`
	InputType string             `json:"input_type,omitempty"`
	DecidedAt time.Time          `json:"decided_at"`
	// Signed is what the signature of the home's lock is over, when the home has one.
	Signed    *lock.Statement `json:"signed,omitempty"`
	Signature lock.Signature  `json:"signature,omitempty"`
}

// Sent: an approval is about to leave. It is the ledger's, and holds every member, so that the same one can be sent
// again.
type Sent struct {
	Issuer      string             `json:"issuer"`   // with the operation's ID: what is performed at most once
	Endpoint    string             `json:"endpoint"` // where it goes; its reference never goes elsewhere
	Sid         string             `json:"sid"`
	Ref         string             `json:"ref"`
	OperationID string             `json:"operation_id"`
	Revision    string             `json:"revision"`
	Approver    operation.Approver `json:"approver"`
	ApprovedAt  time.Time          `json:"approved_at"`
	InputType   string             `json:"input_type,omitempty"`
	Reference   string             `json:"reference"`
	Attempt     int                `json:"attempt"`
}

// Approval: what the Company answered to an approval.
type Approval struct {
	Outcome string `json:"outcome"` // recorded, declined, unknown, new_terms
	Reason  string `json:"reason,omitempty"`
	// Alternative is the other way that a decline names; shown, never followed.
	Alternative *operation.Alternative `json:"alternative,omitempty"`
}

// Replay: the browser is about to make the act again.
type Replay struct {
	How browser.How `json:"how"`
}

// LookedUp: what the Company says became of an approved operation.
type LookedUp struct {
	Status string `json:"status"`
	For    string `json:"for,omitempty"` // what is waited for because of it, in our words
}

// Note is a step of a round that needs no more than a word of why.
type Note struct {
	Why string `json:"why,omitempty"`
}

// ApprovedBefore: an earlier run's approval of these very terms is recorded and not used up, so nobody is asked again.
type ApprovedBefore struct {
	Earlier string `json:"earlier"` // its round
	Sent           // as it was sent
}

// Resumed: this run goes on with a round of one that is gone.
type Resumed struct {
	From  string `json:"from"`  // the run that is gone
	State State  `json:"state"` // where it left the round
}

// MergedInto: the reference was one more to an operation that has a round.
type MergedInto struct {
	Into string `json:"into"`
}

// SettledAs: a round has ended.
type SettledAs struct {
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"`
	// Verdict is what the last revision itself came to, when Outcome is unknown because an approval of an earlier one
	// is still recorded.
	Verdict Outcome `json:"verdict,omitempty"`
}

// Trouble: something of ours went wrong that belongs to no round's outcome.
type Trouble struct {
	What string `json:"what"`
}

func sightingLine(s *site, sid string, h browser.Held, ref string, why Refusal) Sighting {
	line := Sighting{
		Ref: ref, URL: h.Told(), Origin: originOf(h.URL()), Accepted: why == "", Why: why, Method: h.Method(), Status: h.Status(),
		Resource: h.Resource(), Cause: ByPage, Frame: h.Frame(), Target: h.Target(),
	}
	line.Context, _ = h.Context()
	if s != nil {
		line.Sid, line.Company = sid, s.company.Domain
	}
	if a := h.Act(); a != nil {
		line.Act, line.Cause = &ActLine{Number: a.Number, Kind: string(a.Act.Kind), Words: words(a)}, ByAct
	}
	return line
}

// words says in ours what an act was. The name of the control and the address are the page's.
func words(m *browser.Made) string {
	switch m.Act.Kind {
	case browser.Click:
		return fmt.Sprintf("pressed %q on %s", m.Control.Name, place(m.Page))
	case browser.Change:
		return fmt.Sprintf("changed %q on %s", m.Control.Name, place(m.Page))
	case browser.Navigate:
		return "opened " + place(m.Act.URL)
	default:
		return string(m.Act.Kind)
	}
}
