package opsweb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/operation"
)

const (
	sendTries   = 5                // the same approval, at most so often …
	sendTime    = 60 * time.Second // … and so long, beyond what the Company asks to wait
	replayTries = 2                // an act is made again at most so often while its approval is not used up
	lookTries   = 5                // a look-up that gets no answer
	lookTime    = 10 * time.Minute // how long an operation may be `performing` before we stop waiting
)

// prepare makes the approval that will be sent, with all its members, so that it is the same one however often it has
// to be sent. It does not send.
func (r *round) prepare(ctx context.Context) (move, error) {
	if m, err := r.notUsedMeanwhile(ctx); err != nil || m.on != "" {
		return m, err
	}
	if m, err := r.heldMeanwhile(ctx); err != nil || m.on != "" {
		return m, err
	}
	if m, err := r.endedBefore(r.op.ID, Declined); err != nil || m.on != "" {
		return m, err
	}
	if m, err := r.repeats(); err != nil || m.on != "" {
		return m, err
	}
	// The permission ends with the revision; it is looked at here, immediately before it is used.
	if !r.companyTime().Before(r.decision.ExpiresAt) {
		return settle(Expired, "it expired between the answer and the sending"), nil
	}
	if r.decision.Shown.Revision != r.op.Revision || r.decision.Shown.TermsHash != r.op.Terms.Hash() {
		return move{}, fmt.Errorf("round %s: the answer was given to other terms", r.id)
	}
	reference, err := operation.NewReference(r.ops.cfg.Rand)
	if err != nil {
		return move{}, err
	}
	r.approval = &operation.Approval{
		OperationID: r.op.ID, Revision: r.op.Revision, Approver: r.decision.Approver,
		ApprovedAt: r.decision.DecidedAt, InputType: r.decision.InputType, Reference: reference,
	}
	r.unsure, r.replays, r.attempts = false, 0, 1
	return move{on: evSend, body: r.sent(r.attempts)}, nil
}

func (r *round) sent(attempt int) Sent {
	a := r.approval
	return Sent{
		Issuer: r.site.company.Issuer, Endpoint: r.site.company.OperationsEndpoint, Sid: r.reference.sid, Ref: r.reference.text, OperationID: a.OperationID, Revision: a.Revision, Approver: a.Approver,
		ApprovedAt: a.ApprovedAt, InputType: a.InputType, Reference: a.Reference, Attempt: attempt,
	}
}

// send posts the approval until the Company answers it (Operations v3, sections 6 and 7). Every further try is written
// down first and is the same approval.
func (r *round) send(ctx context.Context) (move, error) {
	if r.gone() && r.unsure { // another run's approval
		if m, err := r.resend(ctx); err != nil || m.on != "" {
			return m, err
		}
	}
	deadline := r.ops.cfg.Now().Add(sendTime)
	pause := firstPause
	for attempt := 1; ; attempt++ {
		rep, err := r.reference.post(ctx, r.approval)
		for errors.Is(err, errHeld) { // nothing was sent: this try is still to be made
			if !r.companyTime().Add(rep.retryAfter).Before(r.op.ExpiresAt) {
				return settlef(r.notSent(), "the approval could not be sent before it expires: %v", err), nil
			}
			if err := wait(ctx, max(pause, rep.retryAfter)); err != nil {
				return move{}, errStopped
			}
			if !r.companyTime().Before(r.op.ExpiresAt) { // a machine that slept waited for longer
				return settlef(r.notSent(), "the approval could not be sent before it expired: %v", err), nil
			}
			deadline = deadline.Add(rep.retryAfter)
			rep, err = r.reference.post(ctx, r.approval)
		}
		if err != nil && !errors.Is(err, errNoAnswer) {
			return settlef(r.notSent(), "the approval could not be made: %v", err), nil
		}
		if err == nil && !rep.saysNothing() {
			return r.answered(rep), nil
		}
		// A Company that is busy, or failed, may have recorded it too, or be performing it (Operations v3, section 7).
		r.unsure = true
		left := max(pause, rep.retryAfter)
		late := !r.companyTime().Add(left).Before(r.op.ExpiresAt) // it can't be recorded any more then
		if attempt >= sendTries || late || r.ops.cfg.Now().Add(pause).After(deadline) {
			m := settlef(Unknown, "the Company did not say whether it has recorded the approval, after %d tries", attempt)
			return m.telling(Approval{Outcome: "unknown"}), nil
		}
		if err := wait(ctx, left); err != nil {
			return move{}, errStopped
		}
		deadline = deadline.Add(rep.retryAfter)
		pause = min(2*pause, maxPause)
		if m, err := r.writeTry(ctx); err != nil || m.on != "" {
			return m, err
		}
	}
}

