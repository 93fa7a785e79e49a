package papaver_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// module is the path that every import of our own begins with.
const module = "github.com/papaver-agent/papaver"

// rule is one thing that holds in the whole tree. Its broken tree proves that the check can fail.
type rule struct {
	// reason is printed with every finding, so that nobody has to look up why the rule is there.
	reason string
	check  func(sources) []string
	// broken holds a tree that breaks the rule, beside places that look alike and do not.
	broken fstest.MapFS
	// findings is what check says of broken: all of it, in order.
	findings []string
}

// test runs the rule on its broken tree and then on the real one.
func (r rule) test(t *testing.T, real sources) {
	t.Helper()
	broken, err := readSources(r.broken)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.check(broken); !slices.Equal(got, r.findings) {
		t.Errorf("the check says of the broken tree:\n  %s\nand should say:\n  %s",
			strings.Join(got, "\n  "), strings.Join(r.findings, "\n  "))
	}
	for _, finding := range r.check(real) {
		t.Errorf("%s\n\t(%s)", finding, r.reason)
	}
}

// sources is the project's text: every file outside the folders of test data and of what was built.
type sources struct {
	code []source
	text map[string]string
}

// source is one Go file.
type source struct {
	*ast.File
	path string
	set  *token.FileSet
}

func (s source) folder() string { return path.Dir(s.path) }
func (s source) isTest() bool   { return strings.HasSuffix(s.path, "_test.go") }

// isCommand says whether the file belongs to a program and not to a library.
func (s source) isCommand() bool { return s.Name.Name == "main" }

// at is the place of a node as compilers print it.
func (s source) at(node ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(node.Pos()).Line)
}

// importing lists the file's import paths with their places.
func (s source) importing() map[string]ast.Node {
	imports := make(map[string]ast.Node, len(s.Imports))
	for _, i := range s.Imports {
		if name, err := strconv.Unquote(i.Path.Value); err == nil {
			imports[name] = i
		}
	}
	return imports
}

// uses lists where the file names one of the functions of an imported package, in the file's order.
func (s source) uses(imported string, functions ...string) []ast.Node {
	if _, ok := s.importing()[imported]; !ok {
		return nil
	}
	var found []ast.Node
	ast.Inspect(s.File, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		name, ok := selector.X.(*ast.Ident)
		if ok && name.Name == path.Base(imported) && slices.Contains(functions, selector.Sel.Name) {
			found = append(found, node)
		}
		return true
	})
	return found
}

func readSources(tree fs.FS) (sources, error) {
	s := sources{text: make(map[string]string)}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && leftOut(name):
			return fs.SkipDir
		case entry.Type().IsRegular() && path.Ext(name) == ".png":
			s.text[name] = "" // a picture is there, for links to it, and has no words
			return nil
		case !entry.Type().IsRegular() || !isText(name):
			return nil
		}
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		s.text[name] = string(content)
		if path.Ext(name) != ".go" {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.code = append(s.code, source{File: file, path: name, set: set})
		return nil
	})
	return s, err
}

// leftOut names the folders whose content is not ours to judge: test data may hold anything on purpose, bin is built,
// and of the hidden ones only .ci is the project's.
func leftOut(folder string) bool {
	base := path.Base(folder)
	return base == "testdata" || folder == "bin" || strings.HasPrefix(base, ".") && folder != "." && folder != ".ci"
}

// isText says whether a file is one that people write: by its ending, or by its folder where files have none.
func isText(name string) bool {
	switch path.Ext(name) {
	case ".go", ".mod", ".md", ".tsv", ".txt", ".json", ".html", ".tmpl", ".css", ".js", ".svg", ".sh", ".yml", ".toml", ".tape":
		return true
	case "":
		folder := path.Dir(name)
		return folder == "scripts" || folder == ".ci" || name == "Makefile" || name == "LICENSE"
	default:
		return false
	}
}

// paths lists the texts' names in order.
func (s sources) paths() []string {
	names := make([]string, 0, len(s.text))
	for name := range s.text {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
