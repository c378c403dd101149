package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock is the processor time of this thread: that of other work on the machine is not in it.
func clock() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}
