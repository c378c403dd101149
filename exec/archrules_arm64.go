//go:build linux && arm64

package exec

import "golang.org/x/sys/unix"

// archRules are the calls of this architecture alone.
var archRules = []rule{{nr: unix.SYS_PSELECT6}}

const (
	sysEpollWait = -12
	sysSelect    = -13
)
