package tui

import (
	"time"

	"github.com/papaver-agent/papaver/approval"
)

const (
	// quietTime is how long no key may be pressed, after the whole of the terms was on the screen, before one counts.
	quietTime = 700 * time.Millisecond
	// drawTime is how long a frame may take from our text to the terminal.
	drawTime = 40 * time.Millisecond
	// settleTime is how long an answer key must stand alone: text pasted into a terminal that doesn't mark pastes
	// comes as keys with no time between them.
	settleTime = 60 * time.Millisecond
)

// readiness says whether an answer key counts, and if not, why.
type readiness int

const (
	notWhole    readiness = iota // not all of the terms have been on the screen
	notQuiet                     // a key was pressed, or something changed, less than quietTime ago
	interrupted                  // the User was typing when it came, and has pressed no arrow key since
	pressed                      // an answer key was pressed and must stand alone for a moment
	ready
)

// arming decides whether a key press is an answer. It is a state machine over moments that the caller hands in; it
// never looks at a clock. Its zero value is armed for nothing.
type arming struct {
	subject  approval.Shown // what an answer would be given to
	whole    bool           // all of it has been on the screen at its present size
	quiet    time.Time      // since when nothing happened
	answer   bool           // the answer of the key that was pressed
	held     bool           // the User was typing text when it came: letters may still be meant for that
	answered time.Time      // when it was pressed; zero when none is settling
}

// show starts from nothing: subject is drawn anew, at this size. end says that its last line is on the screen.
func (a *arming) show(subject approval.Shown, end bool, now time.Time) {
	*a = arming{subject: subject, whole: end, quiet: now.Add(drawTime)}
}

// moved tells that the User scrolled, and whether the last line has been reached. What was whole stays so.
func (a *arming) moved(end bool, now time.Time) {
	a.disturb(now.Add(drawTime))
	a.whole = a.whole || end
}

// disturb starts the quiet time again from at, and takes back an answer that is settling since at or earlier. One that
// was pressed after at was not disturbed: a screen that once stood still must not take back every later answer.
func (a *arming) disturb(at time.Time) {
	if !at.Before(a.answered) {
		a.answered = time.Time{}
	}
	if at.After(a.quiet) {
		a.quiet = at
	}
}

// press is an answer key. It reports whether the key counts so far: settled says later whether it stood alone. A key
// that doesn't count starts the quiet time again like any other.
func (a *arming) press(approve bool, now time.Time) bool {
	if a.state(now) != ready {
		a.disturb(now)
		return false
	}
	a.answer, a.answered = approve, now
	return true
}

// settled gives the answer that was pressed, once it has stood alone for settleTime. It gives it once.
func (a *arming) settled(now time.Time) (approve bool, subject approval.Shown, ok bool) {
	if a.answered.IsZero() || now.Before(a.answered.Add(settleTime)) {
		return false, approval.Shown{}, false
	}
	approve, subject = a.answer, a.subject
	*a = arming{}
	return approve, subject, true
}

func (a *arming) state(now time.Time) readiness {
	switch {
	case !a.whole || a.subject == (approval.Shown{}):
		return notWhole
	case a.held:
		return interrupted
	case !a.answered.IsZero():
		return pressed
	case now.Before(a.quiet.Add(quietTime)):
		return notQuiet
	default:
		return ready
	}
}

// wait is how long it takes until a key counts if nothing happens, zero when nothing is waited for.
func (a *arming) wait(now time.Time) time.Duration {
	if a.state(now) != notQuiet {
		return 0
	}
	return a.quiet.Add(quietTime).Sub(now)
}
