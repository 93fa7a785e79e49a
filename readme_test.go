package papaver_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeShowsGoThatCompiles finds each Go snippet of README.md, word for word but for its indentation, in an example
// that is built with the tests.
func TestReadmeShowsGoThatCompiles(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("agent/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	snippets := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(readme, -1)
	if len(snippets) == 0 {
		t.Fatal("README.md shows no Go")
	}
	for _, s := range snippets {
		if !strings.Contains(unindented(example), unindented(s[1])) {
			t.Errorf("agent/example_test.go has not:\n%s", s[1])
		}
	}
}

func unindented(text []byte) string {
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, "\t ")
	}
	return strings.Join(lines, "\n")
}
