package simulation

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
)

// judge holds what the agent does against what it promised. It is guarded by the world's lock; a method that takes the
// lock itself says so. It reads the ledger's lines by itself.
type judge struct {
	w        *world
	seq      uint64            // of the last line read
	rounds   map[string]*round // as the ledger tells them
	order    []*round
	known    map[string]*knowledge // by operation
	yeses    []*yes
	nos      map[approval.RequestID]bool
	lines    map[string]int  // sending lines by the approval's reference
	left     map[string]int  // approvals that left, by their reference
	sighted  map[string]bool // references whose sighting is on disk
	declined map[string]bool // operation and revision that the Company said it declined
	onDisk   map[string]bool // the same, in the ledger
}

type round struct {
	id       string
	p        *process // nil: of a process that ended before its line was seen
	ref      string
	ours     bool // an act of ours explains it
	op, rev  string
	sentRef  string
	outcome  string
	why      string
	merged   bool
	question bool
}

// knowledge is what the agent can know of an operation from what came back to it.
type knowledge struct {
	is       string // none, unsure, absent (not recorded), recorded, approved, performing, performed, declined
	header   string // the last approval that left
	what     string // of which operation and revision
	ref      string // and with what reference
	recorded bool   // an approval was ever known to be recorded
	tried    bool   // a try of this approval had no answer that says what became of it
	replayed bool
}

// yes is an answer of the User's.
type yes struct {
	p       *process
	request approval.RequestID
	op, rev string
	terms   string
	at      int64
	header  string // of the approval that was made of it
}

func newJudge(w *world) *judge {
	return &judge{
		w: w, rounds: make(map[string]*round), known: make(map[string]*knowledge), lines: make(map[string]int), left: make(map[string]int), sighted: make(map[string]bool),
		declined: make(map[string]bool), onDisk: make(map[string]bool), nos: make(map[approval.RequestID]bool),
	}
}

func (j *judge) of(op string) *knowledge {
	k := j.known[op]
	if k == nil {
		k = &knowledge{is: "none"}
		j.known[op] = k
	}
	return k
}

func (j *judge) op(id string) *op {
	for _, o := range j.w.company.ops {
		if o.id == id {
			return o
		}
	}
	return nil
}

// fields are the members of the ledger's lines that the judge looks at.
type fields struct {
	Ref         string          `json:"ref"`
	Accepted    bool            `json:"accepted"`
	Act         json.RawMessage `json:"act"`
	OperationID string          `json:"operation_id"`
	Revision    string          `json:"revision"`
	Terms       json.RawMessage `json:"terms"`
	Reference   string          `json:"reference"`
	Outcome     string          `json:"outcome"`
	Why         string          `json:"why"`
}

// line takes a line that is on disk now. It takes the lock.
func (j *judge) line(p *process, rec ledger.Record) {
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	j.lineLocked(p, rec)
}

func (j *judge) lineLocked(p *process, rec ledger.Record) {
	if rec.Seq <= j.seq {
		return // recounted
	}
	j.seq = max(j.seq, rec.Seq)
	var f fields
	if err := json.Unmarshal(rec.Data, &f); err != nil {
		j.w.violates("line %d can't be read: %v", rec.Seq, err)
	}
	if rec.Round == "" {
		return
	}
	r := j.rounds[rec.Round]
	if r == nil {
		r = &round{id: rec.Round, p: p, ref: f.Ref, ours: len(f.Act) > 0}
		j.rounds[rec.Round] = r
		j.order = append(j.order, r)
	}
	switch rec.Kind {
	case "sighting":
		j.sighted[f.Ref] = f.Accepted
	case "operation":
		r.op, r.rev = f.OperationID, f.Revision
		if o := j.op(r.op); o == nil || o.revision(r.rev) == nil || !bytes.Equal(f.Terms, []byte(o.revision(r.rev).terms())) {
			j.w.violates("the ledger has terms that the Company never returned: %s", rec.Data)
		}
	case "sending", "sending-again", "approved-before":
		j.lines[f.Reference]++
		r.op, r.rev, r.sentRef = f.OperationID, f.Revision, f.Reference
	case "replaying", "reference-gone":
		if p != nil {
			p.replayLines++
			p.lastReplay = r.id
		}
	case "resumed":
		r.p, r.outcome = p, ""
	case "same-operation":
		r.merged = true
	case "settled":
		r.outcome, r.why = f.Outcome, f.Why
		if f.Outcome == "declined" {
			j.onDisk[r.op+" "+r.rev] = true
		}
		j.settled(r)
	}
}

