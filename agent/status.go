package agent

import "github.com/papaver-agent/papaver/opsweb"

// Status is what became of an act or of an operation, in one word.
type Status string

// The statuses. The last six are the outcomes of an operation, and final.
const (
	StatusDone      Status = "done"      // the act is made, and met no operation
	StatusWaiting   Status = "waiting"   // for the User, in a terminal UI of the home
	StatusUnderWay  Status = "under-way" // it goes on by itself: to the User's question, or from their answer to the outcome
	StatusPerformed Status = "performed"
	StatusFailed    Status = "failed"   // known not to be performed
	StatusRefused   Status = "refused"  // the User did not approve
	StatusDeclined  Status = "declined" // the Company took the approval back
	StatusExpired   Status = "expired"  // nobody answered in time
	StatusUnknown   Status = "unknown"  // the approval may be at the Company, and nobody can say what became of it: don't make the act again
)

// Final reports whether it stays so in this run.
func (s Status) Final() bool {
	return s != StatusWaiting && s != StatusUnderWay
}

// weights holds the statuses, the weightiest first: an act that met several operations has that of the weightiest.
var weights = [...]Status{
	StatusUnknown, StatusFailed, StatusWaiting, StatusUnderWay, StatusExpired, StatusRefused, StatusDeclined, StatusPerformed,
}

// Status is what has become of the step by now: that of its operations or, of several, of the first of unknown, failed,
// waiting, under way, expired, refused, declined and performed; done without any. A
// step that returned an error is not done for that: the error says what was.
func (r Result) Status() Status {
	has := make(map[Status]bool)
	for _, round := range r.Rounds {
		has[round.Status()] = true
	}
	for _, outcome := range r.Outcomes { // of a Result without rounds, as a test makes one
		has[Status(outcome)] = has[Status(outcome)] || len(r.Rounds) == 0
	}
	for _, s := range weights {
		if has[s] {
			return s
		}
	}
	return StatusDone
}

// statusOf says in one word how a round stands.
func statusOf(s opsweb.Stand) Status {
	switch {
	case s.Outcome != "":
		return Status(s.Outcome)
	case s.Asks():
		return StatusWaiting
	case s.Over:
		return StatusFailed // it could not go on, and nothing of it was sent
	default:
		return StatusUnderWay
	}
}
