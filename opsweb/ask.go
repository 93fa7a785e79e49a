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
	return r.fetched(ctx, rep)
}

// fetched goes on with what the endpoint answered to a look-up before anything was approved.
func (r *round) fetched(ctx context.Context, rep reply) (move, error) {
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
	case operation.InvalidSession:
		return r.renewSession(ctx)
	case operation.Challenge:
		return settle(Failed, "the operation belongs to an account, and the Session is signed out"), nil
	case operation.Known:
		return r.knownBefore(rep)
	}
	if rep.broken != nil {
		return settlef(Failed, "the operations endpoint's answer (status %d) can't be read, so nothing can be approved: %v", rep.Status, rep.broken), nil
	}
	return settlef(Failed, "the operations endpoint did not answer with the terms but with %s", rep.said()), nil
}

// renewSession answers a Session that has ended before anything was approved in it: a new one is started and joined, and
// the act made again once, for a reference in the new Session.
func (r *round) renewSession(ctx context.Context) (move, error) {
	const ended = "the Company says that the Session has ended"
	switch {
	case r.replays > 0:
		return settle(Failed, ended+", and the one after it too"), nil
	case r.site.renew == nil || r.act() == nil:
		return settle(Failed, ended), nil
	}
	err := r.site.renew(ctx, r.reference.sid)
	switch {
	case ctx.Err() != nil:
		return move{}, errStopped
	case err != nil:
		return settlef(Failed, ended+", and no other could be joined: %v", err), nil
	}
	return move{on: evGone}, nil
}

// returned takes the terms of a revision that may be put to the User.
func (r *round) returned(op operation.Operation) move {
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	for _, other := range r.ops.rounds {
		if other == r || other.site.company.Issuer != r.site.company.Issuer || other.op.ID != op.ID {
			continue
		}
		same := other.op.Revision == op.Revision
		switch {
		case other.movesLocked():
			// Also with another revision: one operation is asked and approved once at a time.
			if other.site == r.site {
				other.meetsLocked(op, successor{reference: r.reference, held: r.held})
			}
			return move{on: evSame, body: MergedInto{Into: other.id}, into: other}
		case same && other.state == Settled && (other.verdict == Refused || other.verdict == Declined || other.verdict == Expired):
			// The outcome is unknown while an approval of an earlier revision lives.
			return settlef(other.outcome, "this revision was %s before in this run, and is not asked again", other.verdict)
		}
	}
	return r.fetchedLocked(op)
}

// meetsLocked gives a round another reference to its operation. Other terms that come while the User is being asked take
// the place of the old ones: an approval of those would only be answered with the new ones. Terms that come too late for that
// are asked about in a round that follows. A reference that comes later is looked at when the Company says that the approval
// is not used up.
func (r *round) meetsLocked(op operation.Operation, from successor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.state.Spent():
		from.own, from.same = r.ownLocked(from.held), true
		r.keepLocked(from)
	case (r.state == Fetched || r.state == Asking || r.state == Denied) && op.Revision != r.op.Revision:
		r.offered = &offered{op: op, from: from}
		if r.recall != nil {
			r.recall()
		}
	}
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
// accepts. This round has approved nothing, but an approval that an earlier run sent may be recorded: what the request
// came to is known only when it was refused again, or was not made.
func (r *round) sightAgain(ctx context.Context) (move, error) {
	r.replays++
	if r.act() == nil {
		return settle(Failed, "the Company no longer accepts the reference, and no act of ours can be made again for a new one"), nil
	}
	made, beside := false, ""
	_, err := r.site.page.Again(ctx, r.act(), r.held, func(browser.How) error {
		if ctx.Err() != nil {
			return errStopped
		}
		if beside = r.usedBeside(); beside != "" {
			return errMeanwhile
		}
		r.makesAgain()
		made = true
		return nil
	})
	if ctx.Err() != nil {
		return move{}, errStopped
	}
	if beside != "" {
		return settlef(Failed, "the Company no longer accepts the reference, and the act is not made again for a new one: it would ask for what was approved in round %s, whose end is not known", beside), nil
	}
	next := r.takeSuccessor()
	if next == nil {
		why := "the Company no longer accepts the reference, and making the act again brought no new one"
		if err != nil {
			why += ": " + err.Error()
		}
		method, url, refused := r.site.page.Refused(r.act())
		if !made || refused && method == r.held.Method() && url == r.held.URL() { // another request's refusal tells nothing
			return settle(Failed, why), nil
		}
		return settle(Unknown, why+"; whether the request performed anything is not known"), nil
	}
	r.take(next)
	return move{on: evNewReference}, nil
}

