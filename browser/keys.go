package browser

import (
	"errors"
	"fmt"
	"strings"
)

// ErrKey is the family of errors of a name that is no key's.
var ErrKey = errors.New("it is no key's name")

// key is one key of a US keyboard.
type key struct {
	code     string
	key      string // what it means
	shifted  string // the same while Shift is held; empty for the same
	keyCode  int
	location int
}

// The places of keys that stand on a keyboard more than once, as DOM's KeyboardEvent.location has them.
const (
	left   = 1
	right  = 2
	keypad = 3
	// telephone is what recordings say of a telephone's keys; DOM has dropped it.
	telephone = 4
)

// usKeys are the keys whose place does not follow from their character. Letters, digits and function keys are made by find.
// The values are those that Chromium gives a US keyboard (UI Events KeyboardEvent code Values).
var usKeys = [...]key{
	{"Enter", "Enter", "", 13, 0}, {"Tab", "Tab", "", 9, 0}, {"Backspace", "Backspace", "", 8, 0}, {"Space", " ", "", 32, 0},
	{"Escape", "Escape", "", 27, 0}, {"Delete", "Delete", "", 46, 0}, {"Insert", "Insert", "", 45, 0},
	{"ArrowLeft", "ArrowLeft", "", 37, 0}, {"ArrowUp", "ArrowUp", "", 38, 0}, {"ArrowRight", "ArrowRight", "", 39, 0}, {"ArrowDown", "ArrowDown", "", 40, 0},
	{"Home", "Home", "", 36, 0}, {"End", "End", "", 35, 0}, {"PageUp", "PageUp", "", 33, 0}, {"PageDown", "PageDown", "", 34, 0},
	{"ShiftLeft", "Shift", "", 16, left}, {"ControlLeft", "Control", "", 17, left}, {"AltLeft", "Alt", "", 18, left}, {"MetaLeft", "Meta", "", 91, left},
	{"ShiftRight", "Shift", "", 16, right}, {"ControlRight", "Control", "", 17, right}, {"AltRight", "Alt", "", 18, right}, {"MetaRight", "Meta", "", 92, right},
	{"AltGraph", "AltGraph", "", 225, 0}, {"CapsLock", "CapsLock", "", 20, 0}, {"NumLock", "NumLock", "", 144, 0}, {"ScrollLock", "ScrollLock", "", 145, 0},
	{"ContextMenu", "ContextMenu", "", 93, 0}, {"PrintScreen", "PrintScreen", "", 44, 0}, {"Pause", "Pause", "", 19, 0}, {"Help", "Help", "", 47, 0},
	{"Backquote", "`", "~", 192, 0}, {"Minus", "-", "_", 189, 0}, {"Equal", "=", "+", 187, 0}, {"BracketLeft", "[", "{", 219, 0}, {"BracketRight", "]", "}", 221, 0},
	{"Backslash", `\`, "|", 220, 0}, {"Semicolon", ";", ":", 186, 0}, {"Quote", "'", `"`, 222, 0}, {"Comma", ",", "<", 188, 0}, {"Period", ".", ">", 190, 0}, {"Slash", "/", "?", 191, 0},
	{"NumpadEnter", "Enter", "", 13, keypad}, {"NumpadAdd", "+", "", 107, keypad}, {"NumpadSubtract", "-", "", 109, keypad},
	{"NumpadMultiply", "*", "", 106, keypad}, {"NumpadDivide", "/", "", 111, keypad}, {"NumpadDecimal", ".", "", 110, keypad},
	{"BrowserBack", "BrowserBack", "", 166, 0}, {"BrowserForward", "BrowserForward", "", 167, 0}, {"BrowserRefresh", "BrowserRefresh", "", 168, 0},
	{"AudioVolumeMute", "AudioVolumeMute", "", 173, 0}, {"AudioVolumeDown", "AudioVolumeDown", "", 174, 0}, {"AudioVolumeUp", "AudioVolumeUp", "", 175, 0},
	{"MediaTrackNext", "MediaTrackNext", "", 176, 0}, {"MediaTrackPrevious", "MediaTrackPrevious", "", 177, 0}, {"MediaStop", "MediaStop", "", 178, 0}, {"MediaPlayPause", "MediaPlayPause", "", 179, 0},
	{"Clear", "Clear", "", 12, 0}, {"Cancel", "Cancel", "", 3, 0}, {"Select", "Select", "", 41, 0},
	// Those that recordings may name and few keyboards have. Some have no place.
	{"Power", "Power", "", 0, 0}, {"Eject", "Eject", "", 0, 0}, {"Abort", "Cancel", "", 3, 0}, {"Convert", "Convert", "", 28, 0}, {"NonConvert", "NonConvert", "", 29, 0},
	{"", "Accept", "", 30, 0}, {"", "ModeChange", "", 31, 0}, {"", "Print", "", 42, 0}, {"Open", "Execute", "", 43, 0}, {"NumpadEqual", "=", "", 187, keypad},
	{"NumpadDecimal", "\x00", "", 46, keypad}, {"", "Attn", "", 246, 0}, {"Props", "CrSel", "", 247, 0}, {"", "ExSel", "", 248, 0}, {"", "EraseEof", "", 249, 0},
	{"", "Play", "", 250, 0}, {"", "ZoomOut", "", 251, 0}, {"SoftLeft", "SoftLeft", "", 0, telephone}, {"SoftRight", "SoftRight", "", 0, telephone},
	{"Camera", "Camera", "", 44, telephone}, {"Call", "Call", "", 0, telephone}, {"EndCall", "EndCall", "", 95, telephone},
	{"VolumeDown", "VolumeDown", "", 182, telephone}, {"VolumeUp", "VolumeUp", "", 183, telephone},
}

// overDigits are the characters above the digits 0 to 9.
const overDigits = ")!@#$%^&*("

// findKey returns the key of that name: what it means, such as a, A, !, Enter or ArrowLeft, or its place, such as KeyA or
// Digit1.
func findKey(name string) (key, bool) {
	if k, ok := plainKey(name); ok {
		return k, true
	}
	switch name { // other names that recordings and people have
	case "\r", "\n", "Return":
		name = "Enter"
	case "Esc":
		name = "Escape"
	case "Del":
		name = "Delete"
	case "Ctrl", "ControlOrMeta":
		name = "Control"
	case "Cmd", "Command", "OS":
		name = "Meta"
	case "Option":
		name = "Alt"
	case "Left", "Right", "Up", "Down":
		name = "Arrow" + name
	}
	for _, k := range usKeys {
		if k.key == name || k.code == name && name != "" {
			return k, true
		}
		if k.shifted == name && name != "" {
			k.key = k.shifted
			return k, true
		}
	}
	return key{}, false
}

// plainKey is findKey for letters, digits and function keys.
func plainKey(name string) (key, bool) {
	var c byte
	switch {
	case len(name) == 1:
		c = name[0]
	case len(name) == 4 && strings.HasPrefix(name, "Key"):
		c = name[3] | 0x20 // the letter in lower case
	case len(name) == 6 && strings.HasPrefix(name, "Digit"):
		c = name[5]
	case len(name) == 7 && strings.HasPrefix(name, "Numpad") && name[6] >= '0' && name[6] <= '9':
		return key{name, name[6:], "", 96 + int(name[6]-'0'), keypad}, true
	default:
		var n int
		if _, err := fmt.Sscanf(name, "F%d", &n); err == nil && n >= 1 && n <= 24 && name == fmt.Sprintf("F%d", n) {
			return key{name, name, "", 111 + n, 0}, true
		}
		return key{}, false
	}
	lower := c | 0x20
	switch {
	case c >= '0' && c <= '9':
		return key{"Digit" + string(c), string(c), overDigits[c-'0' : c-'0'+1], int(c), 0}, true
	case lower >= 'a' && lower <= 'z':
		upper := string(lower - 0x20)
		return key{"Key" + upper, string(c), upper, int(lower - 0x20), 0}, true
	}
	if at := strings.IndexByte(overDigits, c); at >= 0 {
		return key{"Digit" + string(rune('0'+at)), string(c), "", '0' + at, 0}, true
	}
	return key{}, false
}

// is reports whether two keys are one, whatever Shift makes of it.
func (k key) is(other key) bool {
	return k.code == other.code && (k.code != "" || k.key == other.key)
}

// modifier is the modifier that a key is; 0 for another one.
func (k key) modifier() Modifiers {
	switch k.key {
	case "Alt":
		return Alt
	case "Control":
		return Ctrl
	case "Meta":
		return Meta
	case "Shift":
		return Shift
	}
	return 0
}

// event is a press or release of the key while those modifiers are held.
func (k key) event(down bool, held Modifiers) KeyEvent {
	e := KeyEvent{Down: down, Key: k.key, Code: k.code, KeyCode: k.keyCode, Location: k.location, Modifiers: held}
	if held&Shift != 0 && k.shifted != "" {
		e.Key = k.shifted
	}
	switch {
	case !down || held&^Shift != 0: // a shortcut enters nothing
	case e.Key == "Enter":
		e.Text = "\r"
	case len(e.Key) == 1 && e.Key >= " ":
		e.Text = e.Key
	}
	return e
}

// chord reads the keys of a chord such as Control+Shift+a, the one that is pressed last at the end. The key + is written as
// it is: Control++.
func chord(s string) ([]key, error) {
	names := strings.Split(s, "+")
	if s == "+" || strings.HasSuffix(s, "++") {
		names = append(names[:len(names)-2], "+")
	}
	keys := make([]key, len(names))
	for i, name := range names {
		k, ok := findKey(name)
		if !ok {
			return nil, fmt.Errorf("key %q: %w", name, ErrKey)
		}
		keys[i] = k
	}
	return keys, nil
}
