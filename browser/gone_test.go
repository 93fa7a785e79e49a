package browser

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// waits are the ways to wait for a page, each with a page that keeps it waiting.
func waits(t *testing.T, b *Browser, c *Context) map[string]func() error {
	t.Helper()
	made, err := c.Do(t.Context(), Act{Kind: Click, Selectors: [][]string{{"#there"}}})
	if err != nil {
		t.Fatal(err)
	}
	held := Held{paused: Paused{ID: "r", Frame: tabOf(c).id, Resource: "Fetch"}, act: made}
	tab := tabOf(c)
	none := func(string) bool { return false }
	all := func(string) bool { return true }
	permit := func(How) error { t.Error("permitted"); return nil }
	again := func() error {
		_, err := c.Again(context.Background(), made, held, permit)
		return err
	}
	return map[string]func() error{
		"Text":     func() error { tab.hangs = all; _, err := c.Text(context.Background()); return err },
		"Location": func() error { tab.hangs = all; _, err := c.Location(context.Background()); return err },
		"Again":    func() error { tab.hangs = all; return again() },
		"Again, the quiet before": func() error {
			tab.hangs = all
			tab.setActive(1)
			return again()
		},
		"Do, the element": func() error {
			tab.hangs = all
			_, err := c.Do(context.Background(), Act{Kind: Wait, Selectors: [][]string{{"#there"}}})
			return err
		},
		"Do, the requests": func() error {
			tab.hangs = none
			tab.setActive(1)
			_, err := c.Do(context.Background(), Act{Kind: Navigate, URL: "https://shop.test/"})
			return err
		},
		"SubmitForm": func() error {
			tab.hangs = none
			_, err := c.SubmitForm(context.Background(), joinURL, joinFields)
			return err
		},
	}
}

func TestADeadChromiumEndsEveryWaitAtOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Text", "Location", "Again", "Again, the quiet before", "Do, the element", "Do, the requests", "SubmitForm"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, d := startFake(t, nobodyHolds)
				c := fakeContext(t, b)
				tabOf(c).finds = true
				wait := waits(t, b, c)[name]
				began := time.Now()
				ended := make(chan error, 1)
				go func() { ended <- wait() }()
				<-time.NewTimer(time.Second).C
				d.engine.die()
				if err := <-ended; !errors.Is(err, ErrGone) || errors.Is(err, ErrCannotRepeat) || time.Since(began) != time.Second {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				mustClose(t, b)
			})
		})
	}
}

func TestAPageWhoseScriptRunsForEverIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after time.Duration
		want  error
	}{
		"Text":                    {answerTimeout, ErrNoAnswer},
		"Location":                {answerTimeout, ErrNoAnswer},
		"Again":                   {answerTimeout, ErrNoAnswer},
		"Again, the quiet before": {quietLimit + answerTimeout, ErrNoAnswer},
		"Do, the element":         {defaultTimeout, ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, _ := startFake(t, nobodyHolds)
				c := fakeContext(t, b)
				tabOf(c).finds = true
				wait := waits(t, b, c)[name]
				began := time.Now()
				if err := wait(); !errors.Is(err, tc.want) || time.Since(began) != tc.after {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				mustClose(t, b)
			})
		})
	}
}
