package browser

import (
	"context"
	"maps"
	"slices"
	"time"
)

const (
	maxSpots  = 4096            // frames and workers that are remembered, those that have gone among them
	spotLimit = 7 * time.Second // for where one is: of the time that a response is held, the rest is OnHeld's
)

// spot is where a frame or worker is: its browser context and its target.
type spot struct {
	context ContextID
	target  TargetID
}

// spots remembers where tabs, frames in processes of their own and workers were: a response can come when they have gone
// already, and then Chromium can't be asked any more.
type spots struct {
	of    map[TargetID]spot
	order []TargetID // of of, oldest first
}

func (s *spots) note(id TargetID, at spot) {
	if s.of == nil {
		s.of = make(map[TargetID]spot)
	}
	if _, known := s.of[id]; !known {
		s.order = append(s.order, id)
	}
	s.of[id] = at
	if len(s.order) > maxSpots {
		delete(s.of, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
}

// remembered is where what asked for a response is, by what was told before it came: at once, and also when it has gone.
func (b *Browser) remembered(p Paused) (spot, bool) {
	b.mu.Lock()
	if t := b.tabs[p.Frame]; t != nil {
		defer b.mu.Unlock()
		return spot{t.context, p.Frame}, true
	}
	at, known := b.spots.of[p.Frame]
	contexts := slices.Collect(maps.Values(b.contexts))
	b.mu.Unlock()
	for _, c := range contexts { // the tab that sent the request is told more lately than the frame
		if tab, sent := c.senderOf(p.Request); sent {
			return spot{c.id, tab}, true
		}
	}
	return at, known
}

// spotOf finds where what asked for a response is: by what was told of it or, when that has not reached us yet, by asking
// Chromium. On a busy machine a window can ask before it is said to be there, so that it is looked for again.
func (b *Browser) spotOf(ctx context.Context, p Paused) (spot, bool) {
	ctx, cancel := context.WithTimeout(ctx, spotLimit)
	defer cancel()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		if at, known := b.remembered(p); known {
			return at, true
		}
		if at, known := b.lookFor(ctx, p.Frame); known {
			return at, true
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return b.remembered(p)
		}
	}
}
