// Package trace writes down when the parts of a run began and ended, as Chrome trace events ("Trace Event Format"), which
// ui.perfetto.dev and chrome://tracing open.
//
// A context carries the timeline, so nothing has to be handed through the rooms; where it carries none, [Begin] costs one
// look into it. What a span can say is a closed list: a stage of this package, numbers, and words that only this program
// makes. There is no way to put a URL, a header, a text of a page or a Company's into it.
package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Stage is what a span of time was spent on.
type Stage string

// The stages of a start, and of a round.
const (
	Open      Stage = "open"      // the home, its ledger and the run's socket
	Discovery Stage = "discovery" // the Company's documents
	Chromium  Stage = "chromium"  // the start of Chromium
	Check     Stage = "check"     // whether a Chromium that is new to the home holds responses
	Tab       Stage = "tab"       // a browser context with its tab
	Join      Stage = "join"      // the assertion and the form that posts it
	Page      Stage = "page"      // an act in the page, and the page's answers to it
	Hold      Stage = "hold"      // a response that carries an operation, from its decoding to its release
	Ledger    Stage = "ledger"    // a line, until it is on disk
	Endpoint  Stage = "endpoint"  // the operations endpoint is asked for terms
	Earlier   Stage = "earlier"   // what earlier runs left of the operation is looked up, and the question made
	Question  Stage = "question"  // the User is asked
	Approval  Stage = "approval"  // the approval is sent
	Replay    Stage = "replay"    // the browser makes the act again
	LookUp    Stage = "look-up"   // the endpoint is asked what became of the approval
	Settle    Stage = "settle"    // the step waits for the operations that it met
	Request   Stage = "request"   // one HTTP request of our own
	Connect   Stage = "connect"   // its connection, when there was none to use again
	Close     Stage = "close"     // Chromium's end
)

// maxSpans bounds a file: at some 150 bytes each about 75 MB.
const maxSpans = 500_000

// start is what every file begins with, and no other file would: [Create] tells by it.
const start = `[{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"papaver`

// Timeline is one run's trace. Safe for concurrent use. A nil Timeline records nothing.
type Timeline struct {
	now   func() time.Time
	zero  time.Time
	mu    sync.Mutex
	w     io.Writer
	err   error
	over  bool
	spans int
	lanes []*lane
}

// lane is a row of the picture: spans of it lie within each other and never across.
type lane struct {
	id   int
	name string
	open []*open // the outermost first
}

// open is a span that has not ended.
type open struct {
	lane  *lane
	stage Stage
	at    time.Time
	facts []Fact
}

// New begins a trace on w, whose clock is now. Each span is written when it ends, in one Write: what a killed process
// leaves can be opened too, since the format lets the closing bracket be missing.
func New(w io.Writer, now func() time.Time) *Timeline {
	t := &Timeline{now: now, zero: now(), w: w}
	t.put(start + ` run"}}`)
	return t
}

// Close ends the trace, and returns the first error of its writer. Spans that end later are left out. The writer is the
// caller's to close.
func (t *Timeline) Close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.over = true
		t.put("\n]\n")
	}
	if t.err != nil {
		return fmt.Errorf("the trace is not whole: %w", t.err)
	}
	return nil
}

// put writes text; mu is held, but in New.
func (t *Timeline) put(text string) {
	if t.err != nil {
		return
	}
	n, err := io.WriteString(t.w, text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	t.err = err
}

// Fact is something a span says beside its stage.
type Fact struct {
	name  string
	value any // int64, bool, or a string of this program's own
}

// Step is the number of a step, from 0.
func Step(n int) Fact { return Fact{"step", int64(n)} }

// Status is an HTTP status.
func Status(n int) Fact { return Fact{"status", int64(n)} }

// Reused says whether a connection was there already.
func Reused(yes bool) Fact { return Fact{"reused", yes} }

// Failed says whether what the span stands for ended in an error. The error itself may hold a Company's text.
func Failed(err error) Fact { return Fact{"failed", err != nil} }

// Word is a word of this program's own: the kind of an act or a ledger line, a state, an outcome. What is not of lower case
// letters, digits, '-' and '_', or is longer than 32 bytes, is left out: nothing from outside passes by mistake.
func Word[W ~string](name string, w W) Fact {
	if !plain(name) || !plain(string(w)) {
		return Fact{}
	}
	return Fact{name, string(w)}
}

const maxWord = 32

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= maxWord
}

// key is of the value that a context carries.
type key struct{}

// place is where in the timeline a context is.
type place struct {
	timeline *Timeline
	lane     string // the row's name
	within   *open  // the span that it is in; nil for none
}

// In returns ctx with the timeline in it. Spans that begin there are in the row of the run. A nil Timeline is left out.
func (t *Timeline) In(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, place{timeline: t, lane: "run"})
}

