// Command report prints which clauses of the protocol the module's tests cover, from the tests' own marks.
//
//	go run ./conformance/report [--json | --check]
//
// It is run at the module's root. It prints the counts for each profile and role, then the covered clauses with their
// tests, then the uncovered ones; --json prints the same as one JSON object, --check only the totals. Marks that say
// nothing true are named on stderr, and the exit status is then 1. Wrong usage is 2.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/papaver-agent/papaver/conformance"
)

func main() {
	os.Exit(run(os.DirFS("."), os.Args[1:], os.Stdout, os.Stderr))
}

func run(tree fs.FS, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print one JSON object")
	check := flags.Bool("check", false, "print only the totals")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *asJSON && *check {
		fmt.Fprintln(stderr, "report: usage: report [--json | --check]")
		return 2
	}

	report, err := read(tree)
	if err != nil {
		fmt.Fprintf(stderr, "report: %v\n", err)
		return 1
	}

	switch {
	case *asJSON:
		err = json.NewEncoder(stdout).Encode(report)
	case *check:
		err = printTotal(stdout, report)
	default:
		err = printReport(stdout, report)
	}
	if err != nil {
		fmt.Fprintf(stderr, "report: write the report: %v\n", err)
		return 1
	}

	for _, p := range report.Problems {
		fmt.Fprintln(stderr, p)
	}
	if len(report.Problems) > 0 {
		return 1
	}
	return 0
}

func read(tree fs.FS) (conformance.Report, error) {
	// Anywhere but at the root, most marks would be out of sight and their clauses would count as uncovered.
	if _, err := fs.Stat(tree, "go.mod"); errors.Is(err, fs.ErrNotExist) {
		return conformance.Report{}, errors.New("there is no go.mod here; run it at the module's root")
	}
	table, err := conformance.Table()
	if err != nil {
		return conformance.Report{}, err
	}
	marks, problems, err := conformance.ReadMarks(tree)
	if err != nil {
		return conformance.Report{}, err
	}
	return conformance.NewReport(table, marks, problems), nil
}

func printReport(w io.Writer, r conformance.Report) error {
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "profile\trole\tcovered\tuncovered")
	for _, c := range r.Counts {
		fmt.Fprintf(columns, "%s\t%s\t%d\t%d\n", c.Profile, c.Role, c.Covered, c.Uncovered)
	}
	fmt.Fprintf(columns, "all\t\t%d\t%d\n", len(r.Covered), len(r.Uncovered))
	if err := columns.Flush(); err != nil {
		return err
	}

	fmt.Fprintf(&text, "\nCovered clauses: %d\n", len(r.Covered))
	for _, c := range r.Covered {
		fmt.Fprintf(&text, "\n%s\n", describe(c.Clause))
		for _, t := range c.Tests {
			fmt.Fprintf(&text, "    %s (%s:%d)\n", t.Name, t.File, t.Line)
		}
	}

	fmt.Fprintf(&text, "\nUncovered clauses: %d\n\n", len(r.Uncovered))
	for _, c := range r.Uncovered {
		fmt.Fprintln(&text, describe(c.Clause))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func describe(c conformance.Clause) string {
	return fmt.Sprintf("%s  %s, %s: %s", c.ID, c.Role, c.Strength, c.Text)
}

func printTotal(w io.Writer, r conformance.Report) error {
	_, err := fmt.Fprintf(w, "clauses covered: %d of %d\n", len(r.Covered), len(r.Covered)+len(r.Uncovered))
	return err
}
