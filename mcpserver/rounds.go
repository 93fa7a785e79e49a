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

// weights holds the statuses, the weightiest first: an act that met several operations has that of the weightiest.
var weights = [...]status{
	status(opsweb.Unknown), status(opsweb.Failed), left, waitingForUser, readingTerms, goingOn, status(opsweb.Expired), status(opsweb.Refused),
	status(opsweb.Declined), status(opsweb.Performed),
}

func (s status) weight() int { return slices.Index(weights[:], s) }

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

// next is what a client does about it; empty for nothing.
func (r round) next() string {
	switch r.Status {
	case readingTerms, waitingForUser, goingOn:
		return "call poppy_wait with round " + r.ID + ", again and again until it has an outcome; don't make the act again; you may look at the page meanwhile"
	case status(opsweb.Unknown):
		return "don't make the act again; tell the User"
	}
	return ""
}

// rounds are a client's operations, as the run's events tell of them. Safe for concurrent use.
type rounds struct {
	mu      sync.Mutex
	list    []round
	into    map[string]string // what became part of another
	changed chan struct{}
}

func newRounds() *rounds {
	return &rounds{into: make(map[string]string), changed: make(chan struct{})}
}

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
	at := len(r.list) - 1
	if id != "" {
		at = r.atLocked(id)
	}
	if at < 0 {
		return round{}, false
	}
	return r.list[at], true
}

// open are those that are not settled: the one of that name, or with none all that acts of ours met.
func (r *rounds) open(id string) []round {
	if id != "" {
		if one, known := r.find(id); known && !one.settled() {
			return []round{one}
		}
		return nil
	}
	list, _ := r.all()
	return slices.DeleteFunc(list, func(one round) bool { return one.settled() || !one.Ours })
}

// came takes what an operation has come to from the run itself, when no event has told of it: one that could not go on, or
// with an empty status one that the run does not know any more.
func (r *rounds) came(id string, s agent.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.atLocked(id)
	if at < 0 || r.list[at].settled() {
		return
	}
	if r.list[at].Status = status(s); s == "" || !s.Final() {
		r.list[at].Status = left
	}
	r.tell()
}

// atLocked is where the round of that name is, or the one that it was merged into; negative for none. r.mu is held.
func (r *rounds) atLocked(id string) int {
	if into, merged := r.into[id]; merged {
		id = into
	}
	return slices.IndexFunc(r.list, func(one round) bool { return one.ID == id })
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
			r.mergeLocked(at, merged.Into)
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

// mergeLocked makes the round at a place part of another; r.mu is held.
func (r *rounds) mergeLocked(at int, into string) {
	one := r.list[at]
	r.list = slices.Delete(r.list, at, at+1)
	if len(r.into) >= maxRounds {
		clear(r.into)
	}
	if further, merged := r.into[into]; merged {
		into = further
	}
	for name, to := range r.into {
		if to == one.ID {
			r.into[name] = into
		}
	}
	r.into[one.ID] = into
	if target := r.atLocked(into); target >= 0 && one.Ours {
		r.list[target].Ours = true
	}
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
