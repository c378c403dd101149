//go:build linux && (amd64 || arm64)

package exec

import (
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// hostTimes reads the clocks that the tool reads, by system calls or its vDSO: those of this
// process's time namespace, which the tool is in, too.
func hostTimes() bpfsys.Times {
	read := func(clock int32) uint64 {
		var t unix.Timespec
		_ = unix.ClockGettime(clock, &t) // fails for no clock of these
		return uint64(t.Nano())
	}
	return bpfsys.Times{Boot: read(unix.CLOCK_BOOTTIME), Mono: read(unix.CLOCK_MONOTONIC), Real: read(unix.CLOCK_REALTIME)}
}
