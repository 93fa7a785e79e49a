package browser

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestAKeyIsThatOfAUSKeyboard(t *testing.T) {
	for name, want := range map[string]KeyEvent{
		"a":            {Key: "a", Code: "KeyA", Text: "a", KeyCode: 65},
		"A":            {Key: "A", Code: "KeyA", Text: "A", KeyCode: 65},
		"KeyA":         {Key: "a", Code: "KeyA", Text: "a", KeyCode: 65},
		"7":            {Key: "7", Code: "Digit7", Text: "7", KeyCode: 55},
		"&":            {Key: "&", Code: "Digit7", Text: "&", KeyCode: 55},
		"Numpad7":      {Key: "7", Code: "Numpad7", Text: "7", KeyCode: 103, Location: 3},
		"?":            {Key: "?", Code: "Slash", Text: "?", KeyCode: 191},
		" ":            {Key: " ", Code: "Space", Text: " ", KeyCode: 32},
		"\n":           {Key: "Enter", Code: "Enter", Text: "\r", KeyCode: 13},
		"Tab":          {Key: "Tab", Code: "Tab", KeyCode: 9},
		"Shift":        {Key: "Shift", Code: "ShiftLeft", KeyCode: 16, Location: 1},
		"ControlRight": {Key: "Control", Code: "ControlRight", KeyCode: 17, Location: 2},
		"F5":           {Key: "F5", Code: "F5", KeyCode: 116},
		"F24":          {Key: "F24", Code: "F24", KeyCode: 135},
		"ArrowDown":    {Key: "ArrowDown", Code: "ArrowDown", KeyCode: 40},
		"Execute":      {Key: "Execute", Code: "Open", KeyCode: 43},
		"Accept":       {Key: "Accept", KeyCode: 30},
		"\u0000":       {Key: "\u0000", Code: "NumpadDecimal", KeyCode: 46, Location: 3},
		"=":            {Key: "=", Code: "Equal", Text: "=", KeyCode: 187},
	} {
		want.Down = true
		k, ok := findKey(name)
		if got := k.event(true, 0); !ok || got != want {
			t.Errorf("%q is %+v, want %+v", name, got, want)
		}
	}
	for _, name := range []string{"", "ab", "F25", "F0", "F05", "Digit", "ü", "KeyAB", "NumpadX"} {
		if k, ok := findKey(name); ok {
			t.Errorf("%q is a key: %+v", name, k)
		}
	}
}

func TestEveryPrintableCharacterOfASCIIHasItsKey(t *testing.T) {
	places := make(map[string]bool)
	for c := ' '; c <= '~'; c++ {
		k, ok := findKey(string(c))
		if !ok || k.key != string(c) || k.event(true, 0).Text != string(c) {
			t.Errorf("%q is %+v", c, k)
		}
		places[k.code] = true
	}
	if len(places) != 48 { // 26 letters, 10 digits, 11 others and the space
		t.Errorf("they are on %d keys", len(places))
	}
}

func TestHeldModifiersChangeWhatAKeyMeans(t *testing.T) {
	k, _ := findKey("a")
	if e := k.event(true, Shift); e.Key != "A" || e.Text != "A" {
		t.Errorf("with Shift: %+v", e)
	}
	if e := k.event(true, Ctrl); e.Key != "a" || e.Text != "" {
		t.Errorf("with Control: %+v", e)
	}
}

func TestAChordIsReadFromItsNames(t *testing.T) {
	for s, want := range map[string]string{
		"a": "KeyA", "Control+A": "ControlLeft KeyA", "Control+Shift+Tab": "ControlLeft ShiftLeft Tab",
		"+": "Equal", "Control++": "ControlLeft Equal", "ControlOrMeta+c": "ControlLeft KeyC",
	} {
		keys, err := chord(s)
		var codes []string
		for _, k := range keys {
			codes = append(codes, k.code)
		}
		if err != nil || strings.Join(codes, " ") != want {
			t.Errorf("%q: %v, %v", s, codes, err)
		}
	}
	for _, s := range []string{"", "Control+", "Control+Hyper", "+a"} {
		if keys, err := chord(s); !errors.Is(err, ErrKey) {
			t.Errorf("%q: %v, %v", s, keys, err)
		}
	}
}

// keyLog is a tab that notes keys, and fails from some press on.
type keyLog struct {
	Tab
	events []string
	failAt int
}

func (l *keyLog) Key(ctx context.Context, e KeyEvent) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	way := "-"
	if e.Down {
		way = "+"
	}
	l.events = append(l.events, way+e.Key)
	if l.failAt > 0 && len(l.events) == l.failAt {
		return errFake
	}
	return nil
}

func TestKeysOfAChordAreReleasedAlsoAfterAnError(t *testing.T) {
	keys, err := chord("Control+Shift+a")
	if err != nil {
		t.Fatal(err)
	}
	for failAt, want := range map[int]string{
		0: "+Control +Shift +A -A -Shift -Control",
		2: "+Control +Shift -Shift -Control",
		3: "+Control +Shift +A -A -Shift -Control",
	} {
		var k keyboard
		l := &keyLog{failAt: failAt}
		err := k.stroke(t.Context(), l, keys...)
		if got := strings.Join(l.events, " "); got != want || errors.Is(err, errFake) != (failAt > 0) || len(k.down) > 0 {
			t.Errorf("failing at %d: %s, %v, down: %v", failAt, got, err, k.down)
		}
	}
}

func TestAHeldKeyStaysHeldThroughAChordAndIsReleasedInTheEnd(t *testing.T) {
	var k keyboard
	l := &keyLog{}
	shift, _ := findKey("Shift")
	tab, _ := findKey("Tab")
	if err := k.press(t.Context(), l, shift); err != nil {
		t.Fatal(err)
	}
	if err := k.stroke(t.Context(), l, shift, tab); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.releaseAll(ctx, l)
	if want := []string{"+Shift", "+Tab", "-Tab", "-Shift"}; !slices.Equal(l.events, want) {
		t.Errorf("%v", l.events)
	}
}

func FuzzChord(f *testing.F) {
	for _, s := range []string{"Control+A", "+", "++", "Shift++", "F12", "\x00", "é+a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		keys, err := chord(s)
		if err == nil && len(keys) == 0 {
			t.Errorf("%q is no keys and no error", s)
		}
		for _, k := range keys {
			if k.code == "" || k.key == "" {
				t.Errorf("%q: %+v", s, k)
			}
		}
	})
}
