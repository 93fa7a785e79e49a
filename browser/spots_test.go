package browser

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// What asked may have gone when its answer comes: a window that closed, a frame that was removed. It is known all the same,
// and Chromium is not asked.
func TestAResponseBelongsToTheContextOfWhoAskedForItAlsoWhenThatHasGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given := make(chan Held, 1)
		b, d := startFake(t, func(_ context.Context, h Held) { given <- h })
		one, two := fakeContext(t, b), fakeContext(t, b)
		b.onOpened(Target{ID: "worker", Type: "shared_worker", Context: two.ID()})
		b.onOpened(Target{ID: "apart", Type: "iframe", Context: one.ID()})
		b.onClosed("worker")
		b.onClosed("apart")
		d.process.Sent(SentRequest{Tab: tabOf(one).id, ID: "request"})
		asked := d.engine.asked
		for i, tc := range []struct {
			frame   TargetID
			request RequestID
			want    ContextID
			target  TargetID
		}{
			{"worker", "", two.ID(), "worker"},
			{"apart", "", one.ID(), "apart"},
			{"removed", "request", one.ID(), tabOf(one).id},
			{"apart", "request", one.ID(), tabOf(one).id}, // it came back into the tab's process
		} {
			p := refusal(PausedID(fmt.Sprint(i)), tc.frame)
			p.Request = tc.request
			d.engine.paused(p)
			h := <-given
			if id, known := h.Context(); id != tc.want || !known || h.Target() != tc.target || h.Frame() != tc.frame {
				t.Errorf("frame %q: %q, %v, in %q; want %q in %q", tc.frame, id, known, h.Target(), tc.want, tc.target)
			}
		}
		if d.engine.asked != asked {
			t.Errorf("Chromium was asked %d times", d.engine.asked-asked)
		}
		mustClose(t, b)
	})
}

// On a busy machine a window's frame can ask before Chromium says of either that it is there.
func TestWhoAskedIsLookedForUntilItIsToldButNotForAllTheTimeThatAResponseIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given := make(chan Held, 1)
		b, d := startFake(t, func(_ context.Context, h Held) { given <- h })
		c := fakeContext(t, b)
		began := time.Now()
		d.engine.paused(refusal("1", "frame"))
		<-time.After(time.Second)
		d.engine.mu.Lock()
		d.engine.frames = map[TargetID][]TargetID{"window": {"frame"}}
		d.engine.targets = []Target{{ID: "window", Type: "page", Context: c.ID()}}
		d.engine.mu.Unlock()
		if h := <-given; h.Target() != "window" || time.Since(began) > 2*time.Second {
			t.Errorf("in %q, after %s", h.Target(), time.Since(began))
		}
		began = time.Now()
		d.engine.paused(refusal("2", "nobody"))
		if h := <-given; h.Target() != "" || time.Since(began) >= holdTimeout {
			t.Errorf("in %q, after %s", h.Target(), time.Since(began))
		}
		synctest.Wait()
		mustClose(t, b)
	})
}

func TestOnlySoManyFramesAreRemembered(t *testing.T) {
	t.Parallel()
	var s spots
	for n := range 2 * maxSpots {
		s.note(TargetID(fmt.Sprint(n)), spot{"context", "target"})
		s.note(TargetID(fmt.Sprint(n)), spot{"context", "target"})
	}
	if len(s.of) != maxSpots || len(s.order) != maxSpots || s.of[TargetID(fmt.Sprint(2*maxSpots-1))].context == "" {
		t.Errorf("%d and %d are remembered", len(s.of), len(s.order))
	}
}