// settled compares how a round ended with what the Company did.
func (j *judge) settled(r *round) {
	o := j.op(r.op)
	switch r.outcome {
	case "performed":
		if ref := j.w.company.refs[r.ref]; r.op == "" && ref != nil {
			o = ref.op // one that was performed before the round could be asked about it
		}
		if o == nil || o.performed == 0 || o.state == "performing" {
			j.w.violates("round %s ends as performed and %s is not performed", r.id, r.op)
		}
	case "failed", "refused", "declined", "expired":
		if o == nil {
			return
		}
		if o.state != "open" {
			j.w.violates("round %s ends as %s and %s is %s", r.id, r.outcome, o.id, o.state)
		}
		if a := o.alive(j.w.now()); a != nil && (a.from == r.p || j.of(o.id).is != "absent") {
			j.w.violates("round %s ends as %s and an approval of %s %s can still be used", r.id, r.outcome, o.id, a.revision.name)
		}
	case "unknown":
	default:
		j.w.violates("round %s ends as %q", r.id, r.outcome)
	}
}

// recorded is told of an approval that the Company records.
func (j *judge) recorded(o *op, rev *revision, p post) {
	for _, r := range j.order {
		if r.sentRef == p.approval.reference && r.outcome != "" && r.outcome != "unknown" && r.outcome != "performed" {
			j.w.violates("round %s ended as %s and its approval of %s %s was recorded afterwards", r.id, r.outcome, o.id, rev.name)
		}
	}
}

// open reports whether an operation may be performed because of an approval that left and whose end is not known.
func (k *knowledge) open() bool {
	switch k.is {
	case "unsure", "recorded", "approved", "performing":
		return true
	}
	return false
}

// mayBeApproved checks that nothing of the operation, or of another one of the same act, is under way. It is what
// Operations v3, section 7, asks for before a User is asked and before an approval leaves.
func (j *judge) mayBeApproved(p *process, what, id, ref string) {
	k := j.of(id)
	switch k.is {
	case "unsure", "recorded", "performing", "performed":
		j.w.violates("%s about %s, of which the agent knows: %s", what, id, k.is)
	}
	mine := j.w.company.refs[ref]
	if mine == nil || mine.act == 0 {
		return
	}
	// A page that asks again by itself asks for the same action, also when the agent can't tell that by its act.
	ours := j.oursBy(ref)
	for _, r := range j.order {
		if r.p != p || r.op == "" || r.op == id || j.w.company.refs[r.ref] == nil || j.w.company.refs[r.ref].act != mine.act {
			continue
		}
		if other := j.of(r.op); other.open() || ours && other.is == "performed" {
			j.w.violates("%s about %s, while of %s, which the same act began, the agent knows: %s", what, id, r.op, other.is)
		}
	}
}

func (j *judge) oursBy(ref string) bool {
	for _, r := range j.order {
		if r.ref == ref {
			return r.ours
		}
	}
	return false
}

// asked is told of a question that the User sees.
func (j *judge) asked(p *process, r approval.Request) {
	op := r.Question.Operation
	p.story("the User is asked about %s %s: %s %q", op.ID, op.Revision, op.Terms.Raw(), r.Question.Differences)
	o := j.op(op.ID)
	if o == nil || o.revision(op.Revision) == nil {
		j.w.violates("a question about what the Company never returned: %s %s", op.ID, op.Revision)
		return
	}
	rev := o.revision(op.Revision)
	if string(op.Terms.Raw()) != rev.terms() || !op.ExpiresAt.Equal(rev.expires) || !r.Question.Deadline.Equal(rev.expires) {
		j.w.violates("a question shows other terms than those of %s %s", op.ID, op.Revision)
	}
	if r.Question.Kind == approval.KindRerun {
		if k := j.of(op.ID); k.is != "approved" {
			j.w.violates("a question whether the flow is run again for %s, of which the agent knows: %s", op.ID, k.is)
		}
		return
	}
	if j.declined[op.ID+" "+op.Revision] {
		j.w.violates("a question about %s %s, which the Company declined", op.ID, op.Revision)
	}
	ref := ""
	if t := j.rounds[r.Question.Round]; t != nil {
		ref = t.ref
		t.question = true
	} else {
		j.w.violates("a question of a round without a line")
	}
	j.mayBeApproved(p, "a question", op.ID, ref)
}

