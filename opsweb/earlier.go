package opsweb

import (
	"context"
	"errors"
	"fmt"

	"github.com/papaver-agent/papaver/operation"
	"github.com/papaver-agent/papaver/session"
)

// One operation is performed at most once, whichever run, context or Session it is met in. So before the User is asked
// about one, the ledger is read for other rounds of it whose approval may be with the Company, and each of them is looked
// up with its own reference first (Operations v3, section 7).

// earlier returns the other rounds of op at the same Company whose approval may be with it and that nobody of this run
// moves on, and that r has not looked up yet.
func (r *round) earlier(op operation.Operation) ([]Past, error) {
	past, err := r.ops.past(op.ID)
	if err != nil {
		return nil, fmt.Errorf("round %s: the ledger could not be read for earlier approvals of its operation: %w", r.id, err)
	}
	moving := map[string]bool{r.id: true}
	r.ops.mu.Lock()
	for _, other := range r.ops.rounds {
		moving[other.id] = moving[other.id] || other.movesLocked()
	}
	r.ops.mu.Unlock()
	var open []Past
	for _, p := range past {
		if s := p.Approval(); s != nil && !moving[p.ID] && !r.looked[p.place()] && s.OperationID == op.ID && s.Issuer == r.site.company.Issuer {
			open = append(open, p)
		}
	}
	return open, nil
}

// lookUpEarlier asks what became of the other rounds' approvals of the round's operation, and returns how r goes on
// because of it; no event when the User may be asked.
func (r *round) lookUpEarlier(ctx context.Context) (move, error) {
	op := r.op
	if m, err := r.endedBefore(r.op.ID, Performed); err != nil || m.on != "" {
		return m, err
	}
	if m, err := r.afterFlow(ctx); err != nil || m.on != "" {
		return m, err
	}
	if m, err := r.repeats(); err != nil || m.on != "" {
		return m, err
	}
	for {
		open, err := r.earlier(op)
		if err != nil {
			return move{}, err
		}
		if len(open) == 0 {
			return r.endedBefore(r.op.ID, Declined)
		}
		r.looks(open[0])
		m, err := r.afterEarlier(ctx, open[0], op)
		if err != nil || m.on != "" {
			return m, err
		}
	}
}

// looks notes that the round p is looked up as it stands.
func (r *round) looks(p Past) {
	if r.looked == nil {
		r.looked = make(map[string]bool)
	}
	r.looked[p.place()] = true
}

// heldMeanwhile goes on when, as the User answered, another round of the operation came to hold it: it is followed to its
// end, and this approval is sent only when that one never was recorded.
func (r *round) heldMeanwhile(ctx context.Context) (move, error) {
	if m, err := r.endedBefore(r.op.ID, Performed); err != nil || m.on != "" {
		return m, err
	}
	for before := r.alive; ; {
		open, err := r.earlier(r.op)
		if err != nil || len(open) == 0 {
			return move{}, err
		}
		p := open[0]
		r.looks(p)
		m, err := r.afterEarlier(ctx, p, r.op)
		switch {
		case err != nil || m.on != "":
			return m, err
		case r.alive != before:
			return settlef(Unknown, "round %s approves the same operation meanwhile, with other terms; this approval was not sent", p.ID), nil
		}
	}
}

// endedBefore settles a round whose operation was performed, or whose very revision was declined (OPS3-6.88), in any run:
// whichever of the two is asked for. A Company may forget what it performed and return the operation anew (Operations v3,
// section 7); the ledger does not.
func (r *round) endedBefore(operationID string, as Outcome) (move, error) {
	past, err := r.ops.past(operationID)
	if err != nil {
		return move{}, fmt.Errorf("round %s: the ledger could not be read for earlier ends of its operation: %w", r.id, err)
	}
	for _, p := range past {
		s := p.last()
		if s == nil || p.ID == r.id || s.Issuer != r.site.company.Issuer || s.OperationID != operationID {
			continue
		}
		switch {
		case as == Performed && p.Outcome == Performed:
			return settlef(Performed, "it was performed already, by the approval of round %s; the new reference is not approved", p.ID), nil
		case as == Declined && r.declinedBy(p):
			return settle(Declined, "the Company declined an approval of this very revision before; it is not approved again"), nil
		}
	}
	return move{}, nil
}

