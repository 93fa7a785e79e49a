package opsweb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/company"
)

// What an approval says of how it was given is the same at every Company, for every User; its reference is a new one each
// time, and no Company learns of one that another has.
//
// Clauses: OPS3-6.13, OPS3-6.15
func TestAnApprovalsReferenceIsNewEachTimeAndItsInputTypeSaysNothingOfTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		recordedAt := map[string]bool{}
		w.company.live = func(p post) answer {
			switch {
			case p.approval != "":
				recordedAt[p.ref] = true
				return recorded
			case recordedAt[p.ref]:
				return answer{status: 200, body: `{"operation_id":"exc_` + p.ref + `","status":"performed"}`}
			}
			return termsOf("exc_"+p.ref, "v1", 20*time.Minute)
		}
		stop := w.answers(yes, yes, yes, yes)
		for i, domain := range []string{shopDomain, shopDomain, "other.test", "third.test"} {
			c := &company.Company{Domain: domain, Name: domain, Issuer: "https://id." + domain, JoinEndpoint: "https://" + domain + "/join", OperationsEndpoint: "https://" + domain + "/poppy/operations", OperationsListed: true}
			w.session = newSession(t, c)
			tab := w.join(w.session, c)
			w.chrome.script = []page{refusedScript(fmt.Sprint("r", i)), {script: true, status: 200}}
			w.press(tab)
			w.must(w.settle())
		}
		stop()
		seen := make(map[string]string)
		for _, p := range w.company.approvals() {
			members := approvalMembers(p.approval)
			if at, twice := seen[members["reference"]]; twice || members["reference"] == "" {
				t.Errorf("the reference %q went to %s and %s", members["reference"], at, p.url)
			}
			seen[members["reference"]] = p.url
			if members["input_type"] != "typed" {
				t.Errorf("input_type = %q", members["input_type"])
			}
		}
		if len(seen) != 4 {
			t.Errorf("%d approvals left: %s", len(seen), w.trace())
		}
	})
}

// An approval that the User takes back before it is sent, by ending the run, is not sent: not by that run, and by none that
// goes on with the operation, unless the User approves it there anew.
//
// Clauses: OPS3-5.26
func TestAnApprovalThatIsWithdrawnBeforeItWasSentIsNotSent(t *testing.T) {
	for _, tc := range []struct {
		again []say
		want  []Outcome
		sent  int
	}{{nil, nil, 0}, {[]say{no}, []Outcome{Refused}, 0}, {[]say{yes}, []Outcome{Unknown}, 1}} {
		t.Run(fmt.Sprint(tc.want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := killAt(t, story{endpoint: []answer{terms("v1")}, site: []page{refused("r1")}, user: []say{yes}}, lineYes)
				if n := len(w.company.approvals()); n != 0 {
					t.Fatalf("%d approvals left after the run's end", n)
				}
				given := bodies[Question](w)[0].Request
				w.company.script = []answer{terms("v1")}
				if tc.sent > 0 {
					w.company.script = append(w.company.script, recorded, state("approved"))
				}
				w.must(w.resumes("run_2", false))
				synctest.Wait()
				open, _ := w.ops.Desk().Pending()
				if len(open) != 1 || open[0].ID == given {
					t.Fatalf("open: %+v", open)
				}
				stop := w.answers(tc.again...)
				if tc.again != nil {
					_, err := w.ops.Resumed(t.Context())
					w.must(err)
				}
				synctest.Wait()
				stop()
				w.close()
				if got := w.ops.Outcomes(); !slices.Equal(got, tc.want) {
					t.Errorf("outcomes = %v", got)
				}
				if n := len(w.company.approvals()); n != tc.sent {
					t.Errorf("it was sent %d times", n)
				}
				if tc.sent > 0 && !strings.Contains(w.trace(), "question answer sending APPROVE:r1:v1") {
					t.Errorf("what happened: %s", w.trace())
				}
			})
		})
	}
}
