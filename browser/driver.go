package browser

import (
	"context"
	"errors"
)

// Driver starts a Chromium and speaks to it. A driver is a thin thing: what is CDP-shaped is in it, what is a decision
// is in this package, so that every driver holds, judges and acts alike.
type Driver interface {
	// Start starts the process that p describes and returns when responses are held: before it returns, every response
	// of every page, frame and worker made from then on is paused at the response stage and given to paused. Requests
	// that match p.Guard are paused before they leave, too.
	//
	// paused is called for each one, in the order Chromium reports them; it does not block. A response stays paused
	// until Release or Fail. The life of the Chromium is not ctx's; ctx bounds the start.
	Start(ctx context.Context, p Process, paused func(Paused)) (Engine, error)
}

// Process is the Chromium to start.
type Process struct {
	Bin        string
	ProfileDir string // an existing folder of this Chromium's own
	Flags      []Flag
	Env        []string // the whole environment
	// Guard are URL patterns, as of Fetch.enable: a request that matches one is paused before it leaves too.
	Guard []string
	// Sent is told of a request of a tab, or of a frame in its process, as it is sent and before its response is paused. A
	// redirect tells it again under the same id. It does not block. What a driver does not tell is judged by when its
	// response comes.
	Sent func(SentRequest)
	// Opened is told of each new tab, those of NewTab too, of each new frame in a process of its own and of each new worker,
	// and Closed of each that is gone. They do not block.
	Opened func(Target)
	Closed func(TargetID)
	// Dialog is told of each dialog that opens in a tab. It does not block. The page's scripts stand still until AnswerDialog.
	// When it is nil the driver answers by itself: a beforeunload question is accepted, every other one dismissed.
	Dialog func(Tab, Dialog)
	// Console is told of each message in the console of a tab, its level as CDP's Runtime domain has it, and of each error
	// that a script of it does not catch. It does not block. Nil: nobody wants to know.
	Console func(TargetID, ConsoleMessage)
}

// Flag is one command line switch of Chromium.
type Flag struct {
	Name  string // without the dashes
	Value string // empty for a switch without a value
}

// SentRequest is a request that a tab sends.
type SentRequest struct {
	Tab    TargetID // itself, or for a frame in its process
	Frame  TargetID // whose request it is
	ID     RequestID
	Method string
	URL    string // without its fragment
	Busy   bool   // other requests or navigations of the tab are under way
}

// ContextID names a browser context: a set of tabs with cookies and storage of their own.
type ContextID string

// TargetID names a tab, a frame in a process of its own, or a worker.
type TargetID string

// RequestID names a request, as CDP's Network domain does.
type RequestID string

// PausedID names a paused response.
type PausedID string

// ErrTabGone is what a call on a tab that no longer exists returns, wrapped.
var ErrTabGone = errors.New("the tab is gone")

// ErrNoHistory is returned when the tab's history has no page there.
var ErrNoHistory = errors.New("the tab's history has no page there")

// Engine is a running Chromium. Its methods are safe for concurrent use, return soon after ctx ends, and fail at once
// when Chromium is gone.
type Engine interface {
	// Version is the product and its version, such as "Chrome/156.0.8078.108".
	Version() string
	NewContext(ctx context.Context) (ContextID, error)
	CloseContext(ctx context.Context, id ContextID) error
	// Cookies lists a context's cookies. Their values stay in Chromium.
	Cookies(ctx context.Context, id ContextID) ([]Cookie, error)
	// NewTab opens a tab on about:blank, in a window of its own: one that another tab covers does not draw, and a press in
	// it waits for that.
	NewTab(ctx context.Context, id ContextID) (Tab, error)
	// Attach returns a tab that a page has opened, told to Opened.
	Attach(ctx context.Context, id TargetID) (Tab, error)
	// CloseTab closes a tab that nobody is attached to.
	CloseTab(ctx context.Context, id TargetID) error
	// Targets lists every tab, frame in a process of its own, and worker.
	Targets(ctx context.Context) ([]Target, error)
	// FramesIn lists the frames that live in the process of a tab, or of a frame in a process of its own, itself included.
	// It need not be a tab that is attached to; of one that is, it takes one call.
	FramesIn(ctx context.Context, id TargetID) ([]TargetID, error)
	// Release lets a paused response go on to the page, unchanged. Fail breaks it off.
	Release(ctx context.Context, id PausedID) error
	Fail(ctx context.Context, id PausedID) error
	// Gone is closed when the Chromium has ended, whatever the reason, and before a call fails because of that.
	Gone() <-chan struct{}
	// Close ends the Chromium: politely, then not. It returns when the process is dead.
	Close(ctx context.Context) error
}

