package opsweb

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/papaver-agent/papaver/internal/pace"
)

// endpoint is the Company's operations endpoint, as a transport without a socket. It answers from the script, and
// holds every request to what such a request must be.
type endpoint struct {
	world *world

	mu     sync.Mutex
	script []answer
	posts  []post
	// live answers in place of the script when it is set.
	live func(post) answer
}

// post is one request that reached the endpoint.
type post struct {
	url      string
	header   http.Header
	body     string
	ref      string
	revision string // of the approval; empty for a look-up
	approval string // the header field as it came
	at       time.Time
}

// answer is what the endpoint answers.
type answer struct {
	status int
	body   string
	offer  *offer // makes the body
	header map[string]string
	lost   bool          // the connection breaks instead
	held   time.Duration // it is not sent, since the Company is left alone for so long
	during func(*world)  // what happens before the answer leaves
}

var errLost = errors.New("connection reset by peer")

func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err // as the real one does
	}
	p := e.read(r)
	e.mu.Lock()
	e.posts = append(e.posts, p)
	var a answer
	switch {
	case e.live != nil:
		a = e.live(p)
	case len(e.script) == 0:
		e.world.t.Errorf("the endpoint was asked once too often: %s %s", p.ref, p.revision)
		a = lost
	default:
		a, e.script = e.script[0], e.script[1:]
	}
	e.mu.Unlock()
	if a.during != nil {
		a.during(e.world)
	}
	if a.held > 0 {
		return nil, &pace.HeldError{Company: "shop.test", Left: a.held}
	}
	if a.lost {
		return nil, errLost
	}
	if a.offer != nil {
		a.body = a.offer.json(e.world.began)
	}
	res := &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header), Body: io.NopCloser(strings.NewReader(a.body)), Request: r}
	if a.body != "" {
		res.Header.Set("Content-Type", "application/json")
	}
	for name, value := range a.header {
		res.Header.Set(name, value)
	}
	return res, nil
}

// read notes a request and checks it against Operations v3, sections 4 and 6.
func (e *endpoint) read(r *http.Request) post {
	t := e.world.t
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	p := post{url: r.URL.String(), header: r.Header, body: string(body), approval: r.Header.Get("Poppy-Approval"), at: time.Now()}
	var sent map[string]string
	if err := json.Unmarshal(body, &sent); err != nil || len(sent) != 1 {
		t.Errorf("the body is %s", body)
	}
	p.ref = sent["ref"]
	if !e.world.disk.has("sighting") {
		t.Error("a reference was used whose sighting is not on disk")
	}
	if p.approval == "" {
		e.world.note("LOOK:%s", p.ref)
		return p
	}
	members := approvalMembers(p.approval)
	p.revision = members["revision"]
	e.world.note("APPROVE:%s:%s", p.ref, p.revision)
	if !e.world.disk.sent(members["reference"], p.revision) {
		t.Error("an approval left that is not on disk as sending")
	}
	return p
}

// approvalMembers reads the String members of Poppy-Approval.
func approvalMembers(field string) map[string]string {
	d, err := httpsfv.UnmarshalDictionary([]string{field})
	if err != nil {
		return nil
	}
	members := make(map[string]string)
	for _, name := range d.Names() {
		if text, ok := stringMember(d, name); ok {
			members[name] = text
		}
	}
	return members
}

// sent reports whether the last line says that this very approval is leaving.
func (d *disk) sent(reference, revision string) bool {
	for _, rec := range d.records() {
		var s Sent
		if (rec.Kind == "sending" || rec.Kind == "sending-again") && json.Unmarshal(rec.Data, &s) == nil && s.Reference == reference && s.Revision == revision {
			return true
		}
	}
	return false
}

func (e *endpoint) all() []post {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]post(nil), e.posts...)
}

// approvals are the requests that carried an approval.
func (e *endpoint) approvals() []post {
	var list []post
	for _, p := range e.all() {
		if p.approval != "" {
			list = append(list, p)
		}
	}
	return list
}

var (
	lost = answer{lost: true}
	held = answer{held: 40 * time.Second}

	sessionEnded = answer{status: 403, body: `{"error":"invalid_session"}`}
	recorded     = answer{status: http.StatusNoContent}
	gone         = answer{status: http.StatusBadRequest, body: `{"error":"invalid_request"}`}
)

// terms is the answer with the operation: exc_1 in the given revision, which is its price too.
func terms(revision string) answer { return termsOf("exc_1", revision, 20*time.Minute) }

func termsOf(id, revision string, life time.Duration) answer {
	return answer{status: http.StatusForbidden, offer: &offer{id, revision, life}}
}

// offer is an operation that can be approved for so long, from the world's beginning.
type offer struct {
	id, revision string
	life         time.Duration
}

func (o offer) json(began time.Time) string {
	return fmt.Sprintf(`{"error":"approval_required","operation":{"operation_id":%q,"revision":%q,"summary":"Exchange it for %s.00 USD.","terms":{"order_id":"ord_1","price":{"amount":"%s.00","currency":"USD"}},"expires_at":%q}}`,
		o.id, o.revision, digits(o.revision), digits(o.revision), began.Add(o.life).UTC().Format(time.RFC3339))
}

// digits are a revision's: v7 costs 7.
func digits(revision string) string { return strings.TrimLeft(revision, "abcdefghijklmnopqrstuvwxyz") }

func declined(more string) answer {
	return answer{status: http.StatusForbidden, body: `{"error":"approval_declined","operation_id":"exc_1","revision":"v1"` + more + `}`}
}

func state(s string) answer {
	return answer{status: http.StatusOK, body: `{"operation_id":"exc_1","status":"` + s + `"}`}
}

func busy(status int, retryAfter string) answer {
	return answer{status: status, header: map[string]string{"Retry-After": retryAfter}}
}

// with adds what happens before the answer leaves.
func (a answer) with(during func(*world)) answer {
	a.during = during
	return a
}
