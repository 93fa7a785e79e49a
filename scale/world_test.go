package scale

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/session"
)

const (
	endLimit = 30 * time.Second // an agent's end, or the site's
	settles  = 15 * time.Second // until what a start left to do is done: the runtime gives memory back for some seconds
)

// world is the bundled site in a process of its own, and a home that it knows.
type world struct {
	dir     string
	home    string
	site    *exec.Cmd
	company string
	to      []string
	cacert  string
	watcher *observer
	base    size    // of a process that has no agent yet
	idle    float64 // its wake-ups a second
}

func newWorld(ctx context.Context) (_ *world, err error) {
	dir, err := os.MkdirTemp("", "s") // short: sockets are below it
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, home: filepath.Join(dir, "home")}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return nil, err
	}
	h, err := home.Open(w.home)
	if err != nil {
		return nil, err
	}
	id, err := session.Init(h.Identity(), session.Options{ClientID: "https://agent.test/agent.json", Name: "Measured agent"}, time.Now(), rand.Reader)
	if err != nil {
		return nil, err
	}
	site := exec.CommandContext(ctx, *binary, "site", "--agent-dir", id.PublicDir())
	site.Cancel = func() error { return site.Process.Signal(syscall.SIGTERM) }
	site.WaitDelay = endLimit
	out, err := site.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := site.Start(); err != nil {
		return nil, fmt.Errorf("the bundled site: %w", err)
	}
	w.site = site
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the bundled site's ready line: %w", err)
	}
	var ready struct {
		Company   string   `json:"company"`
		ConnectTo []string `json:"connect_to"`
		CACert    string   `json:"cacert"`
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		return nil, fmt.Errorf("the bundled site's ready line: %w", err)
	}
	w.company, w.to, w.cacert = ready.Company, ready.ConnectTo, ready.CACert
	if w.watcher, err = newObserver(ctx); err != nil {
		return nil, err
	}
	if w.idle, err = w.watcher.idleWakeUps(); err != nil {
		return nil, err
	}
	if w.base, err = ownSize(); err != nil {
		return nil, err
	}
	// The first agent checks its Chromium; those that are measured don't.
	_, err = w.with(ctx, 1, 1, func([][]*agent.Visit) error { return nil })
	return w, err
}

func (w *world) close() error {
	var err error
	if w.site != nil {
		err = w.site.Process.Signal(syscall.SIGTERM)
		_ = w.site.Wait() // it says how it ended, which is ours
	}
	if w.watcher != nil {
		err = errors.Join(err, w.watcher.close())
	}
	return errors.Join(err, os.RemoveAll(w.dir))
}

// with starts agents with so many visits each, does something, and ends them. It returns how long the start took.
func (w *world) with(ctx context.Context, agents, visits int, do func([][]*agent.Visit) error) (took time.Duration, err error) {
	began := time.Now()
	var all [][]*agent.Visit
	for range agents {
		a, err := agent.Start(ctx, agent.Config{
			Home: w.home, Driver: chromedpdriver.Driver{}, ConnectTo: w.to, CACerts: []string{w.cacert}, Title: "scale",
			NoSandbox: os.Geteuid() == 0 || os.Getenv("PAPAVER_TEST_SANDBOX") == "off",
		})
		if err != nil {
			return 0, err
		}
		defer func() {
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
			defer cancel()
			err = errors.Join(err, a.Close(ending))
		}()
		var own []*agent.Visit
		for range visits {
			v, err := a.Visit(ctx, w.company)
			if err != nil {
				return 0, err
			}
			own = append(own, v)
		}
		all = append(all, own)
	}
	took = time.Since(began)
	return took, do(all)
}

// size is what our own process takes.
type size struct {
	live, resident uint64 // bytes
	goroutines     int
}

// ownSize looks at this process.
func ownSize() (size, error) {
	runtime.GC()
	runtime.GC() // what the first one's finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := size{live: m.HeapAlloc, goroutines: runtime.NumGoroutine()}
	resident, err := statusField("/proc/self/status", "VmRSS:")
	if err != nil {
		return size{}, err
	}
	s.resident = uint64(resident) << 10
	return s, nil
}

// statusField is a number of a status file of the kernel's.
func statusField(file, name string) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %s: %w", file, name, err)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s: no %s", file, name)
}

// wait lets time pass; an error is ctx's.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
