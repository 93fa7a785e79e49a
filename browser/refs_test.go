package browser

import (
	"fmt"
	"strings"
	"testing"
)

func TestAnAriaSelectorIsANameAndARole(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]AXQuery{
		"Exchange":                     {"Exchange", ""},
		" Exchange  this ":             {"Exchange this", ""},
		`Exchange[role="button"]`:      {"Exchange", "button"},
		`[role='button']`:              {"", "button"},
		`[name="a [b]"][ role = "x" ]`: {"a [b]", "x"},
		`Total [EUR][role="cell"]`:     {"Total [EUR]", "cell"},
		"":                             {"", ""},
	} {
		if got := ariaQuery(s); got != want {
			t.Errorf("%q is %+v, want %+v", s, got, want)
		}
	}
}

func TestAReferenceIsGivenOnceAndExpiresWithItsDocument(t *testing.T) {
	t.Parallel()
	r := newRefs()
	main, inner := ref{"tab", "tab", "d1", 7}, ref{"tab", "frame", "d2", 7}
	if a, b, c := r.name(main), r.name(inner), r.name(main); a != "e1" || b != "f1e2" || c != a {
		t.Errorf("%s, %s, %s", a, b, c)
	}
	r.forget("tab", []Frame{{ID: "tab", Document: "d1"}, {ID: "frame", Document: "d3"}})
	if r.byName["e1"] != main || len(r.byName) != 1 || len(r.names) != 1 {
		t.Errorf("%v", r.byName)
	}
	for name, want := range map[string]bool{"e1": true, "f1e2": true, "e3": false, "f2e1": false, "e0": false, "e01": false, "e1x": false, "x": false, "": false} {
		if r.given(name) != want {
			t.Errorf("%q given: %v", name, !want)
		}
	}
	if again := r.name(main); again != "e1" {
		t.Errorf("%s is another now", again)
	}
	if next := r.name(inner); next != "f1e3" {
		t.Errorf("a number was given twice: %s", next)
	}
}

func TestARequestThatWasMadeAgainIsSeenHoweverManyCameBetween(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		later Paused
		want  bool
	}{
		"answered":         {Paused{ID: "2", Frame: "f", Method: "POST", URL: "u", Status: 200}, true},
		"refused again":    {Paused{ID: "2", Frame: "f", Method: "POST", URL: "u", Status: 403}, false},
		"lost":             {Paused{ID: "2", Frame: "f", Method: "POST", URL: "u"}, false},
		"failed":           {Paused{ID: "2", Frame: "f", Method: "POST", URL: "u", Status: 503}, false},
		"another method":   {Paused{ID: "2", Frame: "f", Method: "GET", URL: "u", Status: 200}, false},
		"of another frame": {Paused{ID: "2", Frame: "g", Method: "POST", URL: "u", Status: 200}, false},
	} {
		a := newAnswers()
		first := Paused{ID: "1", Frame: "f", Method: "POST", URL: "u", Status: 403}
		a.saw(first, true)
		for i := range 2 * maxFrames {
			a.saw(Paused{ID: PausedID(fmt.Sprint("x", i)), Frame: TargetID(fmt.Sprint(i)), Method: "GET", URL: "v", Status: 200, Resource: "Document"}, false)
		}
		a.saw(tc.later, false)
		if got := a.repeated(first, false); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
		if len(a.documents) != maxFrames || len(a.order) != maxFrames {
			t.Errorf("%d documents are remembered", len(a.documents))
		}
	}
}

func TestAFindErrorQuotesAndBoundsPageText(t *testing.T) {
	t.Parallel()
	for _, c := range []Control{
		{Tag: "div", Name: "\x1b[2Jpay\n" + strings.Repeat("x", 1000)}, {Tag: "x\x1b[1m", Name: "é"}, {Tag: strings.Repeat("a", 1000)}, {},
	} {
		err := Act{Selectors: [][]string{{"#go"}}}.notFound(seen{Reason: Covered, Others: []Control{c}}, nil)
		if text := err.Error(); strings.ContainsAny(text, "\x1b\n") || len(text) > 200 {
			t.Errorf("%q", text)
		}
	}
}

func TestASnapshotIsNeverCutSilently(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.Repeat("- a line\n", 99)+"- a line", "\n")
	for _, o := range []SnapshotOptions{{}, {Lines: 7}, {Bytes: 50}, {Lines: 1, Bytes: 1}, {Offset: 98}, {Offset: 1000}, {Offset: -1, Lines: 1 << 30}} {
		seen := min(max(o.Offset, 0), len(lines))
		for pages := 0; ; pages++ {
			var s Snapshot
			s.page(lines, o)
			seen += strings.Count(s.Text, "- a line\n")
			if said := strings.Contains(s.Text, "more lines"); s.Lines != 100 || said != (s.Next > 0) || s.Next > 0 && s.Next <= max(o.Offset, 0) || pages > 100 {
				t.Fatalf("%+v: next %d in\n%s", o, s.Next, s.Text)
			}
			if s.Next == 0 {
				break
			}
			o.Offset = s.Next
		}
		if seen != len(lines) {
			t.Errorf("%+v: %d lines were seen", o, seen)
		}
	}
}
