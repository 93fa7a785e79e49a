package papaver_test

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCommentsAreWhereReadersNeedThem(t *testing.T) {
	real, err := readSources(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]rule{
		"every package has one package comment": {
			reason: "a reader meets a package by one text that says what it is for",
			check:  packageComments,
			broken: fstest.MapFS{
				"a/a.go":      {Data: []byte("package a\n")},
				"a/a_test.go": {Data: []byte("// Package a_test has a comment that does not count.\npackage a_test\n")},
				"b/b.go":      {Data: []byte("// Package b is one.\npackage b\n")},
				"b/c.go":      {Data: []byte("// Package b is two.\npackage b\n")},
				"c/c.go":      {Data: []byte("// Package c is good.\npackage c\n")},
				"c/d.go":      {Data: []byte("// A file comment stands apart.\n\npackage c\n")},
				"d/d_test.go": {Data: []byte("package d\n")},
			},
			findings: []string{
				"a: no file has the package comment",
				"b: 2 files have a package comment: b/b.go, b/c.go",
			},
		},
		"everything exported has a comment": {
			reason: "what others may use says what it is, in which units, and which errors it gives",
			check:  exportedWithoutComment,
			broken: fstest.MapFS{
				"a/a.go": {Data: []byte(`package a

type Bare struct{}

// Good is good.
type Good interface {
	Do()
	// Undo undoes, and Redo undoes that.
	Undo()
	Redo()

	Apart()
	hide()
}

func (Good2) Loud() {}

// Good2 is good too.
type Good2 int

func (Good2) quiet() {}

func (Good2) Error() string { return "" }

func (hidden) Loud() {}

type hidden int

// The kinds.
const (
	One = iota
	Two
)

const (
	Three = 3 // Three is three.
	Four  = 4
	// Five and Six are more.
	Five = 5
	Six  = 6

	Seven = 7
)

var Global int

func Call() {}

// The shapes, each of which needs its own comment.
type (
	Round int
)
`)},
				"a/a_test.go":   {Data: []byte("package a\n\nfunc Exported() {}\n")},
				"internal/i.go": {Data: []byte("package internal\n\nfunc Exported() {}\n")},
				"cmd/main.go":   {Data: []byte("package main\n\nfunc Exported() {}\n")},
			},
			findings: []string{
				"a/a.go:3: Bare has no comment",
				"a/a.go:7: Good.Do has no comment",
				"a/a.go:12: Good.Apart has no comment",
				"a/a.go:16: Good2.Loud has no comment",
				"a/a.go:37: Four has no comment",
				"a/a.go:42: Seven has no comment",
				"a/a.go:45: Global has no comment",
				"a/a.go:47: Call has no comment",
				"a/a.go:51: Round has no comment",
			},
		},
	} {
		t.Run(name, func(t *testing.T) { r.test(t, real) })
	}
}

func packageComments(s sources) []string {
	commented := make(map[string][]string)
	for _, file := range s.code {
		if file.isTest() {
			continue
		}
		files := commented[file.folder()]
		if file.Doc != nil {
			files = append(files, file.path)
		}
		commented[file.folder()] = files
	}
	var findings []string
	for _, folder := range slices.Sorted(maps.Keys(commented)) {
		switch files := commented[folder]; len(files) {
		case 0:
			findings = append(findings, folder+": no file has the package comment")
		case 1:
		default:
			findings = append(findings, fmt.Sprintf("%s: %d files have a package comment: %s", folder, len(files), strings.Join(files, ", ")))
		}
	}
	return findings
}

func exportedWithoutComment(s sources) []string {
	var findings []string
	for _, file := range s.code {
		if file.isTest() || file.isCommand() || slices.Contains(strings.Split(file.folder(), "/"), "internal") {
			continue
		}
		bare := func(node ast.Node, name string) {
			findings = append(findings, fmt.Sprintf("%s: %s has no comment", file.at(node), name))
		}
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if name, exported := exportedName(d); exported && d.Doc == nil {
					bare(d, name)
				}
			case *ast.GenDecl:
				exportedSpecs(file, d, bare)
			}
		}
	}
	return findings
}

// spokenFor are methods whose meaning the standard library has fixed; a comment could only repeat it.
var spokenFor = []string{"Error", "Unwrap", "Is", "String"}

// exportedName gives a method the name Type.Method, and says whether users of the package can reach it.
func exportedName(f *ast.FuncDecl) (string, bool) {
	if f.Recv == nil {
		return f.Name.Name, f.Name.IsExported()
	}
	receiver := f.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			exported := r.IsExported() && f.Name.IsExported() && !slices.Contains(spokenFor, f.Name.Name)
			return r.Name + "." + f.Name.Name, exported
		default:
			return f.Name.Name, false
		}
	}
}

// exportedSpecs finds types, constants and variables without a comment, and such methods of interfaces. One comment
// speaks for the whole group that it stands above, and for the lines that follow it without a gap.
func exportedSpecs(file source, d *ast.GenDecl, bare func(ast.Node, string)) {
	var values run
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if !s.Name.IsExported() {
				continue
			}
			if s.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) {
				bare(s, s.Name.Name)
			}
			contract, ok := s.Type.(*ast.InterfaceType)
			if !ok {
				continue
			}
			var methods run
			for _, method := range contract.Methods.List {
				spoken := methods.spokenFor(file, method, method.Doc, method.Comment)
				if len(method.Names) == 1 && method.Names[0].IsExported() && !spoken {
					bare(method, s.Name.Name+"."+method.Names[0].Name)
				}
			}
		case *ast.ValueSpec:
			spoken := values.spokenFor(file, s, s.Doc, s.Comment) || d.Doc != nil
			for _, name := range s.Names {
				if name.IsExported() && !spoken {
					bare(name, name.Name)
				}
			}
		}
	}
}

// run follows lines that stand together without a gap under one comment.
type run struct {
	spoken bool
	end    int
}

// spokenFor says whether the node has a comment of its own or stands directly under nodes that have one.
func (r *run) spokenFor(file source, node ast.Node, doc, beside *ast.CommentGroup) bool {
	follows := r.spoken && file.set.Position(node.Pos()).Line == r.end+1
	r.spoken = doc != nil || follows
	r.end = file.set.Position(node.End()).Line
	return r.spoken || beside != nil
}
