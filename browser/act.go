package browser

import (
	"context"
	"errors"
	"time"

	"github.com/papaver-agent/papaver/internal/secret"
)

// Kind says what an act does. Where Chrome DevTools' Recorder has a name for it, it is that one.
type Kind string

// The acts, in families. Each says which fields of [Act] it reads beside Target and Timeout.
const (
	Navigate Kind = "navigate" // URL: http, https or about:blank
	Back     Kind = "back"     // to the page before in the tab's history
	Forward  Kind = "forward"
	// Reload makes the request of the document again. That of a form's POST posts the form again, without asking: whether
	// that may be is for the caller to know.
	Reload Kind = "reload"

	Click       Kind = "click"       // Pointer
	DoubleClick Kind = "doubleClick" // Pointer
	Hover       Kind = "hover"       // Pointer.Offset; the pointer stays there

	Change  Kind = "change"  // Value in the place of what is there, for every sort of field
	Type    Kind = "type"    // Value behind what is there, key by key
	Clear   Kind = "clear"   //
	Check   Kind = "check"   // a check box, radio button or switch
	Uncheck Kind = "uncheck" // a check box or switch
	Select  Kind = "select"  // Options, and no others
	Upload  Kind = "upload"  // Files

	Press   Kind = "press"   // Key: a chord such as Control+a; with Selectors, in that element
	KeyDown Kind = "keyDown" // Key, held until KeyUp or the end of the context
	KeyUp   Kind = "keyUp"   // Key

	Scroll Kind = "scroll" // Scrolling; with Selectors an element, else the page

	Wait           Kind = "waitForElement"    // Elements
	WaitExpression Kind = "waitForExpression" // Expression
	WaitText       Kind = "waitForText"       // Text
	WaitURL        Kind = "waitForURL"        // URL: a pattern
	WaitResponse   Kind = "waitForResponse"   // Response

	HandleDialog Kind = "handleDialog" // Reply

	NewTab    Kind = "newTab"    // URL, when not empty
	SwitchTab Kind = "switchTab" // Target, in which the acts after this one are made
	CloseTab  Kind = "close"     // Target

	Viewport       Kind = "setViewport"              // View
	EmulateNetwork Kind = "emulateNetworkConditions" // Network
)

// MayChange reports whether an act of the kind can have the page send something that a person would answer for: it is no
// look, no wait and no setting of ours.
func (k Kind) MayChange() bool {
	switch k {
	case Click, DoubleClick, Change, Type, Clear, Check, Uncheck, Select, Upload, Press, KeyDown, KeyUp, HandleDialog, Reload:
		return true
	default:
		return false
	}
}

const (
	defaultTimeout = 10 * time.Second      // of one act, without the wait for its requests
	lookAgain      = 50 * time.Millisecond // between two looks for what is waited for
	keyLimit       = 50 * time.Millisecond // for a page to take each key of a text

	// emptyRefusal is how Chromium calls a 4xx or 5xx without a body.
	emptyRefusal = "net::ERR_HTTP_RESPONSE_CODE_FAILURE"
)

// Act is one thing to do in the page. Which fields count is said beside each [Kind].
type Act struct {
	Kind Kind
	// Target is the tab: empty for the one that was switched to last, at first the only one; [MainTab] for that first one;
	// else a URL, in which * stands for anything, or the ID of a [TabInfo]. Such a tab is waited for, and the act alone is
	// made there.
	Target string
	// Frame is the frame that is looked in: which child of the page it is, which child of that one, and so on, counted
	// from 0 as the Recorder does. Empty: the page itself.
	Frame []int
	// Selectors are alternatives, tried in order; each is a path through shadow roots. Their syntax is that of Chrome
	// DevTools' Recorder: CSS, `aria/NAME`, `text/TEXT`, `xpath/EXPRESSION`, `pierce/CSS`.
	Selectors [][]string
	// Ref is the element that a snapshot named, in the place of Selectors and Frame.
	Ref string
	// Strict makes it an error when several visible elements match; without it the first one is taken.
	Strict bool
	// Timeout is how long the element, or what else is waited for, may take; 10 s when 0. Expect has the same time again.
	Timeout time.Duration
	// Expect is a navigation that the act leads to, and that is waited for after it; nil for none.
	Expect *Navigation
	// Dialogs says what becomes of a dialog that the act opens; empty for what the context does.
	Dialogs Dialogs

	URL     string
	Value   secret.Text // what is entered can be private, so it is never printed
	Private bool        // the value is a secret, which is kept out of what the act gave
	Options []string    // each the value of an option or its label
	// Files are paths. The context allows folders, see AllowUploads.
	Files      []string
	Key        string
	Pointer    Pointer
	Scrolling  Scrolling
	Elements   Elements
	Expression string
	Text       Text
	Response   Response
	Reply      Reply
	View       View
	Network    Network
}

// Control is what identifies the element an act was done to.
type Control struct {
	Tag  string `json:"tag"`
	Role string `json:"role"`
	Name string `json:"name"` // its accessible name: page text
	Type string `json:"type"`
}

// Made is an act that was made, recorded so that it can be made again. It is immutable once Do has returned it.
type Made struct {
	Number  int // counts from 1 in its context
	Act     Act
	Began   time.Time
	Page    string            // the URL of the page before the act
	Control Control           // of the element the act was done to
	Form    map[string]string // the named fields of the control's form as they were, passwords left out
	Again   *Made             // the act that this one makes again; nil for a first one

	tab       TargetID
	frame     TargetID // the frame of its element; empty when it has none
	document  string   // the document the act was made in
	mark      int      // its element in that document, for find.js
	continues int      // visible Continue controls before it; -1 when they were not counted
	reply     *Reply   // the answer to the dialog that it opened; guarded by the context's mu
}

