package scale

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	rests = time.Second      // until a process is at rest that has asked
	idles = 10 * time.Second // in which wake-ups are counted, each …
	looks = 5                // … of so many times
)

// observer counts the wake-ups of this process from one of its own: who counts its own is woken by that, more often than by
// anything else that a waiting process does.
type observer struct {
	cmd *exec.Cmd
	ask io.WriteCloser
	say *bufio.Reader
}

// newObserver starts one. It ends with ctx, or at close.
func newObserver(ctx context.Context) (*observer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-observe", strconv.Itoa(os.Getpid()))
	cmd.Stderr = os.Stderr
	ask, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	say, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the observer: %w", err)
	}
	return &observer{cmd, ask, bufio.NewReader(say)}, nil
}

func (o *observer) close() error {
	_ = o.ask.Close() // that ends it
	return o.cmd.Wait()
}

// idleWakeUps is how often a second this process is woken while it waits for the answer: the median of some looks, since what
// Chromium, or the runtime, does once in a while is no measure of what goes on all the time.
func (o *observer) idleWakeUps() (float64, error) {
	if _, err := fmt.Fprintln(o.ask); err != nil {
		return 0, fmt.Errorf("the observer: %w", err)
	}
	line, err := o.say.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("the observer: %w", err)
	}
	return strconv.ParseFloat(strings.TrimSpace(line), 64)
}

// observe is the observer's process: for each line it answers how often a second the process pid was woken.
func observe(ctx context.Context, pid int, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if err := wait(ctx, rests); err != nil {
			return err
		}
		var all []int64
		for range looks {
			before, err := wakeUps(pid)
			if err != nil {
				return err
			}
			if err := wait(ctx, idles); err != nil {
				return err
			}
			after, err := wakeUps(pid)
			if err != nil {
				return err
			}
			all = append(all, after-before)
		}
		slices.Sort(all)
		if _, err := fmt.Fprintln(out, float64(all[len(all)/2])/idles.Seconds()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// wakeUps is how often the threads of a process were given a processor after they had waited.
func wakeUps(pid int) (int64, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return 0, err
	}
	var all int64
	for _, file := range files {
		n, err := statusField(file, "voluntary_ctxt_switches:")
		if errors.Is(err, os.ErrNotExist) {
			continue // the thread has ended
		}
		if err != nil {
			return 0, err
		}
		all += n
	}
	return all, nil
}
