package opsweb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/operation"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
)

// A run that was killed leaves rounds behind that are not settled. Another run goes on with each of them from where the
// ledger says that it stands, by the table's rows for evResumed. What it has not got is the page: the browser's request can
// be made again only by the flow, from its start, and only when the User says so.

// forgottenAfter is how long after an approval's end nobody asks any more what became of it: a Company has to remember it
// until that end (Operations v3, section 7).
const forgottenAfter = 24 * time.Hour

// ErrNotTaken is the family of rounds that could not be taken over.
var ErrNotTaken = errors.New("the operation was not taken over")

// Began is the run that met the operation.
func (p Past) Began() string { return p.Records[0].Owner }

// Unsettled reports whether a later run has something to do for the round: it is not settled, or it was settled as unknown
// and the Company can still say what became of its approval.
func (p Past) Unsettled(now time.Time) bool {
	switch {
	case !p.State.final():
		return true
	case p.State != Settled || p.Outcome != Unknown:
		return false
	}
	sent := p.Approval()
	if sent == nil {
		return false
	}
	op, known := p.operation(sent.Revision)
	return known && now.Before(op.ExpiresAt.Add(forgottenAfter))
}

// Sid is the Session that the round's reference belongs to; empty when the ledger names none.
func (p Past) Sid() string {
	if sent := p.held(); sent != nil {
		return sent.Sid
	}
	if seen := p.sightings(); len(seen) > 0 {
		return seen[0].Sid
	}
	return ""
}

// held is the approval by whose reference the round is looked up or sent again; nil while its terms are still to be asked
// about.
func (p Past) held() *Sent {
	if p.State.Spent() || p.State == Settled {
		return p.Approval()
	}
	return nil
}

// sightings are the accepted ones of the round, the newest first.
func (p Past) sightings() []Sighting {
	var seen []Sighting
	for _, rec := range slices.Backward(p.Records) {
		var s Sighting
		if rec.Kind == "sighting" && json.Unmarshal(rec.Data, &s) == nil && s.Accepted && validReference(s.Ref) {
			seen = append(seen, s)
		}
	}
	return seen
}

// replayed reports whether the browser may have made the request again.
func (p Past) replayed() bool {
	return slices.ContainsFunc(p.Records, func(r ledger.Record) bool { return r.Kind == "replaying" })
}

// lastAsked is the revision that the User was asked about last; of a round that was never asked about, its last one.
func (p Past) lastAsked() string {
	last, of := p.Revision, ""
	for _, rec := range p.Records {
		switch rec.Kind {
		case "operation":
			var o Operation
			if json.Unmarshal(rec.Data, &o) == nil {
				of = o.Revision
			}
		case "question":
			last = of
		}
	}
	return last
}

// asked is what the User was told of a revision beside its terms, when they were asked about it.
func (p Past) asked(revision string) ([]string, bool) {
	var lines []string
	found, of := false, ""
	for _, rec := range p.Records {
		switch rec.Kind {
		case "operation":
			var o Operation
			if json.Unmarshal(rec.Data, &o) == nil {
				of = o.Revision
			}
		case "question":
			var q Question
			if of == revision && json.Unmarshal(rec.Data, &q) == nil {
				lines, found = q.Differences, true
			}
		}
	}
	return lines, found
}

// Resumption is what a run needs to go on with a round of one that is gone. Company and Session are required.
type Resumption struct {
	Company *company.Company
	Session *session.Session // the one of the round's reference, see [Past.Sid]
	Profile profile.Profile
	// Flow says that the flow which met the operation is at hand and can be run again from its start.
	Flow bool
}

// resumed is what a round that another run began has in place of a page.
type resumed struct {
	past   Past
	flow   bool        // the flow can be run again when the User says so
	ran    time.Time   // when the flow had been run again for it; zero before
	agreed bool        // the User's yes to the terms was one to that too
	left   bool        // the User wants the approval to be left to expire
	others []Reference // earlier ones of the round, the newest first
}

