package testsite_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/testsite"
)

// How the faults of the table in broken_agent_test.go are done.

// headerFault changes one correct look-up of a joined agent.
func headerFault(change func(*testAgent, *http.Request)) func(*testing.T, *testsite.Site, *testAgent) {
	return func(t *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		r := a.endpointRequest(a.reference(a.press()), "")
		change(a, r)
		if got := a.send(a.api, r); got.status < 400 || got.json["operation"] != nil {
			t.Errorf("answered with %d %s", got.status, got.body)
		}
	}
}

// sessionFault changes the Session JWT of one look-up.
func sessionFault(edits ...edit) func(*testing.T, *testsite.Site, *testAgent) {
	return headerFault(func(a *testAgent, r *http.Request) { r.Header.Set("Poppy-Session", a.session(edits...)) })
}

// delegationFault changes the delegation of the Session JWT of one look-up.
func delegationFault(edits ...edit) func(*testing.T, *testsite.Site, *testAgent) {
	return headerFault(func(a *testAgent, r *http.Request) {
		r.Header.Set("Poppy-Session", a.session(func(h, _ map[string]any) { h["poppy_dlg"] = a.delegation(edits...) }))
	})
}

// joinFault changes the assertion of one join, which must be refused without a cookie.
func joinFault(edits ...edit) func(*testing.T, *testsite.Site, *testAgent) {
	return func(t *testing.T, _ *testsite.Site, a *testAgent) { refusedJoin(t, a.join(edits...)) }
}

func refusedJoin(t *testing.T, got reply) {
	t.Helper()
	if got.status != http.StatusBadRequest || got.header.Get("Set-Cookie") != "" {
		t.Errorf("join answered with %d, cookie %q", got.status, got.header.Get("Set-Cookie"))
	}
}

// bodyFault sends another body than {"ref": …}.
func bodyFault(body string) func(*testing.T, *testsite.Site, *testAgent) {
	return headerFault(func(a *testAgent, r *http.Request) {
		fresh := a.request(http.MethodPost, endpoint, body)
		r.Body, r.ContentLength, r.GetBody = fresh.Body, fresh.ContentLength, fresh.GetBody
	})
}

// approvalFault sends another Poppy-Approval than a correct one.
func approvalFault(header func(*testAgent, operation) string) func(*testing.T, *testsite.Site, *testAgent) {
	return func(_ *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		ref := a.reference(a.press())
		a.approve(ref, header(a, a.read(ref)))
	}
}

func (a *testAgent) press() reply { return a.exchange("stormline-insulated", "M") }

func set(name string, value any) edit { return func(_, p map[string]any) { p[name] = value } }

func setHeader(name string, value any) edit { return func(h, _ map[string]any) { h[name] = value } }

func without(name string) edit { return func(_, p map[string]any) { delete(p, name) } }

func after(d time.Duration, name string, a *testAgent) edit {
	return set(name, a.clock.now().Add(d).Unix())
}

// lost performs an approved exchange whose result never reaches the browser, and gives its reference.
func lost(site *testsite.Site, a *testAgent) string {
	a.join()
	_, ref := a.recorded(a.press)
	site.LoseResults(1)
	a.press()
	return ref
}

// twice makes two look-ups with the same edit of the Session JWT.
func twice(e edit) func(*testing.T, *testsite.Site, *testAgent) {
	return func(t *testing.T, _ *testsite.Site, a *testAgent) {
		a.join()
		ref := a.reference(a.press())
		for _, status := range []int{http.StatusForbidden, http.StatusForbidden} {
			r := a.endpointRequest(ref, "")
			r.Header.Set("Poppy-Session", a.session(e))
			if got := a.send(a.api, r); got.status != status {
				t.Errorf("status %d", got.status)
			}
		}
	}
}

func expiredSession(a *testAgent, r *http.Request) {
	r.Header.Set("Poppy-Session", a.session(after(-2*time.Minute, "iat", a), after(-time.Minute, "exp", a)))
}

func forgedDelegation(a *testAgent, r *http.Request) {
	forged := *a
	forged.published = newKey(a.t)
	r.Header.Set("Poppy-Session", forged.session())
}

func expiredDelegation(a *testAgent, r *http.Request) {
	old := a.delegation(after(-time.Hour, "iat", a), after(-time.Minute, "exp", a))
	r.Header.Set("Poppy-Session", a.session(setHeader("poppy_dlg", old)))
}

func reusedAssertion(t *testing.T, _ *testsite.Site, a *testAgent) {
	form := url.Values{"assertion": {a.assertion()}}
	if got := a.submit(joinURL, form); got.status != http.StatusOK {
		t.Errorf("the first join: %d", got.status)
	}
	refusedJoin(t, a.submit(joinURL, form))
}

func expiredAssertion(t *testing.T, _ *testsite.Site, a *testAgent) {
	old := a.assertion()
	a.clock.advance(time.Minute)
	refusedJoin(t, a.submit(joinURL, url.Values{"assertion": {old}}))
}

func forgedAssertion(t *testing.T, _ *testsite.Site, a *testAgent) {
	forged := *a
	forged.delegated = newKey(t)
	refusedJoin(t, forged.join(setHeader("poppy_dlg", a.delegation())))
}

// stranger is another User of the same agent.
func stranger(site *testsite.Site, a *testAgent) *testAgent {
	b := a.another(site)
	b.user = "usr_" + random(22)
	return b
}

func anothersReference(t *testing.T, site *testsite.Site, a *testAgent) {
	a.join()
	want(t, stranger(site, a).lookUp(a.reference(a.press())), http.StatusBadRequest, "invalid_request")
}

func anothersOperation(t *testing.T, site *testsite.Site, a *testAgent) {
	a.join()
	op := a.read(a.reference(a.press()))
	b := stranger(site, a)
	b.join()
	ref := b.reference(b.press())
	got := b.approve(ref, b.approval(op))
	want(t, got, http.StatusForbidden, "approval_required") // as if it had no approval
	if operationIn(t, got).ID == op.ID {
		t.Error("the answer has another User's operation")
	}
}

// unreadRevision approves terms that were replaced, under the name that an answer gave to another Session.
func unreadRevision(t *testing.T, site *testsite.Site, a *testAgent) {
	a.join()
	ref := a.reference(a.press())
	op := a.read(ref)
	a.clock.advance(testsite.DefaultOperationLife + time.Second)
	a.reference(a.press()) // makes a revision that no answer carried
	op.Revision = site.NewestRevision(op.ID)
	got := a.approve(ref, a.approval(op))
	want(t, got, http.StatusForbidden, "approval_required")
	if operationIn(t, got).Revision == op.Revision {
		t.Error("an approval was answered with the revision it names")
	}
}

// logTo is a logger of everything, whose writer is safe for concurrent use.
func logTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(&lockedWriter{w: w}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
