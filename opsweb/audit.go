package opsweb

import (
	"encoding/json"
	"fmt"

	"github.com/papaver-agent/papaver/ledger"
)

// Oddity is a line of a ledger that no run of this program writes where it stands.
type Oddity struct {
	Record uint64 `json:"record"` // its sequence number
	Round  string `json:"round"`
	What   string `json:"what"`
}

// Audit holds the rounds of a verified ledger against the table, line by line: each line has a row in the state that its round was in,
// each round is written by the run that began it or took it over, and an approval leaves only of the revision that the
// User approved last. A ledger in which it finds nothing is one that this program can have written; that it was written by it
// nobody can tell.
//
// Its zero value has seen no lines.
type Audit struct {
	Odd []Oddity // what it found so far

	rounds map[string]*audited
}

// Sees looks at the next line.
func (a *Audit) Sees(rec ledger.Record) {
	if rec.Round == "" {
		return
	}
	r, known := a.rounds[rec.Round]
	if !known {
		if a.rounds == nil {
			a.rounds = make(map[string]*audited)
		}
		r = &audited{Past: Past{ID: rec.Round, State: Sighted, Owner: rec.Owner}}
		a.rounds[rec.Round] = r
	}
	for _, what := range r.audit(rec, !known) {
		a.Odd = append(a.Odd, Oddity{Record: rec.Seq, Round: rec.Round, What: what})
	}
	if r.State.final() && r.Outcome != Unknown { // of what may still come, only state and owner matter
		*r = audited{Past: Past{ID: r.ID, State: r.State, Outcome: r.Outcome, Owner: r.Owner}}
	}
}

// audited is a round as far as it was read.
type audited struct {
	Past
	shown *Answer // the last yes
}

func (r *audited) audit(rec ledger.Record, first bool) (odd []string) {
	says := func(format string, args ...any) { odd = append(odd, fmt.Sprintf(format, args...)) }
	state := r.State
	switch {
	case first && rec.Kind != "sighting":
		says("the round begins with %s, not with a sighting", rec.Kind)
	case rec.Owner != r.Owner && rec.Kind != "resumed":
		says("it is written by run %s, and the round is run %s's", rec.Owner, r.Owner)
	}
	if !r.take(rec) {
		says("%s has no place in state %s", rec.Kind, state)
	}
	r.Owner = rec.Owner
	switch rec.Kind {
	case lineYes:
		r.shown = new(Answer)
		if json.Unmarshal(rec.Data, r.shown) != nil || r.shown.Shown.Revision != r.Revision || r.shown.Shown.TermsHash != r.TermsHash {
			says("it approves other terms than the round's, which are those of revision %s", r.Revision)
		}
	case "operation":
		var o Operation
		if json.Unmarshal(rec.Data, &o) == nil {
			if _, whole := (Past{Records: []ledger.Record{rec}}).operation(o.Revision); !whole {
				says("its terms are not those of its hash")
			}
		}
	case "sending", "sending-again":
		var s Sent
		switch err := json.Unmarshal(rec.Data, &s); {
		case err != nil || r.shown == nil:
			says("an approval leaves that nobody gave")
		case s.OperationID != r.OpID || s.Revision != r.shown.Shown.Revision || s.Approver != r.shown.Approver || !s.ApprovedAt.Equal(r.shown.DecidedAt):
			says("an approval leaves of %s revision %s, and the last answer was given to revision %s", s.OperationID, s.Revision, r.shown.Shown.Revision)
		}
	}
	return odd
}
