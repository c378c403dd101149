//go:build linux && arm64

package exec

import "golang.org/x/sys/unix"

// archRules are the rules for calls that only this architecture has.
var archRules = []rule{{nr: unix.SYS_PSELECT6}}

const (
	sysEpollWait = -12
	sysSelect    = -13
)
