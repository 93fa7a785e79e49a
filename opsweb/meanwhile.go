package opsweb

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/papaver-agent/papaver/ledger"
)

// Two runs can read the ledger at the same moment, both find that nobody approves an operation, and both begin. So the
// lines that permit an effect are written only unless another round holds the operation by then; the ledger asks that
// under its lock.

// errMeanwhile is the family of lines that were not written since another round holds the operation. The round stays
// where it is and looks again.
var errMeanwhile = errors.New("another round holds the operation")

// maxMeanwhile is how often a round looks again because of that.
const maxMeanwhile = 8

// unless is the condition of the line of an event; nil for a line that has none. The events are those by which an
// approval leaves for the first time, an earlier one is taken over, and the right to perform is spent.
func (r *round) unless(on Event) func([]ledger.Record) error {
	switch on {
	case evSend, evApprovedBefore:
		return func(records []ledger.Record) error {
			for _, p := range roundsOf(records, r.op.ID) {
				if r.heldBy(p) {
					return fmt.Errorf("%w: round %s", errMeanwhile, p.ID)
				}
			}
			return nil
		}
	case evReplay:
		return func(records []ledger.Record) error {
			rounds := roundsOf(records, r.op.ID)
			at := slices.IndexFunc(rounds, func(p Past) bool { return p.ID == r.id })
			if at < 0 {
				return nil // it was approved in no round of the ledger, so no other can have met that
			}
			for _, p := range rounds {
				if p.ID != r.id && r.about(p) && p.usedSince(rounds[at].seq()) {
					return fmt.Errorf("%w: round %s", errMeanwhile, p.ID)
				}
			}
			return nil
		}
	}
	return nil
}

// heldBy reports whether the round p, another one of r's operation, holds it: what was approved in it was performed, or may
// be with the Company and was not looked up since.
func (r *round) heldBy(p Past) bool {
	return p.ID != r.id && r.about(p) && (p.Outcome == Performed || p.Approval() != nil && !r.looked[p.place()])
}

// about reports whether the last approval of p was one of r's operation.
func (r *round) about(p Past) bool {
	s := p.last()
	return s != nil && s.OperationID == r.op.ID && s.Issuer == r.site.company.Issuer
}

// usedSince reports whether lines of the round after that place of the ledger permitted an effect, or say that there was
// one.
func (p Past) usedSince(seq uint64) bool {
	return slices.ContainsFunc(p.Records, func(r ledger.Record) bool {
		effect := r.Kind == "sending" || r.Kind == "sending-again" || r.Kind == "approved-before" || r.Kind == "replaying"
		return r.Seq > seq && (effect || r.Kind == "settled" && p.Outcome == Performed)
	})
}

// seq is the place of the round's last line.
func (p Past) seq() uint64 { return p.Records[len(p.Records)-1].Seq }

// place is the round as it stands: by its name and its last line.
func (p Past) place() string { return fmt.Sprint(p.ID, "@", p.seq()) }

// roundsOf returns, as History does, the rounds in which an approval of the operation left or was taken over. A ledger has
// thousands of rounds, and few of one operation.
func roundsOf(records []ledger.Record, operationID string) []Past {
	theirs := make(map[string]bool)
	for _, rec := range records {
		if (rec.Kind == "sending" || rec.Kind == "approved-before") && !theirs[rec.Round] && bytes.Contains(rec.Data, []byte(operationID)) {
			theirs[rec.Round] = true
		}
	}
	if len(theirs) == 0 {
		return nil
	}
	var few []ledger.Record
	for _, rec := range records {
		if theirs[rec.Round] {
			few = append(few, rec)
		}
	}
	return History(few)
}
