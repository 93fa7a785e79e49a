package opsweb

import (
	"context"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/operation"
)

// afterFlow goes on when the round's request is the very one of a round whose flow is being run again to finish it: an
// approval of that was recorded, and a new reference in answer means that it was used up or no longer matches. It is looked
// up before anybody is asked about the new one (Operations v3, section 7). There is no event when nothing speaks against
// asking.
func (r *round) afterFlow(ctx context.Context) (move, error) {
	other, reference := r.flowOf()
	if other == nil {
		return move{}, nil
	}
	until := r.ops.cfg.Now().Add(lookTime)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		rep, err := r.tryLookUp(ctx, reference, lookTries)
		known := err == nil && rep.Kind == operation.Known && rep.broken == nil && rep.OperationID == other.op.ID
		switch {
		case ctx.Err() != nil:
			return move{}, errStopped
		case known && rep.State == operation.Performed:
			return move{on: evSame, body: MergedInto{Into: other.id}, into: other}, nil
		case known && rep.State == operation.Approved:
			return settlef(Failed, "the flow asks for something else than what was approved in round %s, and that approval is still recorded; nobody was asked about this", other.id), nil
		case !known || r.ops.cfg.Now().After(until):
			return settlef(Failed, "what became of the approval of round %s, for which the flow was run again, is not known; nobody was asked about this", other.id), nil
		}
		r.ops.notify(r.id, LookedUp{Status: string(rep.State), For: "what becomes of the approval of round " + other.id})
		if err := wait(ctx, pause); err != nil {
			return move{}, errStopped
		}
	}
}

// flowOf returns the round of another operation that waits for its flow and was met by the very request of r, with its
// reference; nil when there is none.
func (r *round) flowOf() (*round, Reference) {
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	for _, other := range r.ops.rounds {
		if other.parked && other.site.company.Issuer == r.site.company.Issuer && other.op.ID != r.op.ID && other.resumed.metBy(r.held) {
			return other, other.reference
		}
	}
	return nil, Reference{}
}

// metBy reports whether h is the request that the round was met by.
func (d *resumed) metBy(h browser.Held) bool {
	for _, s := range d.past.sightings() {
		if s.Method == h.Method() && s.URL == h.URL() {
			return true
		}
	}
	return false
}
