package testsite

import (
	"bytes"
	"fmt"
	"time"
)

// How a reference is answered, and which revision stands for a request. Everything here is called under the lock.

// lookUpLocked answers for a reference that the Session can use. It never answers with the revision to avoid.
func (s *operations) lookUpLocked(ref *reference, avoid string, out answer) answer {
	op := ref.op
	out.op = op
	if op.state != asked {
		out.verdict, out.status = verdictStatus, string(op.state)
		return out
	}
	for _, rev := range op.revisions {
		if rev.approval != nil && rev.ask.meaning() == ref.ask.meaning() && !s.now().After(rev.expires) {
			out.verdict, out.rev, out.status = verdictStatus, rev, statusApproved
			return out
		}
	}
	return s.operationAnswerLocked(ref, avoid, out)
}

// operationAnswerLocked answers with the operation, and a revision for what the reference's request asked; or that the
// reference is of no use once that has expired.
func (s *operations) operationAnswerLocked(ref *reference, avoid string, out answer) answer {
	out.op = ref.op
	if ref.op.state != asked {
		out.verdict, out.status = verdictStatus, string(ref.op.state)
		return out
	}
	rev := s.currentLocked(ref.op, ref.ask, false)
	if rev == nil {
		out.verdict = verdictInvalid
		return out
	}
	if rev.id == avoid { // Operations v3, section 6: never answer an approval with the revision it names
		rev.replaced = true
		rev = s.mintLocked(ref.op, ref.ask, rev.offer)
	}
	rev.returned = true
	out.verdict, out.rev = verdictOperation, rev
	return out
}

// usableLocked gives the reference, if this Company returned it to that agent and User.
func (s *operations) usableLocked(o owner, value string) (answer, *reference) {
	out := answer{verdict: verdictInvalid}
	ref := s.refs[value]
	if ref == nil {
		out.found(ruleRefUnknown, "a reference that this Company didn't return")
		return out, nil
	}
	signedOut := owner{client: o.client, user: o.user}
	if had := ref.op.owner; had != o && had.client == o.client && had.user == o.user {
		// Operations v3, section 3: returned signed in, it needs the same account; returned signed out, it is approved
		// signed out.
		if o == signedOut || had.account != "" {
			out.verdict = verdictChallenge
		}
		return out, nil
	}
	if ref.op.owner != o {
		out.found(ruleRefOfAnother, "a reference that another User or agent got")
		return out, nil
	}
	return out, ref
}

// currentLocked gives the revision that stands for the request now. New terms make a new revision. An expired one is
// replaced when renew is set, otherwise there is none.
func (s *operations) currentLocked(op *operation, a ask, renew bool) *revision {
	var latest *revision
	for _, rev := range op.revisions {
		if rev.ask.meaning() == a.meaning() {
			latest = rev
		}
	}
	if latest != nil && s.now().After(latest.expires) && !renew {
		return nil
	}
	terms := s.quote(a)
	if latest != nil {
		if !latest.replaced && bytes.Equal(latest.offer.terms, terms.terms) && !s.now().After(latest.expires) {
			return latest
		}
		latest.replaced = true
	}
	return s.mintLocked(op, a, terms)
}

// mintLocked makes a new revision. Its name holds random characters, so no other set of terms has it.
func (s *operations) mintLocked(op *operation, a ask, terms offer) *revision {
	expires := s.now().Add(s.life()).Truncate(time.Second)
	rev := &revision{id: fmt.Sprintf("%d-%s", expires.Unix(), s.fresh(12)), op: op, ask: a, offer: terms, expires: expires}
	op.revisions = append(op.revisions, rev)
	return rev
}

// pendingLocked gives the operation that stands for the action, or makes one.
func (s *operations) pendingLocked(o owner, a ask) *operation {
	for _, op := range s.list {
		if op.owner == o && op.kind == a.kind && op.subject == a.subject && op.state == asked {
			return op
		}
	}
	op := &operation{id: prefixOf(a.kind) + s.fresh(8), owner: o, kind: a.kind, subject: a.subject, state: asked}
	s.list = append(s.list, op)
	return op
}

// finishLocked performs the action. It is the only place that does.
func (s *operations) finishLocked(op *operation) {
	op.state = performed
	s.perform(op, op.used.ask, *op.used.approval)
}

func (s *operations) operationLocked(id string) *operation {
	for _, op := range s.list {
		if op.id == id {
			return op
		}
	}
	return nil
}

// revisionOf gives the operation's revision of that name.
func revisionOf(op *operation, id string) *revision {
	if op == nil {
		return nil
	}
	for _, rev := range op.revisions {
		if rev.id == id {
			return rev
		}
	}
	return nil
}
