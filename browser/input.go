package browser

import "context"

// Input is what a tab takes from a person's hands and devices. Points are of the tab's viewport, in CSS pixels. An event of
// a pointer or a key returns when the page has handled it, which it does not while a dialog of the page is open.
type Input interface {
	// Mouse gives the page one event of the mouse or the pen.
	Mouse(ctx context.Context, e MouseEvent) error
	// Touch puts one finger on the screen at a point, or lifts it from there.
	Touch(ctx context.Context, e TouchEvent) error
	// Key presses or releases one key.
	Key(ctx context.Context, e KeyEvent) error
	// Type enters text where the focus is, all at once and without keys.
	Type(ctx context.Context, text string) error
}

// Button is a button of the mouse, in the words of Chrome DevTools' Recorder.
type Button string

// The buttons. Primary is most people's left one.
const (
	Primary       Button = "primary"
	Auxiliary     Button = "auxiliary" // the wheel
	Secondary     Button = "secondary"
	BackButton    Button = "back"
	ForwardButton Button = "forward"
)

// Device is what a person points with.
type Device string

// The devices.
const (
	Mouse Device = "mouse"
	Pen   Device = "pen"
	Touch Device = "touch"
)

// MouseAction says what a mouse does.
type MouseAction int

// What a mouse does.
const (
	Moved MouseAction = iota
	Pressed
	Released
	Wheeled
)

// MouseEvent is one event of a mouse or pen.
type MouseEvent struct {
	Action         MouseAction
	X, Y           float64
	Button         Button // Pressed, Released
	Count          int    // the how manieth press in a row this is: Pressed, Released
	DeltaX, DeltaY float64
	Modifiers      Modifiers
	Pen            bool
}

// TouchEvent is one event of a finger.
type TouchEvent struct {
	Down      bool
	X, Y      float64 // Down
	Modifiers Modifiers
}

// KeyEvent is one event of a key, whole: nothing of it is left to a driver.
type KeyEvent struct {
	Down      bool
	Key       string // what it means: DOM's KeyboardEvent.key
	Code      string // where it is: DOM's KeyboardEvent.code
	Text      string // what it enters; empty for a key that enters nothing
	KeyCode   int    // DOM's KeyboardEvent.keyCode, which is Windows' virtual key code
	Location  int    // DOM's KeyboardEvent.location: 1 left, 2 right, 3 number pad
	Modifiers Modifiers
}

// Modifiers are the modifier keys that are held down, as bits.
type Modifiers int

// The modifiers, as CDP's Input domain has them.
const (
	Alt Modifiers = 1 << iota
	Ctrl
	Meta
	Shift
)

// View is the page's view and the device that shows it.
type View struct {
	Width, Height int     // in CSS pixels
	Scale         float64 // device pixels to a CSS pixel; 1 when 0
	Mobile        bool    // the page's own viewport tag holds, scroll bars lie over the page
	Touch         bool    // the device has a touch screen
	Landscape     bool
}

// Network is what a connection is like.
type Network struct {
	Offline          bool
	Download, Upload float64 // bytes a second; 0 does not limit it
	Latency          float64 // ms from a request to the first of its answer
}

// Clip is a part of the page to make a picture of, in CSS pixels of its document.
type Clip struct{ X, Y, Width, Height float64 }
