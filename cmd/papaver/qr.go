package main

import (
	"fmt"
	"os"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/papaver-agent/papaver/internal/qrcode"
	"github.com/papaver-agent/papaver/tui"
)

// printQR draws a link as a QR code on standard error, when that is a terminal that can show it: black on white, or
// without colours light on what is taken for dark.
func printQR(e env, link string) {
	f, ok := e.stderr.(*os.File)
	if !ok || !isTerminal(f) {
		return
	}
	color, unicode, _ := tui.Capabilities(e.getenv)
	width, height, err := term.GetSize(int(f.Fd()))
	drawn, encodeErr := qrcode.Lines(link, color)
	if err != nil || encodeErr != nil || !unicode || utf8.RuneCountInString(drawn[0]) > width || len(drawn) > height-2 {
		return
	}
	for _, line := range drawn {
		if color {
			line = "\x1b[30;107m" + line + "\x1b[0m"
		}
		fmt.Fprintln(f, line)
	}
}
