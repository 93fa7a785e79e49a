package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

const (
	reapTimeout = 2 * time.Second // what is left of the group ends
	reapPause   = 10 * time.Millisecond
)

// Own makes cmd, a Chromium that a driver is about to start, the leader of a process group of its own, which keeps a
// Ctrl-C on our terminal away from it, and has the kernel end it with us. The kernel does that when the thread that
// starts it ends, so a driver starts it on a thread that stays.
func Own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ReapGroup waits for those processes of a Chromium's group that came to us when it ended. They come to us in a process
// that is the subreaper of its descendants, or the first of a container, and nowhere else; waiting for the group takes no
// child of anybody else's. What does not end within 2 s is killed with the profile. The Chromium's own process, which has
// the group's number, was waited for before.
func ReapGroup(ctx context.Context, group int) error {
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
