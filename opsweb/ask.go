package opsweb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/operation"
)

const (
	fetchTries = 5           // a look-up before anything is approved
	firstPause = time.Second // between two tries; doubles
	maxPause   = 30 * time.Second
)

// fetch gets the terms with the round's reference (Operations v3, section 4). Nothing is approved yet, so whatever goes
// wrong here is known not to have performed anything.
func (r *round) fetch(ctx context.Context) (move, error) {
	rep, err := r.tryLookUp(ctx, r.reference, fetchTries)
	if ctx.Err() != nil {
		return move{}, errStopped
	}
	if err != nil {
		return settlef(Failed, "the terms could not be fetched: %v", err), nil
	}
	switch rep.Kind {
	case operation.Returned:
		if rep.broken != nil {
			return settlef(Failed, "the operation can't be read, so it can't be approved: %v", rep.broken), nil
		}
		return r.returned(rep.Operation), nil
	case operation.InvalidReference:
		if r.replays > 0 {
			return settle(Failed, "the Company accepts neither the reference nor a second one for the same act"), nil
		}
		return move{on: evGone}, nil
	case operation.Challenge:
		return settle(Failed, "the operation belongs to an account, and the Session is signed out"), nil
	case operation.Known:
		return settlef(Unknown, "the Company says that it is %s already, and this run approved nothing", rep.State), nil
	}
	if rep.broken != nil {
		return settlef(Failed, "the operations endpoint's answer (status %d) can't be read, so nothing can be approved: %v", rep.Status, rep.broken), nil
	}
	return settlef(Failed, "the operations endpoint did not answer with the terms but with %s", rep.said()), nil
}

// returned takes the terms of a revision that may be put to the User.
func (r *round) returned(op operation.Operation) move {
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	for _, other := range r.ops.rounds {
		if other == r || other.site != r.site || other.op.ID != op.ID {
			continue
		}
		same := other.op.Revision == op.Revision
		switch {
		case !other.state.final() && other.stopped == nil:
			// Also with another revision: one operation is asked and approved once at a time, and an approval of terms that
			// the Company has replaced is answered with the new ones.
			return move{on: evSame, body: MergedInto{Into: other.id}}
		case other.state == Settled && other.outcome == Unknown:
			// Whatever its terms are now: nobody approves it again before the first outcome is known (OPS3-7.13, 7.14).
			return settle(Unknown, "what became of its approval before is not known, and it is not asked again until it is")
		case same && other.state == Settled && (other.outcome == Refused || other.outcome == Declined || other.outcome == Expired):
			return settlef(other.outcome, "this revision was %s before in this run, and is not asked again", other.outcome)
		}
	}
	return r.fetchedLocked(op)
}

func (r *round) fetchedLocked(op operation.Operation) move {
	if r.op.ID == op.ID {
		before := r.op
		r.previous = &before
	}
	r.op = op
	return move{on: evFetched, body: operationBody(r.site.company.Domain, op)}
}

func operationBody(domain string, op operation.Operation) Operation {
	return Operation{
		Company: domain, ID: op.ID, Revision: op.Revision, Summary: op.Summary,
		Terms: json.RawMessage(op.Terms.Raw()), TermsHash: op.Terms.Hash(), ExpiresAt: op.ExpiresAtSent,
	}
}

// sightAgain has the browser make the act again, once, for a new reference in place of one the Company no longer
// accepts. Nothing is approved, so the request can perform nothing.
func (r *round) sightAgain(ctx context.Context) (move, error) {
	r.replays++
	if r.act() == nil {
		return settle(Failed, "the Company no longer accepts the reference, and no act of ours can be made again for a new one"), nil
	}
	_, err := r.site.page.Again(ctx, r.act(), r.held, func(browser.How) error { r.makesAgain(); return nil })
	if ctx.Err() != nil {
		return move{}, errStopped
	}
	next := r.takeSuccessor()
	if next == nil {
		why := "the Company no longer accepts the reference, and making the act again brought no new one"
		if err != nil {
			why += ": " + err.Error()
		}
		return settle(Failed, why), nil
	}
	r.take(next)
	return move{on: evNewReference}, nil
}

// openQuestion writes down that the User is going to be asked, and what.
func (r *round) openQuestion() (move, error) {
	if !r.ops.cfg.Now().Before(r.op.ExpiresAt) {
		return settle(Expired, "it had expired before it could be asked"), nil
	}
	differences := r.differences()
	req, err := r.ops.desk.NewRequest(approval.Question{
		Kind:        approval.KindApproval,
		Round:       r.id,
		Company:     approval.Company{Domain: r.site.company.Domain, Name: r.site.company.Name},
		Act:         r.actWords(),
		Operation:   r.op,
		Differences: differences,
		Deadline:    r.op.ExpiresAt,
	})
	if errors.Is(err, approval.ErrNotDisplayable) {
		return settle(Failed, "the operation has no terms that could be shown, so it can't be approved"), nil
	}
	if err != nil {
		return move{}, err
	}
	r.question = req
	return move{on: evQuestion, body: Question{Request: req.ID, Kind: approval.KindApproval, Differences: differences}}, nil
}

func (r *round) actWords() string {
	if a := r.act(); a != nil {
		return words(a)
	}
	return ""
}

// ask waits for the one answer.
func (r *round) ask(ctx context.Context) (move, error) {
	d, err := r.ops.desk.Ask(ctx, r.question)
	if err != nil {
		if ctx.Err() != nil {
			return move{}, errStopped
		}
		return move{}, err
	}
	switch d.State {
	case approval.Approved:
		r.decision = d
		return move{on: evApproved, written: true, body: Note{Why: "approved by the " + string(d.Approver)}}, nil
	case approval.Denied:
		return move{on: evDenied, written: true, body: Note{Why: "not approved by the " + string(d.Approver)}}, nil
	case approval.Expired:
		return settle(Expired, "nobody answered before "+r.op.ExpiresAtSent), nil
	default:
		return move{}, fmt.Errorf("round %s: a question ended as %q", r.id, d.State)
	}
}

// tryLookUp looks a reference up, again after a failure of the network or when the Company asks to wait.
func (r *round) tryLookUp(ctx context.Context, ref Reference, tries int) (reply, error) {
	pause := firstPause
	var last error
	for try := 1; ; try++ {
		rep, err := ref.post(ctx, nil)
		switch {
		case err != nil && !errors.Is(err, errNoAnswer):
			return reply{}, err
		case err != nil:
			last = err
		case rep.Kind != operation.Busy:
			return rep, nil
		default:
			last = fmt.Errorf("the Company asked to wait (%s)", http.StatusText(rep.Status))
		}
		if try >= tries {
			return reply{}, fmt.Errorf("given up after %d tries: %w", tries, last)
		}
		if err := wait(ctx, max(pause, rep.retryAfter)); err != nil {
			return reply{}, err
		}
		pause = min(2*pause, maxPause)
	}
}
