package agent

import (
	"encoding/json"
	"time"

	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/opsweb"
)

// Event is one line of `--json`: what happened in a run, in order. Its JSON has the members time, event and, for what
// belongs to an operation, round, and then those of Body. Texts in it are as the Company or the page sent them.
type Event struct {
	Time  time.Time
	Name  string
	Round string
	Body  any
}

// MarshalJSON puts the body's members behind the event's own.
func (e Event) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(struct {
		Time  time.Time `json:"time"`
		Name  string    `json:"event"`
		Round string    `json:"round,omitempty"`
	}{e.Time, e.Name, e.Round})
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(e.Body)
	if err != nil {
		return nil, err
	}
	if len(body) <= len("{}") || body[0] != '{' {
		return head, nil
	}
	return append(append(head[:len(head)-1], ','), body[1:]...), nil
}

// Joined: the browser is joined to a Session.
type Joined struct {
	Company  string `json:"company"`
	Sid      string `json:"sid"`
	SignedIn bool   `json:"signed_in"`
}

// Visiting: the site offers no join, so it is browsed as an ordinary signed-out visitor.
type Visiting struct {
	Company string `json:"company"`
	Why     string `json:"why"`
}

// Waiting: the Company's website asks to be left alone for a while, and nothing is done there before Until.
type Waiting struct {
	Company string    `json:"company"`
	Status  int       `json:"status"` // 429 or 503
	Until   time.Time `json:"until"`
}

// Acted: a step was made.
type Acted struct {
	Step int    `json:"step"`
	Type string `json:"type"`
}

// Failed says what went wrong in words for people, in its fields What, Done, Undone and Next, texts; its Error is What and the
// cause, and it unwraps to that. It is the body of an error event, and the form of this package's errors.
type Failed = trouble.Error

// Finished: the run has ended.
type Finished struct {
	Outcome string `json:"outcome"`
}

// eventOf names a happening of the operations in the words of the command line; false for one that is only the
// ledger's and the screen's.
func eventOf(h opsweb.Happening) (Event, bool) {
	e := Event{Time: h.Time, Round: h.Round, Body: h.Body}
	switch body := h.Body.(type) {
	case opsweb.Sighting:
		e.Name = "sighting"
	case opsweb.Operation:
		e.Name = "operation"
	case opsweb.Question:
		e.Name = "question"
	case opsweb.Answer:
		e.Name = "answer"
	case opsweb.Approval:
		e.Name = "approval"
	case opsweb.Replay:
		e.Name = "replay"
	case opsweb.MergedInto:
		e.Name = "merged"
	case opsweb.SettledAs:
		e.Name = "settled"
	case opsweb.Trouble:
		e.Name, e.Body = "error", Failed{
			What: body.What, Done: "what the ledger shows of this operation",
			Undone: "everything after its last line", Next: "run papaver ledger show " + h.Round,
		}
	default:
		return Event{}, false
	}
	return e, true
}

func failedEvent(now time.Time, t *trouble.Error) Event {
	return Event{Time: now, Name: "error", Body: *t.Said()}
}
