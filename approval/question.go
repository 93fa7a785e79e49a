// Package approval is the desk: the place where a question waits for exactly one answer, whoever gives it.
//
// A question that is opened ends in exactly one of five ways, after the generic protocol "Requests and decisions":
// it is approved, denied, expired, or cancelled, and until then it is pending. The first answer wins; a later one
// changes nothing and is told what won. The desk hands an answer on only after its record function has written it,
// and refuses an answer that was not given to exactly the terms that are open.
package approval

import (
	"time"

	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/operation"
)

// RequestID identifies one question at the desk. It is random, so that an answer kept from an earlier question can
// never meet a later one.
type RequestID string

// Kind says what a question asks.
type Kind string

const (
	// KindApproval asks whether the terms of one revision are approved.
	KindApproval Kind = "approval"
	// KindRerun asks whether a flow may be run again, to finish an operation whose approval is recorded already.
	KindRerun Kind = "rerun"
)

// After says what comes of a yes once the Company has it.
type After string

const (
	// AfterPage: the browser makes the request again, in the page that it refused.
	AfterPage After = ""
	// AfterFlow: the page is gone with its run. The flow is run again from its start.
	AfterFlow After = "flow"
	// AfterNothing: the page is gone with its run, and its flow is not at hand. The approval is left to expire.
	AfterNothing After = "nothing"
)

// State is where a request stands (Requests and decisions, "States").
type State string

// The five states. All but Pending are final.
const (
	Pending   State = "pending"
	Approved  State = "approved"
	Denied    State = "denied"
	Expired   State = "expired"
	Cancelled State = "cancelled"
)

// Company is whose operation it is. Name is the Company's own word for itself and is not sanitised.
type Company struct {
	Domain string `json:"domain"`
	Name   string `json:"name"`
}

// Question is everything a User is asked: whose operation, what of ours caused it, and the terms of one revision.
type Question struct {
	Kind    Kind    `json:"kind"`
	Round   string  `json:"round"`
	Company Company `json:"company"`
	// Account is the account the Session is signed in to; empty for a guest.
	Account string `json:"account,omitempty"`
	// Act is what the agent did, in our words, such as `pressed "Exchange" on stormline.test/orders/ord_7Hk2`. It can
	// hold page text and is not sanitised.
	Act string `json:"act"`
	// Operation is the revision the answer is about.
	Operation operation.Operation `json:"operation"`
	// Differences are lines that begin "Differs:". They can hold Company text and are not sanitised.
	Differences []string `json:"differences"`
	// Deadline is the last moment at which an answer counts, by this machine's wall clock.
	Deadline time.Time `json:"deadline"`
	// After is what comes of a yes.
	After After `json:"after,omitempty"`
}

// Request is a [Question] at the desk.
type Request struct {
	ID       RequestID `json:"id"`
	Opened   time.Time `json:"opened"`
	Question Question  `json:"question"`
}

// Shown names what was on the screen when an answer was given: one request, one revision, one set of terms.
type Shown struct {
	Request     RequestID `json:"request"`
	OperationID string    `json:"operation_id"`
	Revision    string    `json:"revision"`
	TermsHash   string    `json:"terms_hash"`
}

// Shows returns what a screen that shows r in full has shown.
func (r Request) Shows() Shown {
	op := r.Question.Operation
	return Shown{Request: r.ID, OperationID: op.ID, Revision: op.Revision, TermsHash: op.Terms.Hash()}
}

// Answer is what somebody answered. A yes can be made by [FromUser] alone; only the terminal UI and the socket that
// carries its answers call that (a test at the module's root holds them to it).
type Answer struct {
	shown     Shown
	approver  operation.Approver
	approved  bool
	inputType string
	signature lock.Signature
}

// FromUser is the answer of a User who pressed a key after shown was drawn (Operations v3, section 5).
func FromUser(approved bool, shown Shown) Answer {
	return Answer{shown: shown, approver: operation.ByUser, approved: approved, inputType: "typed"}
}

// Signed is the answer with the signature of the home's lock over what [Request.Statement] says.
func (a Answer) Signed(sig lock.Signature) Answer {
	a.signature = sig
	return a
}

// Signature is the lock's; empty when there is none.
func (a Answer) Signature() lock.Signature { return a.signature }

// Statement is what the signature of an answer to r is over.
func (r Request) Statement(approved bool) lock.Statement {
	shown := r.Shows()
	return lock.Statement{
		Request: string(shown.Request), Kind: string(r.Question.Kind), Company: r.Question.Company.Domain,
		Operation: shown.OperationID, Revision: shown.Revision, TermsHash: shown.TermsHash, Approved: approved,
	}
}

// Shown returns what the answer was given to.
func (a Answer) Shown() Shown { return a.shown }

// Approved reports whether it is a yes.
func (a Answer) Approved() bool { return a.approved }

// Decision is the one outcome of a request (Requests and decisions, "Decision").
type Decision struct {
	State     State              `json:"state"`
	Approver  operation.Approver `json:"approver,omitempty"`
	InputType string             `json:"input_type,omitempty"`
	DecidedAt time.Time          `json:"decided_at"`
	// ExpiresAt is the moment from which an approved act may not begin any more: the revision's expires_at. Zero for
	// every other state.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Shown     Shown     `json:"shown"`
	// Signature is that of the home's lock, when it has one and a User answered.
	Signature lock.Signature `json:"signature,omitempty"`
}

// Refusal is a no that nobody had to press a key for: the answer of a run that may not ask.
func Refusal(shown Shown) Answer {
	return Answer{shown: shown, approver: operation.ByAgent}
}
