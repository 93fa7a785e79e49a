package main

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/papaver-agent/papaver/conformance"
)

// tree is a module whose one test has this doc comment.
func tree(comment string) fstest.MapFS {
	return fstest.MapFS{
		"go.mod":       {Data: []byte("module example.test/shop\n")},
		"shop_test.go": {Data: []byte("package shop\n\nimport \"testing\"\n\n// " + comment + "\nfunc TestOrder(t *testing.T) {}\n")},
	}
}

func TestReportPrintsCountsThenCoveredThenUncovered(t *testing.T) {
	var stdout, stderr strings.Builder
	if status := run(tree("Clauses: OPS3-4.36"), nil, &stdout, &stderr); status != 0 {
		t.Fatalf("exit status %d, stderr:\n%s", status, &stderr)
	}
	rest := stdout.String()
	for _, want := range []string{
		"profile  role     covered  uncovered\n",
		"ops3     agent    1        129\n",
		"all               1        736\n",
		"Covered clauses: 1\n",
		"OPS3-4.36  agent, ",
		"    TestOrder (shop_test.go:6)\n",
		"Uncovered clauses: 736\n",
		"OPS3-1.01  company, FACT: ",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("output lacks %q, or has it too early:\n%.2000s", want, &stdout)
		}
		rest = after
	}
}

func TestJSONIsOneObjectWithTheSameContent(t *testing.T) {
	var stdout, stderr strings.Builder
	if status := run(tree("Clauses: OPS3-4.36"), []string{"--json"}, &stdout, &stderr); status != 0 {
		t.Fatalf("exit status %d, stderr:\n%s", status, &stderr)
	}
	if lines := strings.Count(stdout.String(), "\n"); lines != 1 {
		t.Errorf("%d lines instead of one", lines)
	}
	var report conformance.Report
	if err := json.Unmarshal([]byte(stdout.String()), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Covered) != 1 || report.Covered[0].ID != "OPS3-4.36" || report.Covered[0].Tests[0].Name != "TestOrder" {
		t.Errorf("covered: %+v", report.Covered)
	}
	if len(report.Uncovered) != 736 {
		t.Errorf("%d uncovered clauses", len(report.Uncovered))
	}
}

func TestBadMarkOrWrongUseEndsWithItsStatus(t *testing.T) {
	elsewhere := tree("Clauses: OPS3-4.36")
	delete(elsewhere, "go.mod")
	for name, test := range map[string]struct {
		tree   fstest.MapFS
		args   []string
		status int
		stderr string
	}{
		"a clause that does not exist": {tree("Clauses: OPS3-99.99"), nil, 1, "OPS3-99.99"},
		"the same with --json":         {tree("Clauses: OPS3-99.99"), []string{"--json"}, 1, "OPS3-99.99"},
		"the same with --check":        {tree("Clauses: OPS3-99.99"), []string{"--check"}, 1, "OPS3-99.99"},
		"not at the root":              {elsewhere, nil, 1, "go.mod"},
		"an argument":                  {tree("No mark."), []string{"ops3"}, 2, "usage"},
		"two ways at once":             {tree("No mark."), []string{"--json", "--check"}, 2, "usage"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			if status := run(test.tree, test.args, &stdout, &stderr); status != test.status {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			if !strings.Contains(stderr.String(), test.stderr) {
				t.Errorf("stderr %q does not say %q", &stderr, test.stderr)
			}
		})
	}
}