// says is told of an answer before it is given. It takes the lock.
func (j *judge) says(p *process, r approval.Request, said bool) {
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	op := r.Question.Operation
	if said && r.Question.Kind != approval.KindRerun {
		j.yeses = append(j.yeses, &yes{p: p, request: r.ID, op: op.ID, rev: op.Revision, terms: string(op.Terms.Raw()), at: j.w.agentNow().Unix()})
	}
}

// unsays takes back an answer that was told not to count. It takes the lock.
func (j *judge) unsays(p *process, r approval.Request, said bool) {
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	for i, y := range j.yeses {
		if y.request == r.ID && said {
			if y.header != "" {
				j.w.violates("an answer that does not count was used")
			}
			j.yeses = append(j.yeses[:i:i], j.yeses[i+1:]...)
			return
		}
	}
}

// bound reports whether an approval was made of the yes to a question. It takes the lock.
func (j *judge) bound(_ *process, r approval.Request) bool {
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	for _, y := range j.yeses {
		if y.request == r.ID {
			return true
		}
	}
	return false
}

// leaves is told of a request to the endpoint that leaves.
func (j *judge) leaves(p *process, sent post) {
	if !j.sighted[sent.ref] {
		j.w.violates("a reference is used whose sighting is not on disk: %s", sent.ref)
	}
	a := sent.approval
	if a == nil {
		return
	}
	j.left[a.reference]++
	if j.lines[a.reference] < j.left[a.reference] {
		j.w.violates("an approval leaves for the %d. time, and %d lines say so", j.left[a.reference], j.lines[a.reference])
	}
	if a.approver != "user" {
		j.w.violates("an approval by %q", a.approver)
	}
	if r := j.w.company.refs[sent.ref]; r == nil || r.op.id != a.operation {
		j.w.violates("an approval of %s with a reference of another operation", a.operation)
	}
	if j.declined[a.operation+" "+a.revision] {
		j.w.violates("an approval leaves after a decline: %s %s", a.operation, a.revision)
	}
	var given *yes
	for _, y := range j.yeses {
		if y.op == a.operation && y.rev == a.revision && y.at == a.at && (y.header == a.header || given == nil && y.header == "" && (y.p == p || j.lines[a.reference] > 1)) { // a second line: another process goes on with what was being sent
			given = y
		}
	}
	if given == nil {
		j.w.violates("an approval leaves without a yes of the User's to it, or it is not the same as before: %s", a.header)
		return
	}
	o := j.op(a.operation)
	if rev := o.revision(a.revision); rev == nil || rev.terms() != given.terms {
		j.w.violates("an approval of other terms than the User saw: %s", a.header)
	} else if given.header == "" && !j.w.agentNow().Before(rev.expires) {
		j.w.violates("an approval leaves after its revision has expired: %s", a.header)
	}
	k := j.of(a.operation)
	if given.header == "" {
		j.mayBeApproved(p, "an approval", a.operation, sent.ref)
		k.tried, k.replayed, k.recorded = false, false, false
	} else {
		if k.header == a.header && k.is == "declined" {
			j.w.violates("an approval of %s leaves again, of which the agent knows: %s", a.operation, k.is)
		}
	}
	given.header = a.header
	k.tried = k.tried || k.is == "unsure" && k.header == a.header
	k.is, k.header, k.ref, k.what = "unsure", a.header, sent.ref, a.operation+" "+a.revision
}