// Resume takes p over from the run that is gone, and goes on with it. The caller knows that the run can't go on any more:
// its process has ended, and so has its Chromium. Errors match ErrNotTaken, or are the ledger's: the round stays where it
// is.
func (o *Operations) Resume(ctx context.Context, p Past, in Resumption) error {
	s := &site{company: in.Company, session: in.Session, profile: in.Profile, client: o.cfg.Client, now: o.cfg.Now, seen: make(map[string]bool)}
	r := &round{ops: o, site: s, id: p.ID, state: p.State, outcome: p.Outcome, resumed: &resumed{past: p, flow: in.Flow}}
	if err := r.remember(p); err != nil {
		return err
	}
	o.mu.Lock()
	if o.ending {
		o.mu.Unlock()
		return errStopped
	}
	if slices.ContainsFunc(o.rounds, func(other *round) bool { return other.id == p.ID }) {
		o.mu.Unlock()
		return fmt.Errorf("%w: it is this run's", ErrNotTaken)
	}
	o.rounds = append(o.rounds, r)
	o.mu.Unlock()
	err := r.apply(ctx, move{on: evResumed, claim: p.Owner, body: Resumed{From: p.Owner, State: p.State}})
	if err != nil {
		o.forget(r)
		if errors.Is(err, ledger.ErrNotOwner) {
			return fmt.Errorf("%w: another run was faster", ErrNotTaken)
		}
		return err
	}
	o.start(r)
	return nil
}

// remember fills in what the round's process knew, from the verified ledger.
func (r *round) remember(p Past) error {
	for _, seen := range p.sightings() {
		r.resumed.others = append(r.resumed.others, Reference{text: seen.Ref, site: r.site, sid: seen.Sid})
	}
	if p.alive != nil {
		reference, err := r.referenceOf(*p.alive)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotTaken, err)
		}
		before, known := p.operation(p.alive.Revision)
		if !known {
			return fmt.Errorf("%w: the terms of its approval are not in the ledger", ErrNotTaken)
		}
		r.op = before
		r.alive = &living{reference: reference, revision: p.alive.Revision, ends: before.ExpiresAtSent}
	}
	if sent := p.held(); sent != nil {
		if l := r.ops.cfg.Lock; l != nil && p.State == Sending && !p.signed(*l, *sent) {
			// Whoever can write the home's files could have written this approval, and it was perhaps never sent.
			return fmt.Errorf("%w: its answer is not signed with the key of this home's lock, so it is not sent again", ErrNotTaken)
		}
		var known bool
		if r.op, known = p.operation(sent.Revision); !known {
			return fmt.Errorf("%w: the terms of its approval are not in the ledger", ErrNotTaken)
		}
		var err error
		if r.reference, err = r.referenceOf(*sent); err != nil {
			return fmt.Errorf("%w: %w", ErrNotTaken, err)
		}
		r.attempts, r.unsure = sent.Attempt, true
		r.approval = &operation.Approval{
			OperationID: sent.OperationID, Revision: sent.Revision, Approver: sent.Approver,
			ApprovedAt: sent.ApprovedAt, InputType: sent.InputType, Reference: sent.Reference,
		}
		if p.replayed() || !r.companyTime().Before(r.op.ExpiresAt) {
			r.replays = 1 // the action may have been performed, and forgotten since: new terms are no proof that it wasn't
		}
		return nil
	}
	if op, known := p.operation(p.lastAsked()); known {
		r.op = op // what the User saw last: terms that are fetched anew are compared with it
	}
	if len(r.resumed.others) == 0 {
		return fmt.Errorf("%w: the ledger holds no reference of it", ErrNotTaken)
	}
	r.reference, r.resumed.others = r.resumed.others[0], r.resumed.others[1:]
	return nil
}

// gone reports whether the page that the round came of is gone: another run had it.
func (r *round) gone() bool { return r.resumed != nil }

