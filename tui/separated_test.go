package tui

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What the screens say stands in the files of words, apart from how it is laid out. Errors say their own, and a layout of
// time is none of ours.
func TestTextsStandApartFromTheirLayout(t *testing.T) {
	prose := regexp.MustCompile(`[A-Za-z]{3,} [A-Za-z]|^ [A-Za-z]{2,}|[A-Za-z]{2,} $`)
	set := token.NewFileSet()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "words.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Errorf" || f.Sel.Name == "New") {
					return false
				}
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			// The keys of facts are never shown.
			if prose.MatchString(text) && !strings.HasSuffix(name, "facts.go") && !strings.HasPrefix(text, "waits ") && !strings.HasPrefix(text, "left ") {
				t.Errorf("%s: %q", set.Position(lit.Pos()), text)
			}
			return true
		})
	}
}

// Update does no I/O: the files, signals and terminals of a process are reached in these files alone, and what they reach
// is done in commands.
func TestOnlyTheDeviceReachesOutside(t *testing.T) {
	reach := map[string]bool{}
	for _, name := range []string{"os", "io", "net", "net/http", "os/exec", "os/signal", "syscall", "golang.org/x/sys/unix", "github.com/charmbracelet/x/term"} {
		reach[name] = true
	}
	may := map[string]string{
		"device.go": "it is the terminal", "suspend.go": "it gives the terminal back", "run.go": "it names the terminal's file", "paint.go": "io.Discard, for colours",
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if path, err := strconv.Unquote(i.Path.Value); err != nil || reach[path] && may[name] == "" {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
