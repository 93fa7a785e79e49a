package bench

import (
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"strings"
	"testing"
)

// The picture's measures, in its own units.
const (
	wide, rowHigh, top = 860, 34, 64
	barFrom, barWide   = 400.0, 380.0 // a bar of this width is twice the goal
)

// svg draws a bar for each row: how far its figure goes towards its goal, which is the line in the middle.
func (t table) svg() string {
	var b strings.Builder
	high := top + rowHigh*len(t.Rows) + 16
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", wide, high, wide, high)
	b.WriteString("<title>What Papaver adds to a browser, against its goals</title>\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", wide, high)
	fmt.Fprintf(&b, `<text x="16" y="26" font-size="15" fill="#1f2328">What Papaver adds, against its goals: a bar that ends before the line meets its goal</text>`+"\n")
	line := barFrom + barWide/2
	fmt.Fprintf(&b, `<text x="%.0f" y="50" text-anchor="middle" fill="#59636e">goal</text>`+"\n", line)
	for i, r := range t.Rows {
		y := top + rowHigh*i
		fmt.Fprintf(&b, `<text x="16" y="%d" fill="#1f2328">%s</text>`+"\n", y+15, html.EscapeString(r.Number+"  "+r.short()))
		if r.Not != "" {
			fmt.Fprintf(&b, `<text x="%.0f" y="%d" fill="#59636e">not measured</text>`+"\n", barFrom, y+15)
			continue
		}
		colour := "#1a7f37"
		if !r.met() {
			colour = "#cf222e"
		}
		part := r.part()
		fmt.Fprintf(&b, `<rect x="%.0f" y="%d" width="%.1f" height="18" rx="2" fill="%s"/>`+"\n", barFrom, y, max(part*barWide/2, 1), colour)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" fill="#1f2328">%s</text>`+"\n", barFrom+max(part*barWide/2, 1)+6, y+14, html.EscapeString(r.shown()))
	}
	fmt.Fprintf(&b, `<line x1="%.0f" y1="%d" x2="%.0f" y2="%d" stroke="#1f2328" stroke-dasharray="3 3"/>`+"\n", line, top-8, line, high-12)
	b.WriteString("</svg>\n")
	return b.String()
}

// part is how far the figure goes towards its goal: 1 is there, and no bar is longer than 2.
func (r row) part() float64 {
	switch {
	case r.Goal == 0 && r.Value == 0:
		return 0
	case r.Goal == 0:
		return 2
	default:
		return min(r.Value/r.Goal, 2)
	}
}

// short is what is measured, for a narrow place.
func (r row) short() string {
	const most = 46
	if runes := []rune(r.What); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return r.What
}

// shown is the figure as the picture shows it.
func (r row) shown() string {
	if r.Than != "" {
		return fmt.Sprintf("%.2f of %.2f", r.Value, r.Goal)
	}
	return r.amount(r.Value)
}

func TestThePictureIsWellFormedAndHasEachRow(t *testing.T) {
	tab := table{Rows: []row{
		ratio("M1", "a <round> & more, with a name that is longer than its place", "x", samples{2e6}, samples{1e6}, 1.05),
		notMeasured("M2", "Playwright", "y", 0.7, "npm is out of reach"), absolute("M7", "forged", "", 0, 0, 0),
	}}
	text := tab.svg()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	for _, want := range []string{"M1  a &lt;round&gt;", "M2", "not measured", "M7", "2.00 of 1.05", "#cf222e"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
}
