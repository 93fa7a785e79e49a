package conformance_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/conformance"
)

// The README lists every clause of these areas that no test covers, with the reason, and no other.
func TestWhatIsLeftUncoveredIsListedWithItsReason(t *testing.T) {
	areas := strings.Fields("discovery identity session dpop token signin signout cookie join secrets ratelimit error")
	table, err := conformance.Table()
	if err != nil {
		t.Fatal(err)
	}
	paper, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(paper), "## What is left uncovered")
	if !found {
		t.Fatal("README.md lists nothing")
	}
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^\| ((?:[A-Z0-9]+-[0-9.]+(?:, )?)+) \| .+ \|$`).FindAllStringSubmatch(list, -1) {
		listed = append(listed, strings.Split(row[1], ", ")...)
	}
	var left []string
	for _, c := range readReport(t, table, os.DirFS("..")).Uncovered {
		if slices.Contains(areas, c.Area) && strings.HasPrefix(c.Profile, "core") {
			left = append(left, c.ID)
		}
	}
	slices.Sort(listed)
	slices.Sort(left)
	if !slices.Equal(listed, left) {
		t.Errorf("listed %q, uncovered %q", listed, left)
	}
}