// answered is told of an answer of the endpoint that reaches the agent whole.
func (j *judge) answered(_ *process, sent post, got response) {
	var f struct {
		Error       string `json:"error"`
		OperationID string `json:"operation_id"`
		Status      string `json:"status"`
	}
	_ = json.Unmarshal([]byte(got.body), &f) // what is none of these says nothing
	r := j.w.company.refs[sent.ref]
	if r == nil {
		return
	}
	k := j.of(r.op.id)
	switch {
	case got.status == http.StatusNoContent && sent.approval != nil:
		k.is, k.recorded = "recorded", true
	case got.status == http.StatusOK && f.Status != "":
		k.is, k.recorded = f.Status, true
	case f.Error == "approval_declined" && sent.approval != nil:
		k.is = "declined"
		j.declined[sent.approval.operation+" "+sent.approval.revision] = true
	case f.Error == "approval_required" || f.Error == "invalid_request":
		if sent.approval != nil && !k.tried || sent.approval == nil && f.Error == "approval_required" && k.ref == sent.ref && !k.recorded && !k.replayed {
			k.is = "absent"
		}
	case sent.approval != nil && !k.tried && (f.Error == "invalid_session" || f.Error == "extension_required" || got.status == http.StatusUnauthorized):
		k.is = "absent" // checked before anything is recorded (Operations v3, section 6)
	}
}

// actsAgain is told that the browser makes an act again.
func (j *judge) actsAgain(p *process) {
	p.replays++
	r := j.rounds[p.lastReplay]
	if p.replays > p.replayLines || r == nil {
		j.w.violates("an act is made again for the %d. time, and %d lines say so", p.replays, p.replayLines)
		return
	}
	if r.op == "" {
		return // for a new reference
	}
	k := j.of(r.op)
	if k.is != "recorded" && k.is != "approved" {
		j.w.violates("an act is made again for %s, of which the agent knows: %s", r.op, k.is)
	}
	k.is, k.replayed = "unsure", true
}

// restarted is told that a new process begins: what the one before knew and did not write down is lost.
func (j *judge) restarted() {
	for _, k := range j.known {
		written := k.is == "declined" && j.onDisk[k.what]
		if k.is == "recorded" || k.is == "approved" || k.is == "performing" || k.is == "declined" && !written {
			k.is = "unsure"
		}
	}
	j.declined = make(map[string]bool)
	for what := range j.onDisk {
		j.declined[what] = true
	}
}

// ends looks at all of it.
func (j *judge) ends() {
	total := make(map[int]int)
	for _, o := range j.w.company.ops {
		if o.performed > 1 {
			j.w.violates("%s is performed %d times", o.id, o.performed)
		}
		if o.performed > 0 && !j.approvedByUser(o.performedBy) {
			j.w.violates("%s is performed without a yes of the User's to %s", o.id, o.performedBy.revision.name)
		}
		if o.performed > 0 {
			// A request that the page made by itself, and that the agent told the User is none of ours, is not the act's.
			if by := o.performedBy.ref; j.oursBy(by) {
				total[j.w.company.refs[by].act]++
			}
		}
	}
	for act, n := range total {
		if n > 1 {
			j.w.violates("act %d performed %d operations", act, n)
		}
	}
	records, _, err := ledger.Read(filepath.Join(j.w.dir, ledger.FileName))
	if err != nil {
		j.w.violates("the ledger does not verify: %v", err)
	}
	var audit opsweb.Audit
	for _, rec := range records {
		audit.Sees(rec)
	}
	for _, odd := range audit.Odd {
		j.w.violates("an odd line %d of round %s: %s", odd.Record, odd.Round, odd.What)
	}
	if j.w.chance.rate == 0 {
		j.undisturbed()
	}
}

func (j *judge) approvedByUser(a *recorded) bool {
	for _, y := range j.yeses {
		if y.header == a.header && y.terms == a.revision.terms() {
			return true
		}
	}
	return false
}

// undisturbed checks that without any fault each act is performed.
func (j *judge) undisturbed() {
	for _, r := range j.order {
		if r.outcome != "performed" {
			j.w.violates("nothing went wrong, and round %s ends as %q: %s", r.id, r.outcome, r.why)
		}
	}
	if n := len(j.w.company.ops); n != j.w.acts && !j.w.two {
		j.w.violates("nothing went wrong, and %d acts came to %d operations", j.w.acts, n)
	}
}
