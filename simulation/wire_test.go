package simulation

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/papaver-agent/papaver/internal/pace"
)

var errLost = errors.New("connection reset by peer")

// wait waits d of the bubble's time, or until one of the channels is closed, and reports whether d went by.
func wait(d time.Duration, until ...<-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	var first, second <-chan struct{}
	if len(until) > 0 {
		first = until[0]
	}
	if len(until) > 1 {
		second = until[1]
	}
	select {
	case <-timer.C:
		return true
	case <-first:
	case <-second:
	}
	return false
}

// RoundTrip is the network between a process and the Company's endpoint. What left is delivered whether anybody still
// waits for its answer or not.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w, c := p.world, p.world.chance
	sent, err := p.read(r)
	if err != nil {
		return nil, err
	}
	if p.isDead() || p.crashes(crashBeforeLeaves) {
		return nil, errDead
	}
	if c.meetsAt(heldBack, 0.5) {
		left := c.between("network", 5*time.Second, 90*time.Second)
		p.story("%s is held back for %v", sent, left)
		return nil, &pace.HeldError{Company: shopDomain, Left: left}
	}
	w.mu.Lock()
	p.story("-> %s", sent)
	w.judge.leaves(p, sent)
	w.mu.Unlock()
	gone := r.Context().Done()
	if c.meets(requestLost) {
		p.story("   it is lost")
		wait(c.between("network", 10*time.Millisecond, 5*time.Second), gone, p.dead)
		return nil, errLost
	}
	if c.meetsAt(crashUnderWay, crashWeight) && p.mayCrash() {
		after := c.between("network", 0, 400*time.Millisecond)
		w.background.Go(func() { wait(after); p.die(crashUnderWay) })
	}
	answers := make(chan delivery, 1)
	first := c.between("network", 5*time.Millisecond, 200*time.Millisecond)
	if c.meets(requestLate) {
		first = c.between("network", time.Second, 90*time.Second)
	}
	twice := c.meets(requestTwice)
	w.background.Go(func() { wait(first); answers <- w.delivers(sent, !twice) })
	if twice {
		second := first + c.between("network", time.Millisecond, 60*time.Second)
		w.background.Go(func() { wait(second); w.delivers(sent, false) })
	}
	var came delivery
	select {
	case came = <-answers:
	case <-gone:
		return nil, r.Context().Err()
	case <-p.dead:
		return nil, errDead
	}
	back := c.between("network", 5*time.Millisecond, 200*time.Millisecond)
	if c.meets(answerLate) {
		back = c.between("network", time.Second, 45*time.Second)
	}
	if !wait(back, gone, p.dead) {
		return nil, errors.Join(errLost, r.Context().Err())
	}
	if c.meets(answerLost) {
		p.story("   its answer %d is lost", came.status)
		return nil, errLost
	}
	if p.isDead() || p.crashes(crashAfterAnswer) {
		return nil, errDead
	}
	torn := came.body != "" && c.meetsAt(answerTorn, 0.5)
	w.mu.Lock()
	p.story("<- %d %s%s", came.status, came.body, map[bool]string{true: " (cut off)"}[torn])
	if !torn && !came.garbled {
		w.judge.answered(p, sent, came.response)
	}
	w.mu.Unlock()
	return came.http(r, torn), nil
}

// delivery is an answer on its way; a garbled one says nothing that could be read.
type delivery struct {
	response
	garbled bool
}

func (d delivery) http(r *http.Request, torn bool) *http.Response {
	body := io.NopCloser(strings.NewReader(d.body))
	if torn {
		body = io.NopCloser(io.MultiReader(strings.NewReader(d.body[:len(d.body)/2]), brokenReader{}))
	}
	res := &http.Response{StatusCode: d.status, Status: http.StatusText(d.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header), Body: body, Request: r}
	if d.body != "" {
		res.Header.Set("Content-Type", "application/json")
	}
	if d.retry != "" {
		res.Header.Set("Retry-After", d.retry)
	}
	if d.status == http.StatusTemporaryRedirect {
		res.Header.Set("Location", "https://elsewhere.test/trap")
	}
	return res
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errLost }

