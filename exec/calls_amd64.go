//go:build linux && amd64

package exec

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// foreignBit is set in the numbers of x32 system calls.
const foreignBit = 0x40000000

const sysUprobe = 336

// Calls that newer architectures lack.
const (
	sysOpen      = unix.SYS_OPEN
	sysAccess    = unix.SYS_ACCESS
	sysStat      = unix.SYS_STAT
	sysLstat     = unix.SYS_LSTAT
	sysReadlink  = unix.SYS_READLINK
	sysMkdir     = unix.SYS_MKDIR
	sysUnlink    = unix.SYS_UNLINK
	sysRmdir     = unix.SYS_RMDIR
	sysRename    = unix.SYS_RENAME
	sysRenameat  = unix.SYS_RENAMEAT
	sysPoll      = unix.SYS_POLL
	sysSetrlimit = unix.SYS_SETRLIMIT
	sysFstatat   = unix.SYS_NEWFSTATAT
	sysFork      = unix.SYS_FORK
	sysVfork     = unix.SYS_VFORK
)