// Target is an entry of [Engine.Targets].
type Target struct {
	ID      TargetID
	Type    string
	Context ContextID
	Opener  TargetID // the tab whose page opened it; empty when none did, or when it did not want that known
	URL     string
	Title   string   // page text
	Parent  TargetID // the frame that it is in: of a frame in a process of its own
}

// Dialog is a question that a page puts before everything else.
type Dialog struct {
	Type    string // alert, confirm, prompt or beforeunload
	Message string // page text, not sanitised
	Default string // what a prompt offers as the answer: page text
	URL     string // of the frame that asks
}

// Tab is a page of a browser context. Its methods need not be safe for concurrent use, but for Activity, Document,
// URL and AnswerDialog.
type Tab interface {
	Input
	Documents
	// ID is the tab's, and its main frame's.
	ID() TargetID
	// Navigate returns when the new document is there (its load goes on) or is a *[LoadError].
	Navigate(ctx context.Context, url string) error
	// Reload makes the request of the present document again; that of a form POST posts again.
	Reload(ctx context.Context) error
	// SetDocument replaces the document's content, without a request and without a URL.
	SetDocument(ctx context.Context, html string) error
	// Call calls a function of ours in a world that the page's scripts cannot reach, and decodes its JSON result.
	Call(ctx context.Context, function string, result any, args ...any) error
	// Go goes by so many entries of the tab's history, back when by is negative. It returns the page's URL there when the way
	// has begun, or ErrNoHistory.
	Go(ctx context.Context, by int) (url string, err error)
	// SetViewport sets the page's view, until the tab ends.
	SetViewport(ctx context.Context, v View) error
	// EmulateNetwork has the tab's requests be as slow as that, until the tab ends.
	EmulateNetwork(ctx context.Context, n Network) error
	// AnswerDialog answers the dialog that is open. There may be none any more, which is an error.
	AnswerDialog(ctx context.Context, accept bool, text string) error
	// Screenshot returns a picture of the viewport, or of the part of the document that clip names, as PNG.
	Screenshot(ctx context.Context, clip *Clip) ([]byte, error)
	// Front brings the tab to the front of its window: one in the back may not paint, and its clicks may hang.
	Front(ctx context.Context) error
	Close(ctx context.Context) error
	// Activity returns how many requests and navigations of the tab are under way, and a channel that is closed when
	// that changes.
	Activity() (n int, changed <-chan struct{})
	// Document identifies the present document of the main frame. It changes when a navigation commits.
	Document() string
	// URL is the present document's, as Chromium told it: no page is asked. It is empty until a document was told of.
	URL() string
	// Follow has a tab that was flooded with requests, see [Activity.Flooded], tell of them again.
	Follow(ctx context.Context) error
}

// LoadError is a navigation that ended without a document.
type LoadError struct {
	URL  string
	Text string // Chromium's own, such as net::ERR_CONNECTION_REFUSED
}

// Error implements error.
func (e *LoadError) Error() string { return e.URL + " did not load: " + e.Text }

// Paused is a response that Chromium holds for us, or a guarded request before it leaves. A driver fills it in from
// Fetch.requestPaused.
type Paused struct {
	ID       PausedID
	Request  RequestID // as it was told to Sent; empty when it wasn't
	Leaving  bool      // a request that has not left yet; it has no Status and no Headers
	Frame    TargetID  // the frame or worker that asked; a tab's main frame has the tab's id
	Resource string    // CDP's Network.ResourceType: Document, Fetch, XHR, Preflight, …
	Method   string
	URL      string
	Status   int // 0 when there is no response but a network error
	Headers  []Header

	submitted bool // it answers a form of ours, or comes after one in the redirects
}

// Header is one header field line, its name spelled as it was received.
type Header struct{ Name, Value string }
