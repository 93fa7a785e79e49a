package opsweb

import (
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/operation"
)

// Past is a round as the ledger tells it.
type Past struct {
	ID      string
	Company string
	Summary string
	OpID    string
	State   State
	Outcome Outcome // when State is Settled
	Verdict Outcome // what the last revision itself came to, when State is Settled
	Records []ledger.Record
	Owner   string    // who wrote its last line: the round is its
	Met     time.Time // when its first line was written

	Revision  string // of the last terms
	TermsHash string // theirs
	Ends      string // when they end, as the Company wrote it

	sent  *Sent // the approval of these terms that left
	alive *Sent // the last one that the Company has recorded
}

// Approval is the approval of the round that may be with the Company and of which it is not known what became; nil when
// there is none. Nobody may be asked about its operation before that is known.
func (p Past) Approval() *Sent {
	switch {
	case p.State.Spent(), p.State == Settled && p.Outcome == Unknown && p.Verdict == Unknown:
		return p.last()
	case !p.State.final(), p.State == Settled && p.Outcome == Unknown:
		return p.alive // the last revision's was not recorded
	}
	return nil
}

// operation returns the terms of a revision as they were fetched.
func (p Past) operation(revision string) (operation.Operation, bool) {
	for _, rec := range slices.Backward(p.Records) {
		var o Operation
		if rec.Kind != "operation" || json.Unmarshal(rec.Data, &o) != nil || o.Revision != revision {
			continue
		}
		terms, err := operation.ParseTerms(o.Terms)
		ends, endsErr := time.Parse(time.RFC3339, o.ExpiresAt)
		if err == nil && endsErr == nil && terms.Hash() == o.TermsHash {
			return operation.Operation{ID: o.ID, Revision: o.Revision, Summary: o.Summary, HasSummary: o.Summary != "", Terms: terms, ExpiresAt: ends, ExpiresAtSent: o.ExpiresAt}, true
		}
	}
	return operation.Operation{}, false
}

func (p Past) last() *Sent {
	if p.sent != nil {
		return p.sent
	}
	return p.alive
}

// staleAfter is how long after its last line no process is sending a round's approval any more.
const staleAfter = time.Hour

// neverRecorded reports whether the ledger knows of no record of the round's approval, and whoever sent it has stopped,
// and the Company still remembers it if there was one: then the Company's word that it isn't recorded holds.
func (p Past) neverRecorded(now, companyTime time.Time) bool {
	ends, err := time.Parse(time.RFC3339, p.Ends)
	last := p.Records[len(p.Records)-1].Time
	stopped := p.State == Settled || now.Sub(last) > staleAfter
	return p.alive == nil && stopped && err == nil && companyTime.Before(ends) &&
		!slices.ContainsFunc(p.Records, func(r ledger.Record) bool { return r.Kind == "replaying" })
}

// Restart says in words what a later process may do with the round.
func (p Past) Restart() string { return stageOf(p.State).resumed }

// History reads the rounds from a verified ledger, in the order they began, with the same table that runs them. A line
// that has no place in its round's state leaves the round where it was; it is among its records all the same.
func History(records []ledger.Record) []Past {
	var order []string
	rounds := make(map[string]*Past)
	for _, rec := range records {
		if rec.Round == "" {
			continue
		}
		p, known := rounds[rec.Round]
		if !known {
			p = &Past{ID: rec.Round, State: Sighted, Met: rec.Time}
			rounds[rec.Round] = p
			order = append(order, rec.Round)
		}
		p.Records, p.Owner = append(p.Records, rec), rec.Owner
		p.take(rec)
	}
	list := make([]Past, 0, len(order))
	for _, id := range order {
		list = append(list, *rounds[id])
	}
	return list
}

// Digest reads the rounds of a ledger line by line, as History does, and keeps of each how it stands and none of its lines.
// Its zero value has seen none.
type Digest struct {
	order  []*Past
	rounds map[string]*Past
}

// Sees takes the next line in, and returns its round as it stands after it; nil for a line that belongs to none.
func (d *Digest) Sees(rec ledger.Record) *Past {
	if rec.Round == "" {
		return nil
	}
	p, known := d.rounds[rec.Round]
	if !known {
		if d.rounds == nil {
			d.rounds = make(map[string]*Past)
		}
		p = &Past{ID: rec.Round, State: Sighted, Met: rec.Time}
		d.rounds[rec.Round] = p
		d.order = append(d.order, p)
	}
	p.Owner = rec.Owner
	p.take(rec)
	if p.State.final() {
		p.sent, p.alive = nil, nil
	}
	return p
}

// Rounds are those that were met, in the order they began.
func (d *Digest) Rounds() iter.Seq[*Past] { return slices.Values(d.order) }

// take moves the round over a line, and reports whether the line has a place where it stood.
func (p *Past) take(rec ledger.Record) (placed bool) {
	switch rec.Kind {
	case "sighting":
		var s Sighting
		if json.Unmarshal(rec.Data, &s) == nil && s.Company != "" {
			p.Company = s.Company
		}
	case "operation":
		var o Operation
		if json.Unmarshal(rec.Data, &o) == nil {
			p.Company, p.Summary, p.OpID = o.Company, o.Summary, o.ID
			p.Revision, p.TermsHash, p.Ends = o.Revision, o.TermsHash, o.ExpiresAt
			p.sent = nil // what was approved before is recorded, or it is not alive
		}
	case lineYes:
		var a Answer
		if json.Unmarshal(rec.Data, &a) != nil || !a.Approved {
			return false
		}
	case "sending", "approved-before":
		var s Sent
		if json.Unmarshal(rec.Data, &s) == nil {
			p.sent = &s
			if rec.Kind == "approved-before" {
				p.alive = &s
			}
		}
	case "recorded", "still-approved":
		p.alive = p.last()
	case "resumed":
		p.Outcome, p.Verdict = "", "" // what was settled as unknown is open again
	case "settled":
		var s SettledAs
		if json.Unmarshal(rec.Data, &s) == nil {
			p.Outcome, p.Verdict = s.Outcome, s.Outcome
			if s.Verdict != "" {
				p.Verdict = s.Verdict
			}
		}
	}
	for _, a := range arrows {
		if a.from == p.State && a.line == rec.Kind {
			p.State = a.to
			return true
		}
	}
	return rec.Kind == "sighting" // of one more reference: it moves nothing by itself
}
