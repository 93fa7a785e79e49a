package testsite

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"
)

// The state machine of the operations, without HTTP. An operation goes one way:
//
//	          approve: recorded          request: uses it up
//	asked ───────────────────▶ asked ───────────────────▶ performing ──▶ performed
//	  ▲ │                        │ the revision expires
//	  └─┘ request, look-up,      ▼
//	      approve: declined    asked, the approval no longer applies
//
// It is performed when the state leaves asked, and that happens once: only request does it, only from asked, and
// under the one lock.
type state string

const (
	asked      state = "asked"
	performing state = "performing"
	performed  state = "performed"
)

// statusApproved is a status of a look-up that isn't a state: the approval waits for the browser's request.
const statusApproved = "approved"

// owner is who can approve an operation (Operations v3, section 3): the same agent for the same User, while it is signed
// in to the same account, or signed out as it was when it got the operation.
type owner struct{ client, user, account string }

// ask is a guarded request as the shop understood it.
type ask struct {
	kind    string     // which of the guarded actions
	subject string     // what it acts on: requests with one subject are for the same action until it is performed
	values  url.Values // what is asked for
}

// meaning is equal for two requests that ask for exactly the same.
func (a ask) meaning() string { return a.kind + " " + a.subject + " " + a.values.Encode() }

// offer is what the Company would do for an ask, at this moment.
type offer struct {
	summary string
	terms   json.RawMessage
}

// operation is one action that is performed at most once.
type operation struct {
	id        string
	owner     owner
	kind      string
	subject   string
	state     state
	revisions []*revision
	used      *revision // whose approval was used up
	holding   int       // look-ups that still find it performing
	toldIn    string    // the Session in which a look-up called it performed

	declined        bool // an approval of it was declined
	agentAnsweredBy bool // an agent approval of it was answered with new terms
}

// revision is one set of terms of an operation. Its terms and expiry never change.
type revision struct {
	id      string
	op      *operation
	ask     ask
	offer   offer
	expires time.Time

	returned  bool       // an answer of the endpoint carried it
	replaced  bool       // a later revision stands for the same request
	declined  *Decline   // how its approval was declined
	approval  *approval  // as recorded
	ref       *reference // that the approval came with
	delivered bool       // the browser was given the action's result
}

// reference is what the browser got. It stands for an operation and what the request asked for.
type reference struct {
	value       string
	op          *operation
	ask         ask
	issued      int       // moments count the machine's calls
	looked      int       // moment of the last look-up
	told        string    // what that look-up said
	predecessor *revision // recorded for the same action before, with a result nobody was given
}

// finding is a rule that a call showed to be broken.
type finding struct{ rule, seen string }

// operations is the state of all operations. It is safe for concurrent use.
type operations struct {
	now     func() time.Time
	fresh   func(characters int) string     // random characters of an ID
	quote   func(ask) offer                 // pure: the shop's terms
	life    func() time.Duration            // of a new revision
	decline func(kind string) *Decline      // called once the checks pass
	hold    func(kind string) int           // for how many look-ups the next one stays performing
	perform func(*operation, ask, approval) // the effect itself, called once for each operation

	mu         sync.Mutex
	moment     int
	list       []*operation
	refs       map[string]*reference
	recorded   []*revision // in the order of recording
	references map[string]string
}

// known reports whether there is an operation of that ID.
func (s *operations) known(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.list, func(op *operation) bool { return op.id == id })
}

// verdict is the kind of an answer.
type verdict string

const (
	verdictInvalid   verdict = "invalid"   // 400 invalid_request
	verdictOperation verdict = "operation" // 403 approval_required with the operation
	verdictStatus    verdict = "status"    // 200 with the state
	verdictRecorded  verdict = "recorded"  // 204
	verdictDeclined  verdict = "declined"  // 403 approval_declined
	verdictBusy      verdict = "busy"      // 503: it is being performed
	verdictWaiting   verdict = "waiting"   // website: 403 with a reference
	verdictDone      verdict = "done"      // website: the action's result
	verdictChallenge verdict = "challenge" // the sign-in challenge of 1.0
)

// answer is what one call of the machine comes to.
type answer struct {
	verdict  verdict
	op       *operation
	rev      *revision
	status   string
	ref      string
	first    bool // an approval was recorded now, not again
	findings []finding
}

func (a *answer) found(rule, format string, args ...any) {
	a.findings = append(a.findings, finding{rule, fmt.Sprintf(format, args...)})
}

