package browser

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// arrive has the fake's document be another one, as a navigation that committed.
func (t *fakeTab) arrive(document string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.document = document
}

// An act that brought another document is over when that has loaded and what it asked for is answered; one that stays in its
// document when nothing was under way for a moment.
func TestAnActIsOverWhenItsNewDocumentHasLoaded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		next string        // the document
		busy time.Duration // how long something is under way in it
		want time.Duration
	}{
		"the same document":         {"blank", 0, calmFor},
		"the same, and a request":   {"blank", time.Second, time.Second + calmFor},
		"a new document":            {"next", 0, 0},
		"a new one, and a request":  {"next", time.Second, time.Second},
		"a new one that never ends": {"next", time.Hour, quietLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, _ := startFake(t, nobodyHolds)
				c := fakeContext(t, b)
				tab := tabOf(c)
				tab.onNavigate = func() {
					tab.arrive(tc.next)
					if tc.busy > 0 {
						tab.setActive(1)
						time.AfterFunc(tc.busy, func() { tab.setActive(0) })
					}
				}
				began := time.Now()
				if _, err := c.Do(t.Context(), Act{Kind: Navigate, URL: "https://shop.test/"}); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != tc.want {
					t.Errorf("it took %v and not %v", took, tc.want)
				}
				mustClose(t, b)
			})
		})
	}
}

// Of a refused document the look-up can begin when another document answers its request. A redirect, a failure, and another
// refusal say nothing of that, and neither does the answer to a script.
func TestARefusedDocumentThatWasMadeAgainIsAnsweredByADocumentAlone(t *testing.T) {
	t.Parallel()
	refused := refusal("r1", "tab")
	refused.Resource = "Document"
	for name, tc := range map[string]struct {
		change   func(*Paused)
		answered bool
	}{
		"a page":        {func(p *Paused) { p.Status = http.StatusOK }, true},
		"a redirect":    {func(p *Paused) { p.Status = http.StatusSeeOther }, false},
		"a failure":     {func(p *Paused) { p.Status = http.StatusBadGateway }, false},
		"no answer":     {func(p *Paused) { p.Status = 0 }, false},
		"a refusal":     {func(p *Paused) { p.Status = http.StatusForbidden }, false},
		"a script's":    {func(p *Paused) { p.Status, p.Resource = http.StatusOK, "Fetch" }, false},
		"another frame": {func(p *Paused) { p.Status, p.Frame = http.StatusOK, "other" }, false},
		"another page":  {func(p *Paused) { p.Status, p.URL = http.StatusOK, "https://shop.test/other" }, false},
	} {
		a := newAnswers()
		a.saw(refused, true)
		p := refused
		p.ID, p.Headers = "r2", nil
		tc.change(&p)
		a.saw(p, false)
		a.saw(p, false) // a second one changes nothing
		select {
		case <-a.answered(refused):
			if !tc.answered {
				t.Errorf("%s: it counts as answered", name)
			}
		default:
			if tc.answered {
				t.Errorf("%s: it does not count as answered", name)
			}
		}
	}
	if newAnswers().answered(refused) != nil {
		t.Error("one that nobody saw has an answer")
	}
}

// pressedIn presses a control in the tab of a context.
func pressedIn(t *testing.T, c *Context) (*fakeTab, *Made) {
	t.Helper()
	tab := tabOf(c)
	tab.finds = true
	made, err := c.Do(t.Context(), Act{Kind: Click, Selectors: [][]string{{"#there"}}})
	if err != nil {
		t.Fatal(err)
	}
	return tab, made
}

// Again does not wait for the page that answers to load, and Arrived does.
func TestTheAnswerToAnActThatWasMadeAgainEndsItsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, d := startFake(t, nobodyHolds)
		c := fakeContext(t, b)
		tab, made := pressedIn(t, c)
		refused := refusal("r1", tab.id)
		refused.Resource = "Document"
		d.engine.paused(refused)
		synctest.Wait()
		began := time.Now()
		time.AfterFunc(time.Second, func() {
			answer := refused
			answer.ID, answer.Status, answer.Headers = "r2", http.StatusOK, nil
			d.engine.paused(answer)
		})
		time.AfterFunc(3*time.Second, func() { tab.setActive(0) })
		how, err := c.Again(context.Background(), made, Held{paused: refused, act: made}, func(How) error { tab.setActive(1); return nil })
		if err != nil || how != ByReload || time.Since(began) != time.Second {
			t.Errorf("%s after %v, %v", how, time.Since(began), err)
		}
		if err := c.Arrived(context.Background(), made); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("arrived after %v, %v", time.Since(began), err)
		}
		mustClose(t, b)
	})
}

func TestARefusedWindowIsWaitedForUntilItIsATabOfOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var held []Held
		b, d := startFake(t, func(_ context.Context, h Held) { held = append(held, h) })
		c := fakeContext(t, b)
		tab, made := pressedIn(t, c)
		window := Target{ID: "window", Type: "page", Context: c.id, Opener: tab.id}
		d.engine.targets = append(d.engine.targets, Target{ID: tab.id, Type: "page", Context: c.id}, window)
		d.engine.onAttach = func() { <-time.After(time.Second) } // of the bubble's clock
		refused := refusal("r1", window.ID)
		refused.Resource = "Document"
		began := time.Now()
		d.process.Opened(window)
		d.engine.paused(refused)
		synctest.Wait()
		if len(held) != 1 {
			t.Fatalf("held %d", len(held))
		}
		permit := func(How) error { return errFake }
		if how, err := c.Again(t.Context(), made, held[0], permit); how != ByReload || err != errFake || time.Since(began) < time.Second {
			t.Errorf("%q after %v, %v", how, time.Since(began), err)
		}
		mustClose(t, b)
	})
}

func TestAFloodOfRequestsIsNotFollowed(t *testing.T) {
	t.Parallel()
	a := NewActivity()
	for n := range 2 * maxFollowed {
		if floods := a.Sent(RequestID(rune(n+1)), "l", "Fetch", true); floods != (n == maxFollowed) || a.Flooded() != (n >= maxFollowed) {
			t.Fatalf("request %d: floods %v, flooded %v", n+1, floods, a.Flooded())
		}
	}
	if a.Busy() {
		t.Error("what is not followed is under way")
	}
	if !a.Follow() || a.Follow() || a.Flooded() {
		t.Error("it has to be told of again, once")
	}
	if a.Sent("r", "l", "Fetch", true); !a.Busy() {
		t.Error("it is not followed again")
	}
}

// What the documents before asked for has no end that anybody tells.
func TestANewDocumentEndsWhatTheOneBeforeAskedFor(t *testing.T) {
	t.Parallel()
	a := NewActivity()
	a.Committed("one", "https://shop.test/")
	a.Sent("picture", "one", "Image", true)
	a.Sent("two", "two", "Document", true)
	a.Committed("one", "https://shop.test/") // within the document
	if n, _ := a.Count(); n != 2 {
		t.Errorf("%d are under way", n)
	}
	a.Committed("two", "https://shop.test/")
	if n, _ := a.Count(); n != 1 {
		t.Errorf("%d are under way", n)
	}
	a.Answered("two")
	if a.Busy() {
		t.Error("the document's own request is under way")
	}
}
