package flow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/papaver-agent/papaver/browser"
)

// part is everything that a step of whatever type may say.
type part struct {
	Type       string                     `json:"type"`
	Target     string                     `json:"target"`
	Frame      []int                      `json:"frame"`
	Timeout    *float64                   `json:"timeout"` // milliseconds
	Asserted   json.RawMessage            `json:"assertedEvents"`
	Selectors  json.RawMessage            `json:"selectors"`
	URL        string                     `json:"url"`
	Value      *string                    `json:"value"`
	Key        string                     `json:"key"`
	X          float64                    `json:"x"`
	Y          float64                    `json:"y"`
	OffsetX    *float64                   `json:"offsetX"`
	OffsetY    *float64                   `json:"offsetY"`
	Button     string                     `json:"button"`
	Device     string                     `json:"deviceType"`
	Duration   float64                    `json:"duration"` // milliseconds
	Expression string                     `json:"expression"`
	Operator   string                     `json:"operator"`
	Count      *int                       `json:"count"`
	Visible    *bool                      `json:"visible"`
	Properties map[string]json.RawMessage `json:"properties"`
	Attributes map[string]string          `json:"attributes"`
	Width      int                        `json:"width"`
	Height     int                        `json:"height"`
	Scale      float64                    `json:"deviceScaleFactor"`
	Mobile     bool                       `json:"isMobile"`
	Touch      bool                       `json:"hasTouch"`
	Landscape  bool                       `json:"isLandscape"`
	Download   float64                    `json:"download"` // bytes a second
	Upload     float64                    `json:"upload"`
	Latency    float64                    `json:"latency"` // milliseconds
	Name       string                     `json:"name"`
}

// kind is a type of step: the members it has beside those of every step, and how it is read.
type kind struct {
	members []string
	read    func(r *reader, place string, p part, act *browser.Act) (label string)
}

var (
	inFrame  = []string{"frame"}
	selected = []string{"frame", "selectors"}
	pressed  = []string{"frame", "selectors", "offsetX", "offsetY", "button", "deviceType", "duration"}
)

// kindOf is the type of that name; nil when there is none.
func kindOf(name string) *kind {
	switch name {
	case "setViewport":
		return &kind{[]string{"width", "height", "deviceScaleFactor", "isMobile", "hasTouch", "isLandscape"}, readView}
	case "emulateNetworkConditions":
		return &kind{[]string{"download", "upload", "latency"}, readNetwork}
	case "navigate":
		return &kind{[]string{"url"}, readNavigate}
	case "click", "doubleClick":
		return &kind{pressed, readPress}
	case "hover":
		return &kind{selected, readHover}
	case "change":
		return &kind{append(slices.Clone(selected), "value"), readChange}
	case "keyDown", "keyUp":
		return &kind{[]string{"key"}, readKey}
	case "scroll":
		return &kind{append(slices.Clone(selected), "x", "y"), readScroll}
	case "waitForElement":
		return &kind{append(slices.Clone(selected), "operator", "count", "visible", "properties", "attributes"), readWait}
	case "waitForExpression":
		return &kind{append(slices.Clone(inFrame), "expression"), readExpression}
	case "close":
		return &kind{nil, readClose}
	case "customStep":
		return &kind{append(slices.Clone(inFrame), "name", "parameters"), nil}
	default:
		return nil
	}
}

// ofEveryStep are the members that each step may have.
func ofEveryStep() []string { return []string{"type", "target", "timeout", "assertedEvents"} }

// step reads one step.
func (r *reader) step(place string, raw json.RawMessage) Step {
	var p part
	if !r.decode(place, raw, &p) {
		return Step{}
	}
	k := kindOf(p.Type)
	if k == nil {
		r.wrong(place, "type %s is not a step's", quoted(p.Type))
		return Step{}
	}
	r.unknown(place, raw, append(ofEveryStep(), k.members...))
	if k.read == nil {
		r.note(place, "the custom step %s is skipped: it means something to the program that recorded it alone", quoted(p.Name))
		return Step{Label: "skip the custom step " + p.Name, Skip: true}
	}
	if p.Type == "navigate" && newTabPage(p.URL) {
		r.note(place, "the browser's own page %s is not opened", quoted(p.URL))
		return Step{Label: "skip the new tab page", Skip: true}
	}
	act := browser.Act{Kind: browser.Kind(p.Type), Target: p.Target, Frame: p.Frame}
	if act.Target == "" {
		act.Target = browser.MainTab
	}
	if slices.ContainsFunc(p.Frame, func(i int) bool { return i < 0 }) {
		r.wrong(place+".frame", "a frame is counted from 0")
	}
	ms := p.Timeout
	if ms == nil {
		ms = r.timeout
	}
	if ms != nil {
		act.Timeout = r.milliseconds(place+".timeout", *ms)
	}
	act.Expect = r.expected(place+".assertedEvents", p.Asserted)
	if slices.Contains(k.members, "selectors") && (p.Selectors != nil || p.Type != "scroll") {
		act.Selectors = r.selectors(place+".selectors", p.Selectors)
	}
	before := len(r.problems)
	label := k.read(r, place, p, &act)
	if err := act.Validate(); err != nil && len(r.problems) == before && !r.namedIn(place) {
		r.wrong(place, "%v", err)
	}
	return Step{Label: label, Act: act}
}

