package opsweb

import (
	"encoding/json"

	"github.com/papaver-agent/papaver/ledger"
)

// Past is a round as the ledger tells it.
type Past struct {
	ID      string
	Company string
	Summary string
	OpID    string
	State   State
	Outcome Outcome // when State is Settled
	Records []ledger.Record
}

// Restart says in words what a later process may do with the round.
func (p Past) Restart() string { return restarts[p.State] }

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
			p = &Past{ID: rec.Round, State: Sighted}
			rounds[rec.Round] = p
			order = append(order, rec.Round)
		}
		p.Records = append(p.Records, rec)
		p.take(rec)
	}
	list := make([]Past, 0, len(order))
	for _, id := range order {
		list = append(list, *rounds[id])
	}
	return list
}

func (p *Past) take(rec ledger.Record) {
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
		}
	case lineYes:
		var a Answer
		if json.Unmarshal(rec.Data, &a) != nil || !a.Approved {
			return
		}
	case "settled":
		var s SettledAs
		if json.Unmarshal(rec.Data, &s) == nil {
			p.Outcome = s.Outcome
		}
	}
	for _, a := range arrows {
		if a.from == p.State && a.line == rec.Kind {
			p.State = a.to
			return
		}
	}
}