// Do makes an act, waits until the requests it caused are answered (at most 5 s), and returns what was made. The
// record is returned beside an error when the act had begun: its requests may have left. An act that opened a dialog which
// is to be handled returns at once, and [Context.Dialog] says so.
func (c *Context) Do(ctx context.Context, act Act) (*Made, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	if err := act.Validate(); err != nil {
		return nil, err
	}
	m := &Made{Act: act, continues: -1}
	var begun bool
	err := c.untilDialog(ctx, act.Kind == HandleDialog, func(ctx context.Context) (err error) {
		if act.Kind == HandleDialog {
			m, err = c.handleDialog(ctx, act.Reply)
			begun = m != nil
			return err
		}
		leave, path, err := c.enter(ctx, act)
		if err != nil {
			return err
		}
		defer leave()
		m.Act.Frame = append(path, act.Frame...)
		in, left := c.tab, c.tab.tab.Document()
		begun, err = c.do(ctx, m)
		if err == nil && begun {
			err = c.settle(ctx, quietLimit, c.leaves(in, left))
		}
		if err == nil && !c.refusedNow() {
			err = c.arrive(ctx, m)
		}
		return err
	})
	if !begun && err != nil {
		return nil, c.private.outOf(c.browser.gone(err))
	}
	return m, c.private.outOf(c.browser.gone(err))
}

// Quiet waits until the requests of the context's tab are answered, at most 5 s.
func (c *Context) Quiet(ctx context.Context) {
	c.acting.Lock()
	defer c.acting.Unlock()
	_ = c.settle(ctx, quietLimit, nil) // the next act says that Chromium is gone
}

// leaves is the document that the tab which is acted in had before; nil when another tab is acted in by now.
func (c *Context) leaves(in *tabState, document string) *string {
	if c.tab != in {
		return nil
	}
	return &document
}

// settle lets the page's own reaction to an act begin, then waits for it to end, at most limit long. left is the document
// that the act was made in, when it is known. Its one error is ErrGone.
func (c *Context) settle(ctx context.Context, limit time.Duration, left *string) error {
	ctx, cancel := c.browser.within(ctx, limit, ErrNoAnswer) // a page whose script runs for ever answers no call
	defer cancel()
	// A call answers after the page handled the input before it, so that what the handler began is counted.
	c.mu.Lock()
	last := c.present
	c.mu.Unlock()
	in := c.tab.tab
	navigates := last != nil && last.Act.Kind == Navigate && last.Again == nil
	if left != nil && (navigates || in.Document() != *left) {
		return c.quietIn(ctx, c.tab, limit, left) // the document had no input of ours
	}
	if last != nil && last.tab == in.ID() && last.frame != "" && last.frame != in.ID() {
		_ = in.CallIn(ctx, last.frame, `() => true`, new(bool)) // a frame in a process of its own handles its input there
	}
	_ = in.Call(ctx, `() => true`, new(bool)) // a page that is going away cannot answer, and that is activity too
	return c.quietIn(ctx, c.tab, limit, left)
}

// quiet waits until no request of the tab is under way, at most limit long. Its one error is ErrGone.
func (c *Context) quiet(ctx context.Context, limit time.Duration) error {
	return c.quietIn(ctx, c.tab, limit, nil)
}

func (c *Context) quietIn(ctx context.Context, in *tabState, limit time.Duration, left *string) error {
	ctx, cancel := c.browser.within(ctx, limit, ErrNoAnswer)
	defer cancel()
	if !in.quiet(ctx, limit, left) && errors.Is(context.Cause(ctx), ErrGone) {
		return ErrGone
	}
	return nil
}

// limit is how long what the act waits for may take.
func (a Act) limit() time.Duration {
	if a.Timeout <= 0 {
		return defaultTimeout
	}
	return a.Timeout
}

// lasts is how long the act itself takes at most, beside what it waits for.
func (a Act) lasts() time.Duration {
	long := maxPresses * a.Pointer.Duration
	if a.Kind == Type {
		long += time.Duration(len(a.Value.Reveal())) * keyLimit
	}
	return long
}

// do makes the act in the present tab. begun is whether its requests may have left.
func (c *Context) do(ctx context.Context, m *Made) (begun bool, err error) {
	ctx, cancel := c.browser.within(ctx, m.Act.limit()+m.Act.lasts(), context.DeadlineExceeded)
	defer cancel()
	m.document = c.tab.tab.Document()
	if err := c.tab.tab.Follow(ctx); err != nil {
		return false, err
	}
	switch m.Act.Kind {
	case Navigate, Back, Forward, Reload:
		return c.travel(ctx, m)
	case Click, DoubleClick, Hover:
		return c.point(ctx, m)
	case Change, Type, Clear, Check, Uncheck, Select, Upload:
		return c.fill(ctx, m)
	case Press, KeyDown, KeyUp:
		return c.strike(ctx, m)
	case Scroll:
		return c.scroll(ctx, m)
	case Wait, WaitExpression, WaitText, WaitURL, WaitResponse:
		return false, c.await(ctx, m)
	case NewTab, SwitchTab, CloseTab:
		return c.manage(ctx, m)
	case Viewport:
		return false, c.tab.tab.SetViewport(ctx, m.Act.View)
	default: // EmulateNetwork: Validate knows no other
		return false, c.tab.tab.EmulateNetwork(ctx, m.Act.Network)
	}
}
