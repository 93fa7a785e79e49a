package trace_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/trace"
)

// clock goes on by a millisecond each time it is read.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(time.Millisecond)
	return c.at
}

// event is one of the format's, as its viewers read it.
type event struct {
	Phase string         `json:"ph"`
	PID   *int           `json:"pid"`
	TID   *int           `json:"tid"`
	Name  string         `json:"name"`
	At    *float64       `json:"ts"`
	Took  *float64       `json:"dur"`
	Args  map[string]any `json:"args"`
}

func (e event) end() float64 { return *e.At + *e.Took }

// read parses a trace, whose closing bracket may be missing, and holds it to the format: complete events with their times,
// in rows that are named, none of them across another of its row.
func read(t *testing.T, data []byte) []event {
	t.Helper()
	text := strings.TrimRight(string(data), "\n")
	if !strings.HasSuffix(text, "]") {
		text += "]"
	}
	var all, spans []event
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("the trace is no JSON: %v\n%s", err, data)
	}
	rows := map[int][]event{}
	named := map[int]bool{}
	for _, e := range all {
		switch {
		case e.PID == nil || e.TID == nil:
			t.Errorf("an event has no process or row: %+v", e)
		case e.Phase == "M":
			named[*e.TID] = true
			if text, _ := e.Args["name"].(string); text == "" {
				t.Errorf("a name is missing: %+v", e)
			}
		case e.Phase == "X" && e.At != nil && e.Took != nil && *e.At >= 0 && *e.Took >= 0 && e.Name != "":
			rows[*e.TID] = append(rows[*e.TID], e)
			spans = append(spans, e)
		default:
			t.Errorf("neither a name nor a whole span: %+v", e)
		}
	}
	for row, list := range rows {
		if !named[row] {
			t.Errorf("row %d has no name", row)
		}
		slices.SortStableFunc(list, func(a, b event) int {
			return cmp.Or(cmp.Compare(*a.At, *b.At), cmp.Compare(*b.Took, *a.Took))
		})
		var around []event
		for _, e := range list {
			for len(around) > 0 && around[len(around)-1].end() <= *e.At {
				around = around[:len(around)-1]
			}
			if n := len(around); n > 0 && e.end() > around[n-1].end() {
				t.Errorf("row %d: %s lies across %s", row, e.Name, around[n-1].Name)
			}
			around = append(around, e)
		}
	}
	return spans
}

func names(spans []event) string {
	var list []string
	for _, e := range spans {
		list = append(list, e.Name)
	}
	return strings.Join(list, " ")
}

func TestSpansAreWrittenWithTheirTimesAndFacts(t *testing.T) {
	var b bytes.Buffer
	tl := trace.New(&b, (&clock{}).now)
	ctx := trace.Row(tl.In(t.Context()), "round-1")
	ctx, outer := trace.Begin(ctx, trace.Approval)
	_, inner := trace.Begin(ctx, trace.Ledger, trace.Word("line", "sending"))
	inner.End(trace.Failed(nil))
	inner.End(trace.Status(999)) // only the first counts
	_, none := trace.Begin(ctx, trace.Connect)
	none.Drop()
	none.End()
	outer.End(trace.Status(204), trace.Failed(errors.New("x")), trace.Reused(true), trace.Step(3))
	if err := tl.Close(); err != nil {
		t.Fatal(err)
	}
	spans := read(t, b.Bytes())
	if got := names(spans); got != "ledger approval" {
		t.Fatalf("spans: %s", got)
	}
	if in := spans[0]; *in.At != 2000 || *in.Took != 1000 || in.Args["line"] != "sending" || in.Args["failed"] != false || len(in.Args) != 2 {
		t.Errorf("%+v", in)
	}
	if out := spans[1]; *out.At != 1000 || *out.Took != 4000 || out.Args["status"] != 204.0 || out.Args["failed"] != true || out.Args["step"] != 3.0 || out.Args["reused"] != true {
		t.Errorf("%+v", out)
	}
	if !json.Valid(b.Bytes()) {
		t.Errorf("a closed trace is no whole JSON:\n%s", b.Bytes())
	}
}

