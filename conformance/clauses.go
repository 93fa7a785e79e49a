// Package conformance says which clauses of the protocol the module's tests prove.
//
// The clauses are the rows of clauses.tsv, described in README.md beside it. A test names those it proves in its doc
// comment, on a line of its own:
//
//	// Clauses: OPS3-4.36, OPS3-4.37
//
// [ReadMarks] collects these lines from a source tree, and [NewReport] lays them against the [Table]. A mark that no
// reader of the report could trust (an unknown clause, a line that belongs to no test) is a [Problem].
//
// Everything here is read-only and safe for concurrent use.
package conformance

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrTable is wrapped by every error about a clause table that cannot be read.
var ErrTable = errors.New("clause table is malformed")

// Clause is one testable statement of the protocol: one row of clauses.tsv.
type Clause struct {
	ID       string `json:"id"`
	Role     string `json:"role"`
	Profile  string `json:"profile"`
	Strength string `json:"strength"`
	Area     string `json:"area"`
	Source   string `json:"source"`
	Text     string `json:"clause"`
	Test     string `json:"test"`
}

// Roles are the values of a clause's role, in the order of reports.
func Roles() []string { return []string{"agent", "company", "both"} }

// header is the first row of a clause table.
const header = "id\trole\tprofile\tstrength\tarea\tsource\tclause\ttest"

//go:embed clauses.tsv
var clauses string

// Table returns the project's own clauses in the order of clauses.tsv. Its error wraps [ErrTable].
func Table() ([]Clause, error) {
	return ParseTable(strings.NewReader(clauses))
}

// ParseTable reads a clause table: the header row, then one clause a row with every column filled and an id that no
// other row has. Its error wraps [ErrTable] and names the row, counted from 1, or is the reader's own.
func ParseTable(r io.Reader) ([]Clause, error) {
	lines := bufio.NewScanner(r)
	if !lines.Scan() || lines.Text() != header {
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("read clause table: %w", err)
		}
		return nil, fmt.Errorf("%w: row 1 is not the header", ErrTable)
	}
	var table []Clause
	rows := make(map[string]int)
	for row := 2; lines.Scan(); row++ {
		c, err := parseClause(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("%w: row %d: %w", ErrTable, row, err)
		}
		if first, seen := rows[c.ID]; seen {
			return nil, fmt.Errorf("%w: row %d: id %s is already that of row %d", ErrTable, row, c.ID, first)
		}
		rows[c.ID] = row
		table = append(table, c)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read clause table: %w", err)
	}
	return table, nil
}

func parseClause(line string) (Clause, error) {
	var c Clause
	columns := []*string{&c.ID, &c.Role, &c.Profile, &c.Strength, &c.Area, &c.Source, &c.Text, &c.Test}
	values := strings.Split(line, "\t")
	if len(values) != len(columns) {
		return Clause{}, fmt.Errorf("%d columns instead of %d", len(values), len(columns))
	}
	names := strings.Split(header, "\t")
	for i, v := range values {
		if v == "" {
			return Clause{}, fmt.Errorf("column %s is empty", names[i])
		}
		*columns[i] = v
	}
	for _, role := range Roles() {
		if c.Role == role {
			return c, nil
		}
	}
	return Clause{}, fmt.Errorf("role %q is none of %s", c.Role, strings.Join(Roles(), ", "))
}
