package bench

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// matrix measures M7 with the test of the capture matrix itself: `go test ./browser -run TheCaptureMatrix`.
func matrix(ctx context.Context, w *world) ([]row, error) {
	out, err := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-run", "^TestTheCaptureMatrix$", "./browser").CombinedOutput()
	figures := matrixFigures(string(out))
	if len(figures) == 0 {
		return nil, fmt.Errorf("the capture matrix printed no figures: %w: %s", err, out)
	}
	var counted, missed, forged float64
	drivers := ""
	for _, f := range figures {
		counted, missed, forged = counted+f.counted, missed+f.missed, forged+f.forged
		drivers += ", " + f.driver
	}
	recall := row{Number: "M7a", What: "capture matrix, references used ÷ sent" + drivers, Ours: counted / (counted + missed), Goal: 1, Least: true}
	recall.Value = recall.Ours
	return []row{recall, absolute("M7b", "the same, references used that must not be", "", forged, 0, 0)}, nil
}

// matrixRow is what the test prints for a driver.
type matrixRow struct {
	driver                  string
	counted, missed, forged float64
}

var matrixLine = regexp.MustCompile(`(?m)^\s*(chromedp|rod)\s+\d+\s+(\d+)\s+\d+\s+\d+\s+(\d+)\s+(\d+)\s*$`)

func matrixFigures(out string) (rows []matrixRow) {
	for _, m := range matrixLine.FindAllStringSubmatch(out, -1) {
		r := matrixRow{driver: m[1]}
		for i, to := range []*float64{&r.counted, &r.missed, &r.forged} {
			*to, _ = strconv.ParseFloat(m[i+2], 64) // the expression takes digits alone
		}
		rows = append(rows, r)
	}
	return rows
}

func TestTheMatrixsOwnTableIsRead(t *testing.T) {
	rows := matrixFigures("    capture_test.go:352: \n        driver     rows  counted  refused  seen by nobody  missed  wrongly used\n" +
		"        chromedp     100       70       20              10       0             0\n        rod          100       69       20              10       1             2\nPASS\n")
	if len(rows) != 2 || rows[0] != (matrixRow{"chromedp", 70, 0, 0}) || rows[1] != (matrixRow{"rod", 69, 1, 2}) {
		t.Errorf("%+v", rows)
	}
}
