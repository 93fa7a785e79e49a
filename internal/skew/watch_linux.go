package skew

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// never is the last moment that the kernel's timers know.
var never = time.Unix(math.MaxInt64/int64(time.Second), 0)

// told calls moved when the kernel says that the clock was set, that the machine has slept, or that it is end. It returns
// nil when ctx ends, and an error when the kernel does not tell.
//
// The kernel cancels such a timer, one of the wall clock, when that clock is set or goes on after a sleep (timerfd_create(2),
// TFD_TIMER_CANCEL_ON_SET); until then nothing wakes this process.
func told(ctx context.Context, end time.Time, moved func()) error {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("a timer of the wall clock: %w", err)
	}
	timer := os.NewFile(uintptr(fd), "timerfd")
	stop := context.AfterFunc(ctx, func() { _ = timer.Close() })
	defer func() {
		if stop() {
			_ = timer.Close() // nothing is written through it
		}
	}()
	spec := unix.ItimerSpec{Value: unix.Timespec{Sec: end.Unix(), Nsec: int64(end.Nanosecond())}}
	var count [8]byte
	for ctx.Err() == nil {
		err := set(timer, &spec)
		if err == nil {
			_, err = timer.Read(count[:])
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil: // it is end
			spec.Value = unix.Timespec{Sec: never.Unix()}
		case !errors.Is(err, unix.ECANCELED):
			return fmt.Errorf("a timer of the wall clock: %w", err)
		}
		moved()
	}
	return nil
}

// set arms a timer. It is not used by its number, which another file may have once it is closed.
func set(timer *os.File, spec *unix.ItimerSpec) error {
	conn, err := timer.SyscallConn()
	if err != nil {
		return err
	}
	if failed := conn.Control(func(fd uintptr) {
		err = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, spec, nil)
	}); failed != nil {
		return failed
	}
	return err
}
