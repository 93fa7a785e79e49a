package opsweb

import (
	"context"
	"fmt"
	"slices"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/operation"
)

// errand is a round for which a flow was run again, to finish what was approved in it.
type errand struct {
	round     string
	op        string
	reference Reference
	into      *round // when it is this run's
}

// afterFlow goes on when the round's request is the very one of a round whose flow was run again to finish it: an
// approval of that was recorded, and a new reference in answer means that it was used up or no longer matches. It is looked
// up before anybody is asked about the new one (Operations v3, section 7). There is no event when nothing speaks against
// asking.
func (r *round) afterFlow(ctx context.Context) (move, error) {
	of, err := r.flowOf()
	if err != nil || of == nil {
		return move{}, err
	}
	until := r.ops.cfg.Now().Add(lookTime)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		rep, err := r.tryLookUp(ctx, of.reference, lookTries)
		known := err == nil && rep.Kind == operation.Known && rep.broken == nil && rep.OperationID == of.op
		switch {
		case ctx.Err() != nil:
			return move{}, errStopped
		case known && rep.State == operation.Performed && of.into != nil:
			return move{on: evSame, body: MergedInto{Into: of.round}, into: of.into}, nil
		case known && rep.State == operation.Performed:
			return settlef(Failed, "the flow was run again for round %s, which was performed; nobody was asked about this", of.round), nil
		case known && rep.State == operation.Approved:
			return settlef(Failed, "the flow asks for something else than what was approved in round %s, and that approval is still recorded; nobody was asked about this", of.round), nil
		case !known || r.ops.cfg.Now().After(until):
			return settlef(Failed, "what became of the approval of round %s, for which the flow was run again, is not known; nobody was asked about this", of.round), nil
		}
		r.ops.notify(r.id, LookedUp{Status: string(rep.State), For: "what becomes of the approval of round " + of.round})
		if err := wait(ctx, pause); err != nil {
			return move{}, errStopped
		}
	}
}

// flowOf returns the round of another operation for which the flow was run again that made the very request of r; nil when
// there is none.
func (r *round) flowOf() (*errand, error) {
	if r.gone() {
		return r.flowBefore()
	}
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	for _, other := range r.ops.rounds {
		if other.site.company.Issuer == r.site.company.Issuer && other.op.ID != r.op.ID && other.gone() && other.resumed.metBy(r.held) && other.ranForLocked(r.act()) {
			return &errand{round: other.id, op: other.op.ID, reference: other.reference, into: other}, nil
		}
	}
	return nil, nil
}

// ranForLocked reports whether a request like the round's own, which came of act, is that of the flow that was run again for
// it: while that ran, or later of an act that it made then. A request that no act explains is taken for one as long as the
// round's end is not known.
func (r *round) ranForLocked(act *browser.Made) bool {
	switch {
	case r.parked:
		return true
	case r.resumed.ran.IsZero():
		return false
	case act == nil:
		return r.state != Settled || r.outcome == Unknown
	}
	return !act.Began.After(r.resumed.ran)
}

// metBy reports whether h is the request that the round was met by.
func (d *resumed) metBy(h browser.Held) bool {
	return d.past.metBy(h.Method(), h.Told())
}

// metBy reports whether such a request met the round; the URL is the one that is told.
func (p Past) metBy(method, url string) bool {
	return slices.ContainsFunc(p.sightings(), func(s Sighting) bool { return s.Method == method && s.URL == url })
}

// flowBefore is flowOf for a round that another run began: the ledger tells for which rounds that one had the flow run
// again.
func (r *round) flowBefore() (*errand, error) {
	past, err := r.ops.takenBy(r.resumed.past.Began())
	if err != nil {
		return nil, fmt.Errorf("round %s: the ledger could not be read for what the flow was run again for: %w", r.id, err)
	}
	seen := r.resumed.past.sightings()
	for _, p := range past {
		sent := p.last()
		if sent == nil || p.ID == r.id || sent.Issuer != r.site.company.Issuer || sent.OperationID == r.op.ID || !p.openIn(r.resumed.past) || !p.metBy(seen[0].Method, seen[0].URL) {
			continue
		}
		reference, err := r.referenceOf(*sent)
		if err != nil {
			return nil, fmt.Errorf("round %s: %w", r.id, err)
		}
		return &errand{round: p.ID, op: sent.OperationID, reference: reference}, nil
	}
	return nil, nil
}

// openIn reports whether the run that began the round later had taken p over by then, and did not know its end.
func (p Past) openIn(later Past) bool {
	first := later.Records[0].Seq
	var before []ledger.Record
	taken := false
	for _, rec := range p.Records {
		if rec.Seq < first {
			before = append(before, rec)
			taken = taken || rec.Kind == "resumed" && rec.Owner == later.Began()
		}
	}
	if !taken {
		return false
	}
	then := History(before)[0]
	return then.State != Settled || then.Outcome == Unknown
}
