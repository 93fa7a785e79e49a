package testsite

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Bounds of what the control port's log keeps.
const (
	maxExchanges = 2000
	maxLogged    = 64 << 10 // bytes of one body
	maxDelay     = 30 * time.Second
)

// exchange is one request and its answer. It holds credentials: it is for whoever has the control port.
type exchange struct {
	At       time.Time `json:"at"`
	Request  message   `json:"request"`
	Response message   `json:"response"`
	Fault    *fault    `json:"fault,omitempty"`
}

type message struct {
	Method  string      `json:"method,omitempty"`
	URL     string      `json:"url,omitempty"`
	Status  int         `json:"status,omitempty"`
	Headers [][2]string `json:"headers"`
	Body    string      `json:"body"`
}

// fault loses the answer of a request after it was handled: by another status, or by being late.
type fault struct {
	Path    string        `json:"path"`
	Method  string        `json:"method,omitempty"`
	Status  int           `json:"status,omitempty"`
	Delay   time.Duration `json:"-"`
	Seconds float64       `json:"seconds,omitempty"`
	times   int
}

// traffic is what went over the Company's TLS listener, and the faults that wait for a request. It is safe for
// concurrent use.
type traffic struct {
	now func() time.Time

	mu     sync.Mutex
	log    []exchange
	faults []*fault
}

// take gives the fault for a request, if there is one.
func (t *traffic) take(r *http.Request) *fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, f := range t.faults {
		if !strings.Contains(r.URL.Path, f.Path) || f.Method != "" && f.Method != r.Method {
			continue
		}
		if f.times--; f.times <= 0 {
			t.faults = append(t.faults[:i:i], t.faults[i+1:]...)
		}
		taken := *f
		return &taken
	}
	return nil
}

func (t *traffic) add(f *fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, f)
}

func (t *traffic) keep(e exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = append(t.log, e)
	if len(t.log) > maxExchanges {
		t.log = t.log[len(t.log)-maxExchanges:]
	}
}

// exchanges gives what was kept, and forgets it if clear is set.
func (t *traffic) exchanges(forget bool) []exchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := append([]exchange{}, t.log...)
	if forget {
		t.log = nil
	}
	return all
}

// watched keeps every exchange and makes the faults happen, where there is a control port to ask for either.
func (s *Site) watched(next http.Handler) http.Handler {
	if s.traffic == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := exchange{At: s.now(), Fault: s.traffic.take(r)}
		sent := &bytes.Buffer{}
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &bounded{sent}), r.Body}
		held := &answerTap{ResponseWriter: w, holding: e.Fault != nil, header: http.Header{}}
		if !held.holding {
			held.header = w.Header()
		}
		e.Request = message{Method: r.Method, URL: "https://" + r.Host + r.URL.RequestURI(), Headers: fields(r.Header)}
		defer func() { // also when the connection is cut
			e.Request.Body = sent.String()
			e.Response = message{Status: held.status, Headers: fields(held.header), Body: held.body.String()}
			s.traffic.keep(e)
		}()
		next.ServeHTTP(held, r)
		if e.Fault != nil {
			held.release(r.Context(), *e.Fault)
		}
	})
}

// answerTap copies an answer, and holds it back for a fault.
type answerTap struct {
	http.ResponseWriter
	header  http.Header
	holding bool
	status  int
	body    bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answerTap) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answerTap) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	if !a.holding {
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (a *answerTap) Write(data []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.holding {
		return a.body.Write(data)
	}
	(&bounded{&a.body}).Write(data)
	return a.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController find the connection.
func (a *answerTap) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// release sends what the fault leaves of the answer.
func (a *answerTap) release(ctx context.Context, f fault) {
	timer := time.NewTimer(min(f.Delay, maxDelay))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	if f.Status != 0 {
		writeJSON(a.ResponseWriter, f.Status, errorBody{Error: "injected_fault"})
		return
	}
	maps.Copy(a.ResponseWriter.Header(), a.header)
	a.ResponseWriter.WriteHeader(max(a.status, http.StatusOK))
	_, _ = a.ResponseWriter.Write(a.body.Bytes())
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ to *bytes.Buffer }

// Write implements io.Writer. It never fails.
func (b *bounded) Write(data []byte) (int, error) {
	if room := maxLogged - b.to.Len(); room > 0 {
		b.to.Write(data[:min(room, len(data))])
	}
	return len(data), nil
}

// fields lists header fields, one a line.
func fields(h http.Header) [][2]string {
	list := [][2]string{}
	for name, values := range h {
		for _, value := range values {
			list = append(list, [2]string{strings.ToLower(name), value})
		}
	}
	return list
}