// actLine is the act that the run which is gone wrote down for the round.
func (d *resumed) actLine() string {
	for _, s := range d.past.sightings() {
		if s.Act != nil {
			return s.Act.Words
		}
	}
	return ""
}

// url is where the operation was met.
func (d *resumed) url() string {
	if seen := d.past.sightings(); len(seen) > 0 {
		return seen[0].URL
	}
	return ""
}

// differences are the lines beside terms that were fetched anew. What was typed is not in the ledger, so those that
// the User was shown before are shown again; terms that nobody was asked about yet are compared with the act's own words.
func (d *resumed) differences(op operation.Operation) []string {
	if lines, shown := d.past.asked(op.Revision); shown {
		return append([]string{}, lines...)
	}
	act := d.actLine()
	return append([]string{}, operation.Differences(op, operation.ActFacts{None: act == "", Label: act, Words: []string{d.url()}})...)
}

// after says what comes of an approval, for the question.
func (r *round) after() approval.After {
	switch {
	case !r.gone():
		return approval.AfterPage
	case r.resumed.flow:
		return approval.AfterFlow
	default:
		return approval.AfterNothing
	}
}

// refetch gets the terms anew with the recorded references, the newest first: the one that names the operation which the
// ledger has.
func (r *round) refetch(ctx context.Context) (reply, error) {
	for {
		rep, err := r.tryLookUp(ctx, r.reference, fetchTries)
		other := err == nil && (rep.Kind == operation.InvalidReference ||
			rep.Kind == operation.Returned && rep.broken == nil && r.op.ID != "" && rep.Operation.ID != r.op.ID)
		if !other || len(r.resumed.others) == 0 {
			return rep, err
		}
		r.ops.mu.Lock()
		r.reference, r.resumed.others = r.resumed.others[0], r.resumed.others[1:]
		r.ops.mu.Unlock()
	}
}

// fetchGone is fetch for a round whose page is gone.
func (r *round) fetchGone(ctx context.Context) (move, error) {
	if m, err := r.usedMeanwhile(ctx); err != nil || m.on != "" {
		return m, err
	}
	rep, err := r.refetch(ctx)
	switch {
	case ctx.Err() != nil:
		return move{}, errStopped
	case err != nil:
		return move{}, fmt.Errorf("round %s: the terms could not be fetched, and it stays where it was: %w", r.id, err)
	case rep.Kind == operation.InvalidReference && r.op.ID != "" && !r.companyTime().Before(r.op.ExpiresAt):
		return settle(Expired, "nobody had answered before "+r.op.ExpiresAtSent), nil
	case rep.Kind == operation.InvalidReference:
		return settle(Failed, "the Company no longer accepts the reference, and the page that could ask for a new one is gone"), nil
	case rep.Kind == operation.Returned && rep.broken == nil && r.op.ID != "" && rep.Operation.ID != r.op.ID:
		return settle(Failed, "the Company answers with another operation than the one that the ledger holds"), nil
	}
	return r.fetched(ctx, rep)
}

// usedMeanwhile asks what became of an approval of an earlier revision before anybody is asked about this one.
func (r *round) usedMeanwhile(ctx context.Context) (move, error) {
	if r.alive == nil {
		return move{}, nil
	}
	return r.usedUp(ctx)
}

// settleResighted settles a round whose process was having the act made again for a new reference. Nothing of it was approved;
// but the request that may have left is performed when another round's approval covers it.
func (r *round) settleResighted() (move, error) {
	past, err := r.ops.unended()
	if err != nil {
		return move{}, fmt.Errorf("round %s: the ledger could not be read for approvals: %w", r.id, err)
	}
	for _, p := range past {
		if s := p.Approval(); s != nil && p.ID != r.id && s.Issuer == r.site.company.Issuer {
			return settlef(Unknown, "the act may have been made again, and the approval of round %s may have been used up by it", p.ID), nil
		}
	}
	return settle(Failed, "the Company no longer accepted the reference, and the page that could ask for a new one is gone; nothing of it was approved"), nil
}

