package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	readme  = "README.md"
	figures = "docs/bench.json"
	picture = "docs/pictures/bench.svg"

	begins = "<!-- the bench begins: made by make bench BENCH=-write -->\n"
	ends   = "<!-- the bench ends -->"

	// noisy is the spread from which a row says that it is: half of the samples then lie further apart than that.
	noisy = 0.30
)

// row is one line of the table.
type row struct {
	Number    string  `json:"number"` // M1
	What      string  `json:"what"`
	Unit      string  `json:"unit"` // ms, MB, or "" for a number
	Ours      float64 `json:"ours"`
	Reference float64 `json:"reference,omitempty"` // 0: there is none
	Than      string  `json:"than,omitempty"`      // what the reference is
	// Value is what the goal is for: the ratio, or ours where there is no reference. It must be at most Goal, or at least
	// when Least is set.
	Value  float64 `json:"value"`
	Goal   float64 `json:"goal"`
	Least  bool    `json:"least,omitempty"`
	Spread float64 `json:"spread"` // the larger of both
	Not    string  `json:"not_measured,omitempty"`
}

// ratio is the row of two ways.
func ratio(number, what, than string, ours, reference samples, goal float64) row {
	r := row{
		Number: number, What: what, Unit: "ms", Than: than, Ours: milliseconds(ours.median()), Reference: milliseconds(reference.median()),
		Goal: goal, Spread: max(ours.spread(), reference.spread()),
	}
	r.Value = r.Ours / r.Reference
	return r
}

// absolute is a row without a reference.
func absolute(number, what, unit string, value, goal, spread float64) row {
	return row{Number: number, What: what, Unit: unit, Ours: value, Value: value, Goal: goal, Spread: spread}
}