// afterEarlier looks one earlier round up, waiting while the Company performs it, and while another run that lives goes on
// with it.
func (r *round) afterEarlier(ctx context.Context, p Past, op operation.Operation) (move, error) {
	sent := p.Approval()
	reference, err := r.referenceOf(*sent)
	if err != nil {
		return settlef(Unknown, "an approval of it left before, in round %s, and can't be looked up: %v", p.ID, err), nil
	}
	until := r.ops.cfg.Now().Add(lookTime)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		rep, err := r.tryLookUp(ctx, reference, lookTries)
		known := err == nil && rep.Kind == operation.Known && rep.broken == nil && rep.OperationID == op.ID
		held := r.elsewhere(p)
		switch {
		case ctx.Err() != nil:
			return move{}, errStopped
		case known && rep.State == operation.Performed:
			r.ops.notify(r.id, LookedUp{Status: string(rep.State), For: "what becomes of the approval of round " + p.ID})
			return settlef(Performed, "it was performed already, by the approval of round %s; the new reference is not approved", p.ID), nil
		case held && r.ops.cfg.Now().After(until):
			return settlef(Unknown, "another run is still going on with it, in round %s; nothing of it was approved here", p.ID), nil
		case held:
		case err != nil:
			return settlef(Unknown, "an approval of it left before, in round %s, and the Company could not be asked what became of that: %v", p.ID, err), nil
		case rep.Kind == operation.Returned && rep.broken == nil && rep.Operation.ID == op.ID && p.neverRecorded(r.ops.cfg.Now(), r.companyTime()):
			return move{}, nil // that approval never came to be recorded, and its process is gone
		case !known:
			return settlef(Unknown, "an approval of it left before, in round %s, and the Company no longer says what became of that: it answered with %s", p.ID, rep.said()), nil
		case rep.State == operation.Approved:
			r.ops.notify(r.id, LookedUp{Status: string(rep.State), For: "what becomes of the approval of round " + p.ID})
			return r.approvedBefore(p, *sent, reference, op), nil
		case r.ops.cfg.Now().After(until):
			return settlef(Unknown, "the Company is still performing it, by the approval of round %s", p.ID), nil
		}
		news := LookedUp{Status: "not known", For: "what becomes of the approval of round " + p.ID}
		if known {
			news.Status = string(rep.State)
		}
		if held {
			news.For += ", with which another run goes on"
		}
		r.ops.notify(r.id, news)
		if err := wait(ctx, pause); err != nil {
			return move{}, errStopped
		}
		if !held {
			continue
		}
		if p, err = r.now(p); err != nil {
			return move{}, err
		}
		if next := p.Approval(); next == nil || next.Reference != sent.Reference {
			return r.endedBefore(r.op.ID, Performed) // another approval of it is looked up next
		}
		r.looks(p)
	}
}

// elsewhere reports whether another run, whose process lives, goes on with the round p.
func (r *round) elsewhere(p Past) bool {
	return !p.State.final() && r.ops.cfg.Lives != nil && r.ops.cfg.Lives(p.Owner)
}

// now is the round p as the ledger tells it by now.
func (r *round) now(p Past) (Past, error) {
	past, err := r.ops.past(r.op.ID)
	if err != nil {
		return p, fmt.Errorf("round %s: the ledger could not be read for what becomes of round %s: %w", r.id, p.ID, err)
	}
	for _, later := range past {
		if later.ID == p.ID {
			return later, nil
		}
	}
	return p, nil
}

// approvedBefore goes on when an earlier approval of op is recorded and not used up: of these very terms, the act is made
// again and nobody is asked; of others, the User is asked, and told of it.
func (r *round) approvedBefore(p Past, sent Sent, reference Reference, op operation.Operation) move {
	before, known := p.operation(sent.Revision)
	if sent.Revision == op.Revision && known && before.Terms.Hash() == op.Terms.Hash() {
		r.reference, r.replays = reference, 0
		r.keepAlive()
		return move{on: evApprovedBefore, body: ApprovedBefore{Earlier: p.ID, Sent: sent}}
	}
	if sent.Revision == op.Revision {
		return settlef(Unknown, "round %s approved this very revision with other terms, and that approval is still recorded", p.ID)
	}
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	r.alive = &living{reference: reference, revision: sent.Revision, ends: before.ExpiresAtSent}
	return move{}
}

