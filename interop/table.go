package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// tally counts one row's checks.
type tally struct {
	name                    string
	passed, failed, skipped int
	failures, skips         []string
	took                    time.Duration
	details                 string // for people, shown with the report
}

func (t *tally) pass() { t.passed++ }

func (t *tally) fail(check, why string) {
	t.failed++
	t.failures = append(t.failures, check+": "+why)
}

func (t *tally) skip(check, why string) {
	t.skipped++
	t.skips = append(t.skips, check+": "+why)
}

// check counts a check by its error.
func (t *tally) check(name string, err error) {
	if err != nil {
		t.fail(name, err.Error())
		return
	}
	t.pass()
}

// shownSkips is how many skips of a row are printed.
const shownSkips = 12

// report says for people what a row found.
func (t *tally) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "== %s: %d passed, %d failed, %d skipped (%.1f s)\n", t.name, t.passed, t.failed, t.skipped, t.took.Seconds())
	for _, f := range t.failures {
		fmt.Fprintf(&b, "   FAILED  %s\n", f)
	}
	for i, s := range t.skips {
		if i == shownSkips {
			fmt.Fprintf(&b, "   skipped … and %d more\n", len(t.skips)-i)
			break
		}
		fmt.Fprintf(&b, "   skipped %s\n", s)
	}
	b.WriteString(t.details)
	return b.String()
}

// table is the rows that were run, in order.
type table []tally

func (t table) totals() (passed, failed, skipped int) {
	for _, r := range t {
		passed, failed, skipped = passed+r.passed, failed+r.failed, skipped+r.skipped
	}
	return passed, failed, skipped
}

// text is the table as Markdown, its columns aligned.
func (t table) text() string {
	width := len("name")
	for _, r := range t {
		width = max(width, len(r.name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %-*s | passed | failed | skipped |\n| %s | -----: | -----: | ------: |\n", width, "name", strings.Repeat("-", width))
	for _, r := range t {
		fmt.Fprintf(&b, "| %-*s | %6d | %6d | %7d |\n", width, r.name, r.passed, r.failed, r.skipped)
	}
	return b.String()
}

// The marks between which draw puts the table.
const (
	tableBegins = "<!-- the table begins: made by make interop INTEROP=\"-write docs/interop.md\" -->\n"
	tableEnds   = "<!-- the table ends -->\n"
)

// draw replaces the table in a Markdown file.
func (t table) draw(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(data), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table", file)
	}
	passed, failed, skipped := t.totals()
	total := fmt.Sprintf("\n%d passed, %d failed, %d skipped.\n\n", passed, failed, skipped)
	return os.WriteFile(file, []byte(before+tableBegins+"\n"+t.text()+total+tableEnds+after), 0o644)
}