// request is the browser's request for a guarded action (Operations v3, section 6, "Websites"). It uses the approval
// recorded first among those that match, one at most, or gives a new reference.
func (s *operations) request(o owner, sid string, a ask) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moment++
	var out answer
	for _, rev := range s.recorded {
		op := rev.op
		if op.owner != o || rev.ask.meaning() != a.meaning() {
			continue
		}
		switch {
		case op.state == performed:
			if op.toldIn == sid && rev == op.used {
				out.found(ruleRepeat, "a request for %s after a look-up called it performed", op.id)
				op.toldIn = ""
			}
		case op.state == performing: // check 2, answered as section 7 says
			out.verdict, out.op, out.rev = verdictBusy, op, rev
			return out
		case s.now().After(rev.expires):
		default:
			out.op, out.rev = op, rev
			op.state, op.used = performing, rev
			if op.holding = s.hold(op.kind); op.holding > 0 {
				out.verdict = verdictBusy
				return out
			}
			s.finishLocked(op)
			out.verdict = verdictDone
			return out
		}
	}
	op := s.pendingLocked(o, a)
	rev := s.currentLocked(op, a, true)
	ref := &reference{
		value: op.id + "." + s.fresh(20), op: op, ask: a, issued: s.moment, predecessor: s.predecessorLocked(o, a.subject),
	}
	s.refs[ref.value] = ref
	out.verdict, out.op, out.rev, out.ref = verdictWaiting, op, rev, ref.value
	return out
}

// lookUp answers a reference without an approval (Operations v3, sections 4 and 6).
func (s *operations) lookUp(o owner, sid, value string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moment++
	out, ref := s.usableLocked(o, value)
	if ref == nil {
		return out
	}
	out = s.lookUpLocked(ref, "", out)
	if ref.op.state == performing {
		if ref.op.holding--; ref.op.holding <= 0 {
			s.finishLocked(ref.op) // the next look-up finds it performed
		}
	}
	ref.looked, ref.told = s.moment, out.status
	if out.status == string(performed) {
		ref.op.toldIn = sid
	}
	return out
}

// approve checks an approval at the endpoint, in the order of Operations v3, section 6, "What the Company checks", and
// answers as the first check that fails says.
func (s *operations) approve(o owner, value string, a approval) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moment++
	out, ref := s.usableLocked(o, value)
	named := s.operationLocked(a.operationID)
	// Check 1: the Session can approve the operation. Otherwise the request has no approval.
	if named != nil && named.owner != o {
		if named.owner.client != o.client || named.owner.user != o.user {
			out.found(ruleApprovalOfAnother, "an operation of another User or agent")
		}
		if ref == nil {
			return out
		}
		return s.lookUpLocked(ref, a.revision, out)
	}
	if ref == nil {
		return out
	}
	s.noteReferenceLocked(o, a, &out)
	rev := revisionOf(named, a.revision)
	// Check 2: it hasn't been performed, and isn't being performed.
	if named != nil && named.state != asked {
		return s.answerPerformedLocked(named, rev, a, out)
	}
	// A retry gets the answer of the first time.
	if rev != nil && rev.declined != nil {
		out.found(ruleAfterDecline, "revision %s was declined before", rev.id)
		out.verdict, out.op, out.rev = verdictDeclined, named, rev
		return out
	}
	// Check 3: the revision is one we returned for this operation, it hasn't expired, and the reference is the
	// operation's.
	if rev != nil && rev.approval == nil {
		s.currentLocked(named, rev.ask, false) // the terms may have changed since they were read
	}
	if broken := s.check3Locked(ref, named, rev); broken != nil {
		if broken.rule != "" {
			out.findings = append(out.findings, *broken)
		}
		if a.approver == approverAgent {
			ref.op.agentAnsweredBy = true
		}
		return s.operationAnswerLocked(ref, a.revision, out)
	}
	out.op, out.rev = named, rev
	if rev.approval != nil {
		if *rev.approval != a {
			out.found(ruleRetryDiffers, "another approval of %s than the recorded one", rev.id)
		}
		out.verdict = verdictRecorded
		return out
	}
	s.noteApprovalLocked(ref, named, a, &out)
	if rev.declined = s.decline(named.kind); rev.declined != nil {
		rev.replaced, named.declined = true, true
		out.verdict, out.first = verdictDeclined, true
		return out
	}
	rev.approval, rev.ref = &a, ref
	s.recorded = append(s.recorded, rev)
	out.verdict, out.first = verdictRecorded, true
	return out
}

// delivered notes that the browser was given the result of the revision's action.
func (s *operations) delivered(rev *revision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rev.delivered = true
}

// status says how a browser's own request stands, for a page that waits: "waiting", or a look-up's status.
func (s *operations) status(o owner, a ask) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.recorded) - 1; i >= 0; i-- {
		rev := s.recorded[i]
		if rev.op.owner != o || rev.ask.meaning() != a.meaning() {
			continue
		}
		if rev.op.state != asked {
			return string(rev.op.state)
		}
		if !s.now().After(rev.expires) {
			return statusApproved
		}
	}
	return "waiting"
}
