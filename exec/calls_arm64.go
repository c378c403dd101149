//go:build linux && arm64

package exec

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// foreignBit is 0: arm64 has no second set of system calls.
const foreignBit = 0

const sysUprobe = -1

// Calls that this architecture lacks.
const (
	sysOpen      = -2
	sysAccess    = -3
	sysStat      = -4
	sysLstat     = -5
	sysReadlink  = -6
	sysMkdir     = -7
	sysUnlink    = -8
	sysRmdir     = -9
	sysRename    = -10
	sysPoll      = -11
	sysFork      = -12
	sysVfork     = -13
	sysRenameat  = unix.SYS_RENAMEAT
	sysSetrlimit = unix.SYS_SETRLIMIT
	sysFstatat   = unix.SYS_FSTATAT
)
