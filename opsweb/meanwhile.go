package opsweb

import (
	"context"
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

// unless is the condition of the line of a move; nil for a line that has none. The moves are those by which the User is asked,
// an approval leaves, an earlier one is taken over, the right to perform is spent, and the operation is said not to be
// performed.
func (r *round) unless(m move) func(ledger.View) error {
	switch {
	case m.on == evQuestion, m.on == evSend, m.on == evApprovedBefore, r.denies(m):
		return func(v ledger.View) error {
			rounds, err := roundsOf(v, r.op.ID)
			if err != nil {
				return err
			}
			for _, p := range rounds {
				if r.heldBy(p) || (m.on == evQuestion || m.on == evSend) && r.declinedBy(p) {
					return fmt.Errorf("%w: round %s", errMeanwhile, p.ID)
				}
			}
			if m.on != evQuestion && m.on != evSend {
				return nil
			}
			switch found, err := r.repeated(v); {
			case err != nil:
				return err
			case found.round != "":
				return fmt.Errorf("%w: round %s", errMeanwhile, found.round)
			}
			return nil
		}
	case m.on == evReplay, m.on == evSendAgain:
		return func(v ledger.View) error {
			rounds, err := roundsOf(v, r.op.ID)
			if err != nil {
				return err
			}
			at := slices.IndexFunc(rounds, func(p Past) bool { return p.ID == r.id })
			if at < 0 {
				return nil // it was approved in no round of the ledger, so no other can have met that
			}
			since := rounds[at].seq()
			if m.on == evSendAgain {
				since = rounds[at].triedAt() // a process that took the round over has a line of its own after that
			}
			for _, p := range rounds {
				if p.ID != r.id && r.about(p) && p.usedSince(since) {
					return fmt.Errorf("%w: round %s", errMeanwhile, p.ID)
				}
			}
			return nil
		}
	}
	return nil
}

// denies reports whether a move says that the round's operation is not performed.
func (r *round) denies(m move) bool {
	return m.on == evSettle && r.op.ID != "" && m.outcome != Performed && m.outcome != Unknown
}

// carry applies a move. One that says that the operation is not performed is held against what other rounds of it came to,
// also while it is being written down.
func (r *round) carry(ctx context.Context, m move) error {
	if !r.denies(m) {
		return r.apply(ctx, m)
	}
	for tries := 1; ; tries++ {
		said, err := r.deniedMeanwhile(ctx, m)
		if err != nil {
			return err
		}
		if err = r.apply(ctx, said); !errors.Is(err, errMeanwhile) || tries >= maxMeanwhile {
			return err
		}
	}
}

// deniedMeanwhile is m, or what another round of the operation came to.
func (r *round) deniedMeanwhile(ctx context.Context, m move) (move, error) {
	held, err := r.heldMeanwhile(ctx)
	switch {
	case err != nil || held.on == "":
		return m, err
	case held.on == evApprovedBefore:
		held = settlef(Unknown, "another round's approval of it is recorded, and can be used until %s", r.op.ExpiresAtSent)
	}
	held.verdict = m.outcome
	if s, ok := held.body.(SettledAs); ok {
		s.Verdict = m.outcome
		held.body = s
	}
	return held.telling(m.tells), nil
}

// repeats settles a round whose request is the very one of another round of this run, when an approval of that one's operation
// may be at the Company, in this run or in another: a page that asks again gets a new operation for the same action as soon as the
// first is performed, by whoever. There is no event when nothing speaks against asking.
func (r *round) repeats() (move, error) {
	var found repeated
	if err := r.ops.cfg.Ledger.Look(r.ops.life, func(v ledger.View) (err error) {
		found, err = r.repeated(v)
		return err
	}); err != nil {
		return move{}, fmt.Errorf("round %s: the ledger could not be read for what it repeats: %w", r.id, err)
	}
	if found.round != "" {
		return settlef(Failed, "the same request was made before for operation %s, which was approved in round %s; nothing of this one was approved", found.op, found.round), nil
	}
	return move{}, nil
}

// repeated is what a round asks for once more: an operation, and the round in which it was approved.
type repeated struct{ op, round string }

// repeated returns what r's request was made before for in this run, and what may be used, or was.
func (r *round) repeated(v ledger.View) (repeated, error) {
	if r.gone() {
		return r.repeatedBefore(v)
	}
	own := make(map[string]bool)
	var ids []string              // of the operations that the request was made for
	same := make(map[string]bool) // whether one of their rounds is of the same act
	r.ops.mu.Lock()
	for _, other := range r.ops.rounds {
		own[other.id] = true
		if other == r || other.site != r.site || other.op.ID == "" || other.op.ID == r.op.ID || !other.sameActionLocked(r.held) {
			continue
		}
		ours := r.act() != nil && r.act() == other.act()
		if other.mayBeUsedLocked() || ours && other.outcome == Performed {
			r.ops.mu.Unlock()
			return repeated{other.op.ID, other.id}, nil
		}
		ids = append(ids, other.op.ID)
		same[other.op.ID] = same[other.op.ID] || ours
	}
	r.ops.mu.Unlock()
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if round, err := r.approvedIn(v, id, same[id], own); err != nil || round != "" {
			return repeated{id, round}, err
		}
	}
	return repeated{}, nil
}

