package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
	"rsc.io/qr"

	"github.com/papaver-agent/papaver/tui"
)

// quiet is the light frame round a QR code, in modules. The standard says 4; cameras do with less.
const quiet = 2

// printQR draws a link as a QR code on standard error, when that is a terminal that can show it.
func printQR(e env, link string) {
	f, ok := e.stderr.(*os.File)
	if !ok || !isTerminal(f) {
		return
	}
	color, unicode := tui.Capabilities(e.getenv)
	width, height, err := term.GetSize(int(f.Fd()))
	code, encodeErr := qr.Encode(link, qr.L)
	if err != nil || encodeErr != nil || !unicode {
		return
	}
	drawn := drawQR(code, color)
	if code.Size+2*quiet > width || len(drawn) > height-2 {
		return
	}
	fmt.Fprintln(f, strings.Join(drawn, "\n"))
}

// drawQR gives the lines of a code: two modules in one cell, light on dark or, with colour, black on white whatever the
// terminal's colours are.
func drawQR(code *qr.Code, color bool) []string {
	black := func(x, y int) bool { return code.Black(x-quiet, y-quiet) }
	size := code.Size + 2*quiet
	var drawn []string
	for y := 0; y < size; y += 2 {
		var b strings.Builder
		for x := range size {
			above, below := black(x, y), black(x, y+1) || y+1 >= size
			if color {
				above, below = !above, !below || y+1 >= size
			}
			switch {
			case !above && !below:
				b.WriteString("█")
			case !above:
				b.WriteString("▀")
			case !below:
				b.WriteString("▄")
			default:
				b.WriteString(" ")
			}
		}
		line := b.String()
		if color {
			line = "\x1b[30;107m" + line + "\x1b[0m"
		}
		drawn = append(drawn, line)
	}
	return drawn
}
