// Package quietstart keeps two libraries quiet while the program is only being loaded.
//
// Bubble Tea v1 asks standard output for its background colour in an init function. Every command of a binary that
// links it would write that question to the User's terminal, swallow what is typed meanwhile, and wait five seconds
// where no answer comes. The library leaves the terminal alone where CI is set, so CI is set from before its init
// until [Done].
//
// rod reads the program's arguments in an init function: a -rod anywhere among them would set options of its own, such
// as a log of whole messages, and a word that it does not know would end the program. It leaves the arguments alone
// where DISABLE_ROD_FLAG is set, so that is set from before its init until [RodDone].
//
// That works because packages are initialised in the order of their import paths as soon as all they import is ready
// (Go specification, "Program initialization"): this one imports only os, and both libraries need packages of later paths
// (golang.org/x/sys, github.com/ysmood/gson). Were that to change, they would do it again, and nothing else; tui and
// browser/roddriver have tests that notice.
package quietstart

import "os"

// What the libraries look at, and the value that says it is ours.
const (
	variable    = "CI"
	rodVariable = "DISABLE_ROD_FLAG"
	mark        = "papaver-quietstart"
)

func init() {
	for _, name := range []string{variable, rodVariable} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, mark) // can't be refused for this name and value
		}
	}
}

// Done puts the environment back. The package that imports the terminal library calls it in its own init, before
// anything else can look. It may be called more than once.
func Done() { restore(variable) }

// RodDone is Done for what rod looks at, and for the package that imports rod.
func RodDone() { restore(rodVariable) }

func restore(name string) {
	if os.Getenv(name) == mark {
		_ = os.Unsetenv(name)
	}
}
