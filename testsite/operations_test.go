package testsite

import (
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"
)

// bench is the state machine alone, with a clock, names and prices that the test sets.
type bench struct {
	*operations
	t        *testing.T
	at       time.Time
	price    string
	declines *Decline
	holds    int
	done     []string // operation IDs, in the order performed
}

var (
	alice = owner{client: "https://agent.example/agent.json", user: "usr_alice"}
	bob   = owner{client: "https://agent.example/agent.json", user: "usr_bob"}
)

func newBench(t *testing.T) *bench {
	b := &bench{t: t, at: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), price: "70.00"}
	n := 0
	b.operations = &operations{
		now:   func() time.Time { return b.at },
		fresh: func(int) string { n++; return fmt.Sprintf("x%d", n) },
		quote: func(a ask) offer {
			return offer{summary: "for " + b.price, terms: fmt.Appendf(nil, `{"size":%q,"price":%q}`, a.values.Get("size"), b.price)}
		},
		life:       func() time.Duration { return time.Minute },
		decline:    func(string) *Decline { d := b.declines; b.declines = nil; return d },
		hold:       func(string) int { return b.holds },
		perform:    func(op *operation, _ ask, _ approval) { b.done = append(b.done, op.id) },
		refs:       map[string]*reference{},
		references: map[string]string{},
	}
	return b
}

func exchangeOf(size string) ask {
	return ask{kindExchange, "order/item", url.Values{"size": {size}}}
}

func userApproval(a answer) approval {
	return approval{operationID: a.op.id, revision: a.rev.id, approver: approverUser, approvedAt: 1, inputType: "tap"}
}

// is fails the test unless the answer has the verdict.
func (b *bench) is(a answer, v verdict) answer {
	b.t.Helper()
	if a.verdict != v {
		b.t.Fatalf("verdict %s, want %s (findings %v)", a.verdict, v, a.findings)
	}
	return a
}

// asked makes a request and reads its operation.
func (b *bench) asked(a ask) (ref string, op answer) {
	b.t.Helper()
	ref = b.is(b.request(alice, "ses_1", a), verdictWaiting).ref
	return ref, b.is(b.lookUp(alice, "ses_1", ref), verdictOperation)
}

// Clauses: OPS3-7.01, OPS3-6.25, OPS3-6.63, OPS3-7.02
func TestAnOperationIsPerformedOnceHoweverOftenItsApprovalIsSent(t *testing.T) {
	b := newBench(t)
	ref, op := b.asked(exchangeOf("M"))
	if out := b.is(b.approve(alice, ref, userApproval(op)), verdictRecorded); !out.first {
		t.Error("the first approval isn't called first")
	}
	if out := b.is(b.approve(alice, ref, userApproval(op)), verdictRecorded); out.first {
		t.Error("a retry counts as a new approval")
	}
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictDone)
	b.is(b.approve(alice, ref, userApproval(op)), verdictRecorded)
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictWaiting)
	b.is(b.approve(alice, ref, userApproval(op)), verdictRecorded)
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictWaiting)
	if len(b.done) != 1 {
		t.Errorf("performed %v", b.done)
	}
}

// Clauses: OPS3-7.01, OPS3-6.48
func TestParallelApprovalsAndRequestsPerformAnOperationOnce(t *testing.T) {
	b := newBench(t)
	ref, op := b.asked(exchangeOf("M"))
	b.is(b.approve(alice, ref, userApproval(op)), verdictRecorded)
	verdicts := make(chan verdict, 40)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { verdicts <- b.request(alice, "ses_1", exchangeOf("M")).verdict })
		all.Go(func() { verdicts <- b.approve(alice, ref, userApproval(op)).verdict })
	}
	all.Wait()
	close(verdicts)
	done := 0
	for v := range verdicts {
		if v == verdictDone {
			done++
		}
	}
	if done != 1 || len(b.done) != 1 {
		t.Errorf("%d requests were answered as done, performed %v", done, b.done)
	}
}

// Clauses: OPS3-3.30
func TestTwoApprovedRevisionsOfAnOperationPerformItOnce(t *testing.T) {
	b := newBench(t)
	small, medium := exchangeOf("S"), exchangeOf("M")
	refS, opS := b.asked(small)
	refM, opM := b.asked(medium)
	if opS.op != opM.op || opS.rev == opM.rev {
		t.Fatal("another size isn't another revision of the same operation")
	}
	b.is(b.approve(alice, refS, userApproval(opS)), verdictRecorded)
	b.is(b.approve(alice, refM, userApproval(opM)), verdictRecorded)
	b.is(b.request(alice, "ses_1", medium), verdictDone)
	b.is(b.request(alice, "ses_1", small), verdictWaiting)
	if len(b.done) != 1 {
		t.Errorf("performed %v", b.done)
	}
}

