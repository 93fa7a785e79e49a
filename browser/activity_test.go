package browser

import "testing"

func TestWhatIsUnderWayInATab(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		happens func(*Activity)
		n       int
	}{
		"nothing":                     {func(*Activity) {}, 0},
		"a request":                   {func(a *Activity) { a.Sent("r", "l", "Fetch", true) }, 1},
		"a redirect of it":            {func(a *Activity) { a.Sent("r", "l", "Fetch", true); a.Sent("r", "l", "Fetch", true) }, 1},
		"two":                         {func(a *Activity) { a.Sent("r", "l", "Fetch", true); a.Sent("s", "l", "XHR", false) }, 2},
		"an answered one":             {func(a *Activity) { a.Sent("r", "l", "Fetch", true); a.Answered("r") }, 0},
		"a worker's":                  {func(a *Activity) { a.Sent("r", "", "Fetch", true) }, 0},
		"an event source":             {func(a *Activity) { a.Sent("r", "l", "EventSource", true) }, 0},
		"an icon":                     {func(a *Activity) { a.Sent("r", "l", "Other", true) }, 0},
		"a ping":                      {func(a *Activity) { a.Sent("r", "l", "Ping", true) }, 0},
		"a navigation that was asked": {func(a *Activity) { a.Coming() }, 1},
		"one that loads":              {func(a *Activity) { a.Coming(); a.Loading() }, 1},
		"its request":                 {func(a *Activity) { a.Coming(); a.Sent("r", "l", "Document", true) }, 1},
		"a frame's beside it":         {func(a *Activity) { a.Coming(); a.Sent("r", "l", "Document", false); a.Answered("r") }, 1},
		"one that came":               {func(a *Activity) { a.Coming(); a.Committed("l", "https://shop.test/") }, 0},
		"one that ended":              {func(a *Activity) { a.Coming(); a.Loading(); a.Loaded() }, 0},
	} {
		a := NewActivity()
		_, before := a.Count()
		tc.happens(a)
		n, changed := a.Count()
		if n != tc.n || a.Busy() != (tc.n > 0) {
			t.Errorf("%s: %d under way, busy %v; want %d", name, n, a.Busy(), tc.n)
		}
		select {
		case <-before:
			if name == "nothing" {
				t.Error("a change is told, and nothing happened")
			}
		default:
			if name != "nothing" {
				t.Errorf("%s: no change is told", name)
			}
		}
		select {
		case <-changed:
			t.Errorf("%s: a change is told before it comes", name)
		default:
		}
	}
	a := NewActivity()
	a.Committed("first", "https://shop.test/")
	a.Committed("second", "https://shop.test/")
	if d := a.Document(); d != "second" {
		t.Errorf("the document is %q", d)
	}
}
