//go:build linux && amd64

package exec

import "golang.org/x/sys/unix"

// archRules are the rules for calls that only this architecture has.
var archRules = []rule{
	{nr: unix.SYS_EPOLL_WAIT}, {nr: unix.SYS_SELECT}, {nr: unix.SYS_PSELECT6},
}

const (
	sysEpollWait = unix.SYS_EPOLL_WAIT
	sysSelect    = unix.SYS_SELECT
)