// Clauses: OPS3-6.47, OPS3-6.48
func TestTheApprovalRecordedFirstIsUsedFirstAndOneForEachRequest(t *testing.T) {
	b := newBench(t)
	// Two operations that a request of the same meaning matches: the second was asked for under another subject.
	refA, opA := b.asked(exchangeOf("M"))
	refB, opB := b.asked(ask{kindExchange, "other", url.Values{"size": {"M"}}})
	b.operations.refs[refB].ask, opB.rev.ask = exchangeOf("M"), exchangeOf("M")
	b.is(b.approve(alice, refB, userApproval(opB)), verdictRecorded)
	b.is(b.approve(alice, refA, userApproval(opA)), verdictRecorded)
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictDone)
	if len(b.done) != 1 || b.done[0] != opB.op.id {
		t.Fatalf("performed %v, want only %s", b.done, opB.op.id)
	}
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictDone)
	if len(b.done) != 2 || b.done[1] != opA.op.id {
		t.Fatalf("performed %v, want %s second", b.done, opA.op.id)
	}
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictWaiting)
}

// Clauses: OPS3-6.61, OPS3-6.62, OPS3-6.63, OPS3-6.64, OPS3-6.65, OPS3-6.68, OPS3-6.51
func TestTheFirstCheckThatFailsDecidesTheAnswer(t *testing.T) {
	b := newBench(t)
	ref, op := b.asked(exchangeOf("M"))
	other, otherOp := b.asked(ask{kindMembership, "m", url.Values{}})
	bobs := b.is(b.request(bob, "ses_2", exchangeOf("M")), verdictWaiting)
	b.is(b.lookUp(bob, "ses_2", bobs.ref), verdictOperation)

	given := userApproval(op)
	// Check 1, with a reference that the Session can use and one that it can't.
	b.is(b.approve(bob, ref, given), verdictInvalid)
	if out := b.is(b.approve(bob, bobs.ref, given), verdictOperation); out.op == op.op {
		t.Error("the operation of another User came back")
	}
	// Check 3: the reference is another operation's, and the revision another one's or invented.
	if out := b.is(b.approve(alice, other, given), verdictOperation); out.op != otherOp.op {
		t.Error("not the reference's operation")
	}
	wrong := given
	wrong.revision = otherOp.rev.id
	b.is(b.approve(alice, ref, wrong), verdictOperation)
	wrong.revision = "invented"
	b.is(b.approve(alice, ref, wrong), verdictOperation)
	// Check 2 before check 3: performed, and the revision is invented.
	b.is(b.approve(alice, ref, given), verdictRecorded)
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictDone)
	if out := b.is(b.approve(alice, ref, wrong), verdictStatus); out.status != "performed" {
		t.Errorf("status %q", out.status)
	}
	// Check 1 before check 2: performed, and not this User's.
	b.is(b.approve(bob, ref, given), verdictInvalid)
	b.is(b.approve(bob, bobs.ref, given), verdictOperation)
	// Check 3: expired, in the form the reference then gets.
	b.at = b.at.Add(time.Hour)
	b.is(b.approve(alice, other, userApproval(otherOp)), verdictInvalid)
	if len(b.done) != 1 {
		t.Errorf("performed %v", b.done)
	}
}

// Clauses: OPS3-3.03, OPS3-3.07, OPS3-3.26, OPS3-3.29, OPS3-6.72, OPS3-6.73
func TestNewTermsAnswerAnApprovalWithANewRevisionOfTheSameOperation(t *testing.T) {
	b := newBench(t)
	ref, op := b.asked(exchangeOf("M"))
	b.price = "80.00"
	out := b.is(b.approve(alice, ref, userApproval(op)), verdictOperation)
	if out.op != op.op || out.rev.id == op.rev.id || string(out.rev.offer.terms) == string(op.rev.offer.terms) {
		t.Fatalf("answered with %s of %s", out.rev.id, out.op.id)
	}
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictWaiting)
	b.is(b.approve(alice, ref, userApproval(out)), verdictRecorded)
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictDone)
	// The terms return to what they were: the name of the old revision doesn't.
	_, again := b.asked(exchangeOf("M"))
	b.price = "70.00"
	next, back := b.asked(exchangeOf("M"))
	if back.rev.id == op.rev.id || back.rev.id == again.rev.id {
		t.Error("a revision's name was used twice")
	}
	b.is(b.approve(alice, next, userApproval(back)), verdictRecorded)
}

// Clauses: OPS3-6.73
func TestNoApprovalIsAnsweredWithTheRevisionItNames(t *testing.T) {
	b := newBench(t)
	ref, op := b.asked(exchangeOf("M"))
	_, other := b.asked(ask{kindMembership, "m", url.Values{}})
	given := userApproval(op)
	given.operationID = other.op.id // fails check 3, though the revision is the reference's present one
	out := b.is(b.approve(alice, ref, given), verdictOperation)
	if out.rev.id == given.revision {
		t.Error("answered with the revision that the approval names")
	}
}

