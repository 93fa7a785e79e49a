package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limit is the longest time of a whole bench.
const limit = 25 * time.Minute

var (
	times      = flag.Int("n", 0, "measure, so often each; 0: run the tests of the bench alone")
	only       = flag.String("only", "", "measure only the figures whose number has this `SUBSTRING`, such as M4")
	draw       = flag.Bool("write", false, "draw the table into README.md, docs/bench.json and docs/pictures/bench.svg")
	binary     = flag.String("papaver", "bin/papaver", "the `BINARY` that is started for M8")
	playwright = flag.String("playwright", "", "the `FOLDER` with the Playwright program and its modules; empty: not measured")
	without    = flag.String("without", "", "`WHY` there is no Playwright")
	profiling  = flag.String("profile", "", "write a CPU profile of this process into this `FILE`")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *times == 0 {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	code, err := bench(ctx, os.Stdout, os.Stderr)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		code = 2
	}
	os.Exit(code)
}

// measurement is what measures some rows of the table.
type measurement struct {
	names string // of its rows
	run   func(context.Context, *world) ([]row, error)
}

// measurements are all of them, in the order of the table.
func measurements() []measurement {
	return []measurement{
		{"M1 M2 M6", rounds},
		{"M3", joins},
		{"M4", manyResponses},
		{"M5", navigations},
		{"M7", matrix},
		{"M8", starts},
	}
}

// bench measures, prints and draws, and returns the exit status: 1 when a ratio misses its goal.
func bench(ctx context.Context, out, log io.Writer) (int, error) {
	if *draw && *only != "" {
		return 2, errors.New("-write draws the whole table, so it goes without -only")
	}
	w, err := newWorld(ctx, log)
	if err != nil {
		return 2, err
	}
	defer w.close()
	stop, err := profileInto(*profiling)
	if err != nil {
		return 2, err
	}
	t := table{Began: time.Now().UTC().Truncate(time.Second), Times: *times, Chromium: w.version, Machine: machine()}
	for _, m := range measurements() {
		if !strings.Contains(m.names, *only) {
			continue
		}
		began := time.Now()
		rows, err := m.run(ctx, w)
		if err != nil {
			return 2, errors.Join(fmt.Errorf("%s: %w", m.names, err), stop())
		}
		fmt.Fprintf(log, "%s measured in %.0f s\n", m.names, time.Since(began).Seconds())
		t.Rows = append(t.Rows, rows...)
	}
	if err := stop(); err != nil {
		return 2, err
	}
	t.sort()
	t.Took = time.Since(t.Began).Round(time.Second)
	fmt.Fprint(out, t.text())
	if *draw {
		if err := t.draw(); err != nil {
			return 2, err
		}
	}
	if t.missed() > 0 {
		return 1, nil
	}
	return 0, nil
}
