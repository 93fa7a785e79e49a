package browser

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

const watched = "Poppy-Operation"

// fakeDriver is a scripted Chromium that holds what a test lets it receive. It implements [Driver].
type fakeDriver struct {
	process Process
	engine  *fakeEngine
	err     error // of Start
}

func (d *fakeDriver) Start(_ context.Context, p Process, paused func(Paused)) (Engine, error) {
	d.process, d.engine.paused = p, paused
	if d.err != nil {
		return nil, d.err
	}
	return d.engine, nil
}

// letGo is one call that let a paused response go on, or broke it off.
type letGo struct {
	id     PausedID
	failed bool
	at     time.Time
}

// fakeEngine implements [Engine].
type fakeEngine struct {
	Engine // what is not scripted below is not called

	paused func(Paused)
	gone   chan struct{}
	dead   sync.Once
	// afterLetGo is called after each one, on the goroutine that let it go.
	afterLetGo func(letGo)
	onClose    func()
	onNewTab   func() // called by each NewTab, before the tab is there
	onAttach   func() // called by each Attach, before the tab is attached

	mu      sync.Mutex
	went    []letGo
	targets []Target
	frames  map[TargetID][]TargetID // in the process of each
	asked   int                     // for targets
	tabs    []*fakeTab
	closed  int
}

func (e *fakeEngine) Version() string       { return "Chrome/0.0" }
func (e *fakeEngine) Gone() <-chan struct{} { return e.gone }

func (e *fakeEngine) NewContext(context.Context) (ContextID, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return ContextID("context-" + string(rune('A'+len(e.tabs)))), nil
}

func (e *fakeEngine) CloseContext(context.Context, ContextID) error { return nil }

func (e *fakeEngine) Cookies(context.Context, ContextID) ([]Cookie, error) { return nil, nil }

func (e *fakeEngine) NewTab(context.Context, ContextID) (Tab, error) {
	if e.onNewTab != nil {
		e.onNewTab()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	tab := &fakeTab{engine: e, id: TargetID("tab-" + string(rune('A'+len(e.tabs)))), document: "blank", changed: make(chan struct{})}
	e.tabs = append(e.tabs, tab)
	return tab, nil
}

func (e *fakeEngine) Attach(_ context.Context, id TargetID) (Tab, error) {
	e.onAttach()
	return &fakeTab{engine: e, id: id, document: "window", changed: make(chan struct{}), finds: true}, nil
}

func (e *fakeEngine) Targets(context.Context) ([]Target, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked++
	return slices.Clone(e.targets), nil
}

func (e *fakeEngine) Release(_ context.Context, id PausedID) error { return e.let(id, false) }
func (e *fakeEngine) Fail(_ context.Context, id PausedID) error    { return e.let(id, true) }

func (e *fakeEngine) let(id PausedID, failed bool) error {
	l := letGo{id, failed, time.Now()}
	e.mu.Lock()
	e.went = append(e.went, l)
	e.mu.Unlock()
	if e.afterLetGo != nil {
		e.afterLetGo(l)
	}
	return nil
}

func (e *fakeEngine) Close(context.Context) error {
	e.mu.Lock()
	e.closed++
	e.mu.Unlock()
	if e.onClose != nil {
		e.onClose()
	}
	e.die()
	return nil
}

// die ends the fake Chromium, as a kill would.
func (e *fakeEngine) die() { e.dead.Do(func() { close(e.gone) }) }

func (e *fakeEngine) FramesIn(_ context.Context, id TargetID) ([]TargetID, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]TargetID{id}, e.frames[id]...), nil
}

// of are the calls that let go of a response.
func (e *fakeEngine) of(id PausedID) []letGo {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(e.went), func(l letGo) bool { return l.id != id })
}

// fakeTab implements [Tab].
type fakeTab struct {
	Tab // what is not scripted below is not called

	engine *fakeEngine
	id     TargetID
	// onSubmit is called when the form in the document is submitted.
	onSubmit func()
	onClose  func()
	// onNavigate is called as a navigation begins.
	onNavigate func()

	setDocumentErr, callErr error
	// finds has every element be there.
	finds bool
	// hangs are the functions that the page never answers; nil for none.
	hangs func(function string) bool

	mu       sync.Mutex
	document string
	html     string
	loaded   []string
	active   int
	changed  chan struct{}
	isClosed bool
}

