package conformance

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// markPrefix begins a comment line that names clauses.
const markPrefix = "Clauses:"

// Test is one test or fuzz function, by its place in the source tree.
type Test struct {
	// Name is the function's name.
	Name string `json:"name"`
	// File is the slash-separated path from the tree's root.
	File string `json:"file"`
	// Line is the function's line, counted from 1.
	Line int `json:"line"`
}

// Mark says that a test proves a clause.
type Mark struct {
	Clause string
	Test   Test
}

// Problem is a mark that says nothing true, and where it stands.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line"`
	What string `json:"what"`
}

// String is the problem as compilers print theirs.
func (p Problem) String() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What) }

// ReadMarks collects the marks of every Go file of the tree, in the order of paths and lines. Folders that the go
// tool leaves out (testdata, vendor, names that begin with a dot or an underscore) are left out here too.
//
// A mark is good in the doc comment of a test or fuzz function of a _test.go file. Anywhere else it is a [Problem],
// since it would look like proof and be none. Whether the clause exists is for [NewReport] to judge. The error is that
// of reading or parsing a file.
func ReadMarks(tree fs.FS) ([]Mark, []Problem, error) {
	var marks []Mark
	var problems []Problem
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name != "." && skipped(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) != ".go":
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		m, p, err := readFile(name, source)
		if err != nil {
			return err
		}
		marks, problems = append(marks, m...), append(problems, p...)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read marks: %w", err)
	}
	return marks, problems, nil
}

// skipped follows `go help packages`.
func skipped(folder string) bool {
	return folder == "testdata" || folder == "vendor" || strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

func readFile(name string, source []byte) ([]Mark, []Problem, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}

	tests := make(map[*ast.CommentGroup]Test)
	if strings.HasSuffix(name, "_test.go") {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Doc != nil && isTest(f) {
				tests[f.Doc] = Test{Name: f.Name.Name, File: name, Line: set.Position(f.Pos()).Line}
			}
		}
	}

	var marks []Mark
	var problems []Problem
	for _, group := range file.Comments {
		test, ofTest := tests[group]
		marked := make(map[string]bool)
		for _, line := range commentLines(set, group) {
			list, ok := strings.CutPrefix(line.text, markPrefix)
			if !ok {
				continue
			}
			if !ofTest {
				problems = append(problems, Problem{name, line.number, "the mark stands in no test's doc comment"})
				continue
			}
			for id := range strings.SplitSeq(list, ",") {
				id = strings.TrimSpace(id)
				switch {
				case id == "":
					problems = append(problems, Problem{name, line.number, "the mark has an empty place where a clause should stand"})
				case marked[id]:
					problems = append(problems, Problem{name, line.number, fmt.Sprintf("the test names clause %s twice", id)})
				default:
					marked[id] = true
					marks = append(marks, Mark{Clause: id, Test: test})
				}
			}
		}
	}
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(a.Test.Line, b.Test.Line) })
	return marks, problems, nil
}

// isTest follows `go help testfunc`: TestXxx or FuzzXxx, where Xxx does not begin with a lower-case letter, with one
// parameter *testing.T or *testing.F.
func isTest(f *ast.FuncDecl) bool {
	if f.Recv != nil || f.Type.TypeParams != nil || f.Type.Params.NumFields() != 1 {
		return false
	}
	for prefix, parameter := range map[string]string{"Test": "T", "Fuzz": "F"} {
		rest, ok := strings.CutPrefix(f.Name.Name, prefix)
		if !ok {
			continue
		}
		if first, _ := utf8.DecodeRuneInString(rest); unicode.IsLower(first) {
			return false
		}
		pointer, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		selector, ok := pointer.X.(*ast.SelectorExpr)
		return ok && selector.Sel.Name == parameter
	}
	return false
}

type commentLine struct {
	text   string
	number int
}

// commentLines gives the lines of a comment without the comment signs and the one space after them. Deeper
// indentation stays: it makes a line part of an example, and no mark.
func commentLines(set *token.FileSet, group *ast.CommentGroup) []commentLine {
	var lines []commentLine
	for _, comment := range group.List {
		start := set.Position(comment.Pos()).Line
		text, isLine := strings.CutPrefix(comment.Text, "//")
		if !isLine {
			text = strings.TrimSuffix(strings.TrimPrefix(comment.Text, "/*"), "*/")
		}
		for i, line := range strings.Split(text, "\n") {
			lines = append(lines, commentLine{strings.TrimPrefix(line, " "), start + i})
		}
	}
	return lines
}
