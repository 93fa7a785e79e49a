package papaver_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// compiled are the files whose code papers may show: each is built and run with the tests.
var compiled = []string{
	"examples/firstagent/main.go", "examples/firstagent/main_test.go", "agent/agenttest/agenttest_test.go", "agent/agenttest/tasks_test.go",
}

// TestPapersShowGoThatRuns finds each Go snippet of README.md and of the papers, word for word but for its indentation, in a
// file that is built and run with the tests.
func TestPapersShowGoThatRuns(t *testing.T) {
	var code strings.Builder
	for _, name := range compiled {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.WriteString(unindented(text) + "\n")
	}
	real, err := readSources(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, name := range real.paths() {
		if name != "README.md" && path.Dir(name) != "docs" || path.Ext(name) != ".md" {
			continue
		}
		for _, s := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(real.text[name], -1) {
			shown++
			if !strings.Contains(code.String(), unindented([]byte(s[1]))) {
				t.Errorf("%s shows what runs nowhere:\n%s", name, s[1])
			}
		}
	}
	if shown == 0 {
		t.Fatal("no paper shows Go")
	}
}

// quoted is an error message in the papers' table of troubles: of one in two parts the value between them is left out.
var quoted = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// TestTheTroublesOfThePapersAreThePrograms finds each message that the papers explain in the code that says it.
func TestTheTroublesOfThePapersAreThePrograms(t *testing.T) {
	real, err := readSources(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range real.code {
		if !file.isTest() {
			code.WriteString(real.text[file.path] + "\n")
		}
	}
	messages := quoted.FindAllStringSubmatch(real.text["docs/troubleshooting.md"], -1)
	if len(messages) == 0 {
		t.Fatal("no message is explained")
	}
	for _, m := range messages {
		for _, part := range strings.Split(m[1], "…") {
			if part = strings.TrimSpace(part); !strings.Contains(code.String(), part) {
				t.Errorf("nothing says %q, of %q", part, m[1])
			}
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