// approvedIn returns the round by which an operation's approval may be used or, where its act is r's too, was; own rounds
// excepted. Empty: none.
func (r *round) approvedIn(v ledger.View, operationID string, ours bool, own map[string]bool) (string, error) {
	past, err := roundsOf(v, operationID)
	if err != nil {
		return "", err
	}
	for _, p := range past {
		if own[p.ID] || p.last() == nil || p.last().OperationID != operationID || p.last().Issuer != r.site.company.Issuer {
			continue
		}
		if p.Approval() != nil || ours && p.Outcome == Performed {
			return p.ID, nil
		}
	}
	return "", nil
}

// repeatedBefore is repeated for a round that another run began, in that run.
func (r *round) repeatedBefore(v ledger.View) (repeated, error) {
	mine := r.resumed.past
	records, err := v.Rounds(metKey(mine.Began()))
	if err != nil {
		return repeated{}, err
	}
	for _, p := range History(records) {
		if p.ID == mine.ID || p.OpID == "" || p.OpID == r.op.ID || p.Company != mine.Company || p.Began() != mine.Began() {
			continue
		}
		same, ours := mine.sameAction(p)
		if !same {
			continue
		}
		if round, err := r.approvedIn(v, p.OpID, ours, nil); err != nil || round != "" {
			return repeated{p.OpID, round}, err
		}
	}
	return repeated{}, nil
}

// sameAction reports whether two rounds of one run asked for the same action: by the very same request, and not by two acts
// of ours. ours is set when one act explains both.
func (p Past) sameAction(other Past) (same, ours bool) {
	for _, a := range p.sightings() {
		for _, b := range other.sightings() {
			if a.Method != b.Method || a.URL != b.URL || a.Context != b.Context {
				continue
			}
			one := a.Act != nil && b.Act != nil && a.Act.Number == b.Act.Number
			same, ours = same || one || a.Act == nil || b.Act == nil, ours || one
		}
	}
	return same, ours
}

// heldBy reports whether the round p, another one of r's operation, holds it: what was approved in it was performed, or may
// be with the Company and was not looked up since.
func (r *round) heldBy(p Past) bool {
	return p.ID != r.id && r.about(p) && (p.Outcome == Performed || p.Approval() != nil && !r.looked[p.place()])
}

// declinedBy reports whether the Company declined, in the other round p, the revision that r is about (OPS3-6.88).
func (r *round) declinedBy(p Past) bool {
	return p.ID != r.id && r.about(p) && p.Verdict == Declined && p.sent != nil && p.sent.Revision == r.op.Revision
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

// triedAt is the place of the line of the last try to send the round's approval.
func (p Past) triedAt() uint64 {
	var at uint64
	for _, r := range p.Records {
		if r.Kind == "sending" || r.Kind == "sending-again" {
			at = r.Seq
		}
	}
	return at
}

// seq is the place of the round's last line.
func (p Past) seq() uint64 { return p.Records[len(p.Records)-1].Seq }

// place is the round as it stands: by its name and its last line.
func (p Past) place() string { return fmt.Sprint(p.ID, "@", p.seq()) }
