package conformance_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/conformance"
)

func readTable(t *testing.T, name string) []conformance.Clause {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	table, err := conformance.ParseTable(file)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func readReport(t *testing.T, table []conformance.Clause, tree fs.FS) conformance.Report {
	t.Helper()
	marks, problems, err := conformance.ReadMarks(tree)
	if err != nil {
		t.Fatal(err)
	}
	return conformance.NewReport(table, marks, problems)
}

// tests lists the names of the tests that cover each clause, and none for an uncovered one.
func tests(r conformance.Report) map[string][]string {
	names := make(map[string][]string)
	for _, c := range append(append([]conformance.Coverage{}, r.Covered...), r.Uncovered...) {
		names[c.ID] = nil
		for _, test := range c.Tests {
			names[c.ID] = append(names[c.ID], test.Name)
		}
	}
	return names
}

func TestReportNamesTheTestsOfEachClauseAndOnlyThose(t *testing.T) {
	r := readReport(t, readTable(t, "testdata/clauses.tsv"), os.DirFS("testdata/tree"))

	want := map[string][]string{
		"A-1.01": {"TestWithABadList", "TestOrderIsKept", "TestOrderIsShown"},
		"A-1.02": {"TestOrderIsShown"},
		"A-1.03": nil,
		"B-1.01": {"TestOrderIsKept", "FuzzOrder"},
	}
	if diff := cmp.Diff(want, tests(r)); diff != "" {
		t.Errorf("tests of each clause (-want +got):\n%s", diff)
	}
	wantPlace := conformance.Test{Name: "TestOrderIsShown", File: "shop/good_test.go", Line: 16}
	if diff := cmp.Diff(wantPlace, r.Covered[1].Tests[0]); diff != "" {
		t.Errorf("place of the test (-want +got):\n%s", diff)
	}
}

func TestReportCountsEachProfileAndRole(t *testing.T) {
	r := readReport(t, readTable(t, "testdata/clauses.tsv"), os.DirFS("testdata/tree"))

	want := []conformance.Count{
		{Profile: "first", Role: "agent", Covered: 1, Uncovered: 1},
		{Profile: "first", Role: "company", Covered: 1, Uncovered: 0},
		{Profile: "second", Role: "both", Covered: 1, Uncovered: 0},
	}
	if diff := cmp.Diff(want, r.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestMarkThatProvesNothingIsAProblem(t *testing.T) {
	r := readReport(t, readTable(t, "testdata/clauses.tsv"), os.DirFS("testdata/tree"))

	var got []string
	for _, p := range r.Problems {
		got = append(got, p.String())
	}
	want := []string{
		"shop/bad_test.go:8: the mark stands in no test's doc comment",
		"shop/bad_test.go:11: the mark stands in no test's doc comment",
		"shop/bad_test.go:14: the mark stands in no test's doc comment",
		"shop/bad_test.go:17: the mark stands in no test's doc comment",
		"shop/bad_test.go:20: the mark stands in no test's doc comment",
		"shop/bad_test.go:24: the mark has an empty place where a clause should stand",
		"shop/bad_test.go:24: the test names clause A-1.01 twice",
		"shop/shop.go:3: the mark stands in no test's doc comment",
		`shop/bad_test.go:6: TestOfAnUnknownClause names clause "A-9.99", which does not exist`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestFileThatIsNoGoIsAnError(t *testing.T) {
	tree := fstest.MapFS{"shop/shop_test.go": {Data: []byte("this is no Go\n")}}
	if _, _, err := conformance.ReadMarks(tree); err == nil {
		t.Error("reading a broken file gave no error")
	}
}

func TestMarksOfThisModuleNameClausesThatExist(t *testing.T) {
	table, err := conformance.Table()
	if err != nil {
		t.Fatal(err)
	}
	r := readReport(t, table, os.DirFS(".."))
	for _, p := range r.Problems {
		t.Error(p)
	}
}

func TestTableHoldsEveryClauseOfItsReadme(t *testing.T) {
	table, err := conformance.Table()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, c := range table {
		got[c.Profile]++
	}
	want := map[string]int{"ops3": 277, "core01": 252, "ops1": 75, "mission": 46, "rd": 39, "core10": 48}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("clauses of each profile (-want +got):\n%s", diff)
	}
}

func TestMalformedTableIsRefusedByRow(t *testing.T) {
	const head = "id\trole\tprofile\tstrength\tarea\tsource\tclause\ttest\n"
	const row = "A-1.01\tagent\tp\tMUST\ta\ts\tc\tt\n"
	for name, test := range map[string]struct{ table, want string }{
		"nothing at all":       {"", "row 1"},
		"no header":            {row, "row 1"},
		"a column too few":     {head + row + "A-1.02\tagent\tp\tMUST\ta\ts\tc\n", "row 3: 7 columns"},
		"a column too many":    {head + "A-1.01\tagent\tp\tMUST\ta\ts\tc\tt\tu\n", "row 2: 9 columns"},
		"an empty column":      {head + "A-1.01\tagent\tp\tMUST\ta\ts\t\tt\n", "row 2: column clause"},
		"an id that was there": {head + row + row, "row 3: id A-1.01 is already that of row 2"},
		"a role of its own":    {head + "A-1.01\tuser\tp\tMUST\ta\ts\tc\tt\n", `row 2: role "user"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := conformance.ParseTable(strings.NewReader(test.table))
			if !errors.Is(err, conformance.ErrTable) {
				t.Fatalf("error %v is no ErrTable", err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not say %q", err, test.want)
			}
		})
	}
}