func (t *fakeTab) ID() TargetID                 { return t.id }
func (t *fakeTab) Reload(context.Context) error { return nil }

func (t *fakeTab) Navigate(_ context.Context, url string) error {
	if t.onNavigate != nil {
		t.onNavigate()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loaded = append(t.loaded, url)
	return nil
}

func (t *fakeTab) SetDocument(_ context.Context, html string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.html = html
	return t.setDocumentErr
}

func (t *fakeTab) Call(ctx context.Context, function string, result any, _ ...any) error {
	if s, ok := result.(*seen); ok && t.finds {
		s.Found = true
	}
	if t.hangs != nil && t.hangs(function) {
		<-ctx.Done()
		return ctx.Err()
	}
	if function == `() => { document.forms[0].submit(); return true }` && t.onSubmit != nil {
		t.onSubmit()
	}
	return t.callErr
}

func (t *fakeTab) Frames(context.Context) ([]Frame, error) {
	return []Frame{{ID: t.id, Document: t.Document()}}, nil
}

func (t *fakeTab) CallIn(ctx context.Context, _ TargetID, function string, result any, args ...any) error {
	return t.Call(ctx, function, result, args...)
}

func (t *fakeTab) Element(context.Context, TargetID, string, ...any) (Node, error) { return 1, nil }
func (t *fakeTab) Owner(context.Context, Frame) (Node, error)                      { return 1, nil }

func (t *fakeTab) Accessible(context.Context, TargetID, *AXQuery) ([]AXNode, error) { return nil, nil }

func (t *fakeTab) Mouse(context.Context, MouseEvent) error { return nil }
func (t *fakeTab) Type(context.Context, string) error      { return nil }
func (t *fakeTab) SetViewport(context.Context, View) error { return nil }
func (t *fakeTab) Front(context.Context) error             { return nil }

func (t *fakeTab) Close(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.isClosed = true
	if t.onClose != nil {
		t.onClose()
	}
	return nil
}

func (t *fakeTab) Activity() (int, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active, t.changed
}

func (t *fakeTab) setActive(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active = n
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *fakeTab) Follow(context.Context) error { return nil }

func (t *fakeTab) URL() string { return "" }

func (t *fakeTab) Document() string { t.mu.Lock(); defer t.mu.Unlock(); return t.document }

// startFake starts a browser over a fake Chromium. The caller closes it.
func startFake(t *testing.T, onHeld func(context.Context, Held)) (*Browser, *fakeDriver) {
	t.Helper()
	d := &fakeDriver{engine: &fakeEngine{gone: make(chan struct{}), targets: []Target{{ID: "worker", Type: "worker", Context: "nobody's"}}}}
	b, err := Start(context.Background(), fakeConfig(t, d, onHeld))
	if err != nil {
		t.Fatal(err)
	}
	return b, d
}

func fakeConfig(t *testing.T, d Driver, onHeld func(context.Context, Held)) Config {
	t.Helper()
	bin, err := os.Executable() // anything that is there; the fake starts no process
	if err != nil {
		t.Fatal(err)
	}
	return Config{Driver: d, Bin: bin, NoSandbox: true, Watch: watched, OnHeld: onHeld}
}

func mustClose(t *testing.T, b *Browser) {
	t.Helper()
	if err := b.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func fakeContext(t *testing.T, b *Browser) *Context {
	t.Helper()
	c, err := b.NewContext(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tabOf(c *Context) *fakeTab { return c.tab.tab.(*fakeTab) }

// refusal is a 403 with the watched header.
func refusal(id PausedID, frame TargetID) Paused {
	return Paused{
		ID: id, Frame: frame, Resource: "Fetch", Method: "POST", URL: "https://shop.test/act", Status: 403,
		Headers: []Header{{"Content-Type", "text/html"}, {watched, `sid="s", ref="` + string(id) + `"`}},
	}
}

func nobodyHolds(context.Context, Held) {}

var errFake = errors.New("the fake was told to")
