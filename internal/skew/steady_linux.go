package skew

import (
	"time"

	"golang.org/x/sys/unix"
)

// steady is the time since the machine was started, its sleep included.
func steady() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return wall()
	}
	return time.Duration(ts.Nano())
}