// Row returns ctx with spans that begin in it in a row of their own, that of a round by its id for example. A name that
// [Word] would leave out is "other".
func Row(ctx context.Context, name string) context.Context {
	p, ok := ctx.Value(key{}).(place)
	if !ok {
		return ctx
	}
	if !plain(name) {
		name = "other"
	}
	return context.WithValue(ctx, key{}, place{timeline: p.timeline, lane: name})
}

// On reports whether ctx carries a timeline, for what is worth doing only then.
func On(ctx context.Context) bool {
	_, ok := ctx.Value(key{}).(place)
	return ok
}

// Span is one stretch of time. The zero Span is of no timeline.
type Span struct {
	timeline *Timeline
	open     *open
}

// Begin begins a span. What begins in the returned context lies within it. The caller ends it.
func Begin(ctx context.Context, s Stage, facts ...Fact) (context.Context, Span) {
	p, ok := ctx.Value(key{}).(place)
	if !ok {
		return ctx, Span{}
	}
	o := p.timeline.begin(p, s, facts)
	return context.WithValue(ctx, key{}, place{timeline: p.timeline, lane: p.lane, within: o}), Span{p.timeline, o}
}

// End ends the span, and says more of it. Only the first call counts.
func (s Span) End(facts ...Fact) {
	if s.timeline != nil {
		s.timeline.end(s.open, facts)
	}
}

// Drop ends the span without a trace of it: what it stands for turned out not to have happened.
func (s Span) Drop() {
	if s.timeline != nil {
		s.timeline.drop(s.open)
	}
}

func (t *Timeline) drop(o *open) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o.lane.open = slices.DeleteFunc(o.lane.open, func(other *open) bool { return other == o })
}

func (t *Timeline) begin(p place, s Stage, facts []Fact) *open {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.laneFor(p)
	o := &open{lane: l, stage: s, at: t.now(), facts: slices.Clone(facts)}
	l.open = append(l.open, o)
	return o
}

// laneFor finds the row for a span: that of the one it lies within when nothing else is going on there, else the first row
// of the name where nothing is. mu is held.
func (t *Timeline) laneFor(p place) *lane {
	if p.within != nil {
		if l := p.within.lane; len(l.open) > 0 && l.open[len(l.open)-1] == p.within {
			return l
		}
	}
	for _, l := range t.lanes {
		if l.name == p.lane && len(l.open) == 0 {
			return l
		}
	}
	l := &lane{id: len(t.lanes) + 1, name: p.lane}
	t.lanes = append(t.lanes, l)
	if !t.over {
		t.put(",\n" + `{"ph":"M","pid":1,"tid":` + strconv.Itoa(l.id) + `,"name":"thread_name","args":{"name":"` + l.name + `"}}`)
	}
	return l
}

// event is a complete event of the format: times are microseconds.
type event struct {
	Phase string         `json:"ph"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Name  Stage          `json:"name"`
	Cat   string         `json:"cat"`
	At    json.Number    `json:"ts"`
	Took  json.Number    `json:"dur"`
	Args  map[string]any `json:"args,omitempty"`
}

func (t *Timeline) end(o *open, facts []Fact) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(o.lane.open, o)
	if at < 0 || t.over {
		return
	}
	// What lies within and has not ended is cut off here: spans of a row never lie across each other.
	now := t.now()
	for i := len(o.lane.open) - 1; i >= at; i-- {
		inner := o.lane.open[i]
		if inner == o {
			inner.facts = append(inner.facts, facts...)
		}
		t.write(inner, now)
	}
	o.lane.open = o.lane.open[:at]
}

// write writes a span that ends now; mu is held.
func (t *Timeline) write(o *open, now time.Time) {
	if t.spans++; t.spans > maxSpans {
		t.err = errors.Join(t.err, fmt.Errorf("more than %d spans", maxSpans))
		return
	}
	e := event{Phase: "X", PID: 1, TID: o.lane.id, Name: o.stage, Cat: "papaver", At: micros(o.at.Sub(t.zero)), Took: micros(max(0, now.Sub(o.at)))}
	for _, f := range o.facts {
		if f.name == "" {
			continue
		}
		if e.Args == nil {
			e.Args = make(map[string]any)
		}
		e.Args[f.name] = f.value
	}
	line, err := json.Marshal(e)
	if err != nil {
		t.err = errors.Join(t.err, err)
		return
	}
	t.put(",\n" + string(line))
}

// micros is a duration in microseconds, with the nanoseconds as its fraction.
func micros(d time.Duration) json.Number {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return json.Number(fmt.Sprintf("%s%d.%03d", sign, d/time.Microsecond, d%time.Microsecond))
}
