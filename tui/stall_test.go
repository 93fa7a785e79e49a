package tui

import (
	"testing"
	"time"

	"github.com/papaver-agent/papaver/approval"
)

// The moment at which the screen stood still is told again with every message that comes after it.
func TestAScreenThatOnceStoodStillTakesBackNoLaterAnswer(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	stood := start.Add(100 * time.Millisecond)
	var a arming
	a.show(approval.Shown{Request: "q_1"}, true, start)
	a.disturb(stood)
	early := stood.Add(quietTime - time.Millisecond)
	if a.press(true, early) {
		t.Fatal("a key counts less than the quiet time after the screen stood still")
	}
	pressed := early.Add(quietTime)
	if !a.press(true, pressed) {
		t.Fatal("a key does not count after the quiet time")
	}
	a.disturb(stood)
	if _, _, ok := a.settled(pressed.Add(settleTime)); !ok {
		t.Error("the answer was taken back by what had happened before it")
	}
	a = arming{}
	a.show(approval.Shown{Request: "q_1"}, true, start)
	a.press(true, pressed)
	a.disturb(pressed) // the screen stood still while the key was pressed
	if _, _, ok := a.settled(pressed.Add(settleTime)); ok {
		t.Error("an answer counts that was given while the screen stood still")
	}
}
