package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/internal/secret"
)

func TestWhatIsTypedIsInNoRecordAndNoError(t *testing.T) {
	typed := secret.New("hunter2")
	m := Made{
		Act:   Act{Kind: Type, Value: typed, Private: true, Reply: Reply{Text: typed}, Selectors: [][]string{{"#f"}}},
		reply: &Reply{Text: typed},
	}
	printed := fmt.Sprintf("%v %+v %#v", m, m, m.Act)
	if data, err := json.Marshal(m); err == nil {
		printed += string(data)
	}
	m.Act.Kind = "nothing"
	printed += fmt.Sprint(m.Act.Validate())
	if strings.Contains(printed, "hunter2") || !strings.Contains(printed, "redacted") {
		t.Errorf("%s", printed)
	}
}

func TestAnActThatCannotBeMadeIsRefusedBeforeAnythingIsDone(t *testing.T) {
	there := [][]string{{"#f"}}
	for name, act := range map[string]Act{
		"no kind":                  {},
		"another kind":             {Kind: "launch"},
		"no element":               {Kind: Click},
		"another button":           {Kind: Click, Selectors: there, Pointer: Pointer{Button: "third"}},
		"another device":           {Kind: Click, Selectors: there, Pointer: Pointer{Device: "nose"}},
		"a finger's button":        {Kind: Click, Selectors: there, Pointer: Pointer{Device: Touch, Button: Secondary}},
		"too long":                 {Kind: Click, Selectors: there, Pointer: Pointer{Duration: maxPressed + 1}},
		"before it began":          {Kind: Click, Selectors: there, Pointer: Pointer{Duration: -1}},
		"too often":                {Kind: Click, Selectors: there, Pointer: Pointer{Count: maxPresses + 1}},
		"no key":                   {Kind: KeyDown, Key: "Hyper"},
		"no chord":                 {Kind: Press, Key: "Control+Hyper"},
		"another operator":         {Kind: Wait, Selectors: there, Elements: Elements{Operator: "<"}},
		"fewer than none":          {Kind: Wait, Selectors: there, Elements: Elements{Count: -1}},
		"no expression":            {Kind: WaitExpression, Expression: " "},
		"no text":                  {Kind: WaitText},
		"no URL":                   {Kind: WaitURL},
		"no tab to go to":          {Kind: SwitchTab},
		"no view":                  {Kind: Viewport},
		"another way with dialogs": {Kind: Back, Dialogs: "shout"},
		"a network below nothing":  {Kind: EmulateNetwork, Network: Network{Latency: -1}},
		"a view as large as that":  {Kind: Viewport, View: View{Width: maxView + 1, Height: 1}},
		"a scale as large":         {Kind: Viewport, View: View{Width: 1, Height: 1, Scale: maxScale + 1}},
	} {
		if err := act.Validate(); !errors.Is(err, ErrAct) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPatternStandsForWhatItsStarsLeaveOpen(t *testing.T) {
	for _, test := range []struct {
		pattern, s string
		want       bool
	}{
		{"https://a.test/x", "https://a.test/x", true},
		{"https://a.test/x", "https://a.test/xy", false},
		{"https://a.test/?q=1", "https://a.test/?q=1", true}, // a question mark is itself
		{"https://a.test/*", "https://a.test/", true},
		{"*", "", true},
		{"*/x", "https://a.test/x", true},
		{"*/x", "https://a.test/xx", false},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "acb", false},
		{"a*a", "a", false}, // each part has characters of its own
		{"a**b", "ab", true},
	} {
		if got := matches(test.pattern, test.s); got != test.want {
			t.Errorf("%q and %q: %v", test.pattern, test.s, got)
		}
	}
}
