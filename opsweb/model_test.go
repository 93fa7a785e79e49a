package opsweb

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// modelCompany is a Company that keeps Operations v3 and counts what it performs, and around which the network, its
// prices and its moods go as drawn.
type modelCompany struct {
	world   *world
	mishaps []int // one for each request, at the endpoint or the website

	operation int // the present one's number
	revision  int
	approved  string            // the revision of the recorded approval; empty: none
	refs      map[string]string // ref → operation and revision
	performed map[string]int
	faults    []string
}

// The mishaps.
const (
	allWell = iota
	requestLost
	answerLost
	isBusy
	priceChanged
	itDeclines
	forgotten
	mishapKinds
)

func (m *modelCompany) mishap() int {
	if len(m.mishaps) == 0 {
		return allWell
	}
	next := m.mishaps[0]
	m.mishaps = m.mishaps[1:]
	return next
}

func (m *modelCompany) id() string  { return fmt.Sprint("exc_", m.operation) }
func (m *modelCompany) rev() string { return fmt.Sprint("v", m.revision) }

// site answers the browser's request for the action.
func (m *modelCompany) site() page {
	what := m.mishap()
	if what == requestLost {
		return page{script: true}
	}
	if what == priceChanged {
		m.revision++
	}
	if m.approved == m.rev() {
		m.performed[m.id()]++
		m.approved = ""
		m.operation++
		m.revision++
		if what == answerLost {
			return page{script: true}
		}
		return page{script: true, status: http.StatusOK}
	}
	ref := fmt.Sprint("r", len(m.refs)+1)
	m.refs[ref] = m.id() + " " + m.rev()
	if what == answerLost {
		return page{script: true}
	}
	return refusedScript(ref)
}

// endpoint answers a look-up or an approval.
func (m *modelCompany) endpoint(p post) answer {
	what := m.mishap()
	switch what {
	case requestLost:
		return lost
	case isBusy:
		return busy(503, "1")
	case priceChanged:
		m.revision++
	case forgotten:
		return gone
	}
	a := m.answer(p, what)
	if what == answerLost {
		return lost
	}
	return a
}

func (m *modelCompany) answer(p post, what int) answer {
	id, _, known := strings.Cut(m.refs[p.ref], " ")
	switch {
	case !known:
		m.faults = append(m.faults, "a reference that never was: "+p.ref)
		return gone
	case m.performed[id] > 0:
		return answer{status: 200, body: `{"operation_id":"` + id + `","status":"performed"}`}
	case p.approval == "" && m.approved != "":
		return answer{status: 200, body: `{"operation_id":"` + id + `","status":"approved"}`}
	case p.approval == "" || p.revision != m.rev():
		return termsOf(id, m.rev(), 20*time.Minute)
	case what == itDeclines:
		return answer{status: 403, body: `{"error":"approval_declined","operation_id":"` + id + `","revision":"` + p.revision + `"}`}
	}
	m.approved = p.revision
	return recorded
}

// Whatever the network, the Company and the User do: an operation is performed at most once, an approval is of exactly
// what the User said yes to, nothing is sent after a no or a decline, and the run ends with every round settled.
//
// Clauses: OPS3-5.03, OPS3-5.24, OPS3-6.88, OPS3-7.12, RD-6.01, RD-6.03
func TestNothingIsPerformedTwiceOrWithoutAYesWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		mishaps := rapid.SliceOfN(rapid.IntRange(0, mishapKinds-1), 0, 14).Draw(rt, "mishaps")
		user := rapid.SliceOfN(rapid.Bool(), 0, 3).Draw(rt, "user")
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = modelRun(t, mishaps, user) })
		for _, fault := range faults {
			rt.Error(fault)
		}
	})
}

func modelRun(t *testing.T, mishaps []int, user []bool) (faults []string) {
	w := newWorld(t)
	m := &modelCompany{world: w, mishaps: mishaps, revision: 1, refs: make(map[string]string), performed: make(map[string]int)}
	w.company.live, w.chrome.live = m.endpoint, m.site
	says := make([]say, len(user))
	for i, yes := range user {
		says[i] = say(yes)
	}
	stop := w.answers(says...)
	w.press(w.tab)
	if err := w.settle(); err != nil {
		faults = append(faults, "not settled: "+err.Error())
	}
	stop()
	w.close()
	faults = append(faults, m.faults...)
	total := 0
	for id, n := range m.performed {
		total += n
		if n > 1 {
			faults = append(faults, fmt.Sprintf("%s was performed %d times", id, n))
		}
	}
	if total > 1 {
		faults = append(faults, fmt.Sprintf("one act performed %d operations", total))
	}
	yeses := make(map[string]bool)
	for _, a := range bodies[Answer](w) {
		if a.Approved {
			yeses[a.Shown.OperationID+" "+a.Shown.Revision] = true
		}
	}
	approvals := w.company.approvals()
	byRevision := make(map[string]string)
	for _, p := range approvals {
		members := approvalMembers(p.approval)
		what := members["operation_id"] + " " + members["revision"]
		if !yeses[what] {
			faults = append(faults, "an approval without a yes: "+what)
		}
		if first, ok := byRevision[what]; ok && first != p.approval {
			faults = append(faults, "two approvals of one revision differ: "+what)
		}
		byRevision[what] = p.approval
	}
	outcomes := w.ops.Outcomes()
	switch {
	case slices.Contains(outcomes, Performed) && total == 0:
		faults = append(faults, "said to be performed, and was not")
	case total > 0 && slices.ContainsFunc(outcomes, func(o Outcome) bool { return o != Performed && o != Unknown }):
		faults = append(faults, fmt.Sprintf("performed, and said to be %v", outcomes))
	}
	if trace := w.trace(); slices.Contains(outcomes, Declined) && !strings.HasSuffix(trace, "settled") {
		faults = append(faults, "something left after a decline: "+trace)
	}
	if len(faults) > 0 {
		faults = append(faults, w.trace())
	}
	return faults
}
