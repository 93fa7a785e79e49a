package opsweb

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/papaver-agent/papaver/ledger"
)

// Index is by what the rounds of a ledger are found. Every process that opens a home's ledger opens it with this one.
func Index() ledger.Index {
	return ledger.Index{Name: "rounds of operations, 2", Keys: keysOf, Stand: standOf}
}

// KindKey finds the lines of a kind that belong to no round, sightings excepted.
func KindKey(kind string) string { return "kind " + kind }

// RunKey finds those among them that one run wrote.
func RunKey(kind, owner string) string { return "run " + owner + " " + kind }

// approvalKey finds the lines by which an approval of an operation left, or was taken over.
func approvalKey(operationID string) string { return "approval " + operationID }

// takenKey finds the lines by which a run took rounds over.
func takenKey(owner string) string { return "taken " + owner }

// metKey finds the sightings by which a run met its rounds.
func metKey(owner string) string { return "met " + owner }

func keysOf(rec ledger.Record) []string {
	switch {
	case rec.Round == "" && rec.Kind != "sighting":
		return []string{KindKey(rec.Kind), RunKey(rec.Kind, rec.Owner)}
	case rec.Kind == "sighting" && rec.Round != "":
		return []string{metKey(rec.Owner)}
	case rec.Kind == "resumed":
		return []string{takenKey(rec.Owner)}
	case rec.Kind == "sending", rec.Kind == "approved-before":
		var s Sent
		if json.Unmarshal(rec.Data, &s) == nil {
			return []string{approvalKey(s.OperationID)}
		}
	}
	return nil
}

// standOf moves a round over a line as take does. It has ended when no later run has anything to do for it or to fear of it:
// one that is settled as unknown has not, since its approval may be with the Company.
func standOf(before string, rec ledger.Record) (after string, ended bool) {
	p := Past{State: Sighted}
	if state, outcome, known := strings.Cut(before, " "); known {
		p.State, p.Outcome = State(state), Outcome(outcome)
	}
	p.take(rec)
	return fmt.Sprint(p.State, " ", p.Outcome), p.State.final() && (p.State != Settled || p.Outcome != Unknown)
}

// past returns, as History does, the rounds in which an approval of the operation left or was taken over.
func (o *Operations) past(operationID string) ([]Past, error) {
	return o.history(func(v ledger.View) ([]ledger.Record, error) { return v.Rounds(approvalKey(operationID)) })
}

func roundsOf(v ledger.View, operationID string) ([]Past, error) {
	records, err := v.Rounds(approvalKey(operationID))
	return History(records), err
}

// takenBy returns the rounds that a run took over.
func (o *Operations) takenBy(owner string) ([]Past, error) {
	return o.history(func(v ledger.View) ([]ledger.Record, error) { return v.Rounds(takenKey(owner)) })
}

// unended returns the rounds of all runs that have not ended, and perhaps some that have.
func (o *Operations) unended() ([]Past, error) {
	return o.history(ledger.View.Unended)
}

func (o *Operations) history(of func(ledger.View) ([]ledger.Record, error)) (found []Past, err error) {
	err = o.cfg.Ledger.Look(o.life, func(v ledger.View) error {
		records, err := of(v)
		found = History(records)
		return err
	})
	return found, err
}
