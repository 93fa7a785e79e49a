package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/papaver-agent/papaver/browser/chromedpdriver"
)

// starts measures M8: from nothing to the first joined page, what our own process takes with one Session, and how soon the
// binary says how it is used.
func starts(ctx context.Context, w *world) ([]row, error) {
	front := w.site.Company() + "/"
	taken, err := inTurns(ctx, *times,
		way{"ours", func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			a, _, err := w.visit(ctx, chromedpdriver.Driver{})
			took := time.Since(began)
			if err != nil {
				return 0, err
			}
			return took, w.end(ctx, a)
		}},
		way{"chromedp", func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			b, err := w.bareChromium(ctx)
			if err != nil {
				return 0, err
			}
			err = chromedp.Do(b.tab, chromedp.Navigate(front))
			return time.Since(began), errors.Join(err, b.close())
		}},
	)
	if err != nil {
		return nil, err
	}
	help, err := inTurns(ctx, *times, way{"help", func(ctx context.Context) (time.Duration, error) {
		began := time.Now()
		err := exec.CommandContext(ctx, *binary, "help").Run()
		return time.Since(began), err
	}})
	if err != nil {
		return nil, err
	}
	resident, err := w.resident(ctx)
	if err != nil {
		return nil, err
	}
	return []row{
		ratio("M8a", "cold start to the first joined page", "chromedp, start and navigation", taken[0], taken[1], 1.15),
		absolute("M8b", "own memory with one Session, Chromium left out", "MB", resident, 30, 0),
		absolute("M8c", "start of the binary to its help", "ms", milliseconds(help[0].median()), 20, help[0].spread()),
	}, nil
}

// resident runs the binary until its User is asked, and returns its resident memory then.
func (w *world) resident(ctx context.Context) (megabytes float64, err error) {
	flow := map[string]any{"title": "bench", "steps": []map[string]any{
		{"type": "navigate", "url": w.site.Company() + orderPage},
		{"type": "click", "selectors": [][]string{{"#exchange"}}},
	}}
	data, err := json.Marshal(flow)
	if err != nil {
		return 0, err
	}
	file := filepath.Join(w.dir, "flow.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return 0, err
	}
	args := []string{"run", file, "--home", w.home, "--company", w.site.Company(), "--cacert", w.authority, "--json", fmt.Sprintf("--sandbox=%v", !noSandbox())}
	for _, rule := range w.site.ConnectTo() {
		args = append(args, "--connect-to", rule)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, *binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = closeTimeout
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it ends with a question that is open
	}()
	events := bufio.NewScanner(out)
	events.Buffer(nil, 1<<20)
	for events.Scan() {
		if bytes.Contains(events.Bytes(), []byte(`"question"`)) {
			return residentOf(cmd.Process.Pid)
		}
	}
	return 0, fmt.Errorf("nobody was asked: %s", said.String())
}

// residentOf reads the resident memory of a process.
func residentOf(pid int) (megabytes float64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			return kilobytes * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("process %d has no resident memory", pid)
}