// usedBeside is another round of this run by whose approval r's request may be performed; empty for none.
func (r *round) usedBeside() string {
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	if other := r.ops.repeatedLocked(r.site, r.held); other != nil {
		return other.id
	}
	return ""
}

// openQuestion writes down that the User is going to be asked, and what, once no earlier approval of the operation is
// open any more.
func (r *round) openQuestion(ctx context.Context) (move, error) {
	if m, err := r.lookUpEarlier(ctx); err != nil || m.on != "" {
		return m, err
	}
	if !r.companyTime().Before(r.op.ExpiresAt) {
		if other := r.takeOffered(); other != nil {
			return r.askOther(*other), nil
		}
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
		After:       r.after(),
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
	if r.gone() {
		return r.resumed.actLine()
	}
	if a := r.act(); a != nil {
		return words(a)
	}
	return ""
}

// ask waits for the one answer, or for other terms of the operation.
func (r *round) ask(ctx context.Context) (move, error) {
	asking, recall := context.WithCancel(ctx)
	defer recall()
	r.mu.Lock()
	r.recall = recall
	if r.offered != nil {
		recall()
	}
	r.mu.Unlock()
	d, err := r.ops.desk.Ask(asking, r.question)
	other := r.takeOffered()
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return move{}, errStopped
		case other != nil:
			return r.askOther(*other), nil
		}
		return move{}, err
	}
	switch d.State {
	case approval.Approved:
		r.decision = d
		if r.gone() {
			r.resumed.agreed = r.resumed.flow // the question said so
		}
		return move{on: evApproved, written: true, body: Note{Why: "approved by the " + string(d.Approver)}}, nil
	case approval.Denied:
		r.keepOffered(other)
		return move{on: evDenied, written: true, body: Note{Why: "not approved by the " + string(d.Approver)}}, nil
	case approval.Expired:
		if other != nil {
			return r.askOther(*other), nil
		}
		return settle(Expired, "nobody answered before its deadline"), nil
	default:
		return move{}, fmt.Errorf("round %s: a question ended as %q", r.id, d.State)
	}
}

// takeOffered returns the other terms that came for the open question, or before it was opened; from now on there is none to
// take back.
func (r *round) takeOffered() *offered {
	r.mu.Lock()
	defer r.mu.Unlock()
	other := r.offered
	r.offered, r.recall = nil, nil
	return other
}

// keepOffered has terms that were not asked about wait for the round's end.
func (r *round) keepOffered(other *offered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.offered == nil {
		r.offered = other
	}
}

// askOther takes the terms that another reference named in the place of those that were being asked.
func (r *round) askOther(other offered) move {
	r.take(&other.from)
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	m := r.fetchedLocked(other.op)
	m.on = evNewTerms
	return m
}

// tryLookUp looks a reference up, again after a failure of the network or of the Company, or when the Company asks to wait.
//
// It waits for lookTime at most, however long the Company asks to wait.
func (r *round) tryLookUp(ctx context.Context, ref Reference, tries int) (reply, error) {
	pause, until := firstPause, r.ops.cfg.Now().Add(lookTime)
	var last error
	for try := 1; ; try++ {
		rep, err := ref.post(ctx, nil)
		switch {
		case errors.Is(err, errHeld):
			last = err
		case err != nil && !errors.Is(err, errNoAnswer):
			return reply{}, err
		case err != nil:
			last = err
		case !rep.saysNothing():
			return rep, nil
		case rep.Kind == operation.Busy:
			last = fmt.Errorf("the Company asked to wait (%s)", http.StatusText(rep.Status))
		default:
			last = fmt.Errorf("the Company answered with %s", rep.said())
		}
		if try >= tries {
			return reply{}, fmt.Errorf("given up after %d tries: %w", tries, last)
		}
		left := max(pause, rep.retryAfter)
		if r.ops.cfg.Now().Add(left).After(until) {
			return reply{}, fmt.Errorf("given up after %d tries, before a wait of %v: %w", try, left, last)
		}
		if err := wait(ctx, left); err != nil {
			return reply{}, err
		}
		pause = min(2*pause, maxPause)
	}
}