// writeTry writes down one more try to send the approval. When another round has approved the operation since the last one,
// there is none: what became of it is looked up.
func (r *round) writeTry(ctx context.Context) (move, error) {
	r.attempts++
	err := r.apply(ctx, move{on: evSendAgain, body: r.sent(r.attempts)})
	if errors.Is(err, errMeanwhile) {
		return move{on: evKnown, body: LookedUp{Status: "not known"}}, nil
	}
	return move{}, err
}

// notSent is the outcome of an approval that certainly did not leave this time.
func (r *round) notSent() Outcome {
	if r.unsure {
		return Unknown
	}
	return Failed
}

// answered reads the Company's answer to an approval.
func (r *round) answered(rep reply) move {
	switch rep.Kind {
	case operation.Recorded:
		return move{on: evRecorded, body: Approval{Outcome: "recorded"}}
	case operation.Declined:
		// One that is not of this very approval says nothing of ours, which may be recorded.
		if rep.broken != nil {
			return settlef(Unknown, "the Company answered the approval with a decline that can't be read: %v", rep.broken).telling(Approval{Outcome: "unknown"})
		}
		if rep.Decline.OperationID != r.op.ID || rep.Decline.Revision != r.op.Revision {
			return settle(Unknown, "the Company answered the approval with a decline of another operation or revision").telling(Approval{Outcome: "unknown"})
		}
		return settle(Declined, rep.Decline.Reason).
			telling(Approval{Outcome: "declined", Reason: rep.Decline.Reason, Alternative: rep.Decline.Alternative})
	case operation.Known:
		if rep.OperationID != r.op.ID {
			return settle(Unknown, "the Company answered the approval with the state of another operation")
		}
		return move{on: evKnown, body: LookedUp{Status: string(rep.State)}}
	case operation.Returned:
		if r.unsure && rep.broken == nil && rep.Operation.ID == r.op.ID && rep.Operation.Revision != r.op.Revision {
			// New terms in answer to a retry do not say what became of the first try: nobody is asked before that is known.
			return move{on: evKnown, body: LookedUp{Status: "not known"}}
		}
		return r.newTerms(rep)
	case operation.InvalidReference:
		if r.unsure {
			// An earlier try may have been recorded: ask, don't guess.
			return move{on: evKnown, body: LookedUp{Status: "not known"}}
		}
		if !r.companyTime().Before(r.op.ExpiresAt) {
			return settle(Expired, "the Company no longer accepts the reference: the revision has expired")
		}
		return settle(Failed, "the Company no longer accepts the reference; the approval was not recorded")
	case operation.InvalidSession, operation.Challenge:
		if !r.unsure { // the Company did not get as far as the approval
			return settlef(Failed, "the Company no longer accepts the Session, or wants it signed in: it answered with %s; the approval was not recorded", rep.said())
		}
	}
	return settlef(Unknown, "the operations endpoint answered the approval with %s", rep.said()).telling(Approval{Outcome: "unknown"})
}

// newTerms takes the operation that came in answer to an approval: the approval was not recorded, and the new terms
// need an answer of their own.
func (r *round) newTerms(rep reply) move {
	switch {
	case rep.broken != nil:
		return settlef(r.notSent(), "the Company answered the approval with an operation that can't be read: %v", rep.broken)
	case rep.Operation.ID == r.op.ID && rep.Operation.Revision == r.op.Revision:
		return settle(r.notSent(), "the Company answered the approval with the very revision it approves; it is not sent again")
	case rep.Operation.ID != r.op.ID:
		return settle(r.notSent(), "the Company answered the approval with another operation")
	}
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	m := r.fetchedLocked(rep.Operation)
	m.on = evNewTerms
	return m.telling(Approval{Outcome: "new_terms"})
}

// replay has the browser make the act again. That it does is written down before, by the way it is done in: from then
// on no other process may do it.
func (r *round) replay(ctx context.Context) (move, error) {
	if r.gone() {
		return move{on: evCannotReplay, body: Note{Why: "the page is gone: another run had it"}}, nil
	}
	if r.act() == nil {
		return move{on: evCannotReplay, body: Note{Why: "no act of ours caused it, so there is none to make again"}}, nil
	}
	r.dropOwn() // what came before the replay is no answer to it
	r.replays++
	_, err := r.site.page.Again(ctx, r.act(), r.held, func(how browser.How) error {
		if ctx.Err() != nil {
			return errStopped
		}
		if err := r.apply(ctx, move{on: evReplay, body: Replay{How: how}}); err != nil {
			return err
		}
		r.makesAgain()
		return nil
	})
	switch {
	case r.state == Recorded && (errors.Is(err, browser.ErrCannotRepeat) || errors.Is(err, errMeanwhile)):
		return move{on: evCannotReplay, body: Note{Why: err.Error()}}, nil
	case r.state == Recorded:
		return move{}, err // the line could not be written, or the browser is gone before anything was done
	}
	why := ""
	if err != nil {
		why = err.Error() // the request may have left all the same: the look-up tells
	}
	return move{on: evReplayed, body: Note{Why: why}}, nil
}