// Clauses: OPS3-3.18, OPS3-6.46, OPS3-6.50, OPS3-6.52
func TestARecordedApprovalHoldsForItsTermsOnlyAndForAllOfItsLife(t *testing.T) {
	b := newBench(t)
	ref, op := b.asked(exchangeOf("M"))
	b.is(b.approve(alice, ref, userApproval(op)), verdictRecorded)
	b.is(b.request(alice, "ses_1", exchangeOf("L")), verdictWaiting)
	b.is(b.request(bob, "ses_2", exchangeOf("M")), verdictWaiting)
	b.price = "80.00"
	b.at = op.rev.expires
	out := b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictDone)
	if out.rev != op.rev {
		t.Error("performed other terms than the approved ones")
	}
}

// Clauses: OPS3-3.07, OPS3-4.54
func TestAnExpiredRevisionIsRenewedByTheBrowserAndByNothingElse(t *testing.T) {
	b := newBench(t)
	ref, op := b.asked(exchangeOf("M"))
	b.at = b.at.Add(2 * time.Minute)
	b.is(b.lookUp(alice, "ses_1", ref), verdictInvalid)
	b.price = "80.00"
	b.is(b.lookUp(alice, "ses_1", ref), verdictInvalid)
	b.price = "70.00"
	next, fresh := b.asked(exchangeOf("M"))
	if next == ref || fresh.op != op.op || fresh.rev.id == op.rev.id {
		t.Error("a later expires_at isn't a new revision of the same operation")
	}
}

// Clauses: OPS3-3.28, OPS3-6.69
func TestTheSameActionAskedAgainIsTheSameOperationAndRevision(t *testing.T) {
	b := newBench(t)
	first, op := b.asked(exchangeOf("M"))
	second, again := b.asked(exchangeOf("M"))
	if first == second {
		t.Error("the reference isn't new")
	}
	if op.op != again.op || op.rev != again.rev {
		t.Error("the operation or its revision changed")
	}
}

// Clauses: OPS3-6.76, OPS3-6.77, OPS3-6.86
func TestADeclinedApprovalIsNeverRecorded(t *testing.T) {
	b := newBench(t)
	ref, op := b.asked(exchangeOf("M"))
	b.declines = &Decline{Reason: "no"}
	out := b.is(b.approve(alice, ref, userApproval(op)), verdictDeclined)
	if out.op.id != op.op.id || out.rev.id != op.rev.id {
		t.Error("the decline names another operation or revision")
	}
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictWaiting)
	if out := b.is(b.lookUp(alice, "ses_1", ref), verdictOperation); out.rev.id == op.rev.id {
		t.Error("the declined revision is offered again")
	}
	b.is(b.approve(alice, ref, userApproval(op)), verdictDeclined)
	if len(b.done) != 0 || b.status(alice, exchangeOf("M")) != "waiting" {
		t.Error("a declined approval has an effect")
	}
}

// Clauses: OPS3-6.56, OPS3-6.63, OPS3-7.08, OPS3-7.09, OPS3-7.03, OPS3-6.57
func TestWhileItIsPerformedNothingIsAnsweredAsIfItFailed(t *testing.T) {
	b := newBench(t)
	ref, op := b.asked(exchangeOf("M"))
	b.is(b.approve(alice, ref, userApproval(op)), verdictRecorded)
	b.holds = 2
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictBusy)
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictBusy)
	b.is(b.approve(alice, ref, userApproval(op)), verdictBusy)
	b.at = b.at.Add(time.Hour) // it is remembered while it is being performed, however long that takes
	for range 2 {
		if out := b.is(b.lookUp(alice, "ses_1", ref), verdictStatus); out.status != "performing" {
			t.Fatalf("status %q", out.status)
		}
	}
	if out := b.is(b.lookUp(alice, "ses_1", ref), verdictStatus); out.status != "performed" {
		t.Fatalf("status %q", out.status)
	}
	if len(b.done) != 1 {
		t.Errorf("performed %v", b.done)
	}
}

func TestALookUpOfALaterRevisionGivesTheOperationUntilSomethingWasPerformed(t *testing.T) {
	b := newBench(t)
	refM, opM := b.asked(exchangeOf("M"))
	refL, _ := b.asked(exchangeOf("L"))
	b.is(b.approve(alice, refM, userApproval(opM)), verdictRecorded)
	if out := b.is(b.lookUp(alice, "ses_1", refM), verdictStatus); out.status != statusApproved {
		t.Errorf("status %q", out.status)
	}
	b.is(b.lookUp(alice, "ses_1", refL), verdictOperation)
	b.is(b.request(alice, "ses_1", exchangeOf("M")), verdictDone)
	b.is(b.lookUp(alice, "ses_1", refL), verdictStatus)
}
