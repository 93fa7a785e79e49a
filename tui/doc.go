// Package tui is the terminal UI: it shows tasks while they run and the questions that wait, and it is the only code
// that turns key presses into answers (DESIGN, laws 4 to 6).
//
// It is one Bubble Tea program. The model is plain data; every screen is a struct with a function from that data to
// text. Everything that came from a Company or a page enters through internal/plaintext when a screen's data is built
// (screen.go) and keeps that package's type, so a raw string does not fit a field that is shown. Arming, the rule that
// says when a key press counts as an answer, is a small state machine of its own (arm.go).
//
// The package opens the controlling terminal once, for both directions, and touches neither standard input nor
// standard output.
package tui
