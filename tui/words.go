package tui

import (
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/operation"
)

// differs begins every difference we point out (CLI.md, "A question").
const differs = "Differs:"

const (
	wTitleQuestion words = "Papaver asks for your answer"
	wTitleTasks    words = "Papaver"
	wTitleHelp     words = "Papaver: help"

	wCompany     words = "Company  "
	wSession     words = "Session  "
	wAct         words = "Act      "
	wAnswerBy    words = "Deadline "
	wGuest       words = "guest (not signed in)"
	wAccount     words = "signed in to account "
	wNoAct       words = "nothing that your agent did explains this operation"
	wAfterFlow   words = "The page that asked is gone with its run. Approving here also runs the flow again from its start, to finish the operation."
	wAfterNone   words = "The page that asked is gone with its run, and so is its flow: an approval is recorded, nothing is performed, and it is left to expire."
	wAskedBefore words = "You were asked about this operation before. This is a new question: read its terms again."
	wRerun       words = "Your approval is recorded already. Approving here runs the flow again from its start, to finish the operation."

	wChecked  words = "Checked  "
	wCalls    words = ", calls itself "
	wNameless words = ", gives itself no name"
	wPunycode words = " (its letters go beyond a to z: another address can look like it)"

	// What stands beside the Company's text.
	wBesideMark       words = "="
	wThatIs           words = "that is "
	wCanBe            words = "that can be read as "
	wOr               words = " or "
	wInYourZone       words = " where you are"
	wRightToLeft      words = " (written from right to left)"
	wRightToLeftValue words = "written from right to left; it stands here in the order it was sent"

	wTheirWords   words = " the Company's words "
	wTheirTerms   words = " the terms: this is what you approve "
	wTheirRecord  words = " the terms you approved "
	wTheirReceipt words = " the terms of this operation "
	wTheirDecline words = "the Company's words:"

	wHelpSignIn words = "Signing in gives your agent access to your account at a Company. It approves nothing: each operation is asked about when " +
		"it comes. A question that comes while you sign in comes to the front, and the sign-in goes on behind it."

	wScrollToEnd words = "scroll to the end to answer"
	wWaitAMoment words = "wait a moment: an answer counts after 0.7 s without a key"
	wSending     words = "your answer is on its way"

	wTooSmall1 words = "This terminal is too small to show a question whole."
	wTooSmall2 words = "It must have at least 40 columns and 12 rows. Nothing can be answered until then."

	wNothing   words = "No task runs here now. One that starts shows by itself: papaver run, papaver demo or an agent, in another terminal."
	wResized   words = "The terminal changed its size. The question again, from its beginning:"
	wPlainRule words = "An answer counts after 0.7 seconds without a key."

	wTask        words = "Task  "
	wWith        words = "With  "
	wNow         words = "Now   "
	wEnded       words = "Ended "
	wOperation   words = "Operation: "
	wErrorWhat   words = "Error     "
	wErrorDone   words = "Done      "
	wErrorUndone words = "Not done  "
	wErrorNext   words = "Next      "
	wNoneWaits   words = "No question waits."
	wNotFront    words = "Nothing your agent did explains it, so it waits here."
)

// What the screen of past operations says.
const (
	wTitleReceipts words = "Papaver: past operations"
	wTitleReceipt  words = "Papaver: receipt"
	wReadingLedger words = "Reading the ledger, and checking that it is intact."
	wNoReceipts    words = "No operation has been met yet."
	wNothingFound  words = "No operation has all of these words."
	wSearchedFor   words = "Operations that have all of these words:"
	wCompanyCalls  words = "the Company calls it: "
	wOpen          words = "open: it has no outcome yet"
	wOutcome       words = "Outcome  "
	wStands        words = "Stands   "
	wLaterRun      words = "; a later run may: "
	wAnswered      words = "Answer   "
	wRecorded      words = "Ledger   "
	wRoundID       words = "Round    "
	wOperationID   words = "Operation "
	wRevision      words = ", revision "
	wHash          words = "SHA-256 of the terms "
	wNoTerms       words = "Its terms were never fetched."

	wSearch     words = "search"
	wStopSearch words = "search for nothing"
	wReceipt    words = "receipt"
	wHelp       words = "help"
	wBack       words = "back"
	wPast       words = "past operations"
)

