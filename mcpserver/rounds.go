package mcpserver

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/opsweb"
)

// maxRounds is how many operations of a client are remembered.
const maxRounds = 256

// status is what a round has come to. One that is settled has an outcome of the command line's as its status.
type status string

// What a round that is not settled has come to.
const (
	readingTerms   status = "reading_terms"
	waitingForUser status = "waiting_for_user"
	goingOn        status = "going_on" // the User has answered
)

// means is a status in words.
func (s status) means() string {
	switch s {
	case readingTerms:
		return "the Company asked for an approval; its terms are being fetched"
	case waitingForUser:
		return "it waits for the User in papaver tui of the same home; nothing happens before"
	case goingOn:
		return "the User has answered, and the operation goes on"
	case left:
		return "the run ended before it had an outcome; the User can look with papaver ledger list"
	case status(opsweb.Performed):
		return "the User approved, and the Company performed it"
	case status(opsweb.Refused):
		return "the User refused; it was not performed"
	case status(opsweb.Declined):
		return "the Company declined it; it was not performed"
	case status(opsweb.Expired):
		return "its time ended without an approval that counts; it was not performed"
	case status(opsweb.Failed):
		return "it failed, and is known not to be performed"
	case status(opsweb.Unknown):
		return "it is not known whether it was performed: don't make the act again, and tell the User to look with papaver ledger list"
	}
	return ""
}

// round is what is known of one operation.
type round struct {
	ID       string
	Status   status
	Ours     bool   // an act of ours explains it
	Why      string // of a settled one, in our words
	Terms    opsweb.Operation
	Decline  opsweb.Approval // what the Company said to a decline
	Requests []string        // the kinds of its questions, for a rerun
}

// left is a round that was open when its run ended.
const left status = "left"

func (r round) settled() bool {
	return r.Status != readingTerms && r.Status != waitingForUser && r.Status != goingOn
}

// rounds are a client's operations, as the run's events tell of them. Safe for concurrent use.
type rounds struct {
	mu      sync.Mutex
	list    []round
	changed chan struct{}
}

func newRounds() *rounds { return &rounds{changed: make(chan struct{})} }

// all returns them, the oldest first, and a channel that is closed when they change.
func (r *rounds) all() ([]round, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list), r.changed
}

// find returns the round of that name; the last one when it is empty.
func (r *rounds) find(id string) (round, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range slices.Backward(r.list) {
		if one.ID == id || id == "" {
			return one, true
		}
	}
	return round{}, false
}

// asking are those that wait for the User, and of them, with ours, the ones that an act of ours explains.
func (r *rounds) asking(ours bool) []round {
	list, _ := r.all()
	return slices.DeleteFunc(list, func(one round) bool { return one.Status != waitingForUser || ours && !one.Ours })
}

// event takes an event of the run. It does not block.
func (r *rounds) event(e agent.Event) {
	if e.Round == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.list, func(one round) bool { return one.ID == e.Round })
	if merged, ok := e.Body.(opsweb.MergedInto); ok {
		if at >= 0 && merged.Into != e.Round {
			r.list = slices.Delete(r.list, at, at+1)
		}
		r.tell()
		return
	}
	if at < 0 {
		r.list = append(r.list, round{ID: e.Round, Status: readingTerms})
		if len(r.list) > maxRounds {
			r.forget()
		}
		at = len(r.list) - 1
	}
	one := &r.list[at]
	switch body := e.Body.(type) {
	case opsweb.Sighting:
		one.Ours = body.Act != nil
	case opsweb.Operation:
		body.Terms = json.RawMessage(slices.Clone(body.Terms))
		one.Terms, one.Status = body, readingTerms
	case opsweb.Question:
		one.Status = waitingForUser
		one.Requests = append(one.Requests, string(body.Kind))
	case opsweb.Answer:
		one.Status = goingOn
	case opsweb.Approval:
		one.Decline = body
	case opsweb.SettledAs:
		one.Status, one.Why = status(body.Outcome), body.Why
	}
	r.tell()
}

// forget drops the oldest settled round; r.mu is held.
func (r *rounds) forget() {
	if at := slices.IndexFunc(r.list, round.settled); at >= 0 {
		r.list = slices.Delete(r.list, at, at+1)
	}
}

// leave says of every round that is not settled that its run has ended.
func (r *rounds) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if !r.list[i].settled() {
			r.list[i].Status = left
		}
	}
	r.tell()
}

func (r *rounds) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}
