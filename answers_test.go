package papaver_test

import (
	"fmt"
	"go/ast"
	"os"
	"slices"
	"testing"
	"testing/fstest"
)

// maker is a function whose calls decide who may do something, and the rooms that may call it.
type maker struct {
	pkg, name string
	rooms     []string
}

// makers are few, and each new caller of one deserves a reviewer's question.
var makers = []maker{
	// Law 6: a User's answer is made where a key was pressed, and where such an answer comes out of the socket.
	{"approval", "FromUser", []string{"tui", "attach"}},
	// A question that may not be asked is refused; refusing is the only thing that needs no key.
	{"approval", "Refusal", []string{"agent"}},
}

// Clauses: OPS3-5.06, OPS3-5.07
func TestAUsersAnswerIsMadeWhereAKeyWasPressedAndNowhereElse(t *testing.T) {
	real, err := readSources(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	rule{
		reason: "whoever can make an answer can approve",
		check:  strangeMakers,
		broken: fstest.MapFS{
			"agent/a.go":      {Data: []byte("package agent\n\nimport \"approval\"\n\nvar f = approval.FromUser\n\nfunc g() { approval.Refusal(s) }\n")},
			"agent/a_test.go": {Data: []byte("package agent\n\nimport \"approval\"\n\nvar f = approval.FromUser\n")},
			"tui/a.go":        {Data: []byte("package tui\n\nimport \"approval\"\n\nvar f = approval.FromUser(true, s)\n\nvar h = approval.Refusal\n")},
		},
		findings: []string{
			"agent/a.go:5: uses approval.FromUser",
			"tui/a.go:7: uses approval.Refusal",
		},
	}.test(t, real)
}

func strangeMakers(s sources) []string {
	var findings []string
	for _, file := range s.code {
		if file.isTest() {
			continue
		}
		ast.Inspect(file.File, func(n ast.Node) bool {
			use, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := use.X.(*ast.Ident)
			for _, m := range makers {
				if ok && pkg.Name == m.pkg && use.Sel.Name == m.name && !slices.Contains(m.rooms, file.folder()) {
					findings = append(findings, fmt.Sprintf("%s: uses %s.%s", file.at(use), m.pkg, m.name))
				}
			}
			return true
		})
	}
	return findings
}
