// Package quietstart keeps a terminal library from talking to the terminal while the program is only being loaded.
//
// Bubble Tea v1 asks standard output for its background colour in an init function. Every command of a binary that
// links it would write that question to the User's terminal, swallow what is typed meanwhile, and wait five seconds
// where no answer comes. The library leaves the terminal alone where CI is set, so CI is set from before its init
// until [Done].
//
// That works because packages are initialised in the order of their import paths as soon as all they import is ready
// (Go specification, "Program initialization"): this one imports only os, and Bubble Tea needs packages of later paths
// (golang.org/x/sys). Were that to change, the library would ask again, and nothing else; tui has a test that notices.
package quietstart

import "os"

// variable is what the library looks at, and mark the value that says it is ours.
const variable, mark = "CI", "papaver-quietstart"

func init() {
	if os.Getenv(variable) == "" {
		_ = os.Setenv(variable, mark) // can't be refused for this name and value
	}
}

// Done puts the environment back. The package that imports the terminal library calls it in its own init, before
// anything else can look. It may be called more than once.
func Done() {
	if os.Getenv(variable) == mark {
		_ = os.Unsetenv(variable)
	}
}
