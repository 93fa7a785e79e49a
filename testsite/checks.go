package testsite

// The parts of an approval's checks that have a name of their own, and what the machine notices about the agent
// beside them. What is noticed never changes an answer.

// check3Locked says why the approval fails check 3, or nil. A finding without a rule fails it through no fault of the
// agent: the Company replaced the revision meanwhile.
func (s *operations) check3Locked(ref *reference, named *operation, rev *revision) *finding {
	switch {
	case named == nil || named != ref.op:
		return &finding{ruleOperationMismatch, "an approval of another operation than the reference's"}
	case rev == nil:
		return &finding{ruleRevisionUnknown, "a revision that this Company didn't return for " + named.id}
	case !rev.returned:
		return &finding{ruleRevisionUnread, "the terms of " + rev.id + " were never read"}
	case s.now().After(rev.expires):
		return &finding{ruleRevisionExpired, "the revision " + rev.id + " has expired"}
	case rev.replaced && rev.approval == nil:
		return &finding{}
	}
	return nil
}

// answerPerformedLocked is check 2's answer, as Operations v3, section 7 says: while it is being performed, nothing
// that sounds like a failure; afterwards the answer of the first time, or one that says the same.
func (s *operations) answerPerformedLocked(named *operation, rev *revision, a approval, out answer) answer {
	out.op, out.rev = named, rev
	switch {
	case rev == nil:
		out.found(ruleRevisionUnknown, "a revision that this Company didn't return for %s", named.id)
	case rev.declined != nil:
		out.found(ruleAfterDecline, "revision %s was declined before", rev.id)
	case rev.approval == nil:
		out.found(ruleSecondApproval, "another revision of %s was approved before", named.id)
	case *rev.approval != a:
		out.found(ruleRetryDiffers, "another approval of %s than the recorded one", rev.id)
	}
	switch {
	case named.state == performing:
		out.verdict = verdictBusy
	case rev != nil && rev.approval != nil:
		out.verdict = verdictRecorded
	default:
		out.verdict, out.status = verdictStatus, string(performed)
	}
	return out
}

// noteReferenceLocked notices an approval's reference that stood in another approval.
func (s *operations) noteReferenceLocked(o owner, a approval, out *answer) {
	if a.reference == "" {
		return
	}
	key, of := o.client+" "+o.user+" "+a.reference, a.operationID+" "+a.revision
	if before, found := s.references[key]; found && before != of {
		out.found(ruleReferenceReused, "the reference of an approval of %s", before)
		return
	}
	s.references[key] = of
}

// noteApprovalLocked notices what a first approval that passes the checks says about the agent.
func (s *operations) noteApprovalLocked(ref *reference, named *operation, a approval, out *answer) {
	for _, other := range named.revisions {
		if other.approval != nil && !s.now().After(other.expires) {
			out.found(ruleSecondApproval, "revision %s of %s is approved already", other.id, named.id)
		}
	}
	if a.approver == approverAgent {
		if named.declined {
			out.found(ruleAgentAfterDecline, "%s was declined before", named.id)
		}
		if named.agentAnsweredBy {
			out.found(ruleAgentNewTerms, "new terms of %s answered an agent approval", named.id)
		}
	}
	before := ref.predecessor
	if before == nil {
		return
	}
	switch {
	case before.ref.looked < ref.issued:
		out.found(ruleBeforeLookUp, "%s was approved before, and nobody asked how that went", before.op.id)
	case before.ref.told == string(performing):
		out.found(ruleWhilePerforming, "%s is being performed", before.op.id)
	case before.ref.told == string(performed):
		out.found(ruleAfterPerformed, "%s was performed", before.op.id)
	}
	if a.approver == approverAgent && before.approval.approver == approverAgent {
		out.found(ruleAgentNewOperation, "an agent approval of %s was recorded before", before.op.id)
	}
}

// predecessorLocked gives the last approval recorded for the same action whose result the agent doesn't know: neither
// the browser was given it nor did a look-up tell.
func (s *operations) predecessorLocked(o owner, subject string) *revision {
	for i := len(s.recorded) - 1; i >= 0; i-- {
		rev := s.recorded[i]
		if rev.op.owner != o || rev.op.subject != subject {
			continue
		}
		if rev.delivered || rev.ref.told == string(performed) {
			return nil
		}
		return rev
	}
	return nil
}
