package main

import (
	"slices"
	"strings"
	"testing"
)

// fault is one way in which a Company misbehaves or is unlucky, and how a run with it ends.
type fault struct {
	tell  []string // switches of the Company
	later string   // one more, while the first question is open
	flow  string   // exchange.json when empty
	press string   // the keys of the User, one a question

	status       int
	finished     string   // the outcome of the run
	outcome      string   // the outcome of the operation; empty when there is none
	error        []string // in what, done and undone of the error event, together
	stderr       string
	performances int
	approvals    int
}

// Each of these ends with its exit status and with words about what was and was not done; the Company sees an agent
// that breaks no rule, and counts what the words say.
//
// Clauses: OPS3-4.42, OPS3-4.43, OPS3-6.88, OPS3-7.10, OPS3-7.12
func TestAMisbehavingCompanyGetsAnHonestEnd(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{
		"join refused": {
			tell: []string{"refuse-join"}, status: 1, finished: "error",
			error: []string{"stormline.test refused to join", "status 400", "sent one assertion", "no page was used and no operation begun"},
		},
		"join answered with 307": {
			tell: []string{"redirect-join"}, status: 1, finished: "error",
			error: []string{"would have sent the assertion to another place", "the browser is not joined"},
		},
		"403 without the header": {
			tell: []string{"omit-header"}, status: 1, finished: "error",
			error: []string{"stormline.test refused step 4 (click) and named no operation", "the 3 steps before it", "nothing was asked or approved"},
		},
		"403 without the header, to a script of the page": {
			tell: []string{"omit-header"}, flow: "address.json", status: 1, finished: "error",
			error: []string{"stormline.test refused step 5 (click) and named no operation", "nothing was asked or approved"},
		},
		"malformed header": {
			tell: []string{"malform-header"}, status: 1, finished: "error",
			error: []string{"could not be used: the header is not a well-formed dictionary", "nothing was asked or approved"},
		},
		"reference not accepted once": {
			tell: []string{"invalid-request"}, press: "a", status: 0, finished: "performed", outcome: "performed",
			performances: 1, approvals: 1,
		},
		"reference not accepted twice": {
			tell: []string{"invalid-request?n=2"}, status: 1, finished: "error", outcome: "failed",
			error: []string{"accepts neither the reference nor a second one", "the action was not performed"},
		},
		"operation that can't be decoded": {
			tell: []string{"undecodable"}, status: 1, finished: "error", outcome: "failed",
			error: []string{"can't be read", "a member name is used twice", "the action was not performed"},
		},
		"look-up redirected": {
			tell: []string{"redirect-endpoint"}, status: 1, finished: "error", outcome: "failed",
			error: []string{"status 307", "the action was not performed"},
		},
		"expired unanswered": {
			tell: []string{"life?life=3s"}, status: 4, finished: "expired", outcome: "expired",
			stderr: "nobody answered before",
		},
		"declined": {
			tell: []string{"decline?kind=exchange&reason=The+last+jacket+is+gone."}, press: "a", status: 3, finished: "declined", outcome: "declined",
			stderr: "was declined by the Company (The last jacket is gone.): the approval was not recorded and nothing was performed",
		},
		"answer lost after recording": {
			tell: []string{"lose-answer"}, press: "a", status: 0, finished: "performed", outcome: "performed",
			performances: 1, approvals: 1,
		},
		"503 with Retry-After": {
			tell: []string{"unavailable?n=2&retry_after=1s"}, press: "a", status: 0, finished: "performed", outcome: "performed",
			performances: 1, approvals: 1,
		},
		"503 with Retry-After to the approval": {
			later: "unavailable?n=2&retry_after=2s", press: "a", status: 0, finished: "performed", outcome: "performed",
			performances: 1, approvals: 1,
		},
		"approval redirected": {
			later: "redirect-endpoint", press: "a", status: 5, finished: "unknown", outcome: "unknown",
			error: []string{"status 307", "it is not known whether the action was performed"},
		},
		"performing for a while": {
			tell: []string{"performing?n=2"}, press: "a", status: 0, finished: "performed", outcome: "performed",
			performances: 1, approvals: 1,
		},
		"result lost": {
			tell: []string{"lose-result"}, press: "a", status: 0, finished: "performed", outcome: "performed",
			performances: 1, approvals: 1,
		},
		"result lost to a script of the page": {
			tell: []string{"lose-result"}, flow: "address.json", press: "a", status: 0, finished: "performed", outcome: "performed",
			performances: 1, approvals: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := atCompany(t)
			for _, call := range f.tell {
				b.tell(call)
			}
			if f.flow == "" {
				f.flow = "exchange.json"
			}
			task := b.task(b.flow(f.flow), "--json")
			p := b.start(task...)
			if f.press != "" {
				u := b.sit(100, 40, nil, "tui")
				if f.later != "" {
					p.event("question", 1)
					b.tell(f.later)
				}
				for _, key := range f.press {
					u.answers(p, string(key))
				}
				p.exits(f.status)
				u.types("q")
				u.exits(0)
			} else {
				p.exits(f.status)
			}
			b.counted(f.performances, f.approvals)
			if got := p.event("finished", 1).text("outcome"); got != f.finished {
				t.Errorf("finished as %q, want %q", got, f.finished)
			}
			wantMembers(t, p.events(""))
			if got := outcomes(p); !slices.Equal(got, strings.Fields(f.outcome)) {
				t.Errorf("operations settled as %q, want %q\n%s", got, f.outcome, p.told())
			}
			failures := p.events("error")
			if len(failures) != len(f.error[:min(1, len(f.error))]) {
				t.Errorf("error events: %v", failures)
			}
			for _, e := range failures {
				all := strings.Join([]string{e.text("what"), e.text("done"), e.text("undone")}, "\n")
				for _, want := range f.error {
					if !strings.Contains(all, want) {
						t.Errorf("the error event does not say %q: %v", want, e)
					}
				}
				p.says(e.text("what"), e.text("done"), e.text("undone"), e.text("next"))
			}
			p.says(f.stderr)
			for _, r := range b.rounds() {
				if r.text("state") != "settled" {
					t.Errorf("ledger list: %v", r)
				}
			}
		})
	}
}

func outcomes(p *process) []string {
	var list []string
	for _, e := range p.events("settled") {
		list = append(list, e.text("outcome"))
	}
	return list
}
