package capture_test

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/testsite/capture"
)

var update = flag.Bool("update", false, "write docs/capture.md and the table in README.md")

const paper, readme = "../../docs/capture.md", "../../README.md"

func TestEachRowHasANameOfItsOwnAndAVerdict(t *testing.T) {
	seen := make(map[string]bool)
	for _, row := range capture.Rows() {
		if seen[row.Name] || !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(row.Name) {
			t.Errorf("the name %q is not a new one", row.Name)
		}
		seen[row.Name] = true
		v := row.Verdict
		if v.Counts && v.Unseen != "" || !v.Counts && v.Refused == "" && v.Unseen == "" || row.Way == "" || !strings.Contains(row.Page, "id=go") {
			t.Errorf("%s: %+v", row.Name, row)
		}
	}
}

// docs/capture.md lists the rows with their verdicts.
func TestThePaperListsTheRows(t *testing.T) {
	var b strings.Builder
	b.WriteString("# How a response comes to a browser\n\nThe rows of `/capture/` at the bundled site (`papaver site`), with what an agent must make of each. " +
		"`go test ./browser -run Matrix -v` plays\nthem all in a real Chromium with both drivers, judges them as in a run, and prints the figures.\n\n" +
		"A response counts when its reference is used, once. This page is written by `go test ./testsite/capture -update`.\n\n| Row | How the response comes | Verdict |\n| --- | --- | --- |\n")
	for _, row := range capture.Rows() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", row.Name, row.Way, row.Verdict)
	}
	written(t, paper, func(string) string { return b.String() })
}

// README.md has the rows that nobody sees.
func TestTheReadmeListsTheRowsThatNobodySees(t *testing.T) {
	const begins, ends = "<!-- what nobody sees begins: made by go test ./testsite/capture -update -->\n", "<!-- what nobody sees ends -->"
	var b strings.Builder
	b.WriteString("\n| A response to | is seen by nobody, because |\n| --- | --- |\n")
	for _, row := range capture.Rows() {
		if v := row.Verdict; v.Unseen != "" && !v.Forged && !v.Unasked {
			fmt.Fprintf(&b, "| %s | %s |\n", row.Way, v.Unseen)
		}
	}
	b.WriteString("\n")
	written(t, readme, func(text string) string {
		before, rest, found := strings.Cut(text, begins)
		_, after, ended := strings.Cut(rest, ends)
		if !found || !ended {
			t.Fatal("README.md has no place for the rows that nobody sees")
		}
		return before + begins + b.String() + ends + after
	})
}

// written holds a paper against what it should be, or writes it.
func written(t *testing.T, name string, content func(string) string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := content(string(data))
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(data) {
		t.Errorf("%s is not what the rows are: go test ./testsite/capture -update", name)
	}
}

// A person finds all rows on one page, each for the Session of their browser.
func TestTheListLeadsToEachRow(t *testing.T) {
	for sid, at := range map[string]string{"ses_1": "ses_1", "": "none"} {
		m := capture.New("https://partner.test", func(*http.Request) string { return sid })
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, capture.Path, nil))
		for _, row := range capture.Rows() {
			if !strings.Contains(w.Body.String(), `<a href="`+at+"/"+row.Name+`/page">`) {
				t.Errorf("the list has not %s", row.Name)
			}
		}
	}
}

func TestAnAnswerNamesTheSessionOfItsAddress(t *testing.T) {
	m := capture.New("https://partner.test", func(*http.Request) string { return "" })
	get := func(path string) *http.Response {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Result()
	}
	if a := get(capture.Path + "ses_1/link/r"); a.StatusCode != http.StatusForbidden || a.Header.Get("Poppy-Operation") != `sid="ses_1", ref="link"` || m.Asked("ses_1", "link") != 1 {
		t.Errorf("answered with %d, %q", a.StatusCode, a.Header)
	}
	if a := get(capture.Path + "ses_1/upper-case/r"); !slices.Contains(slices.Collect(maps.Keys(a.Header)), "POPPY-OPERATION") {
		t.Errorf("answered with %q", a.Header)
	}
	for _, path := range []string{"ses_1/nothing/r", "ses_1/nothing/page", `a"b/link/r`, `a"b/link/page`} {
		if a := get(capture.Path + strings.ReplaceAll(path, `"`, "%22")); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s answered with %d", path, a.StatusCode)
		}
	}
}
