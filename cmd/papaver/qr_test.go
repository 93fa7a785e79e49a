package main

import (
	"strings"
	"testing"

	"rsc.io/qr"
)

// What is drawn is the code, module by module, with a light frame round it; black on white where there are colours, and
// light on dark where there are none.
func TestAQRCodeIsDrawnModuleByModule(t *testing.T) {
	t.Parallel()
	code, err := qr.Encode("https://auth.example.com/device?user_code=WDJB-MJHT", qr.L)
	if err != nil {
		t.Fatal(err)
	}
	for _, color := range []bool{true, false} {
		lines := drawQR(code, color)
		for y := range code.Size + 2*quiet {
			line := strings.TrimSuffix(strings.TrimPrefix(lines[y/2], "\x1b[30;107m"), "\x1b[0m")
			cells := []rune(line)
			if len(cells) != code.Size+2*quiet || (line == lines[y/2]) == color {
				t.Fatalf("colour %v: line %d has %d cells: %q", color, y/2, len(cells), lines[y/2])
			}
			for x, cell := range cells {
				drawn := cell == '█' || cell == '▀' && y%2 == 0 || cell == '▄' && y%2 == 1
				if black := code.Black(x-quiet, y-quiet); drawn != (black == color) {
					t.Errorf("colour %v: the module at %d, %d is black: %v, and drawn: %v", color, x, y, black, drawn)
				}
			}
		}
	}
}
