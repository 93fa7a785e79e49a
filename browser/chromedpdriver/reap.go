package chromedpdriver

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	reapTimeout = 2 * time.Second // what is left of the group ends
	reapPause   = 10 * time.Millisecond
)

// reap waits for the Chromium's process, and then for those of its group that came to us when it ended. They come to us
// in a process that is the subreaper of its descendants, or the first of a container, and nowhere else; waiting for the
// group takes no child of anybody else's. What does not end in time is killed with the profile.
func (e *engine) reap(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		chromedp.FromContext(e.root).Allocator.Wait() // its process was killed, at the latest, when root ended
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return errors.New("chromium's process does not end")
	}
	group := e.browser.Process().Pid
	ctx, cancel := context.WithTimeout(ctx, reapTimeout)
	defer cancel()
	ticker := time.NewTicker(reapPause)
	defer ticker.Stop()
	for {
		pid, err := syscall.Wait4(-group, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.ECHILD):
			return nil
		case err != nil && !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("chromium's process group: %w", err)
		case pid > 0:
			continue
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
