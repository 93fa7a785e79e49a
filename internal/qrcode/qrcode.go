// Package qrcode draws a link as a QR code in the characters of a terminal, two modules in one cell.
package qrcode

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// quiet is the light frame round a QR code, in modules. The standard says 4; cameras do with less.
const quiet = 2

// Lines draws link, in lines of one width. What is drawn in the foreground are the light modules or, with ink, the dark
// ones: for a terminal that is told to write black on white. Its error says that link is too long for a code.
func Lines(link string, ink bool) ([]string, error) {
	code, err := qr.Encode(link, qr.L)
	if err != nil {
		return nil, fmt.Errorf("a QR code of %d bytes: %w", len(link), err)
	}
	size := code.Size + 2*quiet
	drawn := func(x, y int) bool { return y < size && code.Black(x-quiet, y-quiet) == ink }
	var lines []string
	for y := 0; y < size; y += 2 {
		var b strings.Builder
		for x := range size {
			switch above, below := drawn(x, y), drawn(x, y+1); {
			case above && below:
				b.WriteString("█")
			case above:
				b.WriteString("▀")
			case below:
				b.WriteString("▄")
			default:
				b.WriteString(" ")
			}
		}
		lines = append(lines, b.String())
	}
	return lines, nil
}
