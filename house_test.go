package papaver_test

import (
	"fmt"
	"go/ast"
	"os"
	"slices"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"
)

func TestCodeKeepsTheRulesOfTheHouse(t *testing.T) {
	real, err := readSources(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]rule{
		"only commands end the process or use the global logger": {
			reason: "a library gives its caller an error, and writes to the logger it was given",
			check:  exitsAndGlobalLogs,
			broken: fstest.MapFS{
				"a/a.go":      {Data: []byte("package a\n\nimport (\n\t\"log\"\n\t\"os\"\n)\n\nfunc f() { os.Exit(log.Flags()) }\n")},
				"a/b.go":      {Data: []byte("package a\n\nimport \"log/slog\"\n\nvar _ = slog.New\n")},
				"a/a_test.go": {Data: []byte("package a\n\nimport \"os\"\n\nfunc f() { os.Exit(1) }\n")},
				"cmd/main.go": {Data: []byte("package main\n\nimport \"os\"\n\nfunc main() { os.Exit(1) }\n")},
			},
			findings: []string{
				"a/a.go:4: imports log",
				"a/a.go:8: calls os.Exit",
			},
		},
		"only commands print to standard output": {
			reason: "standard output is a command's data, and the terminal belongs to the UI",
			check:  prints,
			broken: fstest.MapFS{
				"a/a.go":      {Data: []byte("package a\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc f() {\n\tfmt.Println()\n\tfmt.Fprintln(os.Stderr)\n\tfmt.Printf(\"\")\n\tfmt.Print()\n}\n")},
				"cmd/main.go": {Data: []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println() }\n")},
			},
			findings: []string{
				"a/a.go:9: prints to standard output",
				"a/a.go:11: prints to standard output",
				"a/a.go:12: prints to standard output",
			},
		},
		"no test sleeps": {
			reason: "a sleep is too short on a slow machine and too long on every other; wait for the thing itself",
			check:  sleeps,
			broken: fstest.MapFS{
				"a/a_test.go": {Data: []byte("package a\n\nimport \"time\"\n\nfunc f() {\n\ttime.Sleep(time.Second)\n\t<-time.After(0)\n}\n")},
				"a/a.go":      {Data: []byte("package a\n\nimport \"time\"\n\nfunc f() { time.Sleep(time.Second) }\n")},
			},
			findings: []string{"a/a_test.go:6: sleeps"},
		},
		"no test skips itself": {
			reason: "a test that did not run proves nothing and looks as if it did",
			check:  skips,
			broken: fstest.MapFS{
				"a/a_test.go": {Data: []byte("package a\n\nimport \"testing\"\n\nfunc f(t *testing.T, tb testing.TB, r reader) {\n\tt.Skip()\n\ttb.Skipf(\"\")\n\tr.Skip()\n\tt.Run(\"\", func(sub *testing.T) { sub.SkipNow() })\n}\n")},
			},
			findings: []string{
				"a/a_test.go:6: skips a test",
				"a/a_test.go:7: skips a test",
				"a/a_test.go:9: skips a test",
			},
		},
		"no invisible characters in sources": {
			reason: "what a reviewer sees is what the machine reads",
			check:  invisibleCharacters,
			broken: fstest.MapFS{
				"a/a.go":           {Data: []byte("package a\n\n// right\u202eleft\n")},
				"b.md":             {Data: []byte("fine é — “…” 日本\n\tzero\u200bwidth\n")},
				"c.txt":            {Data: []byte("bell\a\r\n\u0085")},
				"d.txt":            {Data: []byte("\xff")},
				"a/testdata/x.txt": {Data: []byte("\u202e")},
			},
			findings: []string{
				"a/a.go:3: has the character U+202E",
				"b.md:2: has the character U+200B",
				"c.txt:1: has the character U+0007",
				"c.txt:1: has the character U+000D",
				"c.txt:2: has the character U+0085",
				"d.txt:1: is not UTF-8",
			},
		},
	} {
		t.Run(name, func(t *testing.T) { r.test(t, real) })
	}
}

func exitsAndGlobalLogs(s sources) []string {
	return each(s, func(file source, found func(ast.Node, string)) {
		if file.isTest() || file.isCommand() {
			return
		}
		if node, ok := file.importing()["log"]; ok {
			found(node, "imports log")
		}
		for _, node := range file.uses("os", "Exit") {
			found(node, "calls os.Exit")
		}
	})
}

func prints(s sources) []string {
	return each(s, func(file source, found func(ast.Node, string)) {
		if file.isTest() || file.isCommand() {
			return
		}
		for _, node := range file.uses("fmt", "Print", "Printf", "Println") {
			found(node, "prints to standard output")
		}
	})
}

func sleeps(s sources) []string {
	return each(s, func(file source, found func(ast.Node, string)) {
		if !file.isTest() {
			return
		}
		for _, node := range file.uses("time", "Sleep") {
			found(node, "sleeps")
		}
	})
}

func skips(s sources) []string {
	return each(s, func(file source, found func(ast.Node, string)) {
		if !file.isTest() {
			return
		}
		testing := parametersOfTests(file)
		ast.Inspect(file.File, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, selector.Sel.Name) {
				return true
			}
			if name, ok := selector.X.(*ast.Ident); ok && testing[name.Name] {
				found(node, "skips a test")
			}
			return true
		})
	})
}

// parametersOfTests names the file's parameters of the types that package testing hands to tests.
func parametersOfTests(file source) map[string]bool {
	names := make(map[string]bool)
	ast.Inspect(file.File, func(node ast.Node) bool {
		field, ok := node.(*ast.Field)
		if !ok {
			return true
		}
		kind := field.Type
		if pointer, ok := kind.(*ast.StarExpr); ok {
			kind = pointer.X
		}
		selector, ok := kind.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if from, ok := selector.X.(*ast.Ident); ok && from.Name == "testing" {
			for _, name := range field.Names {
				names[name.Name] = true
			}
		}
		return true
	})
	return names
}

// each collects what a look at every Go file finds, with its place.
func each(s sources, look func(file source, found func(ast.Node, string))) []string {
	var findings []string
	for _, file := range s.code {
		look(file, func(node ast.Node, what string) {
			findings = append(findings, file.at(node)+": "+what)
		})
	}
	return findings
}

func invisibleCharacters(s sources) []string {
	var findings []string
	for _, name := range s.paths() {
		line := 1
		for rest := s.text[name]; rest != ""; {
			r, size := utf8.DecodeRuneInString(rest)
			switch {
			case r == utf8.RuneError && size == 1:
				findings = append(findings, fmt.Sprintf("%s:%d: is not UTF-8", name, line))
			case r == '\n':
				line++
			case r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
				findings = append(findings, fmt.Sprintf("%s:%d: has the character %U", name, line, r))
			}
			rest = rest[size:]
		}
	}
	return findings
}
