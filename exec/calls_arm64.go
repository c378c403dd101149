//go:build linux && arm64

package exec

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// foreignBit: there are no other system calls under this architecture's number.
const foreignBit = 0

const sysUprobe = -1

// Calls that this architecture does not have.
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
	sysRenameat  = unix.SYS_RENAMEAT
	sysSetrlimit = unix.SYS_SETRLIMIT
	sysFstatat   = unix.SYS_FSTATAT
)