// notMeasured is a row without a figure.
func notMeasured(number, what, than string, goal float64, why string) row {
	return row{Number: number, What: what, Than: than, Goal: goal, Not: why}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// met reports whether a row's goal is met. One that was not measured misses nothing.
func (r row) met() bool {
	if r.Least {
		return r.Not != "" || r.Value >= r.Goal
	}
	return r.Not != "" || r.Value <= r.Goal
}

func (r row) amount(v float64) string {
	switch {
	case r.Unit == "" && v == float64(int(v)):
		return fmt.Sprintf("%.0f", v)
	case r.Unit == "":
		return fmt.Sprintf("%.2f", v)
	case v < 10:
		return fmt.Sprintf("%.2f %s", v, r.Unit)
	default:
		return fmt.Sprintf("%.1f %s", v, r.Unit)
	}
}

// cells are the row as a reader sees it: number, what, ours, reference, ratio, goal, margin, spread.
func (r row) cells() []string {
	sign := "≤"
	if r.Least {
		sign = "≥"
	}
	goal := fmt.Sprintf("%s %.2f", sign, r.Goal)
	reference, value := "–", "–"
	switch {
	case r.Than != "":
		reference, value = r.amount(r.Reference)+" ("+r.Than+")", fmt.Sprintf("%.2f", r.Value)
	case r.Unit != "":
		goal = sign + " " + r.amount(r.Goal)
	}
	if r.Not != "" {
		return []string{r.Number, r.What, "–", r.Than, "not measured: " + r.Not, goal, "–", "–"}
	}
	spread := fmt.Sprintf("%.0f %%", r.Spread*100)
	if r.Spread > noisy {
		spread += ", noisy"
	}
	return []string{r.Number, r.What, r.amount(r.Ours), reference, value, goal, r.margin(), spread}
}

// margin says how far a row is from its goal.
func (r row) margin() string {
	if r.Goal == 0 || r.Least {
		if r.met() {
			return "met"
		}
		return "MISSED"
	}
	left := (r.Goal - r.Value) / r.Goal * 100
	if r.met() {
		return fmt.Sprintf("met, %.0f %% left", left)
	}
	return fmt.Sprintf("MISSED by %.0f %%", -left)
}

// table is a whole bench.
type table struct {
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"took_ns"`
	Times    int           `json:"times"`
	Chromium string        `json:"chromium"`
	Machine  string        `json:"machine"`
	Rows     []row         `json:"rows"`
}

func (t *table) sort() {
	slices.SortStableFunc(t.Rows, func(a, b row) int { return strings.Compare(a.Number, b.Number) })
}

// missed is how many goals are missed.
func (t table) missed() int {
	n := 0
	for _, r := range t.Rows {
		if !r.met() {
			n++
		}
	}
	return n
}

var heads = []string{"", "What", "Ours", "Reference", "Ratio", "Goal", "", "Spread"}

// markdown is the table for README.md.
func (t table) markdown() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(heads)
	line(slices.Repeat([]string{"---"}, len(heads)))
	for _, r := range t.Rows {
		line(r.cells())
	}
	return b.String()
}

// text is the table for a terminal.
func (t table) text() string {
	lines := [][]string{heads}
	for _, r := range t.Rows {
		lines = append(lines, r.cells())
	}
	widths := make([]int, len(heads))
	for _, cells := range lines {
		for i, c := range cells {
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	var b strings.Builder
	for _, cells := range lines {
		for i, c := range cells {
			b.WriteString(c)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-len([]rune(c))+2))
			}
		}
		b.WriteString("\n")
	}
	return b.String() + t.told() + "\n"
}

// told says how the figures were taken.
func (t table) told() string {
	said := fmt.Sprintf("Medians of %d, taken in turns, in %v on %s with %s. The spread is the width of the middle half of the samples ÷ their median, the larger one of both.",
		t.Times, t.Took, t.Machine, t.Chromium)
	loud := 0
	for _, r := range t.Rows {
		if r.Spread > noisy {
			loud++
		}
	}
	if loud > 0 {
		said += fmt.Sprintf(" %d rows are noisy: their spread is more than %.0f %%, so something else ran meanwhile, or the machine is not a quiet one.", loud, noisy*100)
	}
	if t.Times < 30 {
		said += " Fewer than 30 of each say little."
	}
	return said
}

// draw puts the table where the papers have it.
func (t table) draw() error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(figures, append(data, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(picture, []byte(t.svg()), 0o644); err != nil {
		return err
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	changed, err := replaced(string(text), "\n"+t.markdown()+"\n"+t.told()+"\n\n![Each figure against its goal]("+picture+")\n\n")
	if err != nil {
		return err
	}
	return os.WriteFile(readme, []byte(changed), 0o644)
}

// replaced puts content between the two marks of a text.
func replaced(text, content string) (string, error) {
	before, rest, found := strings.Cut(text, begins)
	_, after, ended := strings.Cut(rest, ends)
	if !found || !ended {
		return "", fmt.Errorf("%s has no place for the bench", readme)
	}
	return before + begins + content + ends + after, nil
}

func TestARowMissesItsGoalByItsRatioAlone(t *testing.T) {
	for _, c := range []struct {
		r      row
		met    bool
		margin string
	}{
		{ratio("M1", "", "x", samples{100}, samples{100}, 1.05), true, "met, 5 % left"},
		{ratio("M1", "", "x", samples{200 * time.Millisecond}, samples{100 * time.Millisecond}, 1), false, "MISSED by 100 %"},
		{absolute("M8", "", "MB", 30, 30, 9), true, "met, 0 % left"},
		{row{Value: 0.99, Goal: 1, Least: true}, false, "MISSED"},
		{row{Value: 0, Goal: 0}, true, "met"},
		{notMeasured("M2", "", "x", 0.7, "npm is out of reach"), true, ""},
	} {
		if c.r.Unit == "ms" && c.r.Reference == 0 {
			c.r.Ours, c.r.Reference, c.r.Value = 1, 1, 1
		}
		if c.r.met() != c.met || c.margin != "" && c.r.margin() != c.margin {
			t.Errorf("%+v: met %v, %s", c.r, c.r.met(), c.r.margin())
		}
	}
}

func TestANoisyTableSaysSo(t *testing.T) {
	quiet := table{Times: 30, Rows: []row{absolute("M8", "memory", "MB", 20, 30, 0.1)}}
	loud := table{Times: 3, Rows: []row{absolute("M8", "memory", "MB", 20, 30, 0.4)}}
	if strings.Contains(quiet.text(), "noisy") || !strings.Contains(loud.text(), "40 %, noisy") || !strings.Contains(loud.told(), "Fewer than 30") {
		t.Errorf("%s\n%s", quiet.text(), loud.text())
	}
}

func TestReadmeHasThePlaceOfTheBench(t *testing.T) {
	text, err := os.ReadFile("../" + readme)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := replaced(string(text), "x")
	if err != nil || !strings.Contains(changed, begins+"x"+ends) {
		t.Error(err)
	}
	if again, err := replaced(changed, "x"); err != nil || again != changed {
		t.Error("a second one changes more than the first")
	}
}
