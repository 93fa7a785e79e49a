package conformance

import (
	"fmt"
	"slices"
)

// Count says how many clauses of one profile and role are covered by a test and how many are not.
type Count struct {
	Profile   string `json:"profile"`
	Role      string `json:"role"`
	Covered   int    `json:"covered"`
	Uncovered int    `json:"uncovered"`
}

// Coverage is a clause with the tests that prove it, in the order of their marks; none when it is uncovered.
type Coverage struct {
	Clause
	Tests []Test `json:"tests"`
}

// Report lays the marks of a source tree against a clause table.
type Report struct {
	// Counts has a row for each profile and role that the table has, profiles in the table's order.
	Counts []Count `json:"counts"`
	// Covered and Uncovered hold every clause between them, in the table's order.
	Covered   []Coverage `json:"covered"`
	Uncovered []Coverage `json:"uncovered"`
	// Problems are the marks that say nothing true. A report with any is not to be relied on.
	Problems []Problem `json:"problems"`
}

// NewReport counts what the marks cover. A mark whose clause the table does not have becomes a problem, after those
// that [ReadMarks] found.
func NewReport(table []Clause, marks []Mark, problems []Problem) Report {
	tests := make(map[string][]Test, len(table))
	for _, c := range table {
		tests[c.ID] = []Test{}
	}
	r := Report{Covered: []Coverage{}, Uncovered: []Coverage{}, Problems: slices.Concat([]Problem{}, problems)}
	for _, m := range marks {
		if _, known := tests[m.Clause]; !known {
			what := fmt.Sprintf("%s names clause %q, which does not exist", m.Test.Name, m.Clause)
			r.Problems = append(r.Problems, Problem{m.Test.File, m.Test.Line, what})
			continue
		}
		tests[m.Clause] = append(tests[m.Clause], m.Test)
	}
	for _, c := range table {
		coverage := Coverage{Clause: c, Tests: tests[c.ID]}
		if len(coverage.Tests) > 0 {
			r.Covered = append(r.Covered, coverage)
		} else {
			r.Uncovered = append(r.Uncovered, coverage)
		}
	}
	r.Counts = counts(table, tests)
	return r
}

func counts(table []Clause, tests map[string][]Test) []Count {
	var profiles []string
	for _, c := range table {
		if !slices.Contains(profiles, c.Profile) {
			profiles = append(profiles, c.Profile)
		}
	}
	rows := []Count{}
	for _, profile := range profiles {
		for _, role := range Roles() {
			count := Count{Profile: profile, Role: role}
			for _, c := range table {
				switch {
				case c.Profile != profile || c.Role != role:
				case len(tests[c.ID]) > 0:
					count.Covered++
				default:
					count.Uncovered++
				}
			}
			if count.Covered+count.Uncovered > 0 {
				rows = append(rows, count)
			}
		}
	}
	return rows
}