// delivers has the Company's servers answer a request. A request that arrives twice is not refused for a reason that
// would hold for one of the two alone.
func (w *world) delivers(p post, once bool) delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.chance
	date := func() string {
		return w.now().Add(c.between("network", time.Second, 40*time.Second)).UTC().Format(http.TimeFormat)
	}
	if once {
		switch {
		case c.meetsAt(referenceGone, 0.3):
			w.company.gone[p.ref] = true
			return delivery{response: invalidRequest()}
		case c.meetsAt(sessionEnded, 0.3):
			return delivery{response: response{status: http.StatusForbidden, body: `{"error":"invalid_session"}`}}
		case c.meetsAt(challenged, 0.2):
			return delivery{response: response{status: http.StatusUnauthorized}}
		case c.meetsAt(extensionWanted, 0.2):
			return delivery{response: response{status: http.StatusForbidden, body: `{"error":"extension_required","extension":"more"}`}}
		}
	}
	switch {
	case c.meets(busySeconds):
		return delivery{response: response{status: http.StatusServiceUnavailable, retry: []string{"1", "20", "100000000000", "soon"}[c.number("network", 4)]}}
	case c.meets(busyDate):
		return delivery{response: response{status: http.StatusTooManyRequests, retry: date()}}
	case c.meets(serverError):
		return delivery{response: response{status: http.StatusInternalServerError, body: "<html>"}, garbled: true}
	case c.meetsAt(redirected, 0.3):
		return delivery{response: response{status: http.StatusTemporaryRedirect}, garbled: true}
	}
	d := delivery{response: w.company.endpoint(p)}
	switch {
	case c.meets(busyDone):
		return delivery{response: response{status: http.StatusServiceUnavailable, retry: "2"}}
	case c.meetsAt(serverErrorDone, 0.3):
		return delivery{response: response{status: http.StatusBadGateway, body: "<html>"}, garbled: true}
	case d.status == http.StatusOK && c.meetsAt(oddState, 0.3):
		d.body, d.garbled = strings.Replace(d.body, `"status":"`, `"status":"un`, 1), true
	case d.body != "" && c.meetsAt(badJSON, 0.2):
		d.body, d.garbled = d.body[:len(d.body)-1], true
	case d.body != "" && c.meetsAt(twiceJSON, 0.2):
		d.body, d.garbled = strings.Replace(d.body, "{", `{"error":"approval_required",`, 1), true
		if d.status == http.StatusOK {
			d.body = strings.Replace(d.body, `"status":`, `"status":"performed","status":`, 1)
		} else {
			d.body = strings.Replace(d.body, `"error":`, `"error":"a","error":`, 1)
		}
	}
	return d
}

// read takes a request apart as the Company does.
func (p *process) read(r *http.Request) (post, error) {
	sent := post{from: p}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return sent, err
	}
	w := p.world
	ref, ok := readBody(body)
	sent.ref = ref
	if r.URL.String() != shopEndpoint || r.Method != http.MethodPost || !ok || r.Header.Get("Poppy-Session") == "" {
		w.violates("a request that no endpoint expects: %s %s %s", r.Method, r.URL, body)
	}
	header := r.Header.Values("Poppy-Approval")
	if len(header) == 0 {
		return sent, nil
	}
	d, err := httpsfv.UnmarshalDictionary(header)
	if err != nil {
		w.violates("an approval that can't be read: %s", header)
		return sent, nil
	}
	a := &approvalSent{header: strings.Join(header, ", ")}
	for _, name := range d.Names() {
		m, _ := d.Get(name)
		item, _ := m.(httpsfv.Item)
		text, _ := item.Value.(string)
		switch name {
		case "operation_id":
			a.operation = text
		case "revision":
			a.revision = text
		case "approver":
			a.approver = text
		case "reference":
			a.reference = text
		case "approved_at":
			a.at, _ = item.Value.(int64)
		}
	}
	sent.approval = a
	return sent, nil
}
