package opsweb

// State is where a round stands. A round is one operation, from its first sighting to settled; each revision of it
// that the Company returns is asked anew.
type State string

// The states of a round.
const (
	Sighted   State = "sighted"   // a reference of ours is in the ledger
	Resighted State = "resighted" // the reference was not accepted; the act is being made again for a new one
	Fetched   State = "fetched"   // the terms of one revision are here
	Asking    State = "asking"    // a question is open
	Answered  State = "answered"  // the User approved these terms
	Denied    State = "denied"    // the User did not approve these terms; nothing of them is sent
	Sending   State = "sending"   // the approval may have reached the Company
	Recorded  State = "recorded"  // the Company has recorded the approval; nothing is performed
	Replaying State = "replaying" // the browser may have made the request again: the right to perform is spent
	Looking   State = "looking"   // what became of it is being asked of the Company
	Settled   State = "settled"   // the end
	Merged    State = "merged"    // a second reference to an operation that has a round
)

// Event is what moves a round on.
type Event string

// The events.
const (
	evFetched        Event = "terms-fetched"
	evGone           Event = "reference-gone"
	evNewReference   Event = "new-reference"
	evSame           Event = "same-operation"
	evApprovedBefore Event = "approved-before"
	evQuestion       Event = "question-opened"
	evApproved       Event = "approved"
	evDenied         Event = "not-approved"
	evSend           Event = "approval-leaves"
	evSendAgain      Event = "approval-leaves-again"
	evRecorded       Event = "approval-recorded"
	evNewTerms       Event = "new-terms"
	evKnown          Event = "state-known"
	evReplay         Event = "replay-begins"
	evReplayed       Event = "replay-made"
	evCannotReplay   Event = "replay-impossible"
	evStillApproved  Event = "still-approved"
	evSettle         Event = "settled" // the outcome is in the line
)

// Outcome is how a round ended, in the words of the command line.
type Outcome string

// The outcomes.
const (
	Performed Outcome = "performed"
	Failed    Outcome = "failed" // known not to be performed
	Refused   Outcome = "refused"
	Declined  Outcome = "declined"
	Expired   Outcome = "expired"
	Unknown   Outcome = "unknown"
)

// The kinds of the lines of an answer. They are two, so that the ledger's rows tell them apart.
const (
	lineYes = "answer"
	lineNo  = "refusal"
)

// arrow is one row of the round's table. line is the kind of the ledger line that is on disk before the round is in
// its new state, and so before anything that the new state permits.
type arrow struct {
	from State
	on   Event
	to   State
	line string
}

// arrows is the whole state machine of a round. The step function, the diagram in ARCHITECTURE.md, `ledger show` and
// the tests come from it. An event without a row here is an error of ours and stops the round where it is.
var arrows = [...]arrow{
	{Sighted, evFetched, Fetched, "operation"},
	{Sighted, evGone, Resighted, "reference-gone"},
	{Sighted, evSame, Merged, "same-operation"},
	{Sighted, evSettle, Settled, "settled"},

	{Resighted, evNewReference, Sighted, "new-reference"},
	{Resighted, evSettle, Settled, "settled"},

	{Fetched, evApprovedBefore, Recorded, "approved-before"}, // by an earlier run, and not used up
	{Fetched, evQuestion, Asking, "question"},
	{Fetched, evNewTerms, Fetched, "operation"}, // another reference named them, and these have expired
	{Fetched, evSettle, Settled, "settled"},

	{Asking, evApproved, Answered, lineYes},    // the desk has written it
	{Asking, evDenied, Denied, lineNo},         // the desk has written it
	{Asking, evNewTerms, Fetched, "operation"}, // another reference named them
	{Asking, evSettle, Settled, "settled"},

	{Answered, evSend, Sending, "sending"},
	{Answered, evSettle, Settled, "settled"},

	{Denied, evSettle, Settled, "settled"},

	{Sending, evSendAgain, Sending, "sending-again"}, // the same approval, never a second one
	{Sending, evRecorded, Recorded, "recorded"},
	{Sending, evNewTerms, Fetched, "operation"},
	{Sending, evKnown, Looking, "state-known"},
	{Sending, evSettle, Settled, "settled"},

	{Recorded, evReplay, Replaying, "replaying"},
	{Recorded, evCannotReplay, Looking, "replay-impossible"},

	{Replaying, evReplayed, Looking, "replayed"},

	{Looking, evStillApproved, Recorded, "still-approved"},
	{Looking, evNewTerms, Fetched, "operation"},
	{Looking, evSettle, Settled, "settled"},
}

// restarts says for each state what a process that finds it in the ledger may do with the round.
var restarts = map[State]string{
	Sighted:   "fetch the terms with the recorded reference",
	Resighted: "nothing was approved: the act is made again only by a new run",
	Fetched:   "ask, when no earlier approval of the operation is open",
	Asking:    "ask again",
	Answered:  "ask again: the answer was not being sent yet",
	Denied:    "settle it as refused: a no stands",
	Sending:   "send the same approval again",
	Recorded:  "look up; to make the request again the flow is needed, and the User's word",
	Replaying: "look up; the right to perform is spent",
	Looking:   "look up",
	Settled:   "nothing",
	Merged:    "nothing",
}

// next returns the row for an event in a state.
func next(from State, on Event) (arrow, bool) {
	for _, a := range arrows {
		if a.from == from && a.on == on {
			return a, true
		}
	}
	return arrow{}, false
}

// final reports whether a round in this state needs nothing more.
func (s State) final() bool { return s == Settled || s == Merged }

// Spent reports whether the approval of a round in this state may have reached the Company, so that what becomes of the
// operation is not ours alone to say any more.
func (s State) Spent() bool {
	return s == Sending || s == Recorded || s == Replaying || s == Looking
}
