package roddriver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

const (
	maxOutput   = 64 << 10    // bytes of what Chromium prints that are kept, for the error of a start
	outputGrace = time.Second // what a process that outlives Chromium may still print
	lastWords   = time.Second // for reading what a Chromium said before it ended
)

// process is a running Chromium: its pipe, and its end.
type process struct {
	cmd    *exec.Cmd
	pipe   *pipe
	output output
	ended  chan struct{}  // closed when the process was waited for
	owned  sync.WaitGroup // the goroutines that wait for it and write to it
}

// start starts what p describes, with the flags of p and those of a pipe and no other.
func start(p browser.Process) (*process, error) {
	arguments := make([]string, 0, len(p.Flags)+3)
	for _, f := range p.Flags {
		argument := "--" + f.Name
		if f.Value != "" {
			argument += "=" + f.Value
		}
		arguments = append(arguments, argument)
	}
	arguments = append(arguments, "--remote-debugging-pipe", "--user-data-dir="+p.ProfileDir, "about:blank")

	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("a pipe to chromium: %w", err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a pipe from chromium: %w", err), theirIn.Close(), in.Close())
	}
	c := &process{cmd: exec.Command(p.Bin, arguments...), pipe: newPipe(in, out), ended: make(chan struct{})}
	c.cmd.Env = p.Env
	c.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4, where Chromium looks for them
	c.cmd.Stdout, c.cmd.Stderr = &c.output, &c.output
	c.cmd.WaitDelay = outputGrace
	browser.Own(c.cmd)

	started := make(chan error, 1)
	c.owned.Go(func() {
		// The kernel ends Chromium with the thread that started it, see browser.Own.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			_ = c.cmd.Wait() // how it ended is of no interest: all that counts is that it has
			// Somebody else may still have its end of the pipe. Its last words are there by now.
			_ = c.pipe.out.SetReadDeadline(time.Now().Add(lastWords))
			close(c.ended)
		}
	})
	err = errors.Join(<-started, theirIn.Close(), theirOut.Close())
	if err != nil {
		c.pipe.close()
		if c.cmd.Process != nil {
			_ = c.cmd.Process.Kill()
		}
		c.owned.Wait()
		return nil, err
	}
	c.owned.Go(c.pipe.write)
	return c, nil
}

// kill ends the Chromium at once, and waits until ctx ends for its process, and then for those of its group that are
// our children by then.
func (c *process) kill(ctx context.Context) error {
	_ = c.cmd.Process.Kill() // it may have ended already
	select {
	case <-c.ended:
	case <-ctx.Done():
		return errors.New("chromium's process does not end")
	}
	c.pipe.close()
	c.owned.Wait()
	return browser.ReapGroup(ctx, c.cmd.Process.Pid)
}

// output keeps the first bytes of what Chromium prints. Safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text []byte
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, text[:min(len(text), maxOutput-len(o.text))]...)
	return len(text), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
