package skew

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The kernel's word comes while the watch only waits, and the watch goes on after it until its context ends.
func TestTheKernelTellsOfTheWallClockAndIsNotAskedAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a timer that tells nothing must not hold the test
	defer cancel()
	moved, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- told(ctx, time.Now().Add(10*time.Millisecond), func() { moved <- struct{}{} }) }()
	select {
	case <-moved:
	case err := <-ended:
		t.Fatalf("ended as %v", err)
	}
	cancel()
	if err := <-ended; err != nil || len(moved) != 0 {
		t.Errorf("ended as %v, told %d times more", err, len(moved))
	}
}

func TestTheWatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Watch(ctx, func() {})
	}()
	cancel()
	<-ended
}

func TestWhereTheKernelDoesNotTellTheClockIsLookedAtEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*lookAgain+lookAgain/2)
		defer cancel()
		times := 0
		look(ctx, func() { times++ })
		if times != 10 {
			t.Errorf("looked %d times in ten and a half seconds", times)
		}
	})
}
