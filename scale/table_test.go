package scale

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

// column is one figure of each row.
type column struct {
	name   string
	values []float64
	unit   string // a verb of fmt
	grows  bool   // its growth is said
}

// finer is the verb of a column's unit, for what one more costs.
var finer = regexp.MustCompile(`%\.\df`)

// table draws rows of that name and size, what one more of them costs, and the exponent by which each column grows.
func table(what string, labels []string, sizes []float64, columns []column) string {
	var b strings.Builder
	b.WriteString("| " + what + " |")
	for _, c := range columns {
		b.WriteString(" " + c.name + " |")
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(columns)) + "\n")
	for i, label := range labels {
		b.WriteString("| " + label + " |")
		for _, c := range columns {
			b.WriteString(" " + fmt.Sprintf(c.unit, c.values[i]) + " |")
		}
		b.WriteString("\n")
	}
	if len(sizes) < 2 {
		return b.String()
	}
	last := len(sizes) - 1
	b.WriteString("| *each more* |")
	for _, c := range columns {
		if !c.grows || strings.Contains(c.name, "each") {
			b.WriteString(" |")
			continue
		}
		b.WriteString(" " + fmt.Sprintf(finer.ReplaceAllString(c.unit, "%.3f"), (c.values[last]-c.values[0])/(sizes[last]-sizes[0])) + " |")
	}
	b.WriteString("\n| *p* |")
	for _, c := range columns {
		if !c.grows {
			b.WriteString(" |")
			continue
		}
		b.WriteString(" " + exponent(sizes[0], sizes[last], c.values[0], c.values[last]) + " |")
	}
	b.WriteString("\n")
	return b.String()
}

// exponent is p of a growth from one value to another with n^p.
func exponent(fromSize, toSize, from, to float64) string {
	if fromSize <= 0 || toSize <= fromSize || from <= 0 || to <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", math.Log(to/from)/math.Log(toSize/fromSize))
}

func TestTheExponentSaysHowAColumnGrows(t *testing.T) {
	for _, c := range []struct {
		from, to, a, b float64
		want           string
	}{
		{1, 10, 5, 50, "1.00"}, {1, 10, 5, 5, "0.00"}, {10, 100, 1, 100, "2.00"}, {1, 10, 0, 5, "–"}, {1, 1, 5, 5, "–"},
	} {
		if got := exponent(c.from, c.to, c.a, c.b); got != c.want {
			t.Errorf("from %v at %v to %v at %v: %s, want %s", c.a, c.from, c.b, c.to, got, c.want)
		}
	}
	got := table("n", []string{"one", "ten"}, []float64{1, 10}, []column{{"time", []float64{2, 20}, "%.0f ms", true}, {"rest", []float64{0, 0}, "%.1f", false}})
	want := "| n | time | rest |\n| --- | ---: | ---: |\n| one | 2 ms | 0.0 |\n| ten | 20 ms | 0.0 |\n| *each more* | 2.000 ms | |\n| *p* | 1.00 | |\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
