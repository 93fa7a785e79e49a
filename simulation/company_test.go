package simulation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// companyModel is the Company after Operations v3, sections 3 to 7: one website with one action, at whatever the action costs
// at the moment. It keeps the extension's rules; what goes wrong around it is the network's and its servers' doing. All of
// it is guarded by the world's lock.
type companyModel struct {
	w       *world
	price   int
	serial  int
	ops     []*op
	refs    map[string]*ref
	gone    map[string]bool // references it does not know any more
	refused map[string]bool // revisions whose approval it declined: a decline stays one

	// What a Company may do in more than one way, by seed.
	strict       bool // a replaced revision can't be approved
	byOperation  bool // a look-up is answered by the operation's state, not by the revision's
	saysState    bool // an approval that comes after all is done is answered with the state
	life         time.Duration
	newWhenStale bool // an expired reference gets the operation anew, not invalid_request
}

type op struct {
	id          string
	state       string
	performedBy *recorded
	revisions   []*revision
	approvals   []*recorded
	performed   int
}

type revision struct {
	op      *op
	name    string
	price   int
	expires time.Time
}

// recorded is an approval that the Company has recorded.
type recorded struct {
	revision *revision
	ref      string // it was sent with
	header   string
	from     *process
	used     bool
	at       time.Time
}

type ref struct {
	name string
	op   *op
	act  int
	sid  string
}

func newCompany(w *world) *companyModel {
	c := &companyModel{w: w, price: 7, refs: make(map[string]*ref), gone: make(map[string]bool), refused: make(map[string]bool)}
	ch := w.chance
	c.strict, c.byOperation, c.saysState = ch.one("company", 2), ch.one("company", 2), ch.one("company", 2)
	c.newWhenStale = ch.one("company", 2)
	c.life = []time.Duration{90 * time.Second, 5 * time.Minute, 20 * time.Minute, 2 * time.Hour}[ch.number("company", 4)]
	return c
}

// moods is what changes at the Company by itself, seen as a request comes.
func (c *companyModel) moods() {
	if c.w.chance.meetsAt(priceChanges, 0.5) {
		c.price++
		c.w.story("Company: the price is %d now", c.price)
	}
	for _, o := range c.ops {
		if o.state == "performed" && o.performedBy.revision.expires.Before(c.w.now()) && !c.gone["op "+o.id] && c.w.chance.meets(forgets) {
			c.w.story("Company: forgets %s", o.id)
			if c.newWhenStale {
				// What it remembers no more is an operation that can be had again.
				o.state, o.approvals = "open", nil
			} else {
				c.gone["op "+o.id] = true
			}
		}
	}
}

// alive are the approvals of an operation that a request of the website could use.
func (o *op) alive(now time.Time) *recorded {
	for _, a := range o.approvals {
		if !a.used && now.Before(a.revision.expires) {
			return a
		}
	}
	return nil
}

// site answers a browser's request for the action.
func (c *companyModel) site(sid string, act int) (status int, reference string) {
	c.moods()
	now := c.w.now()
	if n := len(c.ops); n > 0 && c.ops[n-1].alive(now) != nil && c.w.chance.meets(priceChanges) {
		c.price++
		c.w.story("Company: the price is %d now, as an approved request comes", c.price)
	}
	// Several recorded approvals may match: the one recorded first is used.
	var first *recorded
	for _, o := range c.ops {
		for _, a := range o.approvals {
			if !a.used && now.Before(a.revision.expires) && a.revision.price == c.price && o.state == "open" && (first == nil || a.at.Before(first.at)) {
				first = a
			}
		}
	}
	if first != nil {
		return c.perform(first), ""
	}
	r := &ref{name: fmt.Sprintf("r%d", len(c.refs)+1), op: c.current(), act: act, sid: sid}
	c.refs[r.name] = r
	c.revisionOf(r.op)
	return http.StatusForbidden, r.name
}

func (c *companyModel) perform(a *recorded) int {
	o := a.revision.op
	a.used = true
	o.performed++
	o.performedBy = a
	if !c.w.chance.meetsAt(slowToPerform, 3) {
		o.state = "performed"
		c.w.story("Company: performs %s %s", o.id, a.revision.name)
		return http.StatusOK
	}
	o.state = "performing"
	takes := c.w.chance.between("company", time.Second, []time.Duration{time.Minute, 8 * time.Minute, 40 * time.Minute}[c.w.chance.number("company", 3)])
	c.w.story("Company: performs %s %s, which takes %v", o.id, a.revision.name, takes)
	c.w.later(takes, func() {
		o.state = "performed"
		c.w.story("Company: has performed %s", o.id)
	})
	return []int{http.StatusAccepted, http.StatusServiceUnavailable, http.StatusOK}[c.w.chance.number("company", 3)]
}

// current is the operation that a request without an approval is about: the one for the action that is not performed, or
// a new one.
func (c *companyModel) current() *op {
	if n := len(c.ops); n > 0 && c.ops[n-1].state == "open" {
		return c.ops[n-1]
	}
	o := &op{id: fmt.Sprintf("exc_%d", len(c.ops)+1), state: "open"}
	c.ops = append(c.ops, o)
	return o
}

