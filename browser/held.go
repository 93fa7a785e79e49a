package browser

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	framesTimeout = 2 * time.Second // for a page to say which frames are in it
	askedAtOnce   = 32              // pages that are asked that
)

// Held is a response that our own browser received over the network and has not yet shown to the page. It can be made
// by this package alone: that is where law 1 rests.
type Held struct {
	paused  Paused
	context ContextID
	target  TargetID
	known   bool
	fields  []string
	act     *Made
	told    string

	// continues is how many Continue controls its frame showed when it came; nil when that was not asked.
	continues *int
}

// Context is the browser context that received it; false when the frame that asked is of no context we know.
func (h Held) Context() (ContextID, bool) { return h.context, h.known }

// Frame is the frame that asked, or the worker: CDP's id of it, a tab's main frame having the tab's.
func (h Held) Frame() TargetID { return h.paused.Frame }

// Target is what that frame is in: a tab, a window that a page opened, a frame in a process of its own, or a worker. It is
// empty when [Held.Context] is not known.
func (h Held) Target() TargetID { return h.target }

// Fields are the values of the watched header's lines, in order, one entry a line.
func (h Held) Fields() []string { return h.fields }

// Status is the response's status.
func (h Held) Status() int { return h.paused.Status }

// Method is the request's method.
func (h Held) Method() string { return h.paused.Method }

// URL is the request's URL.
func (h Held) URL() string { return h.paused.URL }

// Told is the URL as it may be told of and written down: without what was entered as a secret.
func (h Held) Told() string { return h.told }

// Resource is what the page asked for it as: CDP's Network.ResourceType.
func (h Held) Resource() string { return h.paused.Resource }

// Act is the act of ours that most plausibly caused it; nil when none does.
func (h Held) Act() *Made { return h.act }

// MainDocument reports whether it answers a navigation of a tab's main frame that we drive.
func (h Held) MainDocument() bool {
	return h.act != nil && h.paused.Resource == "Document" && h.paused.Frame == h.act.tab
}

// values returns the values of the header lines called name, whatever case they were sent in.
func (p Paused) values(name string) []string {
	var values []string
	for _, h := range p.Headers {
		if strings.EqualFold(h.Name, name) {
			values = append(values, h.Value)
		}
	}
	return values
}

// onPaused takes a paused response from the driver. It does not block: each response is handled, and released, by a
// goroutine of its own, so one that has to be written down first holds up no other.
func (b *Browser) onPaused(p Paused) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return // the Chromium that holds it is being ended
	}
	b.holding.Go(func() { b.handle(p) })
}

func (b *Browser) handle(p Paused) {
	if p.Leaving {
		b.letLeave(p)
		return
	}
	b.unresolved(p)
	b.probed(p)
	tab := b.observe(p)
	if tab != nil && tab.refuses(p) {
		ctx, cancel := context.WithTimeout(b.life, releaseTimeout)
		defer cancel()
		_ = b.engine.Fail(ctx, p.ID) // when even that fails, Chromium is gone and the response with it
		return
	}
	// Whatever happens in between, the response goes on: an unanswered pause freezes the page.
	defer func() {
		ctx, cancel := context.WithTimeout(b.life, releaseTimeout)
		defer cancel()
		_ = b.engine.Release(ctx, p.ID)
	}()
	if b.cfg.OnLimited != nil && limits(p) {
		b.hold(func(ctx context.Context) { b.limited(ctx, p) })
	}
	if fields := p.values(b.cfg.Watch); len(fields) > 0 {
		b.hold(func(ctx context.Context) { b.sighted(ctx, p, fields) })
	}
}

// hold has a response looked at, and returns when that is done or its time is up.
func (b *Browser) hold(look func(context.Context)) {
	ctx, cancel := context.WithTimeout(b.life, holdTimeout)
	defer cancel()
	done := make(chan struct{})
	b.holding.Go(func() {
		defer close(done)
		look(ctx)
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// sighted gives a response that carries the watched header to OnHeld.
func (b *Browser) sighted(ctx context.Context, p Paused, fields []string) {
	at, known := b.spotOf(ctx, p)
	held := Held{paused: p, fields: fields, context: at.context, target: at.target, known: known, told: p.URL}
	if known {
		held.act, held.told = b.actOf(at.context, p.Request), b.told(at.context, p.URL)
		held.continues = b.continuesBefore(ctx, held)
	}
	b.cfg.OnHeld(ctx, held)
}

// told is a URL without the secrets that were entered in a context.
func (b *Browser) told(in ContextID, url string) string {
	b.mu.Lock()
	c := b.contexts[in]
	b.mu.Unlock()
	if c == nil {
		return url
	}
	return c.private.leftOut(url)
}

// observe tells the tab whose main frame asked, and returns it; nil when it was another frame or a worker.
func (b *Browser) observe(p Paused) *tabState {
	b.mu.Lock()
	tab := b.tabs[p.Frame]
	within := b.frames[p.Frame]
	b.mu.Unlock()
	b.answers.saw(p, len(p.values(b.cfg.Watch)) > 0)
	switch {
	case tab != nil:
		tab.saw(p)
	case within != nil:
		within.saw(p)
	}
	return tab
}

// watchFrame has the responses to a frame below a tab's main one count as the tab's.
func (b *Browser) watchFrame(frame TargetID, in *tabState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frames[frame] = in
}

// lookFor asks Chromium where a frame or worker is: in a target of its own, or inside a page of one of our contexts.
func (b *Browser) lookFor(ctx context.Context, frame TargetID) (spot, bool) {
	targets, err := b.engine.Targets(ctx)
	if err != nil {
		return spot{}, false
	}
	for _, t := range targets {
		if t.ID == frame && t.Context != "" {
			return spot{t.Context, frame}, true
		}
	}
	b.mu.Lock()
	ours := slices.DeleteFunc(targets, func(t Target) bool {
		return b.contexts[t.Context] == nil || (t.Type != "page" && t.Type != "iframe")
	})
	b.mu.Unlock()
	holder, found := b.holderOf(ctx, ours, frame)
	return spot{holder.Context, holder.ID}, found
}

// holderOf finds the target in whose process a frame lives. Each is asked what is in it, a few at a time: one whose script
// runs for ever does not answer, and holds up none of the others for long.
func (b *Browser) holderOf(ctx context.Context, targets []Target, frame TargetID) (holder Target, found bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var asking sync.WaitGroup
	holders := make(chan Target, len(targets))
	turns := make(chan struct{}, askedAtOnce)
	for _, t := range targets {
		asking.Go(func() {
			select {
			case turns <- struct{}{}:
				defer func() { <-turns }()
			case <-ctx.Done():
				return
			}
			ctx, cancel := context.WithTimeout(ctx, framesTimeout)
			defer cancel()
			if frames, err := b.engine.FramesIn(ctx, t.ID); err == nil && slices.Contains(frames, frame) {
				holders <- t
			}
		})
	}
	asked := make(chan struct{})
	go func() {
		asking.Wait()
		close(asked)
	}()
	select {
	case holder = <-holders:
		cancel()
		<-asked
		return holder, true
	case <-asked:
	}
	select {
	case holder = <-holders:
		return holder, true
	default:
		return Target{}, false
	}
}
