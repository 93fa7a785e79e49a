package opsweb

import "github.com/papaver-agent/papaver/approval"

// State is where a round stands. A round is one operation, from its first sighting to settled; each revision of it
// that the Company returns is asked anew.
type State string

// The states of a round.
const (
	Sighted     State = "sighted"      // a reference of ours is in the ledger
	Resighted   State = "resighted"    // the reference was not accepted; the act is being made again for a new one
	Fetched     State = "fetched"      // the terms of one revision are here
	Asking      State = "asking"       // a question is open
	Answered    State = "answered"     // the User approved these terms
	Denied      State = "denied"       // the User did not approve these terms; nothing of them is sent
	Sending     State = "sending"      // the approval may have reached the Company
	Recorded    State = "recorded"     // the Company has recorded the approval; nothing is performed
	Replaying   State = "replaying"    // the browser may have made the request again: the right to perform is spent
	Looking     State = "looking"      // what became of it is being asked of the Company
	RerunAsking State = "rerun-asking" // a question is open: whether the flow is run again, for an approval that is recorded
	Settled     State = "settled"      // the end
	Merged      State = "merged"       // a second reference to an operation that has a round
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
	evRerun          Event = "rerun-asked"
	evRerunYes       Event = "rerun-wanted"
	evRerunNo        Event = "rerun-not-wanted"
	evSettle         Event = "settled" // the outcome is in the line
	evResumed        Event = "resumed" // by another process, which has claimed the round from the one that is gone
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
	// Those of a question whether the flow is run again approve and refuse nothing else.
	lineRerunYes = "rerun-answer"
	lineRerunNo  = "rerun-refusal"
)

// answerLine is the kind of the line of an answer to a question of that kind.
func answerLine(kind approval.Kind, approved bool) string {
	switch {
	case kind == approval.KindRerun && approved:
		return lineRerunYes
	case kind == approval.KindRerun:
		return lineRerunNo
	case approved:
		return lineYes
	}
	return lineNo
}

// arrow is one row of the round's table. line is the kind of the ledger line that is on disk before the round is in
// its new state, and so before anything that the new state permits.
type arrow struct {
	from State
	on   Event
	to   State
	line string
}

// arrows is the whole state machine of a round. The step function, what a restart does, the diagram in ARCHITECTURE.md,
// `ledger show`, `ledger verify` and the tests come from it. An event without a row here is an error of ours and stops the round where it is.
var arrows = [...]arrow{
	{Sighted, evFetched, Fetched, "operation"},
	{Sighted, evGone, Resighted, "reference-gone"},
	{Sighted, evSame, Merged, "same-operation"},
	{Sighted, evSettle, Settled, "settled"},

	{Resighted, evNewReference, Sighted, "new-reference"},
	{Resighted, evSettle, Settled, "settled"},

	{Fetched, evSame, Merged, "same-operation"},              // asked for by the flow that was run again to finish another one
	{Fetched, evApprovedBefore, Recorded, "approved-before"}, // by an earlier run, and not used up
	{Fetched, evQuestion, Asking, "question"},
	{Fetched, evNewTerms, Fetched, "operation"}, // another reference named them, and these have expired
	{Fetched, evSettle, Settled, "settled"},

	{Asking, evApproved, Answered, lineYes},    // the desk has written it
	{Asking, evDenied, Denied, lineNo},         // the desk has written it
	{Asking, evNewTerms, Fetched, "operation"}, // another reference named them
	{Asking, evSettle, Settled, "settled"},

	{Answered, evSend, Sending, "sending"},
	{Answered, evApprovedBefore, Recorded, "approved-before"}, // of the very same terms, meanwhile, by a run that is gone
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
	{Looking, evRerun, RerunAsking, "rerun-question"}, // by a run that took the round over, and has the flow
	{Looking, evSettle, Settled, "settled"},

	{RerunAsking, evRerunYes, Looking, lineRerunYes}, // the desk has written it
	{RerunAsking, evRerunNo, Looking, lineRerunNo},   // the desk has written it

	// Another process goes on: from where nothing that the User has not seen is sent, and nothing is sent or made for the
	// first time by an answer that was given to a process which is gone.
	{Sighted, evResumed, Sighted, "resumed"},
	{Resighted, evResumed, Resighted, "resumed"},
	{Fetched, evResumed, Sighted, "resumed"},
	{Asking, evResumed, Sighted, "resumed"},
	{Answered, evResumed, Sighted, "resumed"},
	{Denied, evResumed, Denied, "resumed"},
	{Sending, evResumed, Sending, "resumed"},
	{Recorded, evResumed, Looking, "resumed"},
	{Replaying, evResumed, Looking, "resumed"},
	{Looking, evResumed, Looking, "resumed"},
	{RerunAsking, evResumed, Looking, "resumed"},
	{Settled, evResumed, Looking, "resumed"}, // as unknown, and the Company may say by now what became of the approval
}

// stage is what a round does in a state, once the line that led there is on disk. It is the other half of the table.
type stage struct {
	state State
	does  string // what is done next; the code of it is in work
	// resumed says to the User what comes of it when another process goes on from here, where evResumed leads.
	resumed string
}

// stages has every state once, in the order in which they come.
var stages = [...]stage{
	{Sighted, "fetches the terms with the reference", "fetch the terms with the recorded reference, and ask"},
	{Resighted, "makes the act again, once, for a new reference", "settle it as failed: nothing was approved, and only a new run makes the act again"},
	{Fetched, "looks up every earlier approval of the operation, and opens a question when none is alive", "ask, with the terms fetched again, when no earlier approval of the operation is open"},
	{Asking, "waits for the one answer, until the terms expire", "ask again, with the terms fetched again"},
	{Answered, "makes the approval, unless the terms have expired or another round holds the operation", "ask again, with the terms fetched again: the answer was not being sent yet"},
	{Denied, "settles as refused", "settle it as refused: a no stands"},
	{Sending, "sends the approval, the same one at each try", "send the same approval again"},
	{Recorded, "has the act made again", "look up; to make the request again the flow is needed, and the User's word"},
	{Replaying, "is having the act made again", "look up; the right to perform is spent"},
	{Looking, "looks up what became of the approval, and only then what a new reference names", "look up"},
	{RerunAsking, "waits for the answer whether the flow is run again, until the approval ends", "look up, and ask again"},
	{Settled, "nothing", "nothing; what was settled as unknown is looked up again while its Company has to remember it"},
	{Merged, "nothing: another round has its operation", "nothing"},
}

// stageOf returns a state's row.
func stageOf(s State) stage {
	for _, row := range stages {
		if row.state == s {
			return row
		}
	}
	return stage{state: s}
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
	return s == Sending || s == Recorded || s == Replaying || s == Looking || s == RerunAsking
}
