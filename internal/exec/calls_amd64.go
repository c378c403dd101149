//go:build linux && amd64

package exec

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// foreignBit is set in the numbers of x32 system calls.
const foreignBit = 0x40000000

const sysUprobe = 336

// Calls that newer architectures lack.
const (
	sysPoll      = unix.SYS_POLL
	sysSetrlimit = unix.SYS_SETRLIMIT
	sysGetrlimit = unix.SYS_GETRLIMIT
	sysFork      = unix.SYS_FORK
	sysVfork     = unix.SYS_VFORK
)
