package main

import (
	"fmt"
	"io"
	"runtime/debug"
)

func printHelp(w io.Writer) {
	fmt.Fprint(w, `papaver acts for you at companies' websites, and asks you before anything with an effect happens.

usage: papaver COMMAND [flags]

`)
	for _, c := range commands() {
		fmt.Fprintf(w, "  papaver %s\n      %s\n", c.usage, c.about)
	}
	fmt.Fprint(w, `
On a terminal, papaver alone is papaver tui. papaver COMMAND -h lists a command's flags.

exit status: 0 done, every operation performed · 1 error · 2 wrong usage · 3 refused or declined · 4 expired ·
5 an outcome is unknown · 130 interrupted
`)
}

func printVersion(w io.Writer) { fmt.Fprintln(w, "papaver", buildVersion()) }

// buildVersion is the version of this program.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
