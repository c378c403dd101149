//go:build linux && arm64

package exec

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// foreignBit is 0: arm64 has no second set of system calls.
const foreignBit = 0

const sysUprobe = -1

// Calls that this architecture lacks.
const (
	sysPoll      = -11
	sysGetrlimit = unix.SYS_GETRLIMIT
	sysFork      = -12
	sysVfork     = -13
	sysSetrlimit = unix.SYS_SETRLIMIT
)
