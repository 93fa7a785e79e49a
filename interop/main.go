// Command interop proves Papaver against other people's implementations, and prints a table of what passed.
//
//	go run ./interop [-only SUBSTRING] [-allow-missing] [-write docs/interop.md] [-papaver bin/papaver]
//		[-flow SUBSTRING] [-driver chromedp|rod] [-live]
//
// It is run at the module's root, by `make interop`. What it needs of others is installed into .interop, which git
// ignores: the Python package that speaks the drafts, once for each draft, and the Node packages of interop/node. Its
// runners are the rows of the table (rows.go). A row that proved nothing is a failed one, so is a case that was skipped
// for a reason that this command doesn't know (known.go). Exit status: 0 nothing failed, 1 something did, 2 wrong usage.
//
// Python 3.10 and Node 20 are looked for in PATH, or named by PYTHON and NODE. Without one of them the rows that need it
// fail; with -allow-missing they are left out, and that is said loudly.
package main

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
	"time"
)

// The longest times: of everything, and of one row.
const (
	limit    = 15 * time.Minute
	rowLimit = 8 * time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("interop", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "run only the rows whose name has this `SUBSTRING`")
	allowMissing := flags.Bool("allow-missing", false, "leave out what needs a Python or Node that isn't there, instead of failing")
	write := flags.String("write", "", "draw the table into this `FILE`")
	binary := flags.String("papaver", "bin/papaver", "the `BINARY` whose site the peer is run against")
	driver := flags.String("driver", "chromedp", "what drives Chromium when the recorded flows are made (`NAME`): chromedp or rod")
	flow := flags.String("flow", "", "make only the recorded flows whose name has this `SUBSTRING`")
	live := flags.Bool("live", false, "run the recorded flows' reference too, instead of reading what it did")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return 2
	}
	if *only != "" && *write != "" {
		fmt.Fprintln(stderr, "interop: -write draws the whole table, so it goes without -only")
		return 2
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	state, err := os.MkdirTemp("", "papaver-interop-*")
	if err != nil {
		fmt.Fprintf(stderr, "interop: %v\n", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(state) }()

	w := &world{state: state, binary: *binary, driver: *driver, flow: *flow, live: *live, log: stderr}
	missing := w.setUp(ctx)
	var chosen []row
	leftOut := 0
	for _, r := range rows {
		err := missing[r.needs]
		switch {
		case !strings.Contains(r.name, *only):
		case err != nil && *allowMissing && errors.Is(err, errNotHere):
			fmt.Fprintf(stderr, "\n!!! NOT CHECKED: %s: %v\n\n", r.name, err)
			leftOut++
		case err != nil:
			chosen = append(chosen, row{name: r.name, run: func(context.Context, *world, *tally) error { return err }})
		default:
			chosen = append(chosen, r)
		}
	}
	t := w.runAll(ctx, chosen)
	fmt.Fprint(stdout, t.text())
	if *write != "" {
		if err := t.draw(*write); err != nil {
			fmt.Fprintf(stderr, "interop: %v\n", err)
			return 1
		}
	}
	passed, failed, skipped := t.totals()
	fmt.Fprintf(stdout, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 || passed == 0 && leftOut == 0 {
		return 1
	}
	return 0
}
