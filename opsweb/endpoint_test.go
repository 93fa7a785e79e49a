package opsweb

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Clauses: OPS3-4.24, OPS3-4.42, OPS3-4.44, OPS3-4.45, OPS3-4.46, OPS3-4.47, OPS3-6.33, OPS3-6.37, OPS3-6.60
func TestEachRequestGoesToTheCompanysEndpointWithWhatItNeedsAndNothingMore(t *testing.T) {
	const ref = "exc_9.v9.looks-like-ids" // opaque: sent as it came
	tell(t, story{
		endpoint: []answer{terms("v1"), lost, recorded, state("performed")}, site: []page{refused(ref), done}, user: []say{yes}, outcome: Performed,
		want: "ACT sighting LOOK:" + ref + " operation question answer sending APPROVE:" + ref + ":v1 sending-again APPROVE:" + ref + ":v1 recorded replaying RELOAD replayed LOOK:" + ref + " settled",
		after: func(w *world) {
			seen := make(map[string]bool)
			for i, p := range w.company.all() {
				if p.url != shopEndpoint || p.body != `{"ref":"`+ref+`"}` {
					w.t.Errorf("request %d went to %s with %s", i, p.url, p.body)
				}
				for name, want := range map[string]string{"Poppy-Version": "1.0", "Poppy-Extensions": `"operations";v="3"`, "Content-Type": "application/json", "Accept": "application/json"} {
					if got := p.header.Get(name); got != want {
						w.t.Errorf("request %d has %s %q", i, name, got)
					}
				}
				if p.header.Get("Authorization") != "" || p.header.Get("Cookie") != "" {
					w.t.Errorf("request %d has credentials of a browser or an account", i)
				}
				token := p.header.Get("Poppy-Session")
				if seen[token] {
					w.t.Errorf("request %d has the Session header of an earlier one", i)
				}
				seen[token] = true
				if sid := claim(w.t, token, "sid"); sid != w.session.ID() {
					w.t.Errorf("request %d is of Session %s", i, sid)
				}
				if (p.approval != "") != (i == 1 || i == 2) {
					w.t.Errorf("request %d has the approval %q", i, p.approval)
				}
			}
		},
	})
}

func claim(t *testing.T, token, name string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("the Session header has %d parts", len(parts))
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(data, &claims); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(claims[name])
}

// What is sent says who approved which revision and when, and stays the same byte for byte in a retry.
//
// Clauses: OPS3-6.02, OPS3-6.03, OPS3-6.04, OPS3-6.05, OPS3-6.06, OPS3-6.07, OPS3-6.10, OPS3-6.12, OPS3-6.16, OPS3-6.17, OPS3-6.22, OPS3-7.12
func TestTheApprovalIsTheUsersAndTheSameInARetry(t *testing.T) {
	tell(t, story{
		endpoint: []answer{terms("v1"), busy(503, "30"), lost, terms("v2"), terms("v2"), recorded, state("performed")},
		site:     []page{refused("r1"), done}, user: []say{yes, yes}, outcome: Performed,
		want: approved + "sending-again APPROVE:r1:v1 sending-again APPROVE:r1:v1 state-known LOOK:r1 operation question answer sending APPROVE:r1:v2 recorded replaying RELOAD replayed LOOK:r1 settled",
		after: func(w *world) {
			sent := w.company.approvals()
			if len(sent) != 4 {
				w.t.Fatalf("%d approvals left", len(sent))
			}
			if sent[0].approval != sent[1].approval || sent[0].approval != sent[2].approval {
				w.t.Errorf("a retry differs:\n%s\n%s\n%s", sent[0].approval, sent[1].approval, sent[2].approval)
			}
			references := make(map[string]bool)
			answers := bodies[Answer](w)
			for i, p := range []post{sent[0], sent[3]} {
				members := approvalMembers(p.approval)
				if members["operation_id"] != "exc_1" || members["revision"] != fmt.Sprint("v", i+1) || members["approver"] != "user" || members["input_type"] != "typed" {
					w.t.Errorf("approval %d: %s", i, p.approval)
				}
				if at := fmt.Sprintf("approved_at=%d,", answers[i].DecidedAt.Unix()); !strings.Contains(p.approval, at) {
					w.t.Errorf("approval %d has not %s: %s", i, at, p.approval)
				}
				references[members["reference"]] = true
			}
			if len(references) != 2 {
				w.t.Errorf("two approvals have the reference of one: %v", references)
			}
		},
	})
}

// Whatever other Session the context is joined to meanwhile: a reference is used in the one that it names, and the line of a
// sending says which that is, so that a later run can look it up.
func TestAReferenceIsUsedInTheSessionThatItNamesAlsoAfterThatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first := w.session.ID()
		w.company.script = []answer{terms("v1").with(func(w *world) { w.must(w.session.Restart(first)) }), recorded, state("performed")}
		w.chrome.script = []page{refused("r1"), done}
		stop := w.answers(yes)
		w.press(w.tab)
		w.must(w.settle())
		stop()
		if w.session.ID() == first || len(w.company.approvals()) != 1 {
			t.Fatalf("the Session is %s, and %d approvals left", w.session.ID(), len(w.company.approvals()))
		}
		for i, p := range w.company.all() {
			if sid := claim(t, p.header.Get("Poppy-Session"), "sid"); sid != first {
				t.Errorf("request %d is signed in %s, want %s", i, sid, first)
			}
		}
		for _, rec := range w.disk.records() {
			var s Sent
			if rec.Kind == "sending" && (json.Unmarshal(rec.Data, &s) != nil || s.Sid != first) {
				t.Errorf("the line is %s, want %s", rec.Data, first)
			}
		}
	})
}

// Clauses: OPS3-4.42, OPS3-4.43
func TestARedirectOfTheEndpointIsNeverFollowed(t *testing.T) {
	var trapped atomic.Int32
	trap := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { trapped.Add(1) }))
	defer trap.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var asked atomic.Int32
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("Location", trap.URL)
			w.WriteHeader(status)
		}))
		client := *server.Client()
		client.Transport.(*http.Transport).TLSClientConfig.RootCAs.AddCert(trap.Certificate())
		o, err := New(t.Context(), Config{Ledger: newWorld(t).ledger, Client: &client})
		if err != nil {
			t.Fatal(err)
		}
		c := (&world{}).site()
		c.OperationsEndpoint = server.URL
		s := &site{company: c, session: newSession(t, c), client: o.cfg.Client, now: o.cfg.Now}
		rep, err := Reference{text: "r1", site: s, sid: s.session.ID()}.post(t.Context(), nil)
		if err != nil || rep.Status != status || asked.Load() != 1 || trapped.Load() != 0 {
			t.Errorf("%d: answer %d, %v; asked %d times, the trap %d times", status, rep.Status, err, asked.Load(), trapped.Load())
		}
		o.Close()
		server.Close()
	}
}

// An endless or broken answer is no answer.
func TestAnAnswerThatDoesNotComeWholeIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script = []answer{{status: 403, body: `{"error":"approval_required",` + strings.Repeat(" ", 2<<20) + `"x":1}`}}
		w.chrome.script = []page{refused("r1")}
		w.press(w.tab)
		w.must(w.settle())
		if got := w.ops.Outcomes(); len(got) != 1 || got[0] != Failed {
			t.Errorf("outcomes = %v", got)
		}
	})
}