// revisionOf is the revision of an operation at the present price.
func (c *companyModel) revisionOf(o *op) *revision {
	now := c.w.now()
	if n := len(o.revisions); n > 0 {
		r := o.revisions[n-1]
		if r.price == c.price && now.Before(r.expires) && !c.w.chance.meetsAt(expiryChanges, 0.3) {
			return r
		}
	}
	c.serial++
	r := &revision{op: o, name: fmt.Sprintf("v%d", c.serial), price: c.price, expires: now.Add(c.life).Truncate(time.Second)}
	o.revisions = append(o.revisions, r)
	c.w.story("Company: %s %s for %d.00 until %s", o.id, r.name, r.price, r.expires.Format(time.TimeOnly))
	return r
}

func (o *op) revision(name string) *revision {
	for _, r := range o.revisions {
		if r.name == name {
			return r
		}
	}
	return nil
}

// terms is the JSON of a revision's terms.
func (r *revision) terms() string {
	return fmt.Sprintf(`{"order_id":"ord_1","price":{"amount":"%d.00","currency":"USD"}}`, r.price)
}

// response is an answer of the endpoint.
type response struct {
	status int
	body   string
	retry  string
}

func invalidRequest() response {
	return response{status: http.StatusBadRequest, body: `{"error":"invalid_request"}`}
}

func (c *companyModel) returned(o *op) response {
	r := c.revisionOf(o)
	return response{status: http.StatusForbidden, body: fmt.Sprintf(
		`{"error":"approval_required","operation":{"operation_id":%q,"revision":%q,"summary":"Exchange it for %d.00 USD.","terms":%s,"expires_at":%q}}`,
		o.id, r.name, r.price, r.terms(), r.expires.UTC().Format(time.RFC3339))}
}

func (o *op) says(state string) response {
	return response{status: http.StatusOK, body: fmt.Sprintf(`{"operation_id":%q,"status":%q}`, o.id, state)}
}

// endpoint answers a look-up or an approval.
func (c *companyModel) endpoint(p post) response {
	c.moods()
	now := c.w.now()
	r := c.refs[p.ref]
	if r == nil || c.gone[p.ref] || c.gone["op "+r.op.id] {
		return invalidRequest()
	}
	o := r.op
	if p.approval == nil {
		return c.lookUp(r)
	}
	a := p.approval
	if a.operation != o.id {
		return c.returned(o)
	}
	switch o.state { // check 2
	case "performing":
		if c.saysState {
			return o.says("performing")
		}
		return response{status: http.StatusServiceUnavailable, retry: "5"}
	case "performed":
		if c.saysState {
			return o.says("performed")
		}
		return response{status: http.StatusNoContent}
	}
	rev := o.revision(a.revision)
	for _, known := range o.approvals {
		if known.revision == rev && !known.used && now.Before(rev.expires) {
			return response{status: http.StatusNoContent}
		}
	}
	replaced := rev != nil && rev != o.revisions[len(o.revisions)-1] || rev != nil && rev.price != c.price
	if rev == nil || !now.Before(rev.expires) || c.strict && replaced { // check 3
		if rev != nil && !now.Before(rev.expires) && !c.newWhenStale {
			return invalidRequest()
		}
		return c.returned(o)
	}
	if c.refused[rev.name] || c.w.chance.meets(declines) {
		c.refused[rev.name] = true
		c.w.story("Company: declines %s %s", o.id, rev.name)
		return response{status: http.StatusForbidden, body: fmt.Sprintf(`{"error":"approval_declined","operation_id":%q,"revision":%q,"reason":"no"}`, o.id, rev.name)}
	}
	o.approvals = append(o.approvals, &recorded{revision: rev, ref: p.ref, header: a.header, from: p.from, at: now})
	c.w.story("Company: records the approval of %s %s", o.id, rev.name)
	c.w.judge.recorded(o, rev, p)
	return response{status: http.StatusNoContent}
}

func (c *companyModel) lookUp(r *ref) response {
	o := r.op
	if o.state != "open" {
		return o.says(o.state)
	}
	now := c.w.now()
	current := o.revisions[len(o.revisions)-1]
	if a := o.alive(now); a != nil && (c.byOperation || a.ref == r.name) {
		return o.says("approved")
	}
	if !now.Before(current.expires) && !c.newWhenStale {
		return invalidRequest()
	}
	return c.returned(o)
}

// approvalSent is a Poppy-Approval as the Company reads it.
type approvalSent struct {
	operation, revision, approver, reference string
	at                                       int64
	header                                   string
}

// post is a request to the endpoint.
type post struct {
	from     *process
	ref      string
	approval *approvalSent
}

func (p post) String() string {
	if p.approval == nil {
		return "look-up of " + p.ref
	}
	return fmt.Sprintf("approval of %s %s with %s", p.approval.operation, p.approval.revision, p.ref)
}

// readBody reads the one member that a request to the endpoint has.
func readBody(body []byte) (string, bool) {
	var sent map[string]string
	err := json.Unmarshal(body, &sent)
	return sent["ref"], err == nil && len(sent) == 1
}