// What goes on at the same time is in rows of its own, and what a parent leaves open ends with it.
func TestConcurrentSpansDoNotLieAcrossEachOther(t *testing.T) {
	var b bytes.Buffer
	tl := trace.New(&b, (&clock{}).now)
	ctx := tl.In(t.Context())
	ctx, parent := trace.Begin(ctx, trace.Discovery)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				in, r := trace.Begin(ctx, trace.Request)
				_, c := trace.Begin(in, trace.Connect)
				c.End()
				r.End()
			}
		})
	}
	all.Wait()
	_, first := trace.Begin(ctx, trace.Request)
	_, second := trace.Begin(ctx, trace.Request)
	first.End()
	second.End(trace.Status(200)) // goes on after the first has ended
	_, late := trace.Begin(ctx, trace.Join)
	parent.End()
	late.End()
	spans := read(t, b.Bytes()) // not closed: a killed run's opens too
	if n := len(spans); n != 8*50*2+4 {
		t.Fatalf("%d spans", n)
	}
	if a, z := spans[len(spans)-4], spans[len(spans)-3]; *a.TID == *z.TID || z.Args["status"] != 200.0 || z.end() <= a.end() {
		t.Errorf("two at once: %+v, %+v", a, z)
	}
}

func TestWhatIsNoWordOfOursIsLeftOut(t *testing.T) {
	for _, w := range []string{"https://company.example/?token=x", "Bearer", "eyJhbGciOi", "a b", "ä", "", strings.Repeat("a", 33), "x\"y"} {
		var b bytes.Buffer
		tl := trace.New(&b, (&clock{}).now)
		before := b.Len()
		_, s := trace.Begin(trace.Row(tl.In(t.Context()), w), trace.Page, trace.Word("kind", w), trace.Word(w, "kind"))
		s.End()
		if spans := read(t, b.Bytes()); len(spans) != 1 || spans[0].Args != nil {
			t.Errorf("%q: %+v", w, spans)
		}
		if w != "" && bytes.Contains(b.Bytes()[before:], []byte(w)) {
			t.Errorf("%q is in the trace:\n%s", w, b.Bytes())
		}
	}
}

func TestWithoutATimelineNothingIsDone(t *testing.T) {
	var none *trace.Timeline
	ctx := none.In(context.Background())
	if trace.On(ctx) || trace.Row(ctx, "r") != ctx {
		t.Error("a context without a timeline has one")
	}
	if n := testing.AllocsPerRun(100, func() {
		_, s := trace.Begin(ctx, trace.Ledger)
		s.End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}

type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestAWriterThatFailsIsToldOfAtTheEnd(t *testing.T) {
	tl := trace.New(&full{100}, (&clock{}).now)
	_, s := trace.Begin(tl.In(t.Context()), trace.Page)
	s.End()
	if err := tl.Close(); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func TestTheFileIsItsOwnersAndNothingElseIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "trace.json")
	for range 2 { // the second replaces the first
		f, err := trace.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		tl := trace.New(f, (&clock{}).now)
		if err := errors.Join(tl.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || !json.Valid(data) {
		t.Errorf("%v: %s", err, data)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	for name, content := range map[string]string{"notes": "mine", "other.json": `[{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"Browser"}}]`} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, 0o644)); err != nil {
			t.Fatal(err)
		}
		if _, err := trace.Create(path); !errors.Is(err, trace.ErrNotTrace) {
			t.Errorf("%s: %v", name, err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != content {
			t.Errorf("%s was changed: %q, %v", name, data, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Create(link); !errors.Is(err, durable.ErrLoose) {
		t.Error(err)
	}
}

// BenchmarkBegin is what a span costs where there is no timeline, and where there is one.
func BenchmarkBegin(b *testing.B) {
	for name, ctx := range map[string]context.Context{
		"off": b.Context(), "on": trace.New(io.Discard, time.Now).In(b.Context()),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, s := trace.Begin(ctx, trace.Ledger)
				s.End()
			}
		})
	}
}
