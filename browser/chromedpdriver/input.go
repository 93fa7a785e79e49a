package chromedpdriver

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/papaver-agent/papaver/browser"
)

// mouseEvents are what CDP calls the acts of a mouse, and mouseButtons its buttons and their bits among those that are held.
var (
	mouseEvents = map[browser.MouseAction]input.DispatchMouseEventType{
		browser.Moved: chromedp.MouseMoved, browser.Pressed: chromedp.MousePressed, browser.Released: chromedp.MouseReleased, browser.Wheeled: input.DispatchMouseEventTypeMouseWheel,
	}
	mouseButtons = map[browser.Button]struct {
		name input.MouseButton
		bit  int64
	}{
		browser.Primary: {input.MouseButtonLeft, 1}, browser.Secondary: {input.MouseButtonRight, 2}, browser.Auxiliary: {input.MouseButtonMiddle, 4},
		browser.BackButton: {input.MouseButtonBack, 8}, browser.ForwardButton: {input.MouseButtonForward, 16},
	}
)

func (t *tab) Mouse(ctx context.Context, e browser.MouseEvent) error {
	p := input.DispatchMouseEventParams{
		Type: mouseEvents[e.Action], X: e.X, Y: e.Y, Button: input.MouseButtonNone, ClickCount: int64(e.Count),
		DeltaX: e.DeltaX, DeltaY: e.DeltaY, Modifiers: int64(e.Modifiers),
	}
	if e.Pen {
		p.PointerType = input.DispatchMouseEventPointerTypePen
	}
	if e.Action == browser.Pressed || e.Action == browser.Released {
		button := mouseButtons[e.Button]
		p.Button = button.name
		if e.Action == browser.Pressed {
			p.Buttons = button.bit
		}
	}
	_, err := cdp.Call(ctx, t.target, dispatchMouseEvent, mouseEvent{p, e.DeltaX, e.DeltaY})
	return t.wrap(err)
}

// mouseEvent has the deltas always: Chromium refuses a turn of the wheel without both, and cdproto leaves out a zero.
type mouseEvent struct {
	input.DispatchMouseEventParams
	DeltaX float64 `json:"deltaX"`
	DeltaY float64 `json:"deltaY"`
}

var dispatchMouseEvent = cdp.Command[mouseEvent, cdp.Empty]{Method: input.CommandDispatchMouseEvent}

func (t *tab) Touch(ctx context.Context, e browser.TouchEvent) error {
	p := input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}, Modifiers: int64(e.Modifiers)}
	if e.Down {
		p.Type, p.TouchPoints = input.DispatchTouchEventTypeTouchStart, []*input.TouchPoint{{X: e.X, Y: e.Y}}
	}
	_, err := cdp.Call(ctx, t.target, input.DispatchTouchEvent, p)
	return t.wrap(err)
}

func (t *tab) Key(ctx context.Context, e browser.KeyEvent) error {
	keypad := e.Location == 3
	p := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyUp, Key: e.Key, Code: e.Code, WindowsVirtualKeyCode: int64(e.KeyCode),
		Location: int64(e.Location), IsKeypad: &keypad, Modifiers: int64(e.Modifiers),
	}
	switch {
	case e.Down && e.Text != "":
		p.Type, p.Text, p.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, e.Text, e.Text
	case e.Down:
		p.Type = input.DispatchKeyEventTypeRawKeyDown
	}
	_, err := cdp.Call(ctx, t.target, input.DispatchKeyEvent, p)
	return t.wrap(err)
}

func (t *tab) Type(ctx context.Context, text string) error {
	_, err := cdp.Call(ctx, t.target, input.InsertText, input.InsertTextParams{Text: text})
	return t.wrap(err)
}

func (t *tab) SetViewport(ctx context.Context, v browser.View) error {
	orientation := emulation.ScreenOrientation{Type: emulation.ScreenOrientationTypePortraitPrimary}
	if v.Landscape {
		orientation = emulation.ScreenOrientation{Type: emulation.ScreenOrientationTypeLandscapePrimary, Angle: 90}
	}
	// The page is told of the new size at once, and looks for a touch screen then.
	_, err := cdp.Call(ctx, t.target, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: v.Touch})
	if err != nil {
		return t.wrap(err)
	}
	_, err = cdp.Call(ctx, t.target, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(v.Width), Height: int64(v.Height), DeviceScaleFactor: v.Scale, Mobile: v.Mobile, ScreenOrientation: &orientation,
	})
	return t.wrap(err)
}
