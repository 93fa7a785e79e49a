package papaver_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// A paper that names a test as its proof names one that is there.
func TestTheTestsThatPapersNameExist(t *testing.T) {
	named, defined := regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]+)`"), regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
	tests, papers := make(map[string]bool), make(map[string][]string)
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".md"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".md") {
			for _, m := range named.FindAllSubmatch(data, -1) {
				papers[string(m[1])] = append(papers[string(m[1])], path)
			}
			return nil
		}
		for _, m := range defined.FindAllSubmatch(data, -1) {
			tests[string(m[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(papers) == 0 {
		t.Error("no paper names a test: this one looks in the wrong place")
	}
	for name, at := range papers {
		if !tests[name] {
			t.Errorf("%s names %s, and there is no such test", strings.Join(at, ", "), name)
		}
	}
}
