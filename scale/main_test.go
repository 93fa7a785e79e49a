package scale

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

const (
	limit = 30 * time.Minute
	paper = "../docs/scale-sessions.md"
)

var (
	measuring = flag.Bool("measure", false, "measure; without it the tests of the arithmetic are run alone")
	draw      = flag.Bool("write", false, "draw the tables into docs/scale-sessions.md")
	binary    = flag.String("papaver", "../bin/papaver", "the `BINARY` whose bundled site is asked")
	observed  = flag.Int("observe", 0, "count the wake-ups of the process `PID`, for its measurement")
	most      = flag.Int("sessions", 50, "measure no more Sessions than so many (`N`)")
	largest   = flag.Int("requests", 10_000, "measure no page of more requests than so many (`N`)")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !*measuring && *observed == 0 {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	err := func() error {
		if *observed != 0 {
			return observe(ctx, *observed, os.Stdin, os.Stdout)
		}
		return measure(ctx, os.Stdout)
	}()
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// measure prints the tables, and draws them.
func measure(ctx context.Context, out io.Writer) (err error) {
	w, err := newWorld(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	sessions, err := w.sessions(ctx)
	if err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	fmt.Fprintln(out, sessions)
	pages, err := w.pages(ctx)
	if err != nil {
		return fmt.Errorf("pages: %w", err)
	}
	fmt.Fprintln(out, pages)
	if !*draw {
		return nil
	}
	return os.WriteFile(paper, []byte(text(sessions, pages)), 0o644)
}

// text is the paper.
func text(sessions, pages string) string {
	chromium := "Chromium"
	if bin, err := browser.Find(""); err == nil {
		if out, err := exec.Command(bin, "--version").Output(); err == nil {
			chromium = strings.TrimSpace(string(out))
		}
	}
	return fmt.Sprintf(strings.TrimSpace(preamble)+"\n\n", chromium, runtime.Version(), runtime.NumCPU()) + sessions + "\n" + strings.TrimSpace(between) + "\n\n" + pages
}

const preamble = `
# How Sessions and pages scale

Written by ` + "`make scale-sessions SCALE=-write`" + ` (%s, %s, %d processors). Each row is new agents in one process of ours, at the bundled site,
which runs in a process of its own. *Live* is the Go heap after a collection, *resident* the process's memory without
Chromium's, both beyond what the process had before its first agent. A *wake-up* is one thread of ours that is given a
processor while nothing happens, counted by the kernel (` + "`voluntary_ctxt_switches`" + `) five times for ten seconds; the
median is here. It is read from a process of its own: one that reads its own count is woken six times or so by each look. *Each more* is the
cost of one more between the first and the last row, and *p* the exponent by which a column grows with n^p there: 1 is as fast as the
work, 0 not at all.

## Sessions

All join one after another, each in a browser context of its own.
`

const between = `
A Session that waits for nothing has no timer that comes again. What still wakes its process is Go's runtime, whose monitor looks
once a minute and which collects every two and gives memory back for some seconds after it, and, once, that the connections
to the Company are closed when they have been idle for 90 seconds. While a question waits, the kernel tells when the clock is set or the machine has slept, and nothing looks
each second. Counted once in the same way, on a busy machine:

| process | wake-ups, clock looked at each second | wake-ups now |
| --- | ---: | ---: |
| ` + "`papaver run --no-tui`" + `, its question waits | 8.9/s | 0.0/s |
| ` + "`papaver run`" + `, its question on the screen | 18.9/s | 11.0/s |
| ` + "`papaver tui`" + `, nothing runs | 0.0/s | 0.0/s |

The countdown of a question on the screen changes each second, which is one timer. A timer costs three or four wake-ups, the thread that
waits for it, the one that takes its place, and the monitor, and up to sixty where other programs have the processors: the monitor
looks every 20 µs at first until all is at rest again. A page that goes on asking wakes us for each response, since each is held:
the bundled page of a gift asks each second while its question waits, which is 39 wake-ups a second there.

## Pages

One act in one Session; the page then asks for n small things, ten at a time, each of them held and let go. Time is from the act
to the last answer.
`