// lookUp asks the Company what became of the approved operation, with the approved reference, and only then looks at a
// new one (Operations v3, sections 6 and 7).
func (r *round) lookUp(ctx context.Context) (move, error) {
	until := r.ops.cfg.Now().Add(lookTime)
	pause := firstPause
	for {
		rep, err := r.tryLookUp(ctx, r.reference, lookTries)
		switch {
		case ctx.Err() != nil:
			return move{}, errStopped
		case err != nil:
			return settlef(Unknown, "the Company could not be asked what became of it: %v", err), nil
		case rep.Kind == operation.Returned && rep.broken == nil && r.replays == 0 && !r.wasRecorded() && rep.Operation.ID == r.op.ID && rep.Operation.Revision != r.op.Revision:
			return r.newTerms(rep), nil // no approval was recorded, and the request was not made again
		case rep.Kind != operation.Known || rep.broken != nil:
			return settlef(Unknown, "the Company no longer says what became of it: it answered with %s", rep.said()), nil
		case rep.OperationID != r.op.ID:
			return settle(Unknown, "the Company answered with the state of another operation"), nil
		}
		news := LookedUp{Status: string(rep.State)}
		waits := rep.State == operation.Approved && !r.gone() && r.onlyThePage() && r.companyTime().Before(r.op.ExpiresAt) && !r.ops.cfg.Now().After(until)
		if waits {
			news.For = "the page to make its request by itself, until " + r.op.ExpiresAtSent
		}
		r.ops.notify(r.id, news)
		switch {
		case rep.State == operation.Performed:
			return settle(Performed, ""), nil
		case rep.State == operation.Approved && !waits:
			return r.stillApproved(ctx)
		case !waits && r.ops.cfg.Now().After(until):
			return settle(Unknown, "the Company is still performing it"), nil
		}
		if err := wait(ctx, pause); err != nil {
			return move{}, errStopped
		}
		pause = min(2*pause, maxPause)
	}
}

// wasRecorded reports whether the approval of the present revision is known to have been recorded. The page may have used
// it up by itself since, and the Company may have forgotten that.
func (r *round) wasRecorded() bool {
	return r.alive != nil && r.alive.revision == r.op.Revision
}

// onlyThePage reports whether nothing but the page's own doing can use the approval: no act of ours explains the round,
// and no new reference came that would have to be looked at.
func (r *round) onlyThePage() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.act() == nil && len(r.next) == 0
}

// stillApproved goes on when the approval is recorded and not used up.
func (r *round) stillApproved(ctx context.Context) (move, error) {
	r.keepAlive()
	for next := r.takeSuccessor(); next != nil; next = r.takeSuccessor() {
		rep, err := r.tryLookUp(ctx, next.reference, lookTries)
		known := err == nil && rep.Kind == operation.Returned && rep.broken == nil
		switch {
		case ctx.Err() != nil:
			return move{}, errStopped
		case !next.own && (!known || rep.Operation.ID != r.op.ID):
			// Another request of the page, which asks for something else: it says nothing of this one.
			r.mu.Lock()
			r.left = append(r.left, *next)
			r.mu.Unlock()
			continue
		case !known:
			return settle(Unknown, "the browser's request no longer matches the approval, and the Company does not say what it asks for now"), nil
		case rep.Operation.ID != r.op.ID:
			return settle(Unknown, "the browser's request no longer matches the approval, which stays recorded until "+r.op.ExpiresAtSent), nil
		case rep.Operation.Revision != r.op.Revision:
			r.take(next)
			return r.newTerms(rep), nil
		}
		// The page in the tab is the one that got the new reference; the approved one stays the one to look up.
		r.take(&successor{reference: r.reference, held: next.held})
		break
	}
	if r.gone() {
		return r.finishGone()
	}
	if r.replays >= replayTries || r.act() == nil {
		return settle(Unknown, "it is approved and not performed, and the act could not be made again; the approval ends at "+r.op.ExpiresAtSent), nil
	}
	return move{on: evStillApproved}, nil
}