// answeredWords says what the answer was and whose; the moment follows.
func answeredWords(approved, byUser bool) words {
	out := words("not approved")
	if approved {
		out = "approved"
	}
	if byUser {
		return out + " by you, "
	}
	return out + " without a key press of yours, "
}

// linesWords says where in the ledger it stands.
func linesWords(first, last int) words {
	return "lines " + count(first) + " to " + count(last) + "; papaver ledger verify proves that they are intact"
}

// lineWords says what a line of the ledger tells; nothing for a kind that has no words.
func lineWords(kind string) words {
	return map[string]words{
		"sighting": "the Company asked for an approval", "operation": "the terms were fetched", "question": "you were asked",
		"answer": "approved", "refusal": "not approved", "sending": "the approval was sent", "sending-again": "the same approval was sent again",
		"recorded": "the Company recorded the approval", "replaying": "the browser was about to make the request again",
		"replayed": "the browser had made it again", "settled": "settled",
	}[kind]
}

// What the keys do, as the key lines and the help say it.
const (
	kApprove               words = "approve"
	kBack                  words = "back"
	kChoose                words = "choose"
	kClear                 words = "clear"
	kCompanies             words = "Companies"
	kCompaniesSignInAndOut words = "Companies, sign in and out"
	kDelete                words = "delete"
	kDontApprove           words = "don't approve"
	kGoOn                  words = "go on"
	kGoOnReading           words = "go on reading"
	kHelp                  words = "help"
	kLeave                 words = "leave"
	kLeaveItUnanswered     words = "leave it unanswered"
	kMark                  words = "mark"
	kOpenIt                words = "open it"
	kScroll                words = "scroll"
	kSignIn                words = "sign in"
	kSignInAgain           words = "sign in again"
	kSignInAtAnother       words = "sign in at another"
	kSignOut               words = "sign out"
	kTryAgain              words = "try again"
	kStopTheRun            words = "stop the run"
	kWaitingQuestions      words = "waiting questions"
)

// helpText is what the help says below the keys.
func helpText() []words {
	return []words{
		"Both a and d count only after the whole of the terms was on the screen and then 0.7 seconds passed without any key. " +
			"Enter, Esc, pasted text and every other key never answer.",
		"What stands behind the bar on the left is the Company's. Characters that could harm the screen are shown by their " +
			"number. What you approve is every line of the terms, and nothing else.",
		"A line that begins Differs: is ours. It names something that does not agree between the terms, the summary and what " +
			"your agent did. Read it before you answer.",
		"A question that you leave stays open until its deadline, here and for papaver tui. Ctrl+C stops the run, or leaves " +
			"papaver tui; it answers nothing. Ctrl+Z puts Papaver aside until fg brings it back.",
	}
}

// outcomeWords says how a round ended, and whether the action was performed. Outcomes are those of the `settled`
// event; what we don't know is called unknown.
func outcomeWords(outcome string) (words, look) {
	switch outcome {
	case "performed":
		return "performed", good
	case "failed":
		return "not performed: it failed", bad
	case "refused":
		return "not performed: you did not approve", alert
	case "declined":
		return "not performed: the Company declined", bad
	case "expired":
		return "not performed: it expired unanswered", alert
	default:
		return "outcome unknown: it may have been performed or not; papaver ledger show tells what is known; ask the Company before it is done again", bad
	}
}

// endWords says how a task ended. Outcomes are those of the `finished` event.
func endWords(outcome string) (words, look) {
	switch outcome {
	case "performed", "finished", "done", "ok":
		return "finished", good
	case "interrupted":
		return "interrupted; an open question stays open", alert
	case "error":
		return "with an error", bad
	case "":
		return "", plain
	default:
		return outcomeWords(outcome)
	}
}

