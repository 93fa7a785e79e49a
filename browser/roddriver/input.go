package roddriver

import (
	"context"

	"github.com/go-rod/rod/lib/proto"

	"github.com/papaver-agent/papaver/browser"
)

// mouseEvents are what CDP calls the acts of a mouse, and mouseButtons its buttons and their bits among those that are held.
var (
	mouseEvents = map[browser.MouseAction]proto.InputDispatchMouseEventType{
		browser.Moved: proto.InputDispatchMouseEventTypeMouseMoved, browser.Pressed: proto.InputDispatchMouseEventTypeMousePressed,
		browser.Released: proto.InputDispatchMouseEventTypeMouseReleased, browser.Wheeled: proto.InputDispatchMouseEventTypeMouseWheel,
	}
	mouseButtons = map[browser.Button]struct {
		name proto.InputMouseButton
		bit  int
	}{
		browser.Primary: {proto.InputMouseButtonLeft, 1}, browser.Secondary: {proto.InputMouseButtonRight, 2}, browser.Auxiliary: {proto.InputMouseButtonMiddle, 4},
		browser.BackButton: {proto.InputMouseButtonBack, 8}, browser.ForwardButton: {proto.InputMouseButtonForward, 16},
	}
)

// Mouse and what else is pressed here do not use rod's own, which wait for ever for a tab in the back to draw.
func (t *tab) Mouse(ctx context.Context, e browser.MouseEvent) error {
	held := 0
	ev := proto.InputDispatchMouseEvent{
		Type: mouseEvents[e.Action], X: e.X, Y: e.Y, Button: proto.InputMouseButtonNone, Buttons: &held, ClickCount: e.Count,
		DeltaX: e.DeltaX, DeltaY: e.DeltaY, Modifiers: int(e.Modifiers),
	}
	if e.Pen {
		ev.PointerType = proto.InputDispatchMouseEventPointerTypePen
	}
	if e.Action == browser.Pressed || e.Action == browser.Released {
		button := mouseButtons[e.Button]
		ev.Button = button.name
		if e.Action == browser.Pressed {
			held = button.bit
		}
	}
	return wrap(ev.Call(t.on(ctx)))
}

func (t *tab) Touch(ctx context.Context, e browser.TouchEvent) error {
	ev := proto.InputDispatchTouchEvent{Type: proto.InputDispatchTouchEventTypeTouchEnd, TouchPoints: []*proto.InputTouchPoint{}, Modifiers: int(e.Modifiers)}
	if e.Down {
		ev.Type, ev.TouchPoints = proto.InputDispatchTouchEventTypeTouchStart, []*proto.InputTouchPoint{{X: e.X, Y: e.Y}}
	}
	return wrap(ev.Call(t.on(ctx)))
}

func (t *tab) Key(ctx context.Context, e browser.KeyEvent) error {
	ev := proto.InputDispatchKeyEvent{
		Type: proto.InputDispatchKeyEventTypeKeyUp, Key: e.Key, Code: e.Code, WindowsVirtualKeyCode: e.KeyCode,
		Location: &e.Location, IsKeypad: e.Location == 3, Modifiers: int(e.Modifiers),
	}
	switch {
	case e.Down && e.Text != "":
		ev.Type, ev.Text, ev.UnmodifiedText = proto.InputDispatchKeyEventTypeKeyDown, e.Text, e.Text
	case e.Down:
		ev.Type = proto.InputDispatchKeyEventTypeRawKeyDown
	}
	return wrap(ev.Call(t.on(ctx)))
}

func (t *tab) Type(ctx context.Context, text string) error {
	return wrap(proto.InputInsertText{Text: text}.Call(t.on(ctx)))
}

func (t *tab) SetViewport(ctx context.Context, v browser.View) error {
	orientation := proto.EmulationScreenOrientation{Type: proto.EmulationScreenOrientationTypePortraitPrimary}
	if v.Landscape {
		orientation = proto.EmulationScreenOrientation{Type: proto.EmulationScreenOrientationTypeLandscapePrimary, Angle: 90}
	}
	// The page is told of the new size at once, and looks for a touch screen then.
	if err := (proto.EmulationSetTouchEmulationEnabled{Enabled: v.Touch}).Call(t.on(ctx)); err != nil {
		return wrap(err)
	}
	return wrap(proto.EmulationSetDeviceMetricsOverride{
		Width: v.Width, Height: v.Height, DeviceScaleFactor: v.Scale, Mobile: v.Mobile, ScreenOrientation: &orientation,
	}.Call(t.on(ctx)))
}