// resend is what goes before the first try of a run that sends another one's approval again: an approval that can't be
// recorded any more is looked up, an earlier revision's approval must not have been used meanwhile, and the try is written down.
func (r *round) resend(ctx context.Context) (move, error) {
	if !r.companyTime().Before(r.op.ExpiresAt) {
		return move{on: evKnown, body: LookedUp{Status: "not known"}}, nil
	}
	if m, err := r.notUsedMeanwhile(ctx); err != nil || m.on != "" {
		return m, err
	}
	return r.writeTry(ctx)
}

// errForFlow ends the work on a round until the flow has been run again.
var errForFlow = errors.New("it waits for the flow")

// finishGone goes on with an approval that is recorded and not used up, and whose page is gone: the flow makes the
// request, when the User says so, or nobody does.
func (r *round) finishGone() (move, error) {
	d := r.resumed
	switch {
	case d.left, !d.flow, !r.companyTime().Before(r.op.ExpiresAt):
		return settle(Unknown, "it is approved and not performed, and the page is gone; the approval is left to expire at "+r.op.ExpiresAtSent), nil
	case d.agreed:
		return move{}, errForFlow
	}
	req, err := r.ops.desk.NewRequest(approval.Question{
		Kind: approval.KindRerun, Round: r.id, Company: approval.Company{Domain: r.site.company.Domain, Name: r.site.company.Name},
		Act: d.actLine(), Operation: r.op, Differences: []string{}, Deadline: r.op.ExpiresAt, After: approval.AfterFlow,
	})
	if err != nil {
		return move{}, err
	}
	r.question = req
	return move{on: evRerun, body: Question{Request: req.ID, Kind: approval.KindRerun, Differences: []string{}}}, nil
}

// askRerun waits for the answer to whether the flow is run again. Either way what became of the approval is looked up
// before anything else happens.
func (r *round) askRerun(ctx context.Context) (move, error) {
	d, err := r.ops.desk.Ask(ctx, r.question)
	switch {
	case ctx.Err() != nil:
		return move{}, errStopped
	case err != nil:
		return move{}, err
	case d.State == approval.Approved:
		r.resumed.agreed = true
		return move{on: evRerunYes, written: true, body: Note{Why: "the flow is run again, by the " + string(d.Approver) + "'s word"}}, nil
	case d.State == approval.Denied:
		r.resumed.left = true
		return move{on: evRerunNo, written: true, body: Note{Why: "the flow is not run again"}}, nil
	case d.State == approval.Expired:
		r.resumed.left = true
		return move{on: evRerunNo, body: Note{Why: "nobody answered before the approval's end"}}, nil
	default:
		return move{}, fmt.Errorf("round %s: a question ended as %q", r.id, d.State)
	}
}

// Resumed waits until every round that was taken over is settled, or waits for its flow, and returns whether one does.
func (o *Operations) Resumed(ctx context.Context) (flow bool, err error) {
	for {
		o.mu.Lock()
		open, waits := false, false
		var stopped error
		for _, r := range o.rounds {
			switch {
			case !r.gone():
			case r.stopped != nil:
				stopped = errors.Join(stopped, r.stopped)
			case r.parked:
				waits = true
			case !r.told:
				open = true
			}
		}
		changed := o.changed
		o.mu.Unlock()
		if !open {
			return waits, stopped
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, fmt.Errorf("waiting for operations to settle: %w", ctx.Err())
		}
	}
}

// FlowEnded tells that the flow has been run again, or can't be: what became of the rounds that waited for it is looked up.
func (o *Operations) FlowEnded() {
	o.mu.Lock()
	var waited []*round
	for _, r := range o.rounds {
		if r.parked && r.stopped == nil {
			r.parked, r.resumed.left, r.resumed.ran = false, true, o.cfg.Now()
			waited = append(waited, r)
		}
	}
	o.mu.Unlock()
	for _, r := range waited {
		o.start(r)
	}
}
