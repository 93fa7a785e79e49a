package skew

import (
	"context"
	"time"
)

// lookAgain is how often the clocks are to be looked at where the kernel does not tell that ours was set.
const lookAgain = time.Second

// Watch calls moved when this machine's clock may have been set, or the machine has slept: what was to happen at a moment
// of that clock is at another distance then, and a timer of ours stood still. It returns when ctx ends. Where the kernel does
// not tell, moved is called once a second.
func Watch(ctx context.Context, moved func()) {
	if told(ctx, never, moved) != nil {
		look(ctx, moved)
	}
}

// look calls moved every lookAgain.
func look(ctx context.Context, moved func()) {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			moved()
		case <-ctx.Done():
			return
		}
	}
}