// notUsedMeanwhile asks what became of the approval of an earlier revision while the User was asked about this one: the
// page may have used it. It returns no event when that is still recorded and not used up, or when there is none.
func (r *round) notUsedMeanwhile(ctx context.Context) (move, error) {
	if r.alive == nil || r.alive.revision == r.op.Revision {
		return move{}, nil
	}
	return r.usedUp(ctx)
}

// usedUp asks what became of the approval of an earlier revision.
func (r *round) usedUp(ctx context.Context) (move, error) {
	until := r.ops.cfg.Now().Add(lookTime)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		rep, err := r.tryLookUp(ctx, r.alive.reference, lookTries)
		switch {
		case ctx.Err() != nil:
			return move{}, errStopped
		case err != nil:
			return settlef(Unknown, "revision %s was approved before, and the Company could not be asked what became of that; this approval was %s: %v", r.alive.revision, r.unsent(), err), nil
		case rep.Kind != operation.Known || rep.broken != nil || rep.OperationID != r.op.ID:
			return settlef(Unknown, "revision %s was approved before, and the Company no longer says what became of that; this approval was %s: it answered with %s", r.alive.revision, r.unsent(), rep.said()), nil
		case rep.State == operation.Performed:
			return settlef(Performed, "it was performed by the approval of revision %s; the one of revision %s was %s", r.alive.revision, r.op.Revision, r.unsent()), nil
		case rep.State == operation.Approved:
			return move{}, nil
		case r.ops.cfg.Now().After(until):
			return settlef(Unknown, "the Company is still performing it, by the approval of revision %s; this one was %s", r.alive.revision, r.unsent()), nil
		}
		r.ops.notify(r.id, LookedUp{Status: string(rep.State), For: "what becomes of the approval of revision " + r.alive.revision})
		if err := wait(ctx, pause); err != nil {
			return move{}, errStopped
		}
	}
}

// unsent says in words what was not done with the present approval.
func (r *round) unsent() string {
	if r.gone() && r.unsure {
		return "not sent again"
	}
	return "not sent"
}

// knownBefore goes on when a new reference is answered with the state of an operation: an approval of it was recorded
// before. One that is under way in this run has the reference merged into it; one of ours is looked up like every earlier
// one, with the terms that the ledger has; what the ledger has as performed is that; of another nothing is known.
func (r *round) knownBefore(rep reply) (move, error) {
	if other := r.movingRound(rep.OperationID); other != nil {
		return move{on: evSame, body: MergedInto{Into: other.id}, into: other}, nil
	}
	open, err := r.earlier(operation.Operation{ID: rep.OperationID})
	if err != nil {
		return move{}, err
	}
	for _, p := range open {
		if op, ok := p.operation(p.Approval().Revision); ok {
			return r.returned(op), nil
		}
	}
	if m, err := r.endedBefore(rep.OperationID, Performed); err != nil || m.on != "" {
		return m, err
	}
	return settlef(Unknown, "the Company says that it is %s already, and no approval of ours is open", rep.State), nil
}

// movingRound returns the other round of this run that has the operation and goes on; nil when there is none.
func (r *round) movingRound(id string) *round {
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	for _, other := range r.ops.rounds {
		if other != r && other.site.company.Issuer == r.site.company.Issuer && other.op.ID == id && other.movesLocked() {
			return other
		}
	}
	return nil
}

// referenceOf is the reference that an approval in the verified ledger was sent with, under its own Session and to its own
// endpoint.
func (r *round) referenceOf(sent Sent) (Reference, error) {
	if sent.Endpoint != r.site.company.OperationsEndpoint { // a reference goes to one endpoint only
		return Reference{}, errors.New("it went to another operations endpoint than the Company has now")
	}
	if _, err := r.site.signer(sent.Sid); err != nil {
		return Reference{}, err
	}
	return Reference{text: sent.Ref, site: r.site, sid: sent.Sid}, nil
}

// signer is the Session sid: the site's present one, or one that it was before, in this run or in an earlier one.
func (s *site) signer(sid string) (*session.Session, error) {
	if sid == s.session.ID() {
		return s.session, nil
	}
	return s.session.Earlier(sid)
}
