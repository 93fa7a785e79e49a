package opsweb

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the round's diagram and tables into ARCHITECTURE.md")

const (
	paper      = "../ARCHITECTURE.md"
	paperBegin = "<!-- the round's table begins: made by go test ./opsweb -run Architecture -update -->\n"
	paperEnd   = "<!-- the round's table ends -->\n"
)

// TestArchitectureShowsTheRoundsOwnTable keeps ARCHITECTURE.md true: its diagram and tables are this package's.
func TestArchitectureShowsTheRoundsOwnTable(t *testing.T) {
	data, err := os.ReadFile(paper)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(data), paperBegin)
	got, after, ended := strings.Cut(rest, paperEnd)
	if !begun || !ended {
		t.Fatalf("%s has no place for the round's table", paper)
	}
	want := describeRound()
	if *update {
		if err := os.WriteFile(paper, []byte(before+paperBegin+want+paperEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s does not show the table of round.go; run go test ./opsweb -run Architecture -update", paper)
	}
}

// describeRound draws arrows and stages in Markdown.
func describeRound() string {
	var b strings.Builder
	b.WriteString("\n```mermaid\nstateDiagram-v2\n    [*] --> sighted\n")
	for _, a := range arrows {
		if a.on != evResumed { // the second table has them
			fmt.Fprintf(&b, "    %s --> %s: %s\n", a.from, a.to, a.on)
		}
	}
	b.WriteString("    settled --> [*]\n    merged --> [*]\n```\n\n")
	b.WriteString("| in state | on event | to state | ledger line, on disk before |\n| --- | --- | --- | --- |\n")
	for _, a := range arrows {
		if a.on != evResumed {
			fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", a.from, a.on, a.to, a.line)
		}
	}
	b.WriteString("\n| state | what is done in it | what `run --resume` may do with it | from state |\n| --- | --- | --- | --- |\n")
	for _, row := range stages {
		to := "—"
		if a, ok := next(row.state, evResumed); ok {
			to = string(a.to)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.state, row.does, row.resumed, to)
	}
	b.WriteString("\n")
	return b.String()
}