// namedIn reports whether a problem of that step is noted already.
func (r *reader) namedIn(place string) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Place == place || strings.HasPrefix(p.Place, place+".") })
}

// newTabPage reports whether a URL is that of the page which a new tab of Chrome shows: many recordings begin there.
func newTabPage(s string) bool {
	return slices.Contains([]string{"chrome://new-tab-page", "chrome://newtab", "about:newtab", "about:blank"}, strings.TrimSuffix(s, "/"))
}

func readView(_ *reader, _ string, p part, act *browser.Act) string {
	act.View = browser.View{Width: p.Width, Height: p.Height, Scale: p.Scale, Mobile: p.Mobile, Touch: p.Touch, Landscape: p.Landscape}
	return fmt.Sprintf("set the view to %d × %d", p.Width, p.Height)
}

func readNetwork(_ *reader, _ string, p part, act *browser.Act) string {
	// The Recorder's preset "Offline" is the one without any speed.
	act.Network = browser.Network{Offline: p.Download == 0 && p.Upload == 0, Download: p.Download, Upload: p.Upload, Latency: p.Latency}
	if act.Network.Offline {
		return "go offline"
	}
	return "slow the network down"
}

func readNavigate(r *reader, place string, p part, act *browser.Act) string {
	address, u := r.address(place+".url", p.URL)
	act.URL = address
	return "open " + u.Host + u.EscapedPath()
}

func readPress(r *reader, place string, p part, act *browser.Act) string {
	act.Pointer = browser.Pointer{Device: browser.Device(p.Device), Button: browser.Button(p.Button), Duration: r.milliseconds(place+".duration", p.Duration)}
	if p.OffsetX != nil && p.OffsetY != nil {
		act.Pointer.Offset = &browser.Point{X: *p.OffsetX, Y: *p.OffsetY}
	}
	if p.Type == "doubleClick" {
		return "press twice on " + nameOf(act.Selectors)
	}
	return "press " + nameOf(act.Selectors)
}

func readHover(_ *reader, _ string, _ part, act *browser.Act) string {
	return "point at " + nameOf(act.Selectors)
}

func readChange(r *reader, place string, p part, act *browser.Act) string {
	if p.Value == nil {
		r.wrong(place+".value", "the new value is missing")
		return ""
	}
	act.Value, act.Private = r.fill(place+".value", *p.Value)
	return "fill in " + nameOf(act.Selectors)
}

func readKey(_ *reader, _ string, p part, act *browser.Act) string {
	act.Key = p.Key
	if p.Type == "keyUp" {
		return "release the key " + p.Key
	}
	return "press the key " + p.Key
}

func readScroll(_ *reader, _ string, p part, act *browser.Act) string {
	act.Scrolling = browser.Scrolling{X: p.X, Y: p.Y}
	return "scroll " + nameOf(act.Selectors)
}

func readWait(_ *reader, _ string, p part, act *browser.Act) string {
	act.Elements = browser.Elements{Operator: p.Operator, Unseen: true, Hidden: p.Visible != nil && !*p.Visible, Properties: p.Properties, Attributes: p.Attributes}
	if p.Count != nil {
		act.Elements.Count, act.Elements.Counted = *p.Count, true
	}
	return "wait for " + nameOf(act.Selectors)
}

func readExpression(_ *reader, _ string, p part, act *browser.Act) string {
	act.Expression = p.Expression
	return "wait until an expression of the page is true"
}

func readClose(_ *reader, _ string, _ part, act *browser.Act) string {
	if act.Target == browser.MainTab {
		return "close the page"
	}
	return "close " + act.Target
}