// afterWords says what comes of a yes, where that is not the page's own request.
func afterWords(q question) words {
	switch {
	case q.kind == approval.KindRerun:
		return wRerun
	case q.after == approval.AfterFlow:
		return wAfterFlow
	case q.after == approval.AfterNothing:
		return wAfterNone
	default:
		return ""
	}
}

// closedWords says how a question ended that this terminal didn't answer.
func closedWords(d approval.Decision) words {
	who := words(" by you, at another terminal.")
	if d.Approver == operation.ByAgent {
		who = " by an instruction you gave in advance."
	}
	switch d.State {
	case approval.Approved:
		return "That question was approved" + who
	case approval.Denied:
		return "That question was answered with no" + who
	case approval.Expired:
		return "That question expired unanswered. Nothing was approved."
	default:
		return "That question was withdrawn. Nothing was approved."
	}
}

// chooseWords say how to choose one of n questions, line by line.
func chooseWords(n int) words { return "Press a number, 1 to " + count(n) + ", to read that question." }

// differWords says how many differences there are, where their lines may be off the screen.
func differWords(n int) words {
	if n == 1 {
		return "1 difference was found: read it"
	}
	return count(n) + " differences were found: read them"
}

// agreeWords says that nothing was found to differ.
func agreeWords(summary bool) words {
	if summary {
		return "no difference was found between the act, the summary and the terms"
	}
	return "no difference was found between the act and the terms; there is no summary"
}

// whenWords spells a point in time with its zone, dayWords a day.
func whenWords(t time.Time) words { return words(t.Format("Mon 2 Jan 2006, 15:04 MST")) }
func dayWords(t time.Time) words  { return words(t.Format("Mon 2 Jan 2006")) }

// titleWords say how many questions wait, in a screen's title and the window's.
func titleWords(waiting int) words {
	switch waiting {
	case 0:
		return "Papaver: no question waits"
	case 1:
		return "Papaver: 1 question waits"
	default:
		return "Papaver: " + count(waiting) + " questions wait"
	}
}

const (
	noteResumed     words = "Papaver was put aside and is back. The question again, from its beginning."
	noteApproved    words = "You approved."
	noteDenied      words = "You did not approve. Nothing was performed."
	noteLeft        words = "You left the question unanswered. It stays open."
	noteTooLate     words = "The question had closed already. Your key press did nothing."
	noteExpired     words = "The question has expired. Your key press did nothing, nothing was approved."
	noteChanged     words = "The question had changed. Your key press did nothing; read it again."
	noteChangedNow  words = "This question has changed. Read it again."
	noteNotRecorded words = "Your answer was not recorded and does not count. The question is still open."
	noteGone        words = "That question is not open any more."
)

// moreWords says that a question goes on, in the line-by-line way.
func moreWords(lines int) words {
	return "-- " + count(lines) + " more lines: press space to go on, q to leave the question unanswered --"
}

// timeLeft counts down: minutes and seconds, in words under a minute.
func timeLeft(d time.Duration) words {
	switch s := int((d + time.Second - 1) / time.Second); {
	case s <= 0:
		return "expired"
	case s == 1:
		return "1 second left"
	case s < 60:
		return count(s) + " seconds left"
	default:
		return clock(d) + " left"
	}
}

// clock spells a length of time as h:mm:ss or m:ss.
func clock(d time.Duration) words {
	s := int(d.Round(time.Second) / time.Second)
	if s < 0 {
		s = 0
	}
	out := two(s % 60)
	if s >= 3600 {
		return count(s/3600) + ":" + two(s/60%60) + ":" + out
	}
	return count(s/60) + ":" + out
}

func two(n int) words {
	if n < 10 {
		return "0" + count(n)
	}
	return count(n)
}

// moment spells a point in time for a person: the day only when it is another one.
func moment(t, now time.Time) words {
	t = t.In(now.Location())
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return words(t.Format("15:04:05"))
	}
	return words(t.Format("2 Jan 2006 15:04:05"))
}
